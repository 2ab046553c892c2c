/* unused.c - whole unused segments of the default pools, and which are released
 * first. */
#include "core/pools/pool.h"
#include "core/segments/blocks.h"
#include "core/segments/release.h"
#include "core/segments/segment.h"

static uint64_t heap_unused(const struct heap *heap)
{
    const struct block *b = larder__bins_fit(heap->bins, 0);
    uint64_t bytes = 0;

    for (; b != NULL; b = bins_next(heap->bins, b)) {
        if (block_is_unused(b))
            bytes += b->bytes;
    }
    return bytes;
}

uint64_t larder__unused_bytes(const struct allocator *a)
{
    uint64_t bytes = 0;

    for (int kind = 0; kind < POOL_KINDS; kind++) {
        for (uint32_t i = 0; i < a->pools[kind].stocked_count; i++)
            bytes += heap_unused(a->pools[kind].stocked[i]);
    }
    return bytes;
}

/* The smallest unused segment of at least `bytes`; `best` if none is
 * smaller. */
static struct block *smaller_of_heap(const struct heap *heap, uint64_t bytes,
                                     struct block *best)
{
    struct block *b = larder__bins_fit(heap->bins, bytes);

    while (b != NULL && !block_is_unused(b))
        b = bins_next(heap->bins, b);
    return b != NULL && (best == NULL || b->bytes < best->bytes) ? b : best;
}

/* The largest unused segment of at most `bytes`; `best` if none is larger. */
static struct block *larger_of_heap(const struct heap *heap, uint64_t bytes,
                                    struct block *best)
{
    struct block *b = larder__bins_before(
        heap->bins, (struct tree_key){bytes, UINT64_MAX, UINT64_MAX});

    while (b != NULL && !block_is_unused(b))
        b = larder__bins_before(heap->bins, bins_key(heap->bins, b));
    return b != NULL && (best == NULL || b->bytes > best->bytes) ? b : best;
}

typedef struct block *chooser(const struct heap *heap, uint64_t bytes,
                              struct block *best);

static struct block *unused_choose(const struct allocator *a, uint64_t bytes,
                                   chooser *better)
{
    struct block *best = NULL;

    for (int kind = 0; kind < POOL_KINDS; kind++) {
        for (uint32_t i = 0; i < a->pools[kind].stocked_count; i++)
            best = better(a->pools[kind].stocked[i], bytes, best);
    }
    return best;
}

/* A segment that the device fails to release is skipped, together with all of
 * its size. */
uint64_t larder__release_unused(struct allocator *a, uint64_t bytes)
{
    struct block *alone;
    uint64_t max = UINT64_MAX;
    uint64_t gone = 0;

    for (int kind = 0; kind < POOL_KINDS; kind++)
        larder__stocked_tidy(&a->pools[kind]);
    alone = unused_choose(a, bytes, smaller_of_heap);
    if (alone != NULL) {
        uint64_t size = alone->bytes;

        if (larder__segment_release(a, alone) == LARDER_OK)
            return size;
    }
    while (gone < bytes) {
        struct block *b = unused_choose(a, max, larger_of_heap);
        uint64_t size;

        larder__assert(b == NULL || (block_is_unused(b) && b->bytes <= max));
        if (b == NULL)
            break;
        size = b->bytes;
        max = size;
        if (larder__segment_release(a, b) == LARDER_OK)
            gone += size;
        else
            max--;
    }
    return gone;
}

/* ---- garbage collection -------------------------------------------------- */

/* As with PyTorch's garbage_collection_threshold.  A free block's age is the
 * number of searches of its pool since it became free.  When more memory is held
 * than the threshold allows, unused segments of the large default pool are
 * released in rounds, in each those of at least average age. */

struct garbage {
    uint64_t total_age;
    uint64_t count;
    uint64_t reclaimed;
};

static uint64_t gc_age(const struct block *b)
{
    larder__assert(b->born <= b->segment->heap->pool->searches);
    return b->segment->heap->pool->searches - b->born;
}

static void gc_count(struct pool *pool, struct garbage *g)
{
    for (uint32_t i = 0; i < pool->stocked_count; i++) {
        const struct bins *bins = pool->stocked[i]->bins;

        for (struct block *b = larder__bins_fit(bins, 0); b != NULL;
             b = bins_next(bins, b)) {
            if (block_is_unused(b)) {
                g->total_age += gc_age(b);
                g->count++;
            }
        }
    }
}

/* Release segments that are old enough.  Returns whether there were any. */
static bool gc_round(struct allocator *a, struct pool *pool, struct garbage *g)
{
    double threshold = (double)g->total_age / (double)g->count;
    bool released = false;

    larder__assert(g->count > 0);
    for (uint32_t i = 0; i < pool->stocked_count; i++) {
        const struct bins *bins = pool->stocked[i]->bins;
        struct block *b = larder__bins_fit(bins, 0);

        while (b != NULL) {
            struct block *next = bins_next(bins, b);
            uint64_t age = gc_age(b);
            uint64_t bytes = b->bytes;

            if (block_is_unused(b) && (double)age >= threshold &&
                larder__segment_release(a, b) == LARDER_OK) {
                larder__assert(age <= g->total_age);
                g->reclaimed += bytes;
                g->total_age -= age;
                g->count--;
                released = true;
            }
            b = next;
        }
    }
    return released;
}

void larder__collect_garbage(struct allocator *a)
{
    struct pool *pool = &a->pools[POOL_LARGE];
    struct garbage g = {0};
    uint64_t keep = (uint64_t)(a->conf.gc_threshold * (double)a->allowed_bytes);
    uint64_t excess;

    if (a->held_bytes <= keep)
        return;
    excess = a->held_bytes - keep;
    gc_count(pool, &g);
    while (g.reclaimed < excess && g.count > 0 && gc_round(a, pool, &g))
        ;
}
