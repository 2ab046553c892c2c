/* fast.h - a request that its stream's own free blocks answer, and the free
 * that fills them, with the lock of one front alone (front.h).  Private to
 * core.
 *
 * What larder__request() and larder__give_back() do, without what does not
 * apply: it must stay the same to the last statistic, but that blocks that wait
 * for recorded streams are asked about less often, and that the peak which says
 * how far the small pool may grow can be a little old with several threads.
 * One header, one entry of the map and three counters are touched where a quick
 * list answers. */
#ifndef LARDER_CORE_FAST_H
#define LARDER_CORE_FAST_H

#include "base/bits.h"
#include "core/events.h"
#include "core/front.h"
#include "core/quick.h"

/* The policy larder alone has fronts; its unit is the alignment that CUDA
 * promises. */
enum { FAST_UNIT = 256 };

#define FAST_INLINE inline __attribute__((always_inline))

/* Where a request of this size goes; the same number in all arrays of two. */
static inline enum pool_kind fast_kind(const struct allocator *a, uint64_t size)
{
    return size <= a->small_max_bytes ? POOL_SMALL : POOL_LARGE;
}

/* ---- answered by a quick list --------------------------------------------- */

static inline void fast_hand_out(struct block *b, uint64_t bytes,
                                 larder_addr *out)
{
    b->state = BLOCK_LIVE;
    b->requested = bytes;
    b->uses = NULL;
    b->events = 0;
    *out = b->addr;
}

/* Without a call of its own: registers need not be saved.  False: nothing is
 * done.  The lock of f is held. */
static FAST_INLINE bool fast_take(struct allocator *a, struct front *f,
                                  uint64_t bytes, larder_addr *out)
{
    uint64_t size = bits_up(bytes, FAST_UNIT);
    enum pool_kind kind = fast_kind(a, size);
    struct quick *quick = f->quick[kind];
    struct tally *tally;
    struct block *b;

    /* None are of 0 bytes here, and none may be where most_bytes is 0. */
    if (bytes - 1 >= a->fronts.most_bytes || a->fronts.has_waiting ||
        quick == NULL)
        return false;
    tally = front_tally(a, f, (int64_t)size);
    if (tally == NULL)
        return false;
    b = quick_take(quick, size);
    if (b == NULL)
        return false;
    fast_hand_out(b, bytes, out);
    tally_add(tally, kind, b->bytes, bytes);
    return true;
}

/* The block of f that begins at addr, NULL: there is none that can be given
 * back here.  Its front is looked at again: addresses may have changed hands
 * before the lock was taken. */
static FAST_INLINE struct block *fast_find(struct allocator *a,
                                           const struct front *f,
                                           const map_granule *granule,
                                           larder_addr addr)
{
    struct block *b;

    if (map_front(granule) != f->number || a->fronts.most_bytes == 0)
        return NULL;
    b = map_find_in(granule, &a->slab, addr);
    if (b == NULL || b->state != BLOCK_LIVE || b->uses != NULL)
        return NULL;
    return b;
}

/* The same as fast_take() for a free of b, which was found so. */
static FAST_INLINE bool fast_keep(struct allocator *a, struct front *f,
                                  struct block *b)
{
    enum pool_kind kind = fast_kind(a, b->bytes);
    struct tally *tally = front_tally(a, f, -(int64_t)b->bytes);

    if (a->is_tight || tally == NULL || !quick_keep(f->quick[kind], b))
        return false;
    tally_sub(tally, kind, b->bytes, b->requested);
    return true;
}

/* ---- answered by the heap ------------------------------------------------- */

/* After fast_take() failed.  The lock of f is held.  False: nothing is done, it
 * has to be asked for the long way. */
bool larder__fast_alloc(struct allocator *a, struct front *f, uint64_t bytes,
                        larder_addr *out);

/* After fast_keep() failed, likewise.  False: the long way has to tell why, or
 * do it. */
bool larder__fast_free(struct allocator *a, struct front *f,
                       const map_granule *granule, struct block *b);

#endif
