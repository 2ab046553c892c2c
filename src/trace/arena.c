/* arena.c - see arena.h. */
#include "trace/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct arena_piece {
    struct arena_piece *before; /* taken before it */
    void (*end)(void *item);    /* or NULL */
    max_align_t item[];
};

void arena_check(struct arena *arena, bool ok)
{
    if (!ok)
        longjmp(arena->failed, 1);
}

void arena_need(struct arena *arena, bool enough)
{
    const char *words =
        arena->words != NULL ? arena->words : "out of host memory";

    arena_check(arena, enough || tool_fail(arena->error, "%s", words));
}

void *arena_take(struct arena *arena, size_t count, size_t size)
{
    struct arena_piece *piece = NULL;

    if (count <= (SIZE_MAX - sizeof *piece) / size)
        piece = calloc(1, sizeof *piece + count * size);
    arena_need(arena, piece != NULL);
    piece->before = arena->last;
    arena->last = piece;
    return piece->item;
}

void *arena_take_with(struct arena *arena, size_t size, void (*end)(void *item))
{
    void *item = arena_take(arena, 1, size);

    arena->last->end = end;
    return item;
}

void *arena_room(struct arena *arena, void *items, size_t *capacity,
                 size_t needed, size_t size)
{
    size_t wider = needed > 2 * *capacity ? needed : 2 * *capacity;
    void *made;

    if (needed <= *capacity)
        return items;
    made = arena_take(arena, wider, size);
    if (*capacity > 0)
        memcpy(made, items, *capacity * size);
    *capacity = wider;
    return made;
}

void arena_free_since(struct arena *arena, const struct arena_piece *last)
{
    while (arena->last != last) {
        struct arena_piece *piece = arena->last;

        arena->last = piece->before;
        if (piece->end != NULL)
            piece->end(piece->item);
        free(piece);
    }
}

bool arena_end(struct arena *arena, bool ok)
{
    arena_free_since(arena, NULL);
    return ok;
}
