/* recording.h - what happened: a ring of events, and what is known of live
 * blocks and segments.  Private to core.
 *
 * An allocator without one has a NULL pointer, and each place that would
 * record something tests it.  A snapshot that is being written keeps the
 * texts and stacks of a history that was stopped meanwhile. */
#ifndef LARDER_CORE_RECORDING_H
#define LARDER_CORE_RECORDING_H

#include <stdatomic.h>

#include <larder/history.h>

#include "base/ticks.h"
#include "core/history/annotation.h"
#include "core/history/stack_table.h"
#include "core/state/allocator.h"

enum { EVENT_ACTION_BITS = 4, MARKS_MAX = 4096 };

struct history_event {
    uint64_t addr; /* oom: what the device had free */
    uint64_t bytes;
    larder_stream stream;
    uint64_t when; /* ticks << EVENT_ACTION_BITS | action */
    uint32_t stack;
    uint16_t annotation;
    uint16_t pool; /* in pool_ids */
};

static_assert(sizeof(struct history_event) == 40, "compact");

static inline larder_action event_action(const struct history_event *e)
{
    return (larder_action)(e->when & ((1u << EVENT_ACTION_BITS) - 1));
}

static inline uint64_t event_ticks(const struct history_event *e)
{
    return e->when >> EVENT_ACTION_BITS;
}

/* A moment with a name. */
struct history_mark {
    uint64_t ticks;
    uint16_t text;
};

/* What is known of a header's block, and, for a segment's first header, of
 * the segment. */
struct block_note {
    uint32_t stack;
    uint32_t segment_stack;
    uint16_t annotation;
};

struct history {
    atomic_uint users; /* the allocator, and snapshots being written */
    larder_history_options options;
    struct ticks_clock clock;
    uint64_t last_ticks; /* ticks of events never go back */

    struct history_event *ring;
    uint64_t capacity;
    uint64_t next;     /* where the next event goes */
    uint64_t recorded; /* ever, or since it was cleared */
    uint64_t missed;   /* for lack of memory */

    struct stack_table stacks; /* without words if stacks are off */
    struct text_table texts;
    struct history_mark *marks; /* a ring */
    uint64_t mark_count;
    uint64_t lost_notes;

    larder_pool_id *pool_ids; /* of number 1, 2, ...; 0: the default pool */
    uint32_t pool_count;
    uint32_t pool_capacity;

    struct block_note *notes[SLAB_CHUNKS]; /* chunks as the slab's */
};

/* ---- making --------------------------------------------------------------- */

/* Replace the allocator's history; ERR_NO_HOST_MEMORY leaves it as it was. */
larder_result larder__history_begin(struct allocator *a,
                                    const larder_history_options *options);
void larder__history_end(struct allocator *a);

/* Whether options make sense; fills in the defaults. */
larder_result larder__history_options(const larder_history_options *opt,
                                      larder_history_options *out);

/* One user less; takes NULL. */
void larder__history_drop(struct history *h);

/* ---- recording ------------------------------------------------------------ */

/* A public call has begun: its events have one stack, without the library's
 * own frames above `caller`. */
static inline void history_enter(struct allocator *a, const void *caller)
{
    if (__builtin_expect(a->history != NULL, 0))
        a->call = (struct history_call){.caller = caller};
}

/* A callback may have made calls: the stack is to be taken again. */
static inline void history_reenter(struct allocator *a,
                                   struct history_call call)
{
    a->call = (struct history_call){.caller = call.caller};
}

void larder__history_record(struct allocator *a, larder_action action,
                            uint64_t addr, uint64_t bytes, larder_stream stream,
                            struct private_pool *owner);

/* Now; never before the event or mark last recorded. */
uint64_t larder__history_ticks(struct history *h);

/* Record it, and note where the block, or the segment, came from. */
void larder__history_alloc(struct allocator *a, const struct block *b);
void larder__history_segment(struct allocator *a, const struct segment *s,
                             uint64_t addr, uint64_t bytes,
                             larder_action action);

static inline void history_alloc(struct allocator *a, const struct block *b)
{
    if (__builtin_expect(a->history != NULL, 0))
        larder__history_alloc(a, b);
}

/* A segment came, or this range of it was mapped. */
static inline void history_segment(struct allocator *a, const struct segment *s,
                                   larder_addr addr, uint64_t bytes,
                                   larder_action action)
{
    if (a->history != NULL)
        larder__history_segment(a, s, addr, bytes, action);
}

/* An event of the block, or of a range of its segment. */
static inline void history_range(struct allocator *a, larder_action action,
                                 const struct segment *s, larder_addr addr,
                                 uint64_t bytes)
{
    if (__builtin_expect(a->history != NULL, 0))
        larder__history_record(a, action, addr, bytes, s->heap->stream,
                               s->heap->pool->owner);
}

/* ---- looking -------------------------------------------------------------- */

/* Events in the ring. */
static inline uint64_t history_count(const struct history *h)
{
    return h->recorded < h->capacity ? h->recorded : h->capacity;
}

/* The i-th of them, the oldest first. */
static inline const struct history_event *history_at(const struct history *h,
                                                     uint64_t i)
{
    uint64_t first = h->recorded < h->capacity ? 0 : h->next;

    larder__assert(i < history_count(h));
    return &h->ring[(first + i) % h->capacity];
}

/* The note of a header, or NULL. */
struct block_note *larder__history_note(const struct history *h,
                                        uint32_t number);

#endif
