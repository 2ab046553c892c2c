/* check.c - larder_check(): checks every structure against every rule.
 *
 * Rules B1 to B6 are in block.h.  The others:
 *   S1  the statistics' current values equal the sums over all blocks;
 *   S2  held_bytes equals the sum over segments and pieces;
 *   A1 to A4 are in state/holding.h;
 *   G1 to G5 are in policy_larder/pages.h;
 *   P1  an expandable segment has handles for exactly its mapped pages;
 *   L1 and L2 are in segments/order.h;
 *   N1 to N4 are in state/pool_index.h;
 *   P2  the parts of a piece lie within it, in order, without overlap;
 *   P3  is in pause.h;
 *   E1  as many events are queued as are counted as waiting; together with
 *       the holds they are what blocks count;
 *   H1  every header that the slab handed out is in a segment. */
#include "core/api/lifecycle.h"

#include <inttypes.h>

#include "base/fail.h"
#include "core/debug/debug.h"
#include "core/entry/handle.h"
#include "core/pause/pause.h"
#include "core/pools/pool.h"
#include "core/region/region_pages.h"
#include "core/segments/blocks.h"
#include "core/state/shard.h"

/* Totals of the walk. */
struct sums {
#define X(name, text) int64_t name[STATS_POOLS];
    LARDER_METRIC_MAP(X)
#undef X
    uint64_t blocks;
    uint64_t free_blocks;
    uint64_t unmapped_blocks;
    uint64_t events;
    size_t pages;
    size_t paged; /* of these, those of paged segments */
};

static larder_result broken(const char *rule, const char *what,
                            larder_addr addr)
{
    return larder__fail(LARDER_ERR_CORRUPT,
                        "rule %s is broken at 0x%" PRIx64 ": %s", rule, addr,
                        what);
}

/* ---- blocks --------------------------------------------------------------- */

/* Whether the link that leads to it in its list is correct. */
static bool in_fit(const struct fit *fit, const struct block *b)
{
    return fit->first[fit_class(b->bytes)] == b ||
           (b->right != NULL && b->right->left == b);
}

static bool in_index(const struct block *b)
{
    const struct heap *heap = b->segment->heap;

    if (heap->fit != NULL)
        return in_fit(heap->fit, b);
    return larder__bins_not_before(heap->bins, bins_key(heap->bins, b)) == b;
}

static bool in_unmapped(const struct block *b)
{
    return tree_at_or_above(b->segment->heap->unmapped, b->addr) == b;
}

static bool is_deferred(struct allocator *a, const struct block *b)
{
    const struct block *d = slab_get(&a->slab, a->events.deferred_first);

    while (d != NULL && d != b)
        d = slab_get(&a->slab, d->next_deferred);
    return d == b;
}

static larder_result check_place(struct allocator *a, const struct block *b,
                                 const struct block *before)
{
    const struct segment *s = b->segment;
    larder_addr begin = before == NULL ? s->addr : before->addr + before->bytes;

    if (b->addr != begin || b->bytes == 0 ||
        b->bytes % a->policy->unit_bytes != 0)
        return broken("B1", "a gap, an overlap or an odd size", b->addr);
    if (b->prev != (before == NULL ? 0 : before->self) ||
        slab_at(&a->slab, b->self) != b)
        return broken("B1", "the links to the neighbours are wrong", b->addr);
    if (before != NULL && before->state == b->state &&
        (b->state == BLOCK_FREE || b->state == BLOCK_UNMAPPED))
        return broken("B2", "two free neighbours are not merged", b->addr);
    return LARDER_OK;
}

static larder_result check_lent(const struct allocator *a,
                                const struct block *b)
{
    const struct private_pool *owner = b->segment->heap->pool->owner;

    if (!b->is_lent)
        return LARDER_OK;
    return owner == NULL || (a->policy->is_paged && !owner->has_lent)
               ? broken("L1", "a block lent by no pool", b->addr)
               : LARDER_OK;
}

