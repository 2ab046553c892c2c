/* arena.h - host memory for one task, freed together when the task ends or
 * fails.  To fail is to jump to where the task began:
 *
 *     struct arena arena = {.error = error};
 *
 *     if (setjmp(arena.failed) != 0)
 *         return arena_end(&arena, false);
 *     work(&arena);
 *     return arena_end(&arena, true);
 *
 * So a function that takes memory from an arena does not return if there is
 * none, and frees nothing that it took.  An arena is for one thread. */
#pragma once

#include <setjmp.h>
#include <stddef.h>

#include "trace/tool_error.h"

struct arena {
    struct tool_error *error; /* set before a jump */
    const char *words;        /* for lack of memory; NULL: the usual ones */
    /* What was taken last; NULL: nothing.  It changes between setjmp() and the
     * jump and is read after it, for which C requires volatile where an arena
     * is a local variable of the function that calls setjmp(). */
    struct arena_piece *volatile last;
    jmp_buf failed;
};

/* Zeroed memory for `count` items; `count` may be 0. */
void *arena_take(struct arena *arena, size_t count, size_t size);

/* The same for one item; `end` is called before the item is freed. */
void *arena_take_with(struct arena *arena, size_t size,
                      void (*end)(void *item));

/* Make room for `needed` items in an array from the arena; new ones are
 * zeroed. */
#define ARENA_ROOM(arena, items, capacity, needed)                             \
    ((items) =                                                                 \
         arena_room((arena), (items), &(capacity), (needed), sizeof *(items)))
void *arena_room(struct arena *arena, void *items, size_t *capacity,
                 size_t needed, size_t size);

/* Free what was taken since arena->last was `last`. */
void arena_free_since(struct arena *arena, const struct arena_piece *last);

/* Fail unless `ok`; if it is false, *arena->error is set. */
void arena_check(struct arena *arena, bool ok);

/* Fail for lack of memory unless there was enough. */
void arena_need(struct arena *arena, bool enough);

/* Free everything.  Returns `ok`. */
bool arena_end(struct arena *arena, bool ok);
