/* fast.h - a request that its stream's own free blocks answer, and the free
 * that fills them, with the lock of one front alone (front.h).  Private to
 * core.
 *
 * What larder__request() and larder__give_back() do, without what does not
 * apply: it must stay the same to the last statistic, but for blocks that wait
 * for recorded streams, which are asked about less often.  One header, one
 * entry of the map and three counters are touched where a quick list
 * answers. */
#ifndef LARDER_CORE_FAST_H
#define LARDER_CORE_FAST_H

#include "base/bits.h"
#include "core/events.h"
#include "core/front.h"
#include "core/quick.h"

/* Without quick lists' help; the front's lock is held (fast.c).  NULL: what is
 * wanted is not there. */
struct block *larder__fast_cut(struct allocator *a, struct heap *heap,
                               uint64_t size);

/* b, which no quick list took, goes into its heap; likewise. */
void larder__fast_merge(struct allocator *a, struct block *b);

/* Where a request of this size goes; the same number in all arrays of two. */
static inline enum pool_kind fast_kind(const struct allocator *a, uint64_t size)
{
    return size <= a->policy->small_max_bytes ? POOL_SMALL : POOL_LARGE;
}

/* Blocks that recorded streams use may wait a little longer, as who wants more
 * memory asks first: whether it is time to ask all the same. */
enum { FAST_PATIENCE = 32 };

static inline bool fast_is_due(const struct allocator *a, struct front *f)
{
    if (events_are_idle(&a->events) || f->unasked++ < FAST_PATIENCE)
        return false;
    f->unasked = 0;
    return true;
}

static inline bool fast_alloc_locked(struct allocator *a, struct front *f,
                                     uint64_t bytes, larder_addr *out)
{
    uint64_t size = bits_up(bytes, a->policy->unit_bytes);
    enum pool_kind kind = fast_kind(a, size);
    struct heap *heap = f->heaps[kind];
    struct tally *tally;
    struct block *b;

    if (!a->fronts.is_open || bytes > a->props.total_bytes || heap == NULL ||
        fast_is_due(a, f))
        return false;
    tally = front_tally(a, f, (int64_t)size);
    if (tally == NULL)
        return false;
    b = quick_take(heap->quick, size);
    if (b == NULL) {
        b = larder__fast_cut(a, heap, size);
        if (b == NULL)
            return false;
        map_put(&a->map, b->addr, b->self);
    }
    b->state = BLOCK_LIVE;
    b->requested = bytes;
    b->uses = NULL;
    b->events = 0;
    *out = b->addr;
    tally_add(tally, kind, size, bytes);
    return true;
}

/* False: it has to be asked for the long way. */
static inline bool fast_alloc(struct allocator *a, uint64_t bytes,
                              larder_stream stream, larder_addr *out)
{
    struct front *f = front_of(a, stream);
    bool done;

    if (f == NULL)
        return false;
    lock_take(&f->lock);
    done = fast_alloc_locked(a, f, bytes, out);
    lock_leave(&f->lock);
    return done;
}

static inline bool fast_free_locked(struct allocator *a, struct front *f,
                                    larder_addr addr)
{
    struct block *b = slab_get(&a->slab, map_get(&a->map, addr));
    struct tally *tally;
    enum pool_kind kind;

    /* The front is looked at again: the addresses may have changed hands. */
    if (b == NULL || !a->fronts.is_open || b->state != BLOCK_LIVE ||
        map_front(&a->map, addr) != f->number || b->uses != NULL)
        return false;
    tally = front_tally(a, f, -(int64_t)b->bytes);
    if (tally == NULL)
        return false;
    kind = fast_kind(a, b->bytes); /* paged blocks are as large as asked for */
    tally_sub(tally, kind, b->bytes, b->requested);
    if (a->is_tight || !quick_keep(f->heaps[kind]->quick, b))
        larder__fast_merge(a, b);
    return true;
}

/* False: nothing is done, and the long way has to tell why, or do it. */
static inline bool fast_free(struct allocator *a, larder_addr addr)
{
    struct front *f = front_numbered(a, map_front(&a->map, addr));
    bool done;

    if (f == NULL)
        return false;
    lock_take(&f->lock);
    done = fast_free_locked(a, f, addr);
    lock_leave(&f->lock);
    return done;
}

#endif
