/* nccl_communicator.h - the state of a communicator. */
#pragma once

#include <stdatomic.h>

#include "nccl_room.h"

struct communicator {
    int ranks;
    int rank;
    int device;
    struct room *room; /* NULL: alone, the others hold what this one holds */
    uint64_t number;   /* of the last collective that was completed */
    int failed;        /* the result of every call since one failed */
    /* By another thread, while threads that are in a call wait. */
    atomic_bool is_aborted;
    atomic_int users; /* calls of such threads */
};
