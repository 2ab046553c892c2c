/* nccl_meeting.c - operations of communicating ranks: each posts its call and,
 * if they are small, its values; then it takes what it needs from the others.
 *
 * For large values only the calls are compared, and the result is as if the
 * others held the same values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_driver.h"
#include "nccl_operation.h"
#include "nccl_reason.h"
#include "nccl_value.h"

const char *operation_name(enum nccl_kind kind)
{
    static const char *const names[] = {
        "ncclAllGather", "ncclAllReduce", "ncclReduce", "ncclReduceScatter",
        "ncclBroadcast", "ncclAlltoAll",  "ncclGather", "ncclScatter",
        "ncclCommSplit", "ncclSend",      "ncclRecv",
    };

    return names[kind];
}

size_t operation_part(const struct operation *o)
{
    return o->call.kind == NCCL_SPLIT
               ? o->call.count
               : o->call.count * nccl_type_bytes(o->call.type);
}

/* ---- sizes -------------------------------------------------------------- */

static bool is_root(const struct operation *o)
{
    return o->c->rank == o->call.root;
}

/* Whether a contributing rank contributes one part for each rank. */
static bool gives_all_parts(const struct operation *o)
{
    return o->call.kind == NCCL_REDUCE_SCATTER ||
           o->call.kind == NCCL_ALL_TO_ALL || o->call.kind == NCCL_SCATTER;
}

static size_t most_given(const struct operation *o)
{
    return operation_part(o) * (size_t)(gives_all_parts(o) ? o->c->ranks : 1);
}

/* The same on all ranks, as it depends only on the call. */
static bool is_small(const struct operation *o)
{
    return most_given(o) <= ROOM_SMALL;
}

static size_t given_bytes(const struct operation *o)
{
    bool is_of_root =
        o->call.kind == NCCL_BROADCAST || o->call.kind == NCCL_SCATTER;

    return !is_small(o) || (is_of_root && !is_root(o)) ? 0 : most_given(o);
}

/* Copy the contribution to host memory. */
static int take_given(const struct operation *o, void *to, size_t bytes)
{
    int result;

    if (bytes == 0)
        return NCCL_SUCCESS;
    if (o->call.kind == NCCL_SPLIT) {
        memcpy(to, (const void *)o->given, bytes);
        return NCCL_SUCCESS;
    }
    result = nccl_copy((uintptr_t)to, o->given, bytes, o->stream);
    return result == NCCL_SUCCESS ? nccl_synchronize(o->stream) : result;
}

static int put(const struct operation *o, size_t at, const void *from,
               size_t bytes)
{
    return nccl_copy(o->result + at, (uintptr_t)from, bytes, o->stream);
}

/* ---- results ------------------------------------------------------------ */

static const char *part_of(const struct operation *o, int rank, size_t at)
{
    return (const char *)room_data(o->c->room, rank, o->c->number + 1) + at;
}

/* All ranks' parts, one after the other; `at`: where a rank's part is in what
 * it gave. */
static int put_parts(const struct operation *o, size_t at)
{
    size_t bytes = operation_part(o);
    int result = NCCL_SUCCESS;

    for (int i = 0; i < o->c->ranks && result == NCCL_SUCCESS; i++)
        result = put(o, (size_t)i * bytes, part_of(o, i, at), bytes);
    return result;
}

/* Values that are not reduced stay what this rank gave. */
static int put_reduced(const struct operation *o, size_t at)
{
    const struct room_call *call = &o->call;
    size_t bytes = operation_part(o);
    char *to = malloc(bytes + 1);
    int result;

    if (to == NULL)
        return nccl_fail(NCCL_SYSTEM_ERROR, "out of host memory");
    if (nccl_is_reduced(call->type, call->operation)) {
        memcpy(to, part_of(o, 0, at), bytes);
        for (int i = 1; i < o->c->ranks; i++)
            nccl_fold(to, part_of(o, i, at), call->count, call->type,
                      call->operation);
        nccl_fold_end(to, call->count, call->type, call->operation,
                      o->c->ranks);
    } else {
        memcpy(to, part_of(o, o->c->rank, at), bytes);
    }
    result = put(o, 0, to, bytes);
    if (result == NCCL_SUCCESS)
        result = nccl_synchronize(o->stream);
    free(to);
    return result;
}

static int put_result(const struct operation *o)
{
    size_t bytes = operation_part(o);
    size_t mine = (size_t)o->c->rank * bytes;

    switch ((enum nccl_kind)o->call.kind) {
    case NCCL_ALL_GATHER:
        return put_parts(o, 0);
    case NCCL_GATHER:
        return is_root(o) ? put_parts(o, 0) : NCCL_SUCCESS;
    case NCCL_ALL_TO_ALL:
        return put_parts(o, mine);
    case NCCL_ALL_REDUCE:
        return put_reduced(o, 0);
    case NCCL_REDUCE:
        return is_root(o) ? put_reduced(o, 0) : NCCL_SUCCESS;
    case NCCL_REDUCE_SCATTER:
        return put_reduced(o, mine);
    case NCCL_BROADCAST:
        return put(o, 0, part_of(o, o->call.root, 0), bytes);
    case NCCL_SCATTER:
        return put(o, 0, part_of(o, o->call.root, mine), bytes);
    default: /* the caller takes it */
        return NCCL_SUCCESS;
    }
}

