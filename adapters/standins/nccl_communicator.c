/* nccl_communicator.c - communicators: the ranks of a unique ID that was
 * created here communicate; with LARDER_NCCL=alone, or a unique ID from
 * elsewhere, each knows only the number of processes and its own rank. */
#include "nccl_communicator.h"

#include <stdio.h>
#include <time.h>

#include "nccl_driver.h"
#include "nccl_operation.h"
#include "nccl_reason.h"
#include "standin.h"

STANDIN_OWN(int, ncclGetVersion, (int *out))
{
    *out = 22809;
    return NCCL_SUCCESS;
}

STANDIN_OWN(int, ncclGetUniqueId, (struct room_id * out))
{
    return room_make_id(out);
}

/* ---- making ------------------------------------------------------------- */

static bool is_alone(const struct room_id *id, int ranks)
{
    const char *setting = getenv("LARDER_NCCL");

    return ranks == 1 || !room_is_id(id) ||
           (setting != NULL && strcmp(setting, "alone") == 0);
}

static int await_rank(struct communicator *c, int rank, double until)
{
    enum { SELDOM_MS = 50 };
    uint32_t seen = room_clock(c->room);

    while (room_presence(c->room, rank) == ROOM_AWAITED) {
        if (nccl_now() > until)
            return nccl_fail(NCCL_REMOTE_ERROR,
                             "rank %d of a group of %d did not join within %g "
                             "s (LARDER_NCCL_SECONDS; with LARDER_NCCL=alone "
                             "each rank runs on its own)",
                             rank, c->ranks, nccl_limit());
        room_wait(c->room, seen, SELDOM_MS);
        seen = room_clock(c->room);
    }
    return NCCL_SUCCESS;
}

/* The file of the unique ID is closed when no more ranks need it to join. */
static int await_all(struct communicator *c, const struct room_id *id)
{
    double until = nccl_now() + nccl_limit();
    int result = NCCL_SUCCESS;

    for (int i = 0; i < c->ranks && result == NCCL_SUCCESS; i++)
        result = await_rank(c, i, until);
    room_drop_id(id);
    return result;
}

static int communicator_meet(struct communicator *c, const struct room_id *id,
                             bool waits)
{
    int result = room_join(id, c->ranks, c->rank, &c->room);

    if (result != NCCL_SUCCESS || !waits)
        return result;
    result = await_all(c, id);
    if (result != NCCL_SUCCESS)
        room_leave(c->room);
    return result;
}

static int communicator_enter(struct communicator *c, const struct room_id *id,
                              bool waits)
{
    if (c->rank < 0 || c->rank >= c->ranks)
        return nccl_fail(NCCL_INVALID_ARGUMENT,
                         "there is no rank %d in a group of %d", c->rank,
                         c->ranks);
    if (!is_alone(id, c->ranks))
        return communicator_meet(c, id, waits);
    room_drop_id(id);
    return NCCL_SUCCESS;
}

static int communicator_make(struct communicator **out, int ranks,
                             const struct room_id *id, int rank, bool waits)
{
    struct communicator *c = calloc(1, sizeof *c);
    int result;

    *out = NULL;
    if (c == NULL)
        return nccl_fail(NCCL_SYSTEM_ERROR, "out of host memory");
    *c = (struct communicator){
        .ranks = ranks, .rank = rank, .device = nccl_device()};
    result = communicator_enter(c, id, waits);
    if (result == NCCL_SUCCESS)
        *out = c;
    else
        free(c);
    return result;
}

/* In a group the other ranks may be this thread's next calls. */
static int init_rank(struct communicator **out, int ranks,
                     const struct room_id *id, int rank)
{
    return communicator_make(out, ranks, id, rank, !nccl_is_in_group());
}

STANDIN_OWN(int, ncclCommInitRank,
            (struct communicator * *out, int ranks, struct room_id id,
             int rank))
{
    return init_rank(out, ranks, &id, rank);
}

STANDIN_OWN(int, ncclCommInitRankConfig,
            (struct communicator * *out, int ranks, struct room_id id, int rank,
             void *config))
{
    (void)config;
    return init_rank(out, ranks, &id, rank);
}

/* The first of several unique IDs is used for all. */
STANDIN_OWN(int, ncclCommInitRankScalable,
            (struct communicator * *out, int ranks, int rank, int count,
             struct room_id *ids, void *config))
{
    (void)count;
    (void)config;
    return init_rank(out, ranks, ids, rank);
}

/* ---- of several devices of one process ---------------------------------- */

STANDIN_OWN(int, ncclCommDestroy, (struct communicator * c))
{
    if (c != NULL && c->room != NULL)
        room_leave(c->room);
    free(c);
    return NCCL_SUCCESS;
}

