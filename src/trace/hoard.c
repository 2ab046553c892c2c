/* hoard.c - see hoard.h. */
#include "trace/hoard.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct hoard_piece {
    struct hoard_piece *before; /* taken before it */
    void (*end)(void *item);    /* or NULL */
    max_align_t item[];
};

void hoard_fail(struct hoard *h)
{
    longjmp(h->failed, 1);
}

void hoard_need(struct hoard *h, bool enough)
{
    if (enough)
        return;
    tool_set_error(h->error, "%s",
                   h->words != NULL ? h->words : "out of host memory");
    hoard_fail(h);
}

void *hoard_take(struct hoard *h, size_t count, size_t size)
{
    struct hoard_piece *piece = NULL;

    if (count <= (SIZE_MAX - sizeof *piece) / size)
        piece = calloc(1, sizeof *piece + count * size);
    hoard_need(h, piece != NULL);
    piece->before = h->last;
    h->last = piece;
    return piece->item;
}

void *hoard_take_with(struct hoard *h, size_t size, void (*end)(void *item))
{
    void *item = hoard_take(h, 1, size);

    h->last->end = end;
    return item;
}

void *hoard_room(struct hoard *h, void *items, size_t *capacity, size_t needed,
                 size_t size)
{
    size_t wider = needed > 2 * *capacity ? needed : 2 * *capacity;
    void *made;

    if (needed <= *capacity)
        return items;
    made = hoard_take(h, wider, size);
    if (*capacity > 0)
        memcpy(made, items, *capacity * size);
    *capacity = wider;
    return made;
}

void hoard_free_since(struct hoard *h, const struct hoard_piece *last)
{
    while (h->last != last) {
        struct hoard_piece *piece = h->last;

        h->last = piece->before;
        if (piece->end != NULL)
            piece->end(piece->item);
        free(piece);
    }
}

bool hoard_end(struct hoard *h, bool ok)
{
    hoard_free_since(h, NULL);
    return ok;
}
