/* region_pages.c - the structure of a region (larder/region.h). */
#include "core/region/region_pages.h"

#include "base/fail.h"
#include "core/debug/debug.h"
#include "core/history/recording.h"
#include "core/pools/pool.h"
#include "core/segments/blocks.h"
#include "core/segments/events.h"
#include "core/segments/release.h"
#include "core/state/held.h"

/* How many pages before an address are tried for the beginning of its block. */
enum { LOOKS = 512 };

/* ---- finding --------------------------------------------------------------- */

static struct block *live_before(struct allocator *a, const struct region *g,
                                 larder_addr addr)
{
    struct block *b = NULL;

    for (int i = 0; b == NULL && i < LOOKS && addr > g->segment->addr; i++) {
        addr -= PAGE_BYTES;
        b = map_find(&a->map, &a->slab, addr);
    }
    return b != NULL ? b : g->segment->head;
}

struct block *larder__region_block(struct allocator *a, const struct region *g,
                                   larder_addr addr)
{
    struct block *b = map_find(&a->map, &a->slab, addr);

    larder__assert(addr >= g->segment->addr);
    larder__assert(addr - g->segment->addr < g->segment->bytes);
    if (b != NULL)
        return b;
    b = live_before(a, g, addr);
    while (b->addr + b->bytes <= addr)
        b = slab_at(&a->slab, b->next);
    larder__assert(b->segment == g->segment && b->addr <= addr);
    return b;
}

/* The size of the intersection of block and span. */
static uint64_t common_bytes(const struct region *g, const struct block *b,
                             struct page_span span)
{
    larder_addr begin = page_at(g->segment, span.begin);
    larder_addr end = page_at(g->segment, span.end);

    if (b->addr > begin)
        begin = b->addr;
    if (b->addr + b->bytes < end)
        end = b->addr + b->bytes;
    return end > begin ? end - begin : 0;
}

uint64_t larder__region_at_hand(struct allocator *a, const struct region *g,
                                struct page_span span)
{
    larder_addr end = page_at(g->segment, span.end);
    uint64_t bytes = 0;

    for (struct block *b =
             larder__region_block(a, g, page_at(g->segment, span.begin));
         b != NULL && b->addr < end; b = block_next(a, b)) {
        if (b->state == BLOCK_LIVE || b->state == BLOCK_FREE)
            bytes += common_bytes(g, b, span);
    }
    larder__assert(bytes <= pages_bytes(span.end - span.begin));
    return bytes;
}

/* ---- splitting ------------------------------------------------------------- */

static larder_result check_exports(struct allocator *a, const struct region *g,
                                   struct page_span span)
{
    larder_addr end = page_at(g->segment, span.end);

    for (struct block *b =
             larder__region_block(a, g, page_at(g->segment, span.begin));
         b != NULL && b->addr < end; b = block_next(a, b)) {
        if (b->state == BLOCK_LIVE && block_is_exported(b))
            return larder__events_fail_exported(b);
    }
    return LARDER_OK;
}

/* Split a live block in two that the same streams use.  It is recorded as freed,
 * and each part as allocated.  A header is ensured. */
static larder_result cut_live(struct allocator *a, struct block *b,
                              uint64_t bytes)
{
    unsigned pool = b->segment->heap->pool->stats;
    struct use *uses = NULL;
    struct block *rest;

    larder__assert(b->state == BLOCK_LIVE && b->requested == b->bytes);
    larder__assert(bytes % PAGE_BYTES == 0 && bytes < b->bytes);
    if (!larder__events_copy(a, b, &uses))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    history_freed(a, b);
    rest = larder__block_split(a, b, bytes);
    larder__assert(b->bytes == bytes && rest->segment == b->segment);
    b->requested = b->bytes;
    rest->requested = rest->bytes;
    rest->uses = uses;
    rest->events = 0;
    map_put(&a->map, rest);
    metric_add(&a->stats.allocation, pool, 1);
    metric_add(&a->stats.active, pool, 1);
    b->segment->heap->pool->owner->usage.allocations++;
    history_alloc(a, b);
    history_alloc(a, rest);
    return LARDER_OK;
}

