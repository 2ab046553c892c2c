/* nccl_communicator.c - communicators: each knows the number of processes and
 * its own rank, and communicates with none. */
#include "nccl_communicator.h"
#include "standin.h"

_Static_assert(sizeof(struct communicator) <= STANDIN_HANDLE_BYTES,
               "a communicator is a handle");

struct unique_id {
    char bytes[128];
};

STANDIN_OWN(int, ncclGetVersion, (int *out))
{
    *out = 22809;
    return 0;
}

STANDIN_OWN(int, ncclGetUniqueId, (struct unique_id * out))
{
    memset(out, 1, sizeof *out);
    return 0;
}

static int nccl_communicator_make(struct communicator **out, int ranks,
                                  int rank)
{
    enum { SYSTEM_ERROR = 2 };

    *out = calloc(1, STANDIN_HANDLE_BYTES);
    if (*out == NULL)
        return SYSTEM_ERROR;
    (*out)->ranks = ranks;
    (*out)->rank = rank;
    return 0;
}

STANDIN_OWN(int, ncclCommInitRank,
            (struct communicator * *out, int ranks, struct unique_id id,
             int rank))
{
    (void)id;
    return nccl_communicator_make(out, ranks, rank);
}

STANDIN_OWN(int, ncclCommInitRankConfig,
            (struct communicator * *out, int ranks, struct unique_id id,
             int rank, void *config))
{
    (void)id;
    (void)config;
    return nccl_communicator_make(out, ranks, rank);
}

STANDIN_OWN(int, ncclCommInitRankScalable,
            (struct communicator * *out, int ranks, int rank, int count,
             struct unique_id *ids, void *config))
{
    (void)count;
    (void)ids;
    (void)config;
    return nccl_communicator_make(out, ranks, rank);
}

STANDIN_OWN(int, ncclCommCount, (const struct communicator *c, int *out))
{
    *out = c->ranks;
    return 0;
}

STANDIN_OWN(int, ncclCommUserRank, (const struct communicator *c, int *out))
{
    *out = c->rank;
    return 0;
}

STANDIN_OWN(int, ncclCommDestroy, (struct communicator * c))
{
    free(c);
    return 0;
}
