/* addresses.c - ranges of addresses of the policy larder. */

#include "base/bits.h"
#include "base/fail.h"
#include "base/host.h"
#include "core/policy_larder/carry.h"
#include "core/pools/pool.h"
#include "core/segments/order.h"
#include "core/segments/segment.h"
#include "core/state/shard.h"

enum { GROWTH = 3 }; /* a further range: times all that the heap has */

/* ---- releasing ----------------------------------------------------------- */

/* Release the addresses of a range that has no pages. */
static larder_result range_release(struct allocator *a, struct segment *s)
{
    larder_result r = larder__device_address_free(a->device, s->addr, s->bytes);

    larder__assert(s->kind == SEGMENT_PAGED);
    if (r == LARDER_OK)
        larder__range_forget(a, s);
    return r;
}

void larder__range_forget(struct allocator *a, struct segment *s)
{
    larder__assert(s->page_count == 0);
    larder__assert(s->head->state == BLOCK_UNMAPPED && s->head->next == 0);
    heap_remove_unmapped(s->head);
    shard_give_header(a, s->head);
    larder__assert(s->bytes <= s->heap->range_bytes);
    s->heap->range_bytes -= s->bytes;
    larder__segment_free(s);
}

larder_result larder__ranges_release(struct allocator *a)
{
    larder_result r = LARDER_OK;
    struct segment *next;

    if (a->orphans.count > 0) /* one may still be mapped in a range */
        (void)larder__orphans_release(a);
    for (struct segment *s = a->segments; s != NULL; s = next) {
        next = s->next;
        if (s->kind == SEGMENT_PAGED && s->page_count == 0 &&
            s->heap->pool->owner == NULL)
            fail_keep_first(&r, range_release(a, s));
    }
    return r;
}

/* Also an expandable segment, which does not count its pages and whose handles
 * have one page each. */
larder_result larder__paged_destroy(struct allocator *a, struct segment *s)
{
    size_t pages = s->bytes / s->page_bytes;
    size_t left = s->kind == SEGMENT_PAGED ? s->page_count : pages;
    larder_result r = larder__order_sync(a, s->heap);

    larder__carry_leave(a, s);
    /* Stops at the last page of a range that is mapped: reading the rest of the
     * table, as long as the device is large, would cost a page fault for each
     * piece of it. */
    for (size_t i = 0, end; left > 0 && i < pages; i = end) {
        struct orphan orphan = {.handle = s->pages[i],
                                .mapped_at = page_at(s, i)};

        end = i + 1;
        if (orphan.handle == 0)
            continue;
        end = page_handle_end(s, i);
        larder__assert(end - i <= left);
        left -= end - i;
        orphan.bytes = (end - i) * s->page_bytes;
        a->page_count -= end - i;
        larder__orphan_try_release(a, orphan);
    }
    /* An orphan may be mapped in this range. */
    fail_keep_first(&r, larder__orphans_release(a));
    fail_keep_first(&r,
                    larder__device_address_free(a->device, s->addr, s->bytes));
    larder__segment_free(s);
    return r;
}

/* ---- reserving ------------------------------------------------------------- */

/* A range holds at least one of PyTorch's large segments. */
static uint64_t min_range_bytes(const struct allocator *a)
{
    return segment_page_size(&a->conf, false);
}

/* Length of the first range of a stream's heap.  One range for all of the
 * device is best: each further one has an end of its own, where blocks of any
 * size are placed and keep memory.  But a thousand streams need addresses and
 * tables too, so the k-th stream gets a k-th of the device, and the sum grows
 * only with the logarithm of the number of streams. */
static uint64_t first_range_bytes(const struct allocator *a,
                                  const struct heap *heap, uint64_t total)
{
    uint64_t min_bytes = min_range_bytes(a);
    uint64_t bytes = heap->shard == NULL ? 0 : total / heap->shard->number;

    return bytes > min_bytes ? bytes : min_bytes;
}

/* An eighth more than the device's size leaves room for whatever fits on it. */
static uint64_t range_bytes(const struct allocator *a, const struct heap *heap,
                            uint64_t bytes)
{
    uint64_t total = a->props.total_bytes + a->props.total_bytes / 8;
    uint64_t wanted = heap->range_bytes > 0 ? heap->range_bytes * GROWTH
                                            : first_range_bytes(a, heap, total);

    if (wanted < bytes * 2)
        wanted = bytes * 2;
    if (wanted > total)
        wanted = total;
    if (wanted < bytes)
        wanted = bytes;
    return bits_up(wanted, PAGE_BYTES);
}

larder_result larder__range_reserve(struct allocator *a, struct heap *heap,
                                    uint64_t bytes)
{
    struct block *b;
    larder_result r =
        larder__segment_reserve(a, heap, SEGMENT_PAGED, PAGE_BYTES, bytes, &b);

    if (r != LARDER_OK)
        return r;
    larder__assert(b->addr % PAGE_BYTES == 0 && b->bytes % PAGE_BYTES == 0);
    heap->range_bytes += bytes;
    b->shard = heap->shard != NULL ? heap->shard->number : 0;
    heap_insert_unmapped(b);
    return LARDER_OK;
}

larder_result larder__range_create(struct allocator *a, struct heap *heap,
                                   uint64_t bytes)
{
    uint64_t wanted = range_bytes(a, heap, bytes);
    larder_result r;

    larder__assert(allocator_is_locked(a) && bytes > 0);
    if (bytes > a->props.total_bytes) /* cannot succeed */
        return larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
    for (; wanted > bytes; wanted /= 2) { /* until accepted */
        r = larder__range_reserve(a, heap, bits_up(wanted, PAGE_BYTES));
        if (r == LARDER_OK || r == LARDER_ERR_NO_HOST_MEMORY)
            return r;
        if (wanted <= min_range_bytes(a))
            break;
    }
    (void)larder__ranges_release(a);
    return larder__range_reserve(a, heap, bits_up(bytes, PAGE_BYTES));
}
