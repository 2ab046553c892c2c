/* witness.h - checks the order in which a thread takes the library's locks.
 * Private to the library.
 *
 * Two threads that take the same two locks in different orders can deadlock,
 * but only if they meet, so tests seldom see it.  Therefore each lock has a
 * rank, and a thread may take a lock only if its rank is above those of all
 * locks it holds; then no cycle is possible.  With assertions (assert.h) each
 * thread keeps a list of its locks, and every acquisition is checked; without
 * them all of this compiles to nothing. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/assert.h"

/* The order of all locks that one thread may hold together. */
enum lock_rank {
    RANK_PEERS_LIST, /* of the list in the process */
    RANK_PEERS,      /* of one device's allocators */
    RANK_ALLOCATOR,
    RANK_SHARD, /* plus its number, from 1 */
    RANK_SHARDS_COMMON = RANK_SHARD + 256,
    RANK_TRIMMER,
    RANK_HELPER,       /* while the thread that answers is begun */
    RANK_LEDGER,       /* this process's place; then the page's lock */
    RANK_DEVICE,       /* a simulated GPU's, or a driver's context's */
    RANK_DEVICE_PLAN,  /* of faults */
    RANK_DEVICE_SHARE, /* of a simulated GPU shared by processes */
    RANK_DESCRIPTORS   /* the list of descriptors closed in children */
};

#if LARDER_ASSERT_LEVEL > 0

/* The calling thread is about to wait for the lock, has taken it, is about to
 * release it. */
void larder__witness_order(const void *lock, int rank);
void larder__witness_take(const void *lock, int rank);
void larder__witness_leave(const void *lock);

/* Whether the calling thread holds it. */
bool larder__witness_holds(const void *lock);

#else

#define larder__witness_order(lock, rank) ((void)(lock), (void)(rank))
#define larder__witness_take(lock, rank) ((void)(lock), (void)(rank))
#define larder__witness_leave(lock) ((void)(lock))
#define larder__witness_holds(lock) ((void)(lock), true)

#endif

/* The system's mutexes, with the same checks. */
static inline int mutex_take(pthread_mutex_t *mutex, int rank)
{
    int error;

    larder__witness_order(mutex, rank);
    error = pthread_mutex_lock(mutex);
    larder__witness_take(mutex, rank);
    return error;
}

/* Take it if it is free. */
static inline bool mutex_try(pthread_mutex_t *mutex, int rank)
{
    bool taken = pthread_mutex_trylock(mutex) == 0;

    if (taken)
        larder__witness_take(mutex, rank);
    return taken;
}

static inline void mutex_leave(pthread_mutex_t *mutex)
{
    larder__witness_leave(mutex);
    pthread_mutex_unlock(mutex);
}