static larder_result check_state(struct allocator *a, const struct block *b)
{
    bool live = b->state == BLOCK_LIVE;

    if (map_find(&a->map, &a->slab, b->addr) != (live ? b : NULL))
        return broken("B6", "the address map does not agree", b->addr);
    switch ((enum block_state)b->state) {
    case BLOCK_FREE:
        return in_index(b) ? LARDER_OK
                           : broken("B3", "not in the index", b->addr);
    case BLOCK_UNMAPPED:
        return in_unmapped(b) ? LARDER_OK
                              : broken("B3", "not among the unmapped", b->addr);
    case BLOCK_LIVE:
    case BLOCK_PENDING:
        if (b->requested == 0 || b->requested > b->bytes)
            return broken("B4", "requested bytes", b->addr);
        if (!live && b->events == 0 && !is_deferred(a, b))
            return broken("B5", "waits for no event", b->addr);
        return check_lent(a, b);
    case BLOCK_UNUSED:
        break;
    }
    return broken("B1", "a block without a state", b->addr);
}

static void sum_block(struct sums *sums, const struct block *b)
{
    unsigned pool = b->segment->heap->pool->stats;
    int64_t bytes = (int64_t)b->bytes;

    sums->blocks++;
    if (b->state == BLOCK_UNMAPPED) {
        sums->unmapped_blocks++;
        return;
    }
    if (b->state == BLOCK_FREE) {
        sums->free_blocks++;
        if (block_is_split(b) && !segment_is_expandable(b->segment)) {
            sums->inactive_split[pool]++;
            sums->inactive_split_bytes[pool] += bytes;
        }
        return;
    }
    sums->active[pool]++;
    sums->active_bytes[pool] += bytes;
    sums->requested_bytes[pool] += (int64_t)b->requested;
    if (b->state == BLOCK_PENDING) {
        sums->events += b->events;
    } else {
        sums->allocation[pool]++;
        sums->allocated_bytes[pool] += bytes;
    }
}

/* ---- segments ------------------------------------------------------------- */

/* The rule that a segment's pages must keep. */
static const char *pages_rule(const struct segment *s)
{
    return s->kind == SEGMENT_PAGED ? "G1" : "P1";
}

/* Check the pages of one block in a segment of pages. */
static larder_result check_block_pages(const struct segment *s,
                                       const struct block *b)
{
    struct page_span span = block_pages(b);
    bool mapped = b->state != BLOCK_UNMAPPED;

    if (segment_is_paused(s) && mapped)
        return LARDER_OK;
    if (!mapped && ((b->addr - s->addr) % s->page_bytes != 0 ||
                    b->bytes % s->page_bytes != 0))
        return broken(pages_rule(s), "an unmapped block within a page",
                      b->addr);
    for (size_t i = span.begin; i < span.end; i++) {
        if ((s->pages[i] != 0) != mapped)
            return broken(pages_rule(s), "a page too many or too few", b->addr);
    }
    return LARDER_OK;
}

/* Add what a segment has from the device. */
static void sum_reserved(const struct segment *s, uint64_t bytes,
                         struct sums *sums)
{
    const struct pool *pool = s->heap->pool;

    sums->reserved_bytes[pool->stats] += (int64_t)bytes;
    if (pool->owner != NULL)
        pool->owner->counted_bytes += bytes;
}

/* Whether the extent of each page is the run of pages with the same handle. */
static bool extents_are_right(const struct segment *s)
{
    size_t pages = s->bytes / s->page_bytes;

    for (size_t i = 0, end; i < pages; i = end) {
        for (end = i + 1; end < pages && s->pages[end] == s->pages[i];)
            end++;
        for (size_t k = i; s->pages[i] != 0 && k < end; k++) {
            if (s->extents[k].begin != i || s->extents[k].end != end)
                return false;
        }
    }
    return true;
}

