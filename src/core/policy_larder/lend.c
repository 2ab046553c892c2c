/* lend.c - lends free memory of private pools to the default pools when memory
 * runs out. */
#include "core/policy_larder/lend.h"

#include "base/bits.h"
#include "base/fail.h"
#include "core/entry/handle.h"
#include "core/policy_larder/pages.h"
#include "core/pools/pool.h"
#include "core/pools/private.h"
#include "core/segments/blocks.h"
#include "core/segments/events.h"
#include "core/segments/order.h"
#include "core/segments/segment.h"
#include "core/state/zone.h"

/* ---- blocks used by captures ------------------------------------------------ */

void larder__lend_note(struct allocator *a, const struct block *b,
                       uint64_t bytes, larder_stream stream)
{
    struct segment *s = b->segment;
    struct private_pool *p = s->heap->pool->owner;
    larder_addr end = b->addr + bytes;

    /* A pool that was not declared safe to lend from may serve graphs. */
    if (p->tag != NULL || (p->lends && !larder__private_is_graphs(a, stream)))
        return;
    p->is_captured = true;
    larder__private_decide(a);
    if (s->graph_begin == s->graph_end)
        s->graph_begin = s->graph_end = b->addr;
    if (b->addr < s->graph_begin)
        s->graph_begin = b->addr;
    if (end > s->graph_end)
        s->graph_end = end;
}

/* ---- lending to a stream ------------------------------------------------------ */

/* A block of the pool that serves a request to a default pool.  NULL: none. */
static const struct block *lent_block(struct allocator *a,
                                      const struct private_pool *p)
{
    for (const struct segment *s = p->segments; s != NULL; s = s->pool_next) {
        for (const struct block *b = s->head; b != NULL; b = block_next(a, b)) {
            if (block_is_in_use(b) && b->is_lent)
                return b;
        }
    }
    return NULL;
}

/* From here on the pool's memory is not in order on the stream that it was lent to:
 * wait for the work that used it there. */
static larder_result lend_end(struct allocator *a, struct private_pool *p)
{
    larder_result r = LARDER_OK;

    if (p->has_lent) {
        r = larder__capturing_forbids(a, "a pool that has lent memory cannot "
                                         "wait for the stream it was lent to");
        if (r == LARDER_OK)
            r = larder__events_pass(a, p->lent_stream);
    }
    if (r == LARDER_OK)
        p->is_lent = p->has_lent = false;
    return r;
}

larder_result larder__pool_recall(struct allocator *a, struct private_pool *p)
{
    const struct block *b;

    if (!p->is_lent)
        return LARDER_OK;
    if (!allocator_is_capturing(a))
        larder__events_poll(a);
    b = lent_block(a, p);
    if (b != NULL)
        return larder__fail(
            LARDER_ERR_BUSY,
            "private pool (%llu, %llu) has lent the allocation "
            "at 0x%llx of %llu bytes: %s",
            (unsigned long long)p->id.first, (unsigned long long)p->id.second,
            (unsigned long long)zone_user(b), (unsigned long long)b->bytes,
            b->state == BLOCK_LIVE ? "free that first"
                                   : "a recorded stream still uses it");
    return lend_end(a, p);
}

larder_result larder__pool_lend(struct allocator *a, struct private_pool *p,
                                larder_stream stream)
{
    larder_result r = larder__device_stream_check(a->device, stream);

    if (r == LARDER_OK && p->route != NULL)
        r = larder__fail(LARDER_ERR_INVALID,
                         "private pool (%llu, %llu) is begun and cannot be "
                         "lent",
                         (unsigned long long)p->id.first,
                         (unsigned long long)p->id.second);
    if (r == LARDER_OK && p->is_lent && p->lent_stream != stream)
        r = larder__pool_recall(a, p);
    if (r != LARDER_OK)
        return r;
    p->is_lent = true;
    p->lent_stream = stream;
    return LARDER_OK;
}

/* ---- lending a free block --------------------------------------------------- */

/* The smallest free block of the pool that fits. */
static struct block *best_block(const struct pool *pool, uint64_t size)
{
    struct block *best = NULL;

    for (uint32_t i = 0; i < pool->heap_count; i++) {
        struct block *b = larder__bins_fit(pool->heaps[i]->bins, size);

        if (b != NULL && (best == NULL || b->bytes < best->bytes))
            best = b;
    }
    return best;
}

/* Take a free block of the pool, after the work of the pool's own stream. */
static bool lend_from(struct allocator *a, struct private_pool *p,
                      struct request *q)
{
    enum pool_kind kind = q->heap->pool->is_small ? POOL_SMALL : POOL_LARGE;
    struct block *b = best_block(&p->pools[kind], q->size);
    struct heap *heap = b == NULL ? NULL : b->segment->heap;

