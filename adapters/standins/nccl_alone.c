/* nccl_alone.c - operations with a single process present: the result is as if
 * all others held the same data, except that reductions leave values unchanged,
 * and that nothing comes from others. */
#include "nccl_driver.h"
#include "nccl_operation.h"
#include "nccl_reason.h"

static int gather(const struct operation *o, size_t bytes, int ranks)
{
    int result = NCCL_SUCCESS;

    for (int i = 0; i < ranks && result == NCCL_SUCCESS; i++)
        result = nccl_copy(o->result + (size_t)i * bytes, o->given, bytes,
                           o->stream);
    return result;
}

int operation_alone(const struct operation *o)
{
    const struct communicator *c = o->c;
    size_t bytes = operation_part(o);
    int ranks = c != NULL && c->ranks > 0 ? c->ranks : 1;
    int rank = c != NULL ? c->rank : 0;

    switch ((enum nccl_kind)o->call.kind) {
    case NCCL_ALL_GATHER:
        return gather(o, bytes, ranks);
    case NCCL_REDUCE_SCATTER:
        return nccl_copy(o->result, o->given + (size_t)rank * bytes, bytes,
                         o->stream);
    case NCCL_ALL_REDUCE:
        return nccl_copy(o->result, o->given, bytes, o->stream);
    case NCCL_REDUCE:
    case NCCL_BROADCAST:
        return c != NULL && rank != o->call.root
                   ? NCCL_SUCCESS
                   : nccl_copy(o->result, o->given, bytes, o->stream);
    default:
        return NCCL_SUCCESS;
    }
}
