/* array_room.c - see array_room.h. */
#include "trace/array_room.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ITEMS = 16 };

bool array_room(void *items, size_t *capacity, size_t needed, size_t size)
{
    size_t wider = *capacity > 0 ? 2 * *capacity : FIRST_ITEMS;

    if (wider < needed)
        wider = needed;
    if (wider > SIZE_MAX / 2 / size || !array_resize(items, wider, size))
        return false;
    *capacity = wider;
    return true;
}

bool array_resize(void *items, size_t count, size_t size)
{
    void *array, *resized;

    memcpy(&array, items, sizeof array);
    resized = realloc(array, count * size);
    if (resized == NULL)
        return false;
    memcpy(items, &resized, sizeof resized);
    /* cppcheck-suppress memleak; the array has it */
    return true;
}