/* Check all pages of a segment of pages. */
static larder_result check_paged(const struct segment *s, struct sums *sums)
{
    size_t count = 0;

    for (size_t i = 0; i < s->bytes / s->page_bytes; i++)
        count += s->pages[i] != 0;
    if (s->kind == SEGMENT_PAGED) {
        if (count != s->page_count)
            return broken("G2", "the number of pages", s->addr);
        if (!extents_are_right(s))
            return broken("G5", "where a handle begins or ends", s->addr);
        sums->paged += count;
    }
    sum_reserved(s, count * s->page_bytes, sums);
    sums->pages += count;
    return LARDER_OK;
}

static larder_result check_segment(struct allocator *a, const struct segment *s,
                                   struct sums *sums)
{
    const struct block *before = NULL;
    larder_result r;

    for (const struct block *b = s->head; b != NULL; b = block_next(a, b)) {
        if (b->segment != s)
            return broken("B1", "a block of another segment", b->addr);
        if ((r = check_place(a, b, before)) != LARDER_OK ||
            (r = check_state(a, b)) != LARDER_OK)
            return r;
        if (s->pages != NULL && (r = check_block_pages(s, b)) != LARDER_OK)
            return r;
        sum_block(sums, b);
        before = b;
    }
    if (before == NULL || before->addr + before->bytes != s->addr + s->bytes)
        return broken("B1", "the blocks end too early or too late", s->addr);
    if (s->kind == SEGMENT_DRIVER) {
        sums->segment[s->heap->pool->stats]++;
        sum_reserved(s, s->bytes, sums);
    }
    if (!larder__detached_is_sound(s))
        return broken("P3", "pages without their memory", s->addr);
    return s->pages != NULL ? check_paged(s, sums) : LARDER_OK;
}

static larder_result check_piece(const struct piece *p, struct sums *sums)
{
    larder_addr at = p->addr;

    for (const struct segment *s = p->parts; s != NULL; s = s->piece_next) {
        if (s->kind != SEGMENT_CARVED || s->piece != p || s->addr < at)
            return broken("P2", "a part out of place", s->addr);
        at = s->addr + s->bytes;
    }
    if (at > p->addr + p->bytes)
        return broken("P2", "parts reach past the end", p->addr);
    sums->segment[STATS_LARGE]++;
    sums->reserved_bytes[STATS_LARGE] += (int64_t)p->bytes;
    return LARDER_OK;
}

/* ---- larder_check() ------------------------------------------------------- */

/* Check that the index contains only free blocks of its heap, in order, and
 * count them. */
static larder_result check_index(const struct heap *heap, uint64_t *count)
{
    for (const struct block *b = larder__bins_fit(heap->bins, 0); b != NULL;
         b = bins_next(heap->bins, b)) {
        if (b->state != BLOCK_FREE || b->segment->heap != heap)
            return broken("B3", "a foreign block in the index", b->addr);
        if (!heap->is_stocked && !segment_is_expandable(b->segment) &&
            !block_is_split(b))
            return broken("B7", "what could be released", b->addr);
        ++*count;
    }
    return LARDER_OK;
}

/* The same for the tree of unmapped addresses. */
static larder_result check_unmapped(const struct heap *heap, uint64_t *count)
{
    for (const struct block *b = tree_at_or_above(heap->unmapped, 0); b != NULL;
         b = tree_at_or_above(heap->unmapped, b->addr + 1)) {
        if (b->state != BLOCK_UNMAPPED || b->segment->heap != heap)
            return broken("B3", "a foreign block among the unmapped", b->addr);
        ++*count;
    }
    return LARDER_OK;
}

/* The same for lists, and check that the bitmap matches them. */
static larder_result check_fit(const struct heap *heap, uint64_t *count)
{
    const struct fit *fit = heap->fit;

    for (unsigned i = 0; fit != NULL && i < FIT_CLASSES; i++) {
        bool used = (fit->used[i / 64] >> i % 64 & 1) != 0;

        if (used != (fit->first[i] != NULL) ||
            (used && (fit->some >> i / 64 & 1) == 0))
            return broken("B3", "the bitmap of free lists", i);
        for (const struct block *b = fit->first[i]; b != NULL; b = b->left) {
            if (b->state != BLOCK_FREE || b->segment->heap != heap ||
                fit_class(b->bytes) != i)
                return broken("B3", "a foreign block in a free list", b->addr);
            ++*count;
        }
    }
    return LARDER_OK;
}

