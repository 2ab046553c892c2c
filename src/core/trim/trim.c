/* trim.c - releases part of the cached memory. */
#include "core/trim/trim.h"

#include "core/entry/handle.h"
#include "core/history/recording.h"
#include "core/peers/peers.h"
#include "core/segments/blocks.h"
#include "core/segments/events.h"
#include "core/segments/release.h"
#include "core/segments/segment.h"
#include "core/state/paged.h"

static uint64_t excess(const struct allocator *a, uint64_t target)
{
    return a->held_bytes > target ? a->held_bytes - target : 0;
}

/* Release pages of the heap's expandable segments, the largest free blocks
 * first. */
static void trim_heap(struct allocator *a, const struct heap *heap,
                      uint64_t target)
{
    struct block *b = bins_largest(heap->bins);

    while (b != NULL && a->held_bytes > target) {
        struct tree_key key = bins_key(heap->bins, b);

        larder__assert(b->state == BLOCK_FREE && b->segment->heap == heap);
        if (b->segment->kind == SEGMENT_EXPANDABLE)
            (void)larder__expandable_release(a, b);
        b = larder__bins_before(heap->bins, key);
    }
}

static void trim_expandable(struct allocator *a, uint64_t target)
{
    for (int kind = POOL_KINDS; kind-- > 0;) {
        for (uint32_t i = 0; i < a->pools[kind].stocked_count; i++)
            trim_heap(a, a->pools[kind].stocked[i], target);
    }
}

/* What the driver fails to release stays; memory of the next kind may be
 * enough. */
/* Release cached memory until no more than `target` bytes are held, or nothing
 * is left to release.  Not to be called during a capture. */
static void trim_to(struct allocator *a, uint64_t target)
{
    uint64_t before = a->held_bytes;

    larder__assert(allocator_is_locked(a) && !allocator_is_capturing(a));
    if (!events_are_idle(&a->events))
        larder__events_poll(a);
    if (excess(a, target) > 0)
        larder__paged_trim(a, target);
    if (excess(a, target) > 0)
        (void)larder__release_unused(a, excess(a, target));
    if (excess(a, target) > 0)
        trim_expandable(a, target);
    if (excess(a, target) > 0)
        (void)larder__private_release_unused(a);
    (void)larder__orphans_release(a);
    larder__assert(a->held_bytes <= before);
    larder__trim_count(a, before);
}

uint64_t larder__trim_for_peer(struct allocator *a, uint64_t bytes)
{
    uint64_t before;
    uint64_t gone;

    allocator_lock(a);
    history_enter(a, NULL);
    before = a->held_bytes;
    if (bytes > 0)
        (void)allocator_make_room(a);
    if (bytes > 0 && !larder__trim_is_barred(a))
        trim_to(a, before > bytes ? before - bytes : 0);
    gone = a->held_bytes < before ? before - a->held_bytes : 0;
    larder__assert(allocator_is_locked(a) && a->peers != NULL);
    larder__peers_report_use(a);
    allocator_unlock(a);
    return gone;
}

larder_result larder_trim(larder_allocator *handle, uint64_t target_bytes,
                          uint64_t *released)
{
    struct allocator *a;
    uint64_t before;
    larder_result r =
        larder__handle_lock_for(handle, &a, __builtin_return_address(0));

    if (r != LARDER_OK)
        return r;
    r = larder__capturing_forbids(a, "memory cannot be released");
    if (r == LARDER_OK) {
        before = a->held_bytes;
        if (before > target_bytes)
            (void)allocator_make_room(a);
        trim_to(a, target_bytes);
        if (released != NULL)
            *released = before - a->held_bytes;
    }
    return larder__handle_end(a, r);
}
