/* snap_memory.c - host memory for reading a snapshot, limited by a budget. */
#include "snapshot/snap_memory.h"

#include <stdlib.h>

#include "trace/array_room.h"

enum { FIRST_BYTES = 256, GENTLE_BYTES = 16 << 20 };

static bool memory_allows(struct snap_memory *m, uint64_t more)
{
    uint64_t limit =
        m->input_bytes * SNAP_INPUT_FACTOR + ((uint64_t)SNAP_FREE_MIB << 20);

    m->over_budget = m->used + more > limit;
    return !m->over_budget;
}

static void memory_took(struct snap_memory *m, uint64_t more)
{
    m->used += more;
    if (m->used > m->peak)
        m->peak = m->used;
}

static size_t grown_capacity(size_t capacity, size_t needed, size_t item)
{
    /* Large arrays grow by a smaller factor, so that little of the budget is
     * unused. */
    size_t more = capacity * item < GENTLE_BYTES ? capacity : capacity / 4;
    size_t wanted = capacity + more;

    if (wanted < needed)
        wanted = needed;
    if (wanted < FIRST_BYTES / item)
        wanted = FIRST_BYTES / item;
    return wanted;
}

bool snap_reserve(struct snap_memory *m, void *array, size_t *capacity,
                  size_t needed, size_t item)
{
    size_t wanted;

    if (needed <= *capacity)
        return true;
    if (needed > SIZE_MAX / 4 / item)
        return false;
    wanted = grown_capacity(*capacity, needed, item);
    if (!memory_allows(m, (wanted - *capacity) * item)) {
        /* Close to the budget, allocate only what is needed. */
        wanted = needed + needed / 16;
        if (!memory_allows(m, (wanted - *capacity) * item))
            return false;
    }
    if (!array_resize(array, wanted, item))
        return false;
    memory_took(m, (wanted - *capacity) * item);
    *capacity = wanted;
    return true;
}

void *snap_alloc(struct snap_memory *m, size_t count, size_t item)
{
    void *p;

    if (count > SIZE_MAX / item || !memory_allows(m, count * item))
        return NULL;
    p = calloc(count, item);
    if (p != NULL)
        memory_took(m, count * item);
    return p;
}

void snap_release(struct snap_memory *m, void *p, size_t bytes)
{
    if (p == NULL)
        return;
    free(p);
    m->used -= bytes;
}
