/* array_room.h - arrays that grow. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Have room for `needed` items in an array, which may move.  False: no host
 * memory; the array is as before. */
#define ARRAY_ROOM(items, capacity, needed)                                    \
    ((needed) <= (capacity) ||                                                 \
     array_room(&(items), &(capacity), (needed), sizeof *(items)))

/* At least double the array that *items, a pointer of any type, points to. */
bool array_room(void *items, size_t *capacity, size_t needed, size_t size);

/* Give that array `count` items of `size` bytes, whose product does not
 * overflow.  False: no host memory; the array is as before. */
bool array_resize(void *items, size_t count, size_t size);
