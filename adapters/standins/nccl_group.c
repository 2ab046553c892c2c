/* nccl_group.c - grouped operations: calls between ncclGroupStart() and
 * ncclGroupEnd() are done at the end, each as far as possible while others
 * wait.
 *
 * A call returns when its operation is done, so that the program's next copy
 * finds the values.  NCCL returns when it is queued. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nccl_driver.h"
#include "nccl_operation.h"
#include "nccl_reason.h"
#include "standin.h"

struct pending {
    struct operation *list;
    size_t count;
    size_t capacity;
};

static _Thread_local struct pending group;
static _Thread_local int depth;

double nccl_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

double nccl_limit(void)
{
    enum { SECONDS = 600 };
    const char *text = getenv("LARDER_NCCL_SECONDS");
    double limit = text == NULL ? 0 : strtod(text, NULL);

    return limit > 0 ? limit : SECONDS;
}

/* ---- order -------------------------------------------------------------- */

/* Whether one waits for the other: collectives of a communicator, and messages
 * from or to the same rank, are done in order. */
static bool is_behind(const struct operation *o, const struct operation *before)
{
    bool is_message = o->call.kind == NCCL_SEND || o->call.kind == NCCL_RECEIVE;
    bool is_other_message =
        before->call.kind == NCCL_SEND || before->call.kind == NCCL_RECEIVE;

    if (before->is_done || o->c != before->c || is_message != is_other_message)
        return false;
    return !is_message || (o->call.kind == before->call.kind &&
                           o->call.root == before->call.root);
}

static bool is_next(const struct pending *p, size_t i)
{
    for (size_t j = 0; j < i; j++) {
        if (is_behind(&p->list[i], &p->list[j]))
            return false;
    }
    return true;
}

/* ---- who does not come -------------------------------------------------- */

static int awaited_is_gone(const struct operation *o, int rank, bool is_late)
{
    const char *name = operation_name((enum nccl_kind)o->call.kind);
    enum room_presence presence = room_presence(o->c->room, rank);

    if (presence == ROOM_DIED)
        return nccl_fail(NCCL_REMOTE_ERROR,
                         "%s waits for rank %d, whose process is gone", name,
                         rank);
    if (presence == ROOM_LEFT)
        return nccl_fail(NCCL_REMOTE_ERROR,
                         "%s waits for rank %d, which has left the group", name,
                         rank);
    if (!is_late)
        return NCCL_SUCCESS;
    return nccl_fail(
        NCCL_REMOTE_ERROR,
        "%s waits for rank %d, which %s within %g s (LARDER_NCCL_SECONDS; with "
        "LARDER_NCCL=alone each rank runs on its own)",
        name, rank, presence == ROOM_IN ? "did not call it" : "did not join",
        nccl_limit());
}

/* Data that a rank posted before it left may have arrived in the meantime. */
static int awaited_check(struct operation *o, bool is_late)
{
    int rank = operation_awaited(o);
    int result;

    if (rank < 0 || (!is_late && room_presence(o->c->room, rank) <= ROOM_IN))
        return NCCL_SUCCESS;
    result = operation_step(o);
    if (result != NCCL_SUCCESS || o->is_done || operation_awaited(o) < 0)
        return result;
    return awaited_is_gone(o, operation_awaited(o), is_late);
}

/* ---- doing them --------------------------------------------------------- */

static int aborted(const struct operation *o)
{
    return nccl_fail(NCCL_SYSTEM_ERROR, "%s: the group was aborted",
                     operation_name((enum nccl_kind)o->call.kind));
}

/* Advance each operation that is next by one step.  *waiting: one that is not
 * done. */
static int pass(struct pending *p, struct operation **waiting, bool *has_moved)
{
    *waiting = NULL;
    *has_moved = false;
    for (size_t i = 0; i < p->count; i++) {
        struct operation *o = &p->list[i];
        int result;

        if (o->is_done || !is_next(p, i))
            continue;
        result =
            atomic_load(&o->c->is_aborted) ? aborted(o) : operation_step(o);
        if (result != NCCL_SUCCESS) {
            o->c->failed = result;
            return result;
        }
        *has_moved = *has_moved || o->is_done;
        if (!o->is_done && *waiting == NULL)
            *waiting = o;
    }
    return NCCL_SUCCESS;
}

/* Wait until something is posted in the room of one of them, or a timeout:
 * others may be in other rooms. */
static int wait_a_while(struct operation *o, uint32_t seen, double until,
                        bool is_only)
{
    enum { OFTEN_MS = 1, SELDOM_MS = 50 };
    int result;

    room_wait(o->c->room, seen, is_only ? SELDOM_MS : OFTEN_MS);
    result = awaited_check(o, nccl_now() > until);
    if (result != NCCL_SUCCESS)
        o->c->failed = result;
    return result;
}

/* While they are counted no communicator ends. */
static void count_users(const struct pending *p, int change)
{
    for (size_t i = 0; i < p->count; i++)
        atomic_fetch_add(&p->list[i].c->users, change);
}

static int pending_do(struct pending *p)
{
    double until = nccl_now() + nccl_limit();
    void *context = nccl_context();
    struct operation *waiting = p->count > 0 ? &p->list[0] : NULL;
    bool has_moved;
    int result = NCCL_SUCCESS;

    count_users(p, 1);
    while (waiting != NULL && result == NCCL_SUCCESS) {
        const struct operation *before = waiting;
        uint32_t seen = room_clock(before->c->room);

        result = pass(p, &waiting, &has_moved);
        if (result == NCCL_SUCCESS && waiting == before && !has_moved)
            result = wait_a_while(waiting, seen, until, p->count == 1);
    }
    count_users(p, -1);
    nccl_set_context(context);
    return result;
}

/* ---- groups ------------------------------------------------------------- */

static int group_keep(const struct operation *o)
{
    if (group.count == group.capacity) {
        size_t capacity = group.capacity == 0 ? 16 : 2 * group.capacity;
        struct operation *list = realloc(group.list, capacity * sizeof *list);

        if (list == NULL)
            return nccl_fail(NCCL_SYSTEM_ERROR, "out of host memory");
        group.list = list;
        group.capacity = capacity;
    }
    group.list[group.count++] = *o;
    return NCCL_SUCCESS;
}

int operation_do_now(struct operation *o)
{
    struct pending one = {.list = o, .count = 1};

    o->context = nccl_context();
    return pending_do(&one);
}

/* A captured stream runs nothing, nor do the graphs that are made of it. */
int operation_do(const struct operation *o)
{
    struct operation copy = *o;

    if (o->c == NULL || o->c->room == NULL || nccl_is_captured(o->stream))
        return operation_alone(o);
    if (o->c->failed != NCCL_SUCCESS)
        return nccl_fail(o->c->failed,
                         "a call of this group has failed before");
    if (depth == 0)
        return operation_do_now(&copy);
    copy.context = nccl_context();
    return group_keep(&copy);
}

bool nccl_is_in_group(void)
{
    return depth > 0;
}

STANDIN_OWN(int, ncclGroupStart, (void))
{
    depth++;
    return NCCL_SUCCESS;
}

STANDIN_OWN(int, ncclGroupEnd, (void))
{
    struct pending all = group;
    int result;

    if (depth == 0)
        return nccl_fail(NCCL_INVALID_USAGE,
                         "ncclGroupEnd() without ncclGroupStart()");
    if (--depth > 0)
        return NCCL_SUCCESS;
    group = (struct pending){0};
    result = pending_do(&all);
    free(all.list);
    return result;
}
