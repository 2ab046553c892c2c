/* recording.h - the history: a ring of events, and notes on live blocks and
 * segments.  Private to core.
 *
 * Without a history the allocator's pointer is NULL, and every place that would
 * record something tests it.  A snapshot that is being written keeps the texts
 * and stacks of a history that was stopped meanwhile. */
#pragma once

#include <stdatomic.h>

#include <larder/history.h>

#include "base/ticks.h"
#include "core/history/history_tables.h"
#include "core/state/allocator.h"

enum { EVENT_ACTION_BITS = 4, MARKS_MAX = 4096 };

struct history_event {
    uint64_t addr; /* oom: free bytes on the device */
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

/* A named moment. */
struct history_mark {
    uint64_t ticks;
    uint16_t text;
};

/* A note on the block of a header. */
struct block_note {
    uint32_t stack;
    uint16_t annotation;
};

struct history {
    atomic_uint users; /* the allocator and snapshots being written */
    larder_history_options options;
    struct ticks_clock clock;
    uint64_t last_ticks; /* so that ticks of events never decrease */

    struct history_event *ring;
    uint64_t capacity;
    uint64_t next;     /* index of the next event */
    uint64_t recorded; /* in all, or since the last clear */
    uint64_t missed;   /* for lack of host memory */

    struct stack_table stacks; /* empty if stacks are off */
    struct text_table texts;
    struct history_mark *marks; /* ring */
    uint64_t mark_count;
    uint64_t lost_notes;

    larder_pool_id *pool_ids; /* of numbers 1, 2, ...; 0: the default pool */
    size_t pool_count;
    size_t pool_capacity;

    struct block_note *notes[SLAB_CHUNKS]; /* chunked like the slab */
};

/* ---- creating ------------------------------------------------------------- */

/* In two steps: make a history, which larder__history_drop() destroys, and have
 * the allocator use it instead of its own.  NULL: no host memory, and none. */
struct history *larder__history_make(const larder_history_options *options);
void larder__history_use(struct allocator *a, struct history *made);

/* Replace the allocator's history.  On ERR_NO_HOST_MEMORY it is unchanged. */
larder_result larder__history_begin(struct allocator *a,
                                    const larder_history_options *options);
void larder__history_end(struct allocator *a);

/* Check the options and fill in defaults. */
larder_result larder__history_options(const larder_history_options *opt,
                                      larder_history_options *out);

/* Drop one reference; accepts NULL. */
void larder__history_drop(struct history *h);

/* ---- recording ------------------------------------------------------------ */

/* Begin a public call: its events share one stack, without the library's own
 * frames above `caller`, its return address.  NULL: what follows is no call's
 * doing, and its events have no stack. */
static inline void history_enter(struct allocator *a, const void *caller)
{
    if (__builtin_expect(a->history != NULL, 0))
        a->call = (struct history_call){.caller = caller};
}

/* A callback may have made calls of its own: capture the stack again. */
static inline void history_reenter(struct allocator *a,
                                   struct history_call call)
{
    a->call = (struct history_call){.caller = call.caller};
}

/* Record an event, unless the options skip its action.  There is a history, and
 * the thread holds all locks or the shards' common one.  `owner`: the private
 * pool it concerns; NULL: none. */
void larder__history_record(struct allocator *a, larder_action action,
                            uint64_t addr, uint64_t bytes, larder_stream stream,
                            struct private_pool *owner);

/* The current time, not before the last event or mark. */
uint64_t larder__history_ticks(struct history *h);

/* Record the event, and note the origin of the block or segment. */
void larder__history_alloc(struct allocator *a, const struct block *b);
void larder__history_segment(struct allocator *a, struct segment *s,
                             uint64_t addr, uint64_t bytes,
                             larder_action action);

static inline void history_alloc(struct allocator *a, const struct block *b)
{
    if (__builtin_expect(a->history != NULL, 0))
        larder__history_alloc(a, b);
}

/* A segment was acquired, or this range of it was mapped. */
static inline void history_segment(struct allocator *a, struct segment *s,
                                   larder_addr addr, uint64_t bytes,
                                   larder_action action)
{
    if (a->history != NULL)
        larder__history_segment(a, s, addr, bytes, action);
}

/* Record an event of a block, or of a range of its segment. */
static inline void history_range(struct allocator *a, larder_action action,
                                 const struct segment *s, larder_addr addr,
                                 uint64_t bytes)
{
    if (__builtin_expect(a->history != NULL, 0))
        larder__history_record(a, action, addr, bytes, s->heap->stream,
                               s->heap->pool->owner);
}

/* A live block became free at once. */
static inline void history_freed(struct allocator *a, const struct block *b)
{
    history_range(a, LARDER_ACTION_free_requested, b->segment, b->addr,
                  b->requested);
    history_range(a, LARDER_ACTION_free_completed, b->segment, b->addr,
                  b->requested);
}

/* ---- access --------------------------------------------------------------- */

/* Events in the ring. */
static inline uint64_t history_count(const struct history *h)
{
    return h->recorded < h->capacity ? h->recorded : h->capacity;
}

/* The i-th event, oldest first. */
static inline const struct history_event *history_at(const struct history *h,
                                                     uint64_t i)
{
    uint64_t first = h->recorded < h->capacity ? 0 : h->next;

    larder__assert(i < history_count(h));
    return &h->ring[(first + i) % h->capacity];
}

/* The note of a header.  NULL: none. */
struct block_note *larder__history_note(const struct history *h,
                                        uint32_t number);
