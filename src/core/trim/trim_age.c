/* trim_age.c - releases memory that has not been used for a long time, a heap
 * at a time. */

#include "base/host.h"
#include "core/pools/pool.h"
#include "core/pools/private.h"
#include "core/segments/blocks.h"
#include "core/segments/events.h"
#include "core/segments/segment.h"
#include "core/state/held.h"
#include "core/state/paged.h"
#include "core/trim/trim.h"

/* ---- when trimming is not allowed ------------------------------------------ */

/* Whether a stream with memory in the default pools is capturing. */
static bool pools_are_capturing(struct allocator *a)
{
    const struct heap *heap;

    for (size_t i = 0; (heap = pools_heap(a->pools, i)) != NULL; i++) {
        if (larder__private_is_graphs(a, heap->stream))
            return true;
    }
    return false;
}

/* Whether a stream is capturing whose events would be polled or recorded. */
static bool events_are_capturing(struct allocator *a)
{
    const struct events *e = &a->events;

    for (uint32_t i = 0; i < e->queue_count; i++) {
        const struct event_queue *queue = &e->queues[i];

        if ((queue->first != NULL || e->deferred_first != 0) &&
            larder__private_is_graphs(a, queue->stream))
            return true;
    }
    return false;
}

bool larder__trim_is_barred(struct allocator *a)
{
    larder__assert(allocator_is_locked(a));
    return allocator_is_capturing(a) || pools_are_capturing(a) ||
           events_are_capturing(a);
}

/* ---- segments -------------------------------------------------------------- */

static void release_block(struct allocator *a, struct block *b)
{
    larder__assert(b->state == BLOCK_FREE);
    if (b->segment->kind == SEGMENT_EXPANDABLE)
        (void)larder__expandable_release(a, b);
    else if (block_is_unused(b))
        (void)larder__segment_release(a, b);
}

/* Release free blocks that are older than `mark`. */
static void trim_age_release_old(struct allocator *a, struct heap *heap,
                                 uint64_t mark)
{
    struct block *b = larder__bins_fit(heap->bins, 0);

    while (b != NULL) {
        struct tree_key key = bins_key(heap->bins, b);

        larder__assert(b->segment->heap == heap);
        if (b->born < mark)
            release_block(a, b);
        b = bins_after(heap->bins, key);
    }
}

static void look_at_pool(struct allocator *a, struct pool *pool)
{
    uint64_t *mark = &pool->marks[a->trim.now % TRIM_STEPS];
    uint64_t old = *mark;

    larder__assert(old <= pool->searches);
    *mark = ++pool->searches;
    for (uint32_t i = 0; i < pool->heap_count; i++)
        trim_age_release_old(a, pool->heaps[i], old);
}

/* ---- pages ----------------------------------------------------------------- */

/* Every page that a live or pending block touches is in use. */
static void stamp_range(struct allocator *a, struct segment *s)
{
    for (struct block *b = s->head; b != NULL; b = block_next(a, b)) {
        if (block_is_in_use(b))
            stamp_block(a, b);
    }
}

/* Give a range its stamps; all its pages count as new. */
static void begin_range(struct allocator *a, struct segment *s)
{
    size_t pages = s->bytes / s->page_bytes;

    larder__assert(s->bytes % s->page_bytes == 0 && s->stamps == NULL);
    s->stamps = larder__host_alloc(pages, sizeof *s->stamps);
    for (size_t i = 0; s->stamps != NULL && i < pages; i++)
        s->stamps[i] = a->trim.now;
}

static void look_at_ranges(struct allocator *a)
{
    for (struct segment *s = a->segments; s != NULL; s = s->next) {
        if (s->kind != SEGMENT_PAGED)
            continue;
        if (s->stamps == NULL)
            begin_range(a, s);
        else
            stamp_range(a, s);
    }
}

static bool heap_has_old(const struct allocator *a, const struct heap *heap)
{
    for (const struct segment *s = a->segments; s != NULL; s = s->next) {
        if (s->heap != heap || s->stamps == NULL)
            continue;
        for (size_t i = 0; i < s->bytes / s->page_bytes; i++) {
            if (stamp_is_old(a, s, i))
                return true;
        }
    }
    return false;
}

struct heap *larder__trim_next_heap(struct allocator *a, size_t *at)
{
    struct heap *heap;

    larder__assert(allocator_is_locked(a));
    do
        heap = pools_heap(a->pools, (*at)++);
    while (heap != NULL && !heap_has_old(a, heap));
    return heap;
}

void larder__trim_heap(struct allocator *a, const struct heap *heap)
{
    uint64_t before = a->held_bytes;

    larder__assert(allocator_is_locked(a) && !larder__trim_is_barred(a));
    larder__paged_release_old(a, heap);
    larder__trim_count(a, before);
}

/* ---- one check ------------------------------------------------------------- */

static int64_t activity(const struct allocator *a)
{
    larder_stats st;

    larder__stats_copy(&a->stats, &st);
    return st.allocation.all.allocated + st.allocation.all.freed;
}

/* Loose pages are old if nothing was allocated for all of trim_age. */
static void look_at_loose(struct allocator *a)
{
    int64_t now = activity(a);

    a->trim.idle = now == a->trim.activity ? a->trim.idle + 1 : 0;
    a->trim.activity = now;
    if (a->trim.idle >= TRIM_STEPS)
        larder__paged_release_loose(a);
}

void larder__trim_look(struct allocator *a)
{
    uint64_t before = a->held_bytes;

    if (!events_are_idle(&a->events))
        larder__events_poll(a);
    larder__assert(allocator_is_locked(a));
    a->trim.now++;
    look_at_ranges(a);
    look_at_loose(a);
    for (int kind = 0; kind < POOL_KINDS; kind++)
        look_at_pool(a, &a->pools[kind]);
    larder__trim_count(a, before);
}
