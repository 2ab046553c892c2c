/* region_commit.c - memory for a region's pages: its own idle pages first, then
 * loose handles, new handles, pages that others do not use, and finally pools
 * without users. */
#include "base/fail.h"
#include "core/debug/debug.h"
#include "core/policy_larder/carry.h"
#include "core/policy_larder/supply.h"
#include "core/policy_larder/lend.h"
#include "core/policy_larder/spot.h"
#include "core/pools/pool.h"
#include "core/region/region_pages.h"
#include "core/request/request.h"
#include "core/segments/blocks.h"
#include "core/segments/release.h"
#include "core/state/held.h"

enum { CUTS = 2 }; /* headers to cut a free block to a span */

/* The parts of a span that are not committed. */
struct lack {
    size_t pages;    /* without memory */
    uint32_t blocks; /* free and unmapped blocks */
    bool is_pending; /* recorded streams still use a part */
};

static struct lack count_lack(struct allocator *a, const struct region *g,
                              struct page_span span)
{
    larder_addr end = page_at(g->segment, span.end);
    struct lack lack = {0};

    for (const struct block *b =
             larder__region_block(a, g, page_at(g->segment, span.begin));
         b != NULL && b->addr < end; b = block_next(a, b)) {
        lack.blocks += b->state == BLOCK_FREE || b->state == BLOCK_UNMAPPED;
        lack.is_pending |= b->state == BLOCK_PENDING;
    }
    for (size_t i = span.begin; i < span.end; i++)
        lack.pages += g->segment->pages[i] == 0;
    return lack;
}

/* ---- memory ---------------------------------------------------------------- */

/* Wait for one event, with a request that counts the time waited so far. */
static bool wait_one(struct allocator *a, struct request *q)
{
    return !allocator_is_capturing(a) && larder__request_wait_one(a, q);
}

/* The cache does not lend its minimum: loose pages beyond what it can spare are
 * released to the device, where the account reserves them. */
static void keep_minimum_of_cache(struct allocator *a)
{
    larder__handles_keep(a, holding_spare(&a->account.cache) / PAGE_BYTES);
}

/* Unmap pages that others do not use, as many as are missing. */
static larder_result pull(struct allocator *a, const struct region *g,
                          struct page_span span, size_t pages)
{
    larder_result r = larder__paged_settle(a);
    size_t there = a->larder->loose.pages + larder__handles_room(a);

    if (r != LARDER_OK || there >= pages)
        return r;
    larder__spots_find(a);
    larder__spots_except(a, (struct spot_except){g->segment, span});
    larder__spots_choose(a, pages - there);
    r = larder__spots_unmap(a);
    there = a->larder->loose.pages + larder__handles_room(a);
    if (r == LARDER_OK && there < pages)
        (void)larder__lend_pages(a, pages - there);
    return r;
}

/* Map memory without updating blocks, but ensure the headers for that. */
static larder_result region_commit_fill(struct allocator *a,
                                        const struct region *g,
                                        struct page_span span, bool may_break)
{
    const struct fill_rules rules = {.handle_pages = g->handle_pages,
                                     .may_break = may_break};
    uint32_t headers =
        count_lack(a, g, span).blocks * (PAGES_HEADERS + CUTS) + SLAB_SPARE;

    if (!larder__slab_ensure(&a->slab, headers))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    return larder__fill(a, g->segment, span, &rules);
}

/* As a request does in the end: pools without users hold nothing that anybody
 * will ask for. */
static larder_result release_and_fill(struct allocator *a,
                                      const struct region *g,
                                      struct page_span span)
{
    if (a->privates.unused == NULL)
        return LARDER_ERR_OUT_OF_MEMORY;
    (void)larder__private_release_unused(a);
    a->larder->refused_at = UINT64_MAX;
    keep_minimum_of_cache(a);
    return region_commit_fill(a, g, span, true);
}

/* Retry after each event that may free memory. */
static larder_result pull_and_fill(struct allocator *a, const struct region *g,
                                   struct page_span span, size_t pages)
{
    struct request q = {.heap = g->segment->heap};
    larder_result r;

    a->larder->refused_at = UINT64_MAX;
    do {
        r = pull(a, g, span, pages);
        keep_minimum_of_cache(a);
        if (r == LARDER_OK)
            r = region_commit_fill(a, g, span, true);
    } while (r == LARDER_ERR_OUT_OF_MEMORY && wait_one(a, &q));
    return r == LARDER_ERR_OUT_OF_MEMORY ? release_and_fill(a, g, span) : r;
}

