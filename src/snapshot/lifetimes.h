/* lifetimes.h - what lived from when to when, worked out of a snapshot.
 *
 * A snapshot has events and the state at their end.  Going through the events
 * gives most lifetimes; what was freed without having been allocated must have
 * been there before the recording began, and so must what stands in the final
 * state without an allocation.  That is the state at the beginning, rolled
 * back, as far as the file tells.
 *
 * Times are event numbers of the device: 0 is the first that was recorded.
 * State k is the state after k events.  What event s made and event e ended
 * was there in states s + 1 to e. */
#ifndef LARDER_SNAPSHOT_LIFETIMES_H
#define LARDER_SNAPSHOT_LIFETIMES_H

#include "snapshot/snapshot.h"

/* `start` of what was there before the first event.  Adding 1 gives state 0. */
#define LIFETIME_BEFORE UINT32_MAX

/* One allocation. */
struct lifetime {
    uint64_t address;
    uint64_t requested; /* bytes */
    uint64_t rounded;   /* bytes of its block, as far as that is known */
    uint32_t start;     /* event, or LIFETIME_BEFORE */
    uint32_t end;       /* event that freed it; event_count: none did;
                         * LIFETIME_BEFORE: freed before the recording, and
                         * only waiting for its streams in it */
    uint32_t done;      /* event from which its place could be reused */
    uint32_t stack;
    uint32_t stream;
    uint32_t pool;
    uint32_t user_metadata; /* string */
};

enum span_kind { SPAN_SMALL, SPAN_LARGE, SPAN_EXPANDABLE };

/* A segment, or a mapped piece of an expandable one. */
struct segment_span {
    uint64_t address;
    uint64_t size;
    uint32_t start; /* as above */
    uint32_t end;
    uint32_t stack;
    uint32_t stream;
    uint32_t pool;
    uint8_t kind; /* enum span_kind */
};

struct lifetimes {
    const struct snapshot *snapshot; /* not owned */
    size_t device;
    const struct snapshot_event *events; /* the device's */
    uint32_t event_count;

    struct lifetime *allocs; /* by start, those from before first */
    size_t alloc_count;
    size_t before_count;        /* of allocs */
    struct segment_span *spans; /* in no order */
    size_t span_count;

    /* What does not fit together, as in a ring that lost events. */
    uint64_t overwritten; /* allocations where one was alive */
    uint64_t unmatched;   /* frees of what was freed already */
};

/* Work out the lifetimes of the device number `device` of a snapshot (an index
 * of snapshot.devices, or below the highest device of a segment).  The
 * snapshot has to stay.  False: no host memory.
 * Cost: a pass over the events, 56 bytes an allocation. */
bool lifetimes_make(const struct snapshot *s, size_t device,
                    struct lifetimes *out, struct tool_error *error);

/* Release what lifetimes_make() filled in; also after it failed. */
void lifetimes_free(struct lifetimes *l);

/* How many devices there are: with a list of events, or a segment. */
size_t lifetimes_device_count(const struct snapshot *s);

/* A request rounded as the recorded settings say (512 bytes and
 * roundup_power2_divisions). */
uint64_t lifetimes_round(const struct snapshot_settings *settings,
                         uint64_t bytes);

/* The first event not before a time, event_count if there is none: a binary
 * search. */
uint32_t lifetimes_event_at(const struct lifetimes *l, int64_t time_us);

/* Bytes after each event: values[k] in state k, event_count + 1 of them. */
enum lifetime_curve { CURVE_REQUESTED, CURVE_ALLOCATED, CURVE_RESERVED };
void lifetimes_curve(const struct lifetimes *l, enum lifetime_curve which,
                     uint64_t *values);

#endif
