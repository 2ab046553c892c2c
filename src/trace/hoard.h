/* hoard.h - host memory that is taken for one piece of work and freed together,
 * at its end or when it fails, which is one jump to where it began:
 *
 *     struct hoard h = {.error = error};
 *
 *     if (setjmp(h.failed) != 0)
 *         return hoard_end(&h, false);
 *     work(&h);
 *     return hoard_end(&h, true);
 *
 * Functions that take from a hoard need neither say that they failed nor free
 * what they took. */
#ifndef LARDER_TRACE_HOARD_H
#define LARDER_TRACE_HOARD_H

#include <setjmp.h>
#include <stddef.h>

#include "trace/tool_error.h"

struct hoard {
    struct tool_error *error; /* says why it failed */
    const char *words;        /* if for lack of memory; NULL: usual words */
    struct hoard_piece *last; /* what was taken last; NULL: nothing is left */
    jmp_buf failed;
};

/* Zeroed memory for `count` items; `count` may be 0. */
void *hoard_take(struct hoard *h, size_t count, size_t size);

/* The same for one item, which `end` is called for before it is freed. */
void *hoard_take_with(struct hoard *h, size_t size, void (*end)(void *item));

/* Have room for `needed` items in an array from the hoard; new ones are
 * zeroed. */
#define HOARD_ROOM(h, items, capacity, needed)                                 \
    ((items) = hoard_room((h), (items), &(capacity), (needed), sizeof *(items)))
void *hoard_room(struct hoard *h, void *items, size_t *capacity, size_t needed,
                 size_t size);

/* Free what was taken since h->last was this. */
void hoard_free_since(struct hoard *h, const struct hoard_piece *last);

/* Fail; *h->error is set. */
TOOL_NO_RETURN void hoard_fail(struct hoard *h);

/* Fail for lack of memory unless there was enough. */
void hoard_need(struct hoard *h, bool enough);

/* Free everything.  Returns `ok`. */
bool hoard_end(struct hoard *h, bool ok);

#endif