static larder_result region_commit_refuse(struct allocator *a,
                                          const struct region *g, size_t pages)
{
    const struct holding *h = &g->pool->holding;
    uint64_t bytes = pages_bytes(pages);

    if (!holding_is_within(h, bytes))
        return larder__fail(
            LARDER_ERR_OUT_OF_MEMORY,
            "the region '%s' may hold %llu bytes, holds %llu, and needs %llu "
            "more",
            g->name, (unsigned long long)h->limit_bytes,
            (unsigned long long)h->held_bytes, (unsigned long long)bytes);
    return larder__fail(
        LARDER_ERR_OUT_OF_MEMORY,
        "the region '%s' needs %llu bytes more: %llu of a capacity of %llu are "
        "held, %llu are kept for other owners, and none has enough free memory "
        "outside reserved pieces",
        g->name, (unsigned long long)bytes, (unsigned long long)a->held_bytes,
        (unsigned long long)held_capacity(a),
        (unsigned long long)account_owed_to_others(&a->account, h));
}

static larder_result region_commit_supply(struct allocator *a, struct region *g,
                                          struct page_span span, size_t pages)
{
    larder_result r = LARDER_ERR_OUT_OF_MEMORY;

    if (holding_is_within(&g->pool->holding, pages_bytes(pages))) {
        larder__assert(a->account.drawer == NULL);
        a->account.drawer = &g->pool->holding;
        keep_minimum_of_cache(a);
        r = region_commit_fill(a, g, span, false);
        if (r == LARDER_ERR_OUT_OF_MEMORY && !allocator_is_capturing(a))
            r = pull_and_fill(a, g, span, pages);
        a->account.drawer = NULL;
    }
    return r == LARDER_ERR_OUT_OF_MEMORY ? region_commit_refuse(a, g, pages)
                                         : r;
}

larder_result larder__region_fill(struct allocator *a, struct segment *s,
                                  struct page_span span)
{
    struct region *g = s->heap->pool->owner->region;
    size_t pages = count_lack(a, g, span).pages;

    return pages == 0 ? LARDER_OK : region_commit_supply(a, g, span, pages);
}

/* ---- blocks ---------------------------------------------------------------- */

/* Make the part of the free block b that is in the span live.  Two headers are
 * ensured. */
static void region_commit_take_free(struct allocator *a, const struct region *g,
                                    struct block *b, struct page_span span)
{
    larder_addr begin = page_at(g->segment, span.begin);
    larder_addr end = page_at(g->segment, span.end);

    larder__assert(b->state == BLOCK_FREE);
    larder__assert(b->addr < end && b->addr + b->bytes > begin);
    heap_remove(b);
    if (b->addr < begin) {
        struct block *rest = larder__block_split(a, b, begin - b->addr);

        heap_insert(b);
        b = rest;
    }
    if (b->addr + b->bytes > end)
        heap_insert(larder__block_split(a, b, end - b->addr));
    larder__assert(b->addr >= begin && b->addr + b->bytes <= end);
    larder__block_allocate(a, b, b->bytes, b->bytes, false);
    map_put(&a->map, b);
    if (a->debug != NULL)
        larder__debug_committed(a, b);
}

static void take_all(struct allocator *a, const struct region *g,
                     struct page_span span)
{
    larder_addr at = page_at(g->segment, span.begin);
    larder_addr end = page_at(g->segment, span.end);

    while (at < end) {
        struct block *b = larder__region_block(a, g, at);

        if (b->state == BLOCK_FREE) {
            region_commit_take_free(a, g, b, span);
            b = larder__region_block(a, g, at);
        }
        at = b->addr + b->bytes;
    }
}

/* Pending memory in the span becomes free when its recorded streams have
 * passed. */
static larder_result wait_for_pending(struct allocator *a,
                                      const struct region *g,
                                      struct page_span span)
{
    struct request q = {.heap = g->segment->heap};

    while (count_lack(a, g, span).is_pending) {
        if (!wait_one(a, &q))
            return larder__fail(LARDER_ERR_BUSY,
                                "a recorded stream still uses pages of the "
                                "region '%s'",
                                g->name);
    }
    return LARDER_OK;
}

larder_result larder__region_commit(struct allocator *a, struct region *g,
                                    struct page_span span)
{
    struct lack lack = count_lack(a, g, span);
    larder_result r =
        larder__paged_settle(a); /* the pages at hand are mapped */

    larder__assert(allocator_is_locked(a));
    larder__assert(span.begin < span.end);
    larder__assert(span.end <= g->segment->bytes / PAGE_BYTES);
    larder__assert(lack.pages <= span.end - span.begin);
    if (r != LARDER_OK)
        return r;
    if (lack.is_pending) {
        r = wait_for_pending(a, g, span);
        if (r != LARDER_OK)
            return r;
        lack = count_lack(a, g, span);
    }
    if (!larder__slab_ensure(&a->slab, lack.blocks * CUTS + SLAB_SPARE))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    if (lack.pages > 0) {
        r = region_commit_supply(a, g, span, lack.pages);
        if (r != LARDER_OK)
            return r;
        (void)larder__pages_back(
            a, larder__region_block(a, g, page_at(g->segment, span.begin)),
            span);
    }
    take_all(a, g, span);
    larder__assert_slow(count_lack(a, g, span).blocks == 0);
    return LARDER_OK;
}
