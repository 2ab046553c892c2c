/* blocks.c - splits, merges, allocates and frees blocks, and counts that. */
#include "core/segments/blocks.h"

#include "core/history/recording.h"
#include "core/pools/pool.h"
#include "core/segments/page_span.h"
#include "core/state/shard.h"
#include "core/state/held.h"

/* ---- adjacent blocks ------------------------------------------------------ */

static struct block *block_part(struct allocator *a, struct block *b,
                                uint64_t bytes)
{
    struct block *rest = shard_take_header(a, b);
    struct block *after = block_next(a, b);

    larder__assert(bytes > 0 && bytes < b->bytes);
    larder__assert(bytes % a->policy->unit_bytes == 0);
    larder__assert(slab_is_linked(&a->slab, b));
    rest->addr = b->addr + bytes;
    rest->bytes = b->bytes - bytes;
    rest->segment = b->segment;
    rest->state = b->state;
    rest->shard = b->shard;
    rest->prev = b->self;
    rest->next = b->next;
    if (after != NULL)
        after->prev = rest->self;
    b->next = rest->self;
    b->bytes = bytes;
    if (a->slab.has_serials)
        slab_set_serial(rest, slab_serial(b));
    larder__assert(slab_is_linked(&a->slab, b));
    larder__assert(slab_is_linked(&a->slab, rest));
    return rest;
}

/* Number the block anew, for releases of PyTorch that number every block. */
static void block_renew(struct allocator *a, struct block *b)
{
    if (a->slab.has_serials && a->conf.rules->free_order == PYTORCH_NEW_BLOCKS)
        slab_set_serial(b, ++a->slab.last_serial);
}

struct block *larder__block_split(struct allocator *a, struct block *b,
                                  uint64_t bytes)
{
    struct block *rest = block_part(a, b, bytes);

    block_renew(a, rest);
    return rest;
}

struct block *larder__block_cut(struct allocator *a, struct block *b,
                                uint64_t bytes)
{
    struct block *rest = block_part(a, b, bytes);

    block_renew(a, b);
    return rest;
}

/* Append `high` to `low`, the block before it. */
static void block_join(struct allocator *a, struct block *low,
                       struct block *high)
{
    struct block *after = block_next(a, high);

    larder__assert(low->state == high->state && low->shard == high->shard);
    larder__assert(low->next == high->self && high->prev == low->self);
    low->bytes += high->bytes;
    low->next = high->next;
    if (after != NULL)
        after->prev = low->self;
    shard_give_header(a, high);
    larder__assert(slab_is_linked(&a->slab, low));
}

/* The neighbour, removed from its index, if it is in the same state. */
static struct block *block_mergeable(struct allocator *a, uint32_t number,
                                     uint8_t state)
{
    struct block *b = slab_get(&a->slab, number);

    if (b == NULL || b->state != state)
        return NULL;
    if (state == BLOCK_UNMAPPED)
        heap_remove_unmapped(b);
    else
        heap_remove(b);
    return b;
}

struct block *larder__block_merge(struct allocator *a, struct block *b,
                                  struct merged *merged)
{
    struct block *low = block_mergeable(a, b->prev, b->state);
    struct block *high = block_mergeable(a, b->next, b->state);

    larder__assert(slab_is_linked(&a->slab, b));
    larder__assert(b->state == BLOCK_FREE || b->state == BLOCK_UNMAPPED);
    if (low != NULL) {
        merged->bytes += low->bytes;
        merged->count++;
        if (a->slab.has_serials)
            slab_set_serial(low, slab_serial(b));
        block_join(a, low, b);
        b = low;
    }
    if (high != NULL) {
        merged->bytes += high->bytes;
        merged->count++;
        block_join(a, b, high);
    }
    larder__assert(block_prev(a, b) == NULL ||
                   slab_at(&a->slab, b->prev)->state != b->state);
    larder__assert(block_next(a, b) == NULL ||
                   slab_at(&a->slab, b->next)->state != b->state);
    return b;
}

/* ---- allocating ----------------------------------------------------------- */

/* Count free parts of split segments when `size` bytes of a block are taken;
 * `rest` is what remains, 0 if the whole block is taken. */