    if (b == NULL || (heap->stream != q->stream &&
                      larder__events_pass(a, heap->stream) != LARDER_OK))
        return false;
    heap_remove(b);
    p->has_lent = true;
    q->heap = heap;
    q->block = b;
    q->takes_lent = true;
    return true;
}

bool larder__lend_block(struct allocator *a, struct request *q)
{
    for (struct private_pool *p = a->privates.first; p != NULL; p = p->next) {
        if (p->is_lent && p->lent_stream == q->stream && lend_from(a, p, q))
            return true;
    }
    return false;
}

/* ---- lending pages ---------------------------------------------------------- */

/* How many pages are wanted, and how many the current pool may lend. */
struct lending {
    size_t wanted;
    size_t spare;
    size_t lent;
};

static bool may_lend(const struct private_pool *p)
{
    if (p->region != NULL || p->is_paused || p->route != NULL)
        return false;
    return p->is_lent || (!p->is_captured && (p->lends || p->users == 0));
}

static void page_loosen(struct allocator *a, const struct segment *s,
                        uint64_t page)
{
    size_t pages = s->page_bytes / PAGE_BYTES;

    /* The page counted as one, and becomes several of PAGE_BYTES. */
    a->page_count += pages - 1;
    larder__handles_loosen(
        a, (struct page_handle){.handle = page, .pages = pages});
    larder__pages_recount(a, s->heap->pool, &a->pools[POOL_LARGE], pages);
}

static size_t left(const struct lending *l)
{
    return bits_lesser(l->wanted - bits_lesser(l->wanted, l->lent), l->spare);
}

static void count_lent(struct lending *l, size_t pages)
{
    l->lent += pages;
    l->spare -= bits_lesser(l->spare, pages);
}

/* From an expandable segment: take whole handles of the block, as many as are
 * wanted and can be spared. */
static larder_result lend_handles(struct allocator *a, struct block *b,
                                  struct lending *l)
{
    size_t each = b->segment->page_bytes / PAGE_BYTES;
    size_t max = bits_lesser((left(l) + each - 1) / each, l->spare / each);
    size_t count = 0;
    larder_result r;

    if (max == 0)
        return LARDER_OK;
    if (!larder__handles_make_room(a, max * each))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    r = larder__expandable_take(a, b, max, page_loosen, &count);
    count_lent(l, count * each);
    return r;
}

/* Release a driver segment that is entirely free. */
static larder_result lend_segment(struct allocator *a, struct block *b,
                                  struct lending *l)
{
    const struct segment *s = b->segment;
    size_t pages = s->bytes / PAGE_BYTES;
    larder_result r;

    if (s->kind != SEGMENT_DRIVER || block_is_split(b) ||
        s->graph_begin != s->graph_end || pages > l->spare)
        return LARDER_OK;
    r = larder__segment_release(a, b);
    if (r != LARDER_OK)
        return r;
    a->larder->refused_at = UINT64_MAX;
    count_lent(l, pages);
    return LARDER_OK;
}

/* A block that handles are taken from leaves smaller blocks, so walking down
 * the sizes visits each block once. */
static larder_result lend_heap(struct allocator *a, struct heap *heap,
                               struct lending *l)
{
    struct block *b = bins_largest(heap->bins);
    larder_result r;

    if (b == NULL || b->bytes < PAGE_BYTES)
        return LARDER_OK;
    r = larder__order_pass(a, heap);
    while (r == LARDER_OK && b != NULL && left(l) > 0) {
        struct tree_key key = bins_key(heap->bins, b);

        r = b->segment->kind == SEGMENT_EXPANDABLE ? lend_handles(a, b, l)
                                                   : lend_segment(a, b, l);
        b = larder__bins_before(heap->bins, key);
    }
    return r;
}

static void lend_pool(struct allocator *a, struct private_pool *p,
                      struct lending *l)
{
    static const enum pool_kind order[] = {POOL_LARGE, POOL_SMALL};

    for (size_t k = 0; k < sizeof order / sizeof order[0]; k++) {
        struct pool *pool = &p->pools[order[k]];

        for (uint32_t i = 0; i < pool->heap_count && left(l) > 0; i++)
            (void)lend_heap(a, pool->heaps[i], l);
    }
}

size_t larder__lend_pages(struct allocator *a, size_t pages)
{
    struct lending l = {.wanted = pages};

    for (struct private_pool *p = a->privates.first;
         p != NULL && l.lent < pages; p = p->next) {
        l.spare = holding_spare(&p->holding) / PAGE_BYTES;
        if (may_lend(p))
            lend_pool(a, p, &l);
    }
    return l.lent;
}
