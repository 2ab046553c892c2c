/* company.h - the implementation behind peers.h: the allocators of this process
 * on one shared device.  Private to these files. */
#pragma once

#include <pthread.h>

#include "core/peers/peers.h"
#include "ledger/ledger_place.h"

struct peers {
    struct ledger *ledger;
    unsigned process; /* the process that created it (base/process.h) */
    struct ledger_spec spec;
    long users;
    peers_give_fn *give;

    pthread_mutex_t lock; /* guards the list */
    struct allocator *first;

    pthread_mutex_t thread_lock; /* guards its beginning */
    bool has_thread;
    atomic_bool is_ending;
    pthread_t thread;
    struct peers *next; /* next in the process */
};
