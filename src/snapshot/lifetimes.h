/* lifetimes.h - when each allocation of a snapshot lived.
 *
 * A snapshot contains events and the state after them.  Most lifetimes follow
 * from the events.  An allocation that was freed without having been allocated
 * must have existed before the recording began, and so must a block of the
 * final state without an allocation.  This restores the state at the beginning,
 * as far as the file allows.
 *
 * Times are event numbers of the device: 0 is the first recorded event.  State
 * k is the state after k events.  What event s created and event e ended exists
 * in states s + 1 to e. */
#pragma once

#include "snapshot/snapshot.h"
#include "trace/arena.h"

/* `start` of allocations from before the first event.  Adding 1 gives state
 * 0. */
#define LIFETIME_BEFORE UINT32_MAX

/* One allocation. */
struct lifetime {
    uint64_t address;
    uint64_t requested; /* bytes */
    uint64_t rounded;   /* size of its block, if known */
    uint32_t start;     /* event, or LIFETIME_BEFORE */
    /* Event that freed it; event_count: none did; LIFETIME_BEFORE: freed before
     * the recording, and only pending during it. */
    uint32_t end;
    uint32_t done; /* event from which the place was reusable */
    uint32_t stack;
    uint32_t stream;
    uint32_t pool;
    uint32_t user_metadata; /* string */
};

/* Whether what event `start` created exists in a state. */
static inline bool lifetime_began(uint32_t start, uint32_t state)
{
    return start == LIFETIME_BEFORE || start < state;
}

/* Whether it is in use in a state, and not only pending. */
static inline bool lifetime_in_use(const struct lifetime *a, uint32_t state)
{
    return lifetime_began(a->start, state) && a->end != LIFETIME_BEFORE &&
           a->end >= state;
}

enum span_kind { SPAN_SMALL, SPAN_LARGE, SPAN_EXPANDABLE };

/* A segment, or a mapped part of an expandable one. */
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

    struct lifetime *allocs; /* by start; those from before come first */
    size_t alloc_count;
    size_t before_count;        /* of allocs */
    struct segment_span *spans; /* in no order */
    size_t span_count;

    /* Contradictions, as in a ring that lost events. */
    uint64_t overwritten; /* allocations at live addresses */
    uint64_t unmatched;   /* frees of freed addresses */
};

/* Determine the lifetimes of device number `device` (an index of
 * snapshot.devices, or at most the highest device of a segment).  The snapshot
 * must stay valid.  False: no host memory.  Cost: one pass over the events, 56
 * bytes for each allocation. */
bool lifetimes_make(const struct snapshot *s, size_t device,
                    struct lifetimes *out, struct tool_error *error);

/* The same in an arena, which fails where the call would. */
const struct lifetimes *lifetimes_take(struct arena *arena,
                                       const struct snapshot *s, size_t device);

/* Free what lifetimes_make() filled in, also after it failed. */
void lifetimes_free(struct lifetimes *l);

/* The number of devices that have a list of events or a segment. */
size_t lifetimes_device_count(const struct snapshot *s);

/* A request's size rounded as the recorded settings say (512 bytes and
 * roundup_power2_divisions). */
uint64_t lifetimes_round(const struct snapshot_settings *settings,
                         uint64_t bytes);

/* Order allocation numbers by address.  What the arena gave for it is freed. */
void lifetimes_by_address(struct arena *arena, const struct lifetimes *l,
                          uint32_t *numbers, size_t count);

/* The first event not before a time, by binary search; event_count: none. */
uint32_t lifetimes_event_at(const struct lifetimes *l, int64_t time_us);

/* The last OOM event before another; UINT32_MAX: there is none. */
uint32_t lifetimes_failure(const struct lifetimes *l, uint32_t before);

/* Bytes after each event: values[k] is for state k, with event_count + 1
 * values. */
enum lifetime_curve { CURVE_REQUESTED, CURVE_ALLOCATED, CURVE_RESERVED };
void lifetimes_curve(const struct lifetimes *l, enum lifetime_curve which,
                     uint64_t *values);

/* The most bytes, and the first state with them.  What the arena gave for it is
 * freed. */
uint64_t lifetimes_peak(struct arena *arena, const struct lifetimes *l,
                        enum lifetime_curve which, uint32_t *state);
