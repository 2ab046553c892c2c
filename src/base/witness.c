/* witness.c - checks the order in which a thread takes the library's locks. */
#include "base/witness.h"

#if LARDER_ASSERT_LEVEL > 0

/* An allocator's lock, its shards' locks and the few that rank below. */
enum { HELD_MAX = 512 };

struct held_lock {
    const void *lock;
    int rank;
};

/* In the order in which they were taken. */
static _Thread_local struct held_lock held[HELD_MAX];
static _Thread_local int held_count;

static int held_find(const void *lock)
{
    int i = held_count - 1;

    while (i >= 0 && held[i].lock != lock)
        i--;
    return i;
}

void larder__witness_order(const void *lock, int rank)
{
    larder__assert(held_find(lock) < 0);
    larder__assert(held_count == 0 || held[held_count - 1].rank < rank);
}

void larder__witness_take(const void *lock, int rank)
{
    larder__witness_order(lock, rank);
    larder__assert(held_count < HELD_MAX);
    held[held_count++] = (struct held_lock){.lock = lock, .rank = rank};
}

void larder__witness_leave(const void *lock)
{
    int i = held_find(lock);

    larder__assert(i >= 0);
    for (held_count--; i < held_count; i++)
        held[i] = held[i + 1];
}

bool larder__witness_holds(const void *lock)
{
    return held_find(lock) >= 0;
}

#endif