/* Split the live block that crosses the border, if there is one. */
static larder_result cut_at(struct allocator *a, const struct region *g,
                            larder_addr border)
{
    struct block *b;

    larder__assert(border >= g->segment->addr);
    larder__assert(border <= g->segment->addr + g->segment->bytes);
    if (border == g->segment->addr ||
        border == g->segment->addr + g->segment->bytes)
        return LARDER_OK;
    b = larder__region_block(a, g, border);
    if (b->state != BLOCK_LIVE || b->addr == border)
        return LARDER_OK;
    return cut_live(a, b, border - b->addr);
}

/* ---- decommitting ---------------------------------------------------------- */

/* Note uses by streams that were not recorded. */
static void look_for_uses(struct allocator *a, const struct region *g,
                          struct page_span span)
{
    larder_addr end = page_at(g->segment, span.end);
    const struct block *b =
        larder__region_block(a, g, page_at(g->segment, span.begin));

    for (; b != NULL && b->addr < end; b = block_next(a, b)) {
        if (b->state == BLOCK_LIVE)
            larder__unrecorded_check(a, b);
    }
}

static void region_pages_free_live(struct allocator *a, const struct region *g,
                                   struct page_span span)
{
    larder_addr at = page_at(g->segment, span.begin);
    larder_addr end = page_at(g->segment, span.end);

    while (at < end) {
        struct block *b = larder__region_block(a, g, at);

        at = b->addr + b->bytes;
        if (b->state != BLOCK_LIVE)
            continue;
        larder__assert(b->addr >= page_at(g->segment, span.begin));
        larder__assert(at <= end && !block_is_exported(b));
        map_remove(&a->map, b);
        larder__block_retire(a, b);
    }
}

larder_result larder__region_decommit(struct allocator *a, struct region *g,
                                      struct page_span span)
{
    larder_result r = check_exports(a, g, span);

    larder__assert(allocator_is_locked(a) && span.begin < span.end);
    if (r != LARDER_OK)
        return r;
    if (!larder__slab_ensure(&a->slab, 2 + SLAB_SPARE))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    r = cut_at(a, g, page_at(g->segment, span.begin));
    if (r == LARDER_OK)
        r = cut_at(a, g, page_at(g->segment, span.end));
    if (r != LARDER_OK)
        return r;
    if (a->debug != NULL)
        look_for_uses(a, g, span);
    region_pages_free_live(a, g, span);
    return LARDER_OK;
}

static struct page_span all_pages(const struct region *g)
{
    return (struct page_span){0, g->segment->bytes / PAGE_BYTES};
}

larder_result larder__region_check_unused(struct allocator *a,
                                          const struct region *g)
{
    larder_result r = check_exports(a, g, all_pages(g));

    if (r == LARDER_OK && a->debug != NULL)
        look_for_uses(a, g, all_pages(g));
    return r;
}

void larder__region_free_all(struct allocator *a, const struct region *g)
{
    for (struct block *b = g->segment->head; b != NULL; b = block_next(a, b)) {
        if (b->state == BLOCK_LIVE)
            larder__events_forget(a, b);
    }
    region_pages_free_live(a, g, all_pages(g));
}

larder_result larder__region_record(struct allocator *a, struct region *g,
                                    struct page_span span, larder_stream stream)
{
    larder_addr end = page_at(g->segment, span.end);
    larder_result r = LARDER_OK;

    if (stream == g->segment->heap->stream)
        return r;
    for (struct block *b =
             larder__region_block(a, g, page_at(g->segment, span.begin));
         r == LARDER_OK && b != NULL && b->addr < end; b = block_next(a, b)) {
        if (b->state == BLOCK_LIVE)
            r = larder__events_use(a, b, stream);
    }
    return r;
}
