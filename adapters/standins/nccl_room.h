/* nccl_room.h - the room in which a communicator's ranks meet: memory that
 * their processes share.
 *
 * It is a file without a name, which the process that made the identity has
 * open until all ranks are in: nothing is left behind, whoever dies.  A rank
 * that posts something never waits; what others have posted is polled. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { ROOM_ID_BYTES = 128, ROOM_RANKS = 1024 };

/* Most bytes that are exchanged: of what is longer only the call is known. */
enum { ROOM_SMALL = 1 << 16 };

struct room_id {
    char bytes[ROOM_ID_BYTES];
};

/* What a rank calls, as the others see it. */
struct room_call {
    int kind;
    int type;
    int operation;
    int root;
    uint64_t count;
};

struct room;

/* ncclResult_t; the reason of a failure is kept for nccl_reason(). */
int room_make_id(struct room_id *out);
/* Whether room_make_id() made it, in any process. */
bool room_is_id(const struct room_id *id);
int room_join(const struct room_id *id, int ranks, int rank, struct room **out);
void room_leave(struct room *room);
/* Give an identity up that nobody needs any longer, or not yet. */
void room_drop_id(const struct room_id *id);

enum room_presence { ROOM_AWAITED, ROOM_IN, ROOM_LEFT, ROOM_DIED };
enum room_presence room_presence(const struct room *room, int rank);

/* Changes with everything that is posted; waits until it is no longer `seen`,
 * or for so many milliseconds. */
uint32_t room_clock(const struct room *room);
void room_wait(struct room *room, uint32_t seen, int ms);

/* Collectives, numbered from 1.  Each rank posts number n after it is done with
 * n - 1: so what was posted stays until the reader posts n + 1.  First the data
 * go to the place, then the call is posted. */
void *room_place(struct room *room, uint64_t number);
void room_post(struct room *room, uint64_t number,
               const struct room_call *call);
/* NULL: not yet. */
const struct room_call *room_posted(const struct room *room, int rank,
                                    uint64_t number);
const void *room_data(const struct room *room, int rank, uint64_t number);

/* Messages to one rank, in order.  NULL: there is no place until it has
 * received some; there is none yet. */
void *room_message_place(struct room *room, int to);
void room_send(struct room *room, int to, const struct room_call *call);
const struct room_call *room_message(const struct room *room, int from);
const void *room_message_data(const struct room *room, int from);
void room_received(struct room *room, int from);

#pragma GCC visibility pop