static void count_split(struct stats *st, unsigned pool, bool was_split,
                        uint64_t size, uint64_t rest)
{
    if (rest == 0 && !was_split)
        return;
    if (rest == 0) {
        metric_sub(&st->inactive_split_bytes, pool, size);
        metric_sub(&st->inactive_split, pool, 1);
    } else if (was_split) {
        metric_sub(&st->inactive_split_bytes, pool, size);
    } else {
        metric_add(&st->inactive_split_bytes, pool, rest);
        metric_add(&st->inactive_split, pool, 1);
    }
}

static void count_allocation(struct allocator *a, const struct block *b,
                             unsigned pool)
{
    struct stats *st = &a->stats;

    larder__assert(b->requested > 0 && b->requested <= b->bytes);
    usage_allocate(b);
    metric_add(&st->allocation, pool, 1);
    metric_add(&st->allocated_bytes, pool, b->bytes);
    metric_add(&st->active, pool, 1);
    metric_add(&st->active_bytes, pool, b->bytes);
    metric_add(&st->requested_bytes, pool, b->requested);
    if (b->bytes >= a->conf.max_split_bytes)
        metric_add(&st->oversize_allocations, STATS_LARGE, 1);
}

void larder__block_allocate(struct allocator *a, struct block *b, uint64_t size,
                            uint64_t requested, bool split)
{
    unsigned pool = b->segment->heap->pool->stats;
    bool was_split = block_is_split(b);
    uint64_t rest = 0;

    larder__assert(allocator_is_locked(a));
    larder__assert(b->state == BLOCK_FREE && b->bytes >= size);
    larder__assert(requested > 0 && requested <= size);
    larder__assert(map_find(&a->map, &a->slab, b->addr) == NULL);
    if (split) {
        rest = b->bytes - size;
        heap_insert(larder__block_cut(a, b, size));
    }
    if (!segment_is_expandable(b->segment))
        count_split(&a->stats, pool, was_split, b->bytes, rest);
    b->state = BLOCK_LIVE;
    b->requested = requested;
    b->uses = NULL;
    b->events = 0;
    b->is_lent = false;
    b->zones = ZONES_NONE;
    stamp_block(a, b);
    count_allocation(a, b, pool);
    larder__assert(slab_is_linked(&a->slab, b));
    history_alloc(a, b);
}

/* ---- releasing ---------------------------------------------------------- */

void larder__block_free(struct allocator *a, struct block *b)
{
    struct stats *st = &a->stats;
    unsigned pool = b->segment->heap->pool->stats;
    uint64_t bytes = b->bytes;
    uint64_t requested = b->requested;
    struct merged merged = {0};

    larder__assert(allocator_is_locked(a));
    larder__assert(b->state == BLOCK_LIVE || b->state == BLOCK_PENDING);
    larder__assert(b->uses == NULL && b->events == 0);
    larder__assert(map_find(&a->map, &a->slab, b->addr) == NULL);
    history_range(a, LARDER_ACTION_free_completed, b->segment, b->addr,
                  requested);
    b->state = BLOCK_FREE;
    b = larder__block_merge(a, b, &merged);
    heap_insert(b);
    /* Whole pages of an expandable segment can always be released, so its free
     * blocks do not count as splits. */
    if (!segment_is_expandable(b->segment)) {
        int64_t blocks = -(int64_t)merged.count;
        int64_t change = -(int64_t)merged.bytes;

        if (block_is_split(b)) {
            blocks += 1;
            change += (int64_t)b->bytes;
        }
        larder__metric_move(&st->inactive_split, pool, blocks);
        larder__metric_move(&st->inactive_split_bytes, pool, change);
    }
    metric_sub(&st->active, pool, 1);
    metric_sub(&st->active_bytes, pool, bytes);
    metric_sub(&st->requested_bytes, pool, requested);
    larder__assert(b->state == BLOCK_FREE && b->bytes >= bytes);
    larder__assert(st->active.current[pool] >= 0);
    larder__assert(st->requested_bytes.current[pool] <=
                   st->active_bytes.current[pool]);
    if (a->policy->freed != NULL)
        a->policy->freed(a, b);
}
