/* nccl_operation.h - what a communicator does, alone or with the others. */
#pragma once

#include "nccl_communicator.h"

#pragma GCC visibility push(hidden)

enum nccl_kind {
    NCCL_ALL_GATHER,
    NCCL_ALL_REDUCE,
    NCCL_REDUCE,
    NCCL_REDUCE_SCATTER,
    NCCL_BROADCAST,
    NCCL_ALL_TO_ALL,
    NCCL_GATHER,
    NCCL_SCATTER,
    NCCL_SPLIT, /* bytes of the host, that all gather */
    NCCL_SEND,
    NCCL_RECEIVE
};

struct operation {
    struct communicator *c;
    struct room_call call; /* `root` of a message: the other rank */
    uintptr_t given;
    uintptr_t result;
    void *stream;
    void *context;  /* of the thread that called */
    bool is_posted; /* a collective: the others see it */
    bool is_done;
};

/* The bytes of one part: `count` values. */
size_t operation_part(const struct operation *o);

/* ---- nccl_alone.c ------------------------------------------------------- */

/* As if all others held the same. */
int operation_alone(const struct operation *o);

/* ---- nccl_meeting.c ----------------------------------------------------- */

/* Do as much as can be done now. */
int operation_step(struct operation *o);
/* Whom it waits for; -1: nobody. */
int operation_awaited(const struct operation *o);
const char *operation_name(enum nccl_kind kind);

/* ---- nccl_group.c ------------------------------------------------------- */

/* Do it, or keep it until the group ends. */
int operation_do(const struct operation *o);
/* Do it now, whatever group there is. */
int operation_do_now(struct operation *o);

/* Whether the thread is between ncclGroupStart() and ncclGroupEnd(). */
bool nccl_is_in_group(void);

/* Seconds after which who does not come is given up. */
double nccl_limit(void);
double nccl_now(void);

#pragma GCC visibility pop