/* ---- collectives -------------------------------------------------------- */

static bool is_same(const struct room_call *a, const struct room_call *b)
{
    return a->kind == b->kind && a->type == b->type &&
           a->operation == b->operation && a->root == b->root &&
           a->count == b->count;
}

static void call_print(const struct room_call *call, char *out, size_t size)
{
    const char *name = operation_name((enum nccl_kind)call->kind);
    char more[64] = "";

    if (call->operation >= 0)
        snprintf(more, sizeof more, ", %s",
                 nccl_operation_name(call->operation));
    else if (call->root >= 0)
        snprintf(more, sizeof more, ", root %d", call->root);
    snprintf(out, size, "%s (%llu of %s%s)", name,
             (unsigned long long)call->count, nccl_type_name(call->type), more);
}

static int differs(const struct operation *o, int rank,
                   const struct room_call *theirs)
{
    char mine[128];
    char other[128];

    call_print(&o->call, mine, sizeof mine);
    call_print(theirs, other, sizeof other);
    return nccl_fail(NCCL_INVALID_USAGE,
                     "the ranks of a group call different operations as number "
                     "%llu: rank %d %s, rank %d %s",
                     (unsigned long long)o->c->number + 1, o->c->rank, mine,
                     rank, other);
}

static int post(struct operation *o)
{
    uint64_t number = o->c->number + 1;
    int result = take_given(o, room_place(o->c->room, number), given_bytes(o));

    if (result != NCCL_SUCCESS)
        return result;
    room_post(o->c->room, number, &o->call);
    o->is_posted = true;
    return NCCL_SUCCESS;
}

/* Whether all have called the same. */
static int compare(const struct operation *o, bool *have_all)
{
    *have_all = true;
    for (int i = 0; i < o->c->ranks; i++) {
        const struct room_call *theirs =
            room_posted(o->c->room, i, o->c->number + 1);

        if (theirs != NULL && !is_same(theirs, &o->call))
            return differs(o, i, theirs);
        *have_all = *have_all && theirs != NULL;
    }
    return NCCL_SUCCESS;
}

static int finish(struct operation *o)
{
    int result;

    if (o->call.kind == NCCL_SPLIT) /* the caller takes it, and counts it */
        result = NCCL_SUCCESS;
    else if (!is_small(o))
        result = operation_alone(o);
    else if ((result = put_result(o)) == NCCL_SUCCESS)
        result = nccl_synchronize(o->stream);
    o->c->number += o->call.kind != NCCL_SPLIT;
    o->is_done = true;
    return result;
}

static int collective_step(struct operation *o)
{
    bool have_all;
    int result = o->is_posted ? NCCL_SUCCESS : post(o);

    if (result == NCCL_SUCCESS)
        result = compare(o, &have_all);
    if (result != NCCL_SUCCESS || !have_all)
        return result;
    return finish(o);
}

/* ---- messages ----------------------------------------------------------- */

static int send_step(struct operation *o)
{
    void *place = room_message_place(o->c->room, o->call.root);
    int result;

    if (place == NULL)
        return NCCL_SUCCESS;
    result = take_given(o, place, given_bytes(o));
    if (result != NCCL_SUCCESS)
        return result;
    room_send(o->c->room, o->call.root, &o->call);
    o->is_done = true;
    return NCCL_SUCCESS;
}

static int receive_step(struct operation *o)
{
    int from = o->call.root;
    const struct room_call *theirs = room_message(o->c->room, from);
    int result = NCCL_SUCCESS;

    if (theirs == NULL)
        return NCCL_SUCCESS;
    if (theirs->count != o->call.count || theirs->type != o->call.type)
        return nccl_fail(NCCL_INVALID_USAGE,
                         "rank %d sends %llu of %s, and rank %d receives %llu "
                         "of %s",
                         from, (unsigned long long)theirs->count,
                         nccl_type_name(theirs->type), o->c->rank,
                         (unsigned long long)o->call.count,
                         nccl_type_name(o->call.type));
    if (is_small(o))
        result =
            put(o, 0, room_message_data(o->c->room, from), operation_part(o));
    if (result == NCCL_SUCCESS && is_small(o))
        result = nccl_synchronize(o->stream);
    room_received(o->c->room, from);
    o->is_done = true;
    return result;
}

/* ---- both --------------------------------------------------------------- */

int operation_step(struct operation *o)
{
    nccl_set_context(o->context);
    if (o->call.kind == NCCL_SEND)
        return send_step(o);
    return o->call.kind == NCCL_RECEIVE ? receive_step(o) : collective_step(o);
}

int operation_awaited(const struct operation *o)
{
    if (o->call.kind == NCCL_SEND || o->call.kind == NCCL_RECEIVE)
        return o->call.root;
    for (int i = 0; i < o->c->ranks; i++) {
        if (room_posted(o->c->room, i, o->c->number + 1) == NULL)
            return i;
    }
    return -1;
}