/* Threads that wait in calls of it give up, within the time of one wait. */
STANDIN_OWN(int, ncclCommAbort, (struct communicator * c))
{
    static const struct timespec nap = {.tv_nsec = 1000000};

    if (c == NULL)
        return NCCL_SUCCESS;
    atomic_store(&c->is_aborted, true);
    while (atomic_load(&c->users) != 0)
        (void)nanosleep(&nap, NULL);
    return ncclCommDestroy(c);
}

STANDIN_OWN(int, ncclCommInitAll,
            (struct communicator * *out, int count, const int *devices))
{
    struct room_id id;
    int result = room_make_id(&id);
    int i;

    for (i = 0; i < count && result == NCCL_SUCCESS; i++) {
        result = communicator_make(&out[i], count, &id, i, false);
        if (result == NCCL_SUCCESS)
            out[i]->device = devices == NULL ? i : devices[i];
    }
    while (result != NCCL_SUCCESS && i-- > 0)
        ncclCommDestroy(out[i]);
    room_drop_id(&id);
    return result;
}

/* ---- splitting ---------------------------------------------------------- */

/* The data that each rank of a group being split sends to the others. */
struct choice {
    int color;
    int key;
    struct room_id id;
};

static const struct choice *choice_of(const struct communicator *c, int rank)
{
    return room_data(c->room, rank, c->number + 1);
}

/* Ranks of one color are ordered by their keys, then by their old ranks. */
static bool is_before(const struct communicator *c, int rank, int other)
{
    int key = choice_of(c, rank)->key;
    int other_key = choice_of(c, other)->key;

    return key != other_key ? key < other_key : rank < other;
}

static int split_join(const struct communicator *c, struct communicator **out)
{
    int color = choice_of(c, c->rank)->color;
    int first = c->rank;
    int ranks = 0;
    int rank = 0;

    for (int i = 0; i < c->ranks; i++) {
        if (choice_of(c, i)->color != color)
            continue;
        ranks++;
        rank += is_before(c, i, c->rank);
        first = is_before(c, i, first) ? i : first;
    }
    return communicator_make(out, ranks, &choice_of(c, first)->id, rank, true);
}

static int split(struct communicator *c, struct choice *mine,
                 struct communicator **out)
{
    struct operation o = {
        .c = c,
        .call = {.kind = NCCL_SPLIT,
                 .type = -1,
                 .operation = -1,
                 .root = -1,
                 .count = sizeof *mine},
        .given = (uintptr_t)mine,
    };
    int result;

    atomic_fetch_add(&c->users, 1);
    result = operation_do_now(&o);
    if (result == NCCL_SUCCESS && mine->color >= 0)
        result = split_join(c, out);
    c->number++;
    atomic_fetch_sub(&c->users, 1);
    return result;
}

/* About a rank that is alone nothing else is known. */
static int split_alone(const struct communicator *c, int color,
                       struct communicator **out)
{
    if (color < 0)
        return NCCL_SUCCESS;
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return nccl_fail(NCCL_SYSTEM_ERROR, "out of host memory");
    (*out)->device = c != NULL ? c->device : -1;
    return NCCL_SUCCESS;
}

STANDIN_OWN(int, ncclCommSplit,
            (struct communicator * c, int color, int key,
             struct communicator **out, void *config))
{
    struct choice mine = {.color = color, .key = key};
    int result;

    (void)config;
    *out = NULL;
    if (c == NULL || c->room == NULL)
        return split_alone(c, color, out);
    if (c->failed != NCCL_SUCCESS)
        return nccl_fail(c->failed, "a call of this group has failed before");
    result = room_make_id(&mine.id);
    if (result != NCCL_SUCCESS)
        return result;
    result = split(c, &mine, out);
    room_drop_id(&mine.id);
    return result;
}

/* ---- asking ------------------------------------------------------------- */

STANDIN_OWN(int, ncclCommCount, (const struct communicator *c, int *out))
{
    *out = c->ranks;
    return NCCL_SUCCESS;
}

STANDIN_OWN(int, ncclCommUserRank, (const struct communicator *c, int *out))
{
    *out = c->rank;
    return NCCL_SUCCESS;
}

STANDIN_OWN(int, ncclCommCuDevice, (const struct communicator *c, int *out))
{
    *out = c->device;
    return NCCL_SUCCESS;
}

STANDIN_OWN(int, ncclCommGetAsyncError,
            (const struct communicator *c, int *out))
{
    *out = c != NULL ? c->failed : NCCL_SUCCESS;
    return NCCL_SUCCESS;
}
