/* witness.h - sees to the order in which a thread takes the library's locks.
 * Private to the library.
 *
 * Two threads that take the same two locks in different orders wait for each
 * other for ever, but only when they meet: a test seldom sees it.  So each lock
 * has a rank, and a thread takes a lock only if its rank is above those of all
 * it holds: then no circle can close.  With assertions (assert.h) each thread
 * keeps a list of what it holds and every taking is checked; without, all of
 * this is nothing. */
#ifndef LARDER_BASE_WITNESS_H
#define LARDER_BASE_WITNESS_H

#include <pthread.h>
#include <stdbool.h>

#include "base/assert.h"

/* The order of all locks that one thread may hold together. */
enum lock_rank {
    RANK_PEERS_LIST, /* of all in the process */
    RANK_PEERS,      /* of one device's allocators */
    RANK_ALLOCATOR,
    RANK_SHARD, /* and its number, from 1 */
    RANK_TRIMMER = RANK_SHARD + 256,
    RANK_LEDGER,       /* this process's place in it; then the page's */
    RANK_DEVICE,       /* a simulated GPU's, a driver's context's */
    RANK_DEVICE_PLAN,  /* of faults */
    RANK_DEVICE_SHARE, /* a simulated GPU's that processes share */
    RANK_DESCRIPTORS   /* the list of those a child must not have */
};

#if LARDER_ASSERT_LEVEL > 0

/* The calling thread is about to wait for the lock; has it; is about to leave
 * it. */
void larder__witness_order(const void *lock, int rank);
void larder__witness_take(const void *lock, int rank);
void larder__witness_leave(const void *lock);

/* Whether the calling thread holds it. */
bool larder__witness_holds(const void *lock);

#else

static inline void larder__witness_order(const void *lock, int rank)
{
    (void)lock;
    (void)rank;
}

static inline void larder__witness_take(const void *lock, int rank)
{
    (void)lock;
    (void)rank;
}

static inline void larder__witness_leave(const void *lock)
{
    (void)lock;
}

static inline bool larder__witness_holds(const void *lock)
{
    (void)lock;
    return true;
}

#endif

/* The system's locks, with witnesses. */
static inline int mutex_take(pthread_mutex_t *mutex, int rank)
{
    int error;

    larder__witness_order(mutex, rank);
    error = pthread_mutex_lock(mutex);
    larder__witness_take(mutex, rank);
    return error;
}

/* Take it if nobody has it. */
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

#endif