static larder_result check_pool(const struct pool *pool, struct sums *indexed)
{
    for (uint32_t i = 0; i < pool->heap_count; i++) {
        larder_result r = check_index(pool->heaps[i], &indexed->free_blocks);

        if (r == LARDER_OK)
            r = check_fit(pool->heaps[i], &indexed->free_blocks);
        if (r == LARDER_OK)
            r = check_unmapped(pool->heaps[i], &indexed->unmapped_blocks);
        if (r != LARDER_OK)
            return r;
        indexed->paged += pool->heaps[i]->page_count;
        if (i > 0 && pool->heaps[i - 1]->stream >= pool->heaps[i]->stream)
            return broken("B3", "heaps out of order", pool->heaps[i]->stream);
    }
    return LARDER_OK;
}

static larder_result check_pools(const struct allocator *a,
                                 struct sums *indexed)
{
    larder_result r = LARDER_OK;

    for (int kind = 0; r == LARDER_OK && kind < POOL_KINDS; kind++)
        r = check_pool(&a->pools[kind], indexed);
    for (const struct private_pool *p = a->privates.first;
         r == LARDER_OK && p != NULL; p = p->next) {
        for (int kind = 0; r == LARDER_OK && kind < POOL_KINDS; kind++)
            r = check_pool(&p->pools[kind], indexed);
    }
    return r;
}

/* Pools of regions have no users and are not listed. */
static larder_result check_unused(const struct allocator *a)
{
    uint64_t count = 0;

    for (const struct private_pool *p = a->privates.first; p != NULL;
         p = p->next)
        count += p->users == 0 && p->region == NULL;
    for (const struct private_pool *p = a->privates.unused; p != NULL;
         p = p->unused_next) {
        if (p->users != 0 || count-- == 0)
            return broken("N4", "a pool that has users", p->id.second);
    }
    return count == 0 ? LARDER_OK : broken("N4", "pools without users", count);
}

static larder_result check_lending(const struct private_pool *p)
{
    return p->has_lent && !p->is_lent
               ? broken("L2", "a block lent by a pool that is not",
                        p->id.second)
               : LARDER_OK;
}

static larder_result check_private(const struct allocator *a)
{
    size_t users = 0;
    size_t segments = 0;
    size_t regions = 0;

    for (const struct private_pool *p = a->privates.first; p != NULL;
         p = p->next) {
        larder_result r = check_lending(p);

        if (r != LARDER_OK)
            return r;
        for (const struct segment *s = p->segments; s != NULL; s = s->pool_next)
            segments += s->heap->pool->owner == p;
        regions += p->region != NULL;
        if (p->tag != NULL || p->region != NULL)
            continue;
        users++;
        if (larder__pool_index_get(&a->privates.index, p->id) != p)
            return broken("N1", "the pools by their ids", p->id.second);
    }
    for (const struct segment *s = a->segments; s != NULL; s = s->next)
        segments -= s->heap->pool->owner != NULL;
    if (users != a->privates.index.pool_count)
        return broken("N1", "the number of pools", users);
    if (regions != a->privates.regions)
        return broken("N3", "the number of regions", regions);
    return segments == 0 ? check_unused(a)
                         : broken("N2", "the segments of pools", segments);
}

static larder_result check_metric(const char *name, const struct metric *m,
                                  const int64_t *sum)
{
    for (unsigned p = 0; p < STATS_POOLS; p++) {
        if (m->current[p] != sum[p])
            return larder__fail(LARDER_ERR_CORRUPT,
                                "rule S1 is broken: %s of the %s pool is "
                                "%" PRId64 ", the blocks add up to %" PRId64,
                                name, p == STATS_SMALL ? "small" : "large",
                                m->current[p], sum[p]);
        if (m->peak[p] < m->current[p] || m->peak_all < metric_all(m))
            return larder__fail(LARDER_ERR_CORRUPT,
                                "rule S1 is broken: %s is above its peak",
                                name);
    }
    return LARDER_OK;
}

