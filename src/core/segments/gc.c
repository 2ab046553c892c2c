/* gc.c - garbage collection as with PyTorch's garbage_collection_threshold.
 *
 * A free block's age is the number of searches of its pool since it became
 * free.  When more memory is held than the threshold allows, unused segments of
 * the large default pool are released in rounds, in each those of at least
 * average age. */
#include "core/pools/pool.h"
#include "core/segments/blocks.h"
#include "core/segments/release.h"
#include "core/segments/segment.h"

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
