/* nccl_collectives.c - collective operations and messages, as programs call
 * them. */
#include "nccl_operation.h"
#include "nccl_reason.h"
#include "nccl_value.h"
#include "standin.h"

/* No operation, or no root. */
enum { NONE = -1 };

static int do_operation(const struct operation *o)
{
    const struct communicator *c = o->c;

    if (nccl_type_bytes(o->call.type) == 0)
        return nccl_fail(NCCL_INVALID_ARGUMENT, "there is no type %d",
                         o->call.type);
    if (c != NULL && c->room != NULL && o->call.root >= c->ranks)
        return nccl_fail(NCCL_INVALID_ARGUMENT,
                         "there is no rank %d in a group of %d", o->call.root,
                         c->ranks);
    return operation_do(o);
}

#define DO(kind_, operation_, root_, given_, result_)                          \
    do_operation(&(struct operation){                                          \
        .c = c,                                                                \
        .call = {.kind = (kind_),                                              \
                 .type = type,                                                 \
                 .operation = (operation_),                                    \
                 .root = (root_),                                              \
                 .count = count},                                              \
        .given = (given_),                                                     \
        .result = (result_),                                                   \
        .stream = stream,                                                      \
    })

STANDIN_OWN(int, ncclAllGather,
            (uintptr_t part, uintptr_t whole, size_t count, int type,
             struct communicator *c, void *stream))
{
    return DO(NCCL_ALL_GATHER, NONE, NONE, part, whole);
}

STANDIN_OWN(int, ncclReduceScatter,
            (uintptr_t whole, uintptr_t part, size_t count, int type,
             int operation, struct communicator *c, void *stream))
{
    return DO(NCCL_REDUCE_SCATTER, operation, NONE, whole, part);
}

STANDIN_OWN(int, ncclAllReduce,
            (uintptr_t given, uintptr_t result, size_t count, int type,
             int operation, struct communicator *c, void *stream))
{
    return DO(NCCL_ALL_REDUCE, operation, NONE, given, result);
}

STANDIN_OWN(int, ncclReduce,
            (uintptr_t given, uintptr_t result, size_t count, int type,
             int operation, int root, struct communicator *c, void *stream))
{
    return DO(NCCL_REDUCE, operation, root, given, result);
}

STANDIN_OWN(int, ncclBroadcast,
            (uintptr_t given, uintptr_t result, size_t count, int type,
             int root, struct communicator *c, void *stream))
{
    return DO(NCCL_BROADCAST, NONE, root, given, result);
}

STANDIN_OWN(int, ncclBcast,
            (uintptr_t values, size_t count, int type, int root,
             struct communicator *c, void *stream))
{
    return DO(NCCL_BROADCAST, NONE, root, values, values);
}

STANDIN_OWN(int, ncclAlltoAll,
            (uintptr_t given, uintptr_t result, size_t count, int type,
             struct communicator *c, void *stream))
{
    return DO(NCCL_ALL_TO_ALL, NONE, NONE, given, result);
}

STANDIN_OWN(int, ncclGather,
            (uintptr_t part, uintptr_t whole, size_t count, int type, int root,
             struct communicator *c, void *stream))
{
    return DO(NCCL_GATHER, NONE, root, part, whole);
}

STANDIN_OWN(int, ncclScatter,
            (uintptr_t whole, uintptr_t part, size_t count, int type, int root,
             struct communicator *c, void *stream))
{
    return DO(NCCL_SCATTER, NONE, root, whole, part);
}

STANDIN_OWN(int, ncclSend,
            (uintptr_t given, size_t count, int type, int peer,
             struct communicator *c, void *stream))
{
    return DO(NCCL_SEND, NONE, peer, given, 0);
}

STANDIN_OWN(int, ncclRecv,
            (uintptr_t result, size_t count, int type, int peer,
             struct communicator *c, void *stream))
{
    return DO(NCCL_RECEIVE, NONE, peer, 0, result);
}