static larder_result check_sums(const struct allocator *a,
                                const struct sums *sums)
{
    larder_result r;

#define X(name, text)                                                          \
    if ((r = check_metric(#name, &a->stats.name, sums->name)) != LARDER_OK)    \
        return r;
    LARDER_METRIC_MAP(X)
#undef X
    if (a->held_bytes != (uint64_t)metric_all(&a->stats.reserved_bytes))
        return broken("S2", "held bytes", 0);
    if (sums->blocks !=
        a->slab.untouched - 1 - a->slab.free_count - larder__shard_headers(a))
        return broken("H1", "the number of headers", 0);
    return LARDER_OK;
}

static larder_result check_account(const struct allocator *a)
{
    uint64_t held = a->account.cache.held_bytes;
    uint64_t owed = holding_owed(&a->account.cache);
    uint64_t refused = 0;

    for (const struct private_pool *p = a->privates.first; p != NULL;
         p = p->next) {
        if (p->holding.held_bytes != p->counted_bytes)
            return broken("A3", "what a pool holds", p->id.second);
        held += p->holding.held_bytes;
        owed += holding_owed(&p->holding);
    }
    if (held != a->held_bytes)
        return broken("A1", "what the owners hold", held);
    if (owed != a->account.owed_bytes)
        return broken("A2", "what is owed to owners", owed);
    for (size_t i = 0; i < a->orphans.count; i++)
        refused += a->orphans.list[i].bytes;
    return refused == a->account.refused_bytes
               ? LARDER_OK
               : broken("A4", "what no owner holds", refused);
}

static larder_result check_events(const struct allocator *a,
                                  const struct sums *sums)
{
    uint64_t queued = 0;

    for (uint32_t i = 0; i < a->events.queue_count; i++) {
        for (const struct use *use = a->events.queues[i].first; use != NULL;
             use = use->next)
            queued++;
    }
    if (queued != a->events.waiting || queued + a->events.held != sums->events)
        return broken("E1", "the number of events", 0);
    return LARDER_OK;
}

larder_result larder__check_rules(struct allocator *a)
{
    struct sums sums = {.blocks = 0};
    struct sums indexed = {.blocks = 0};
    larder_result r;

    larder__assert(allocator_is_locked(a));
    for (struct private_pool *p = a->privates.first; p != NULL; p = p->next)
        p->counted_bytes = 0;
    for (const struct segment *s = a->segments; s != NULL; s = s->next) {
        if ((r = check_segment(a, s, &sums)) != LARDER_OK)
            return r;
    }
    for (const struct piece *p = a->pieces; p != NULL; p = p->next) {
        if ((r = check_piece(p, &sums)) != LARDER_OK)
            return r;
    }
    if ((r = check_pools(a, &indexed)) != LARDER_OK ||
        (r = check_private(a)) != LARDER_OK)
        return r;
    sums.reserved_bytes[STATS_LARGE] += (int64_t)larder__paged_loose_bytes(a);
    if (indexed.free_blocks != sums.free_blocks)
        return broken("B3", "the number of blocks in the indexes", 0);
    if (indexed.unmapped_blocks != sums.unmapped_blocks)
        return broken("B3", "the number of unmapped blocks", 0);
    if (indexed.paged != sums.paged)
        return broken("G2", "the number of pages of heaps", 0);
    if ((r = larder__paged_check(a, sums.pages)) != LARDER_OK)
        return r;
    if ((r = check_events(a, &sums)) != LARDER_OK)
        return r;
    if ((r = check_account(a)) != LARDER_OK)
        return r;
    return check_sums(a, &sums);
}

larder_result larder_check(larder_allocator *handle)
{
    struct allocator *a;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    r = larder__check_rules(a);
    if (r == LARDER_OK && a->debug != NULL)
        r = larder__debug_check(a);
    return larder__handle_end(a, r);
}
