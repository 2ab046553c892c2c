/* array_room.c - see array_room.h. */
#include "trace/array_room.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ITEMS = 16 };

bool array_room(void *items, size_t *capacity, size_t needed, size_t size)
{
    size_t wider = *capacity > 0 ? 2 * *capacity : FIRST_ITEMS;
    void *array, *grown;

    if (wider < needed)
        wider = needed;
    if (wider > SIZE_MAX / 2 / size)
        return false;
    memcpy(&array, items, sizeof array);
    grown = realloc(array, wider * size);
    if (grown == NULL)
        return false;
    memcpy(items, &grown, sizeof grown);
    *capacity = wider;
    /* cppcheck-suppress memleak; the array has it */
    return true;
}
