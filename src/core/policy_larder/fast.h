/* fast.h - the fast path: a request served from its stream's own free blocks,
 * and a free, under one shard's lock (shard.h).  Private to core.
 *
 * It does what larder__request() and larder__block_retire() do, without the
 * steps that cannot apply here.  The two must agree to the last statistic,
 * except that pending blocks are polled less often.
 *
 * Neighbours merge at once, and a block is cut at its low end.  The header that
 * stands for the free memory stays in its list as long as its size class does
 * not change, so most calls touch no other block of that list. */
#pragma once

#include "base/bits.h"
#include "core/segments/events.h"
#include "core/segments/page_span.h"
#include "core/state/shard.h"

/* Only the policy larder has shards; its unit is CUDA's alignment guarantee. */
enum { FAST_UNIT = 256 };

#define FAST_INLINE inline __attribute__((always_inline))

/* The pool that a request of this size goes to; indexes all arrays by kind. */
static inline enum pool_kind fast_kind(const struct allocator *a, uint64_t size)
{
    return size <= a->small_max_bytes ? POOL_SMALL : POOL_LARGE;
}

/* ---- allocating ------------------------------------------------------------ */

/* Requests of a shard from one poll of the pending blocks to the next, while
 * none misses.  A call from another process is answered at once. */
enum { FAST_PATIENCE = 32 };

static inline bool fast_should_poll(const struct allocator *a, struct shard *f)
{
    if (!a->shards.is_watching)
        return false;
    if (shards_are_called(a))
        return true;
    if (!a->shards.has_waiting || ++f->unasked < FAST_PATIENCE)
        return false;
    f->unasked = 0;
    return true;
}

/* Cut the first `size` bytes off the free block b into a header of their own; b
 * keeps the rest and its place in the list. */
static FAST_INLINE struct block *fast_cut(struct allocator *a, struct shard *f,
                                          struct fit *fit, struct block *b,
                                          uint64_t size)
{
    struct block *low = shard_pop_header(a, f);
    unsigned before = fit_class(b->bytes);
    unsigned after = fit_class(b->bytes - size);

    larder__assert(b->state == BLOCK_FREE && size < b->bytes);
    low->addr = b->addr;
    low->bytes = size;
    low->segment = b->segment;
    low->prev = b->prev;
    low->next = b->self;
    low->shard = b->shard;
    if (b->prev != 0)
        slab_at(&a->slab, b->prev)->next = low->self;
    else
        b->segment->head = low;
    b->prev = low->self;
    b->addr += size;
    b->bytes -= size;
    if (after != before) {
        fit_remove_from(fit, before, b);
        fit_insert_in(fit, after, b);
    }
    larder__assert(slab_is_linked(&a->slab, low));
    return low;
}

static FAST_INLINE void fast_hand_out(struct allocator *a, struct block *b,
                                      uint64_t bytes)
{
    larder__assert(bytes > 0 && bytes <= b->bytes);
    larder__assert(b->bytes % FAST_UNIT == 0 && b->addr % FAST_UNIT == 0);
    b->state = BLOCK_LIVE;
    b->requested = bytes;
    b->uses = NULL;
    b->events = 0;
    map_put(&a->map, b);
}

/* Allocate a block for a request of `bytes`, from 1 to `max_bytes`.  With
 * `has_pieces` it may meet a part of a piece, which belongs to no shard and is
 * left to the slow path.  The caller holds f's lock.  NULL: nothing was done;
 * take the slow path. */
static FAST_INLINE struct block *fast_take(struct allocator *a, struct shard *f,
                                           uint64_t max_bytes, uint64_t bytes,
                                           bool has_pieces)
{
    uint64_t size = bits_up(bytes, FAST_UNIT);
    enum pool_kind kind = fast_kind(a, size);
    struct heap *heap = f->heaps[kind];
    struct tally *tally;
    struct block *b;

    if (bytes - 1 >= max_bytes || heap == NULL || fast_should_poll(a, f))
        return NULL;
    tally = shard_tally(a, f, (int64_t)size);
    if (tally == NULL)
        return NULL;
    b = fit_find(heap->fit, size, FIT_LOOKS);
    if (b == NULL || (has_pieces && b->shard != f->number))
        return NULL;
    if (b->bytes == size)
        fit_remove(heap->fit, b);
    else if (f->header_count > 0)
        b = fast_cut(a, f, heap->fit, b, size);
    else
        return NULL;
    stamp_block(a, b);
    fast_hand_out(a, b, bytes);
    tally_add(tally, kind, size, bytes);
    return b;
}

/* The caller holds f's lock.  False: nothing was done; take the slow path. */
static FAST_INLINE bool fast_alloc(struct allocator *a, struct shard *f,
                                   uint64_t bytes, larder_addr *out)
{
    const struct block *b = fast_take(a, f, a->shards.max_bytes, bytes, false);

    if (b != NULL)
        *out = b->addr;
    return b != NULL;
}

/* ---- freeing --------------------------------------------------------------- */

/* Find the block of f that begins at addr.  NULL: none that can be freed here.
 * The shard is checked again because the addresses may have changed hands
 * before the lock was taken. */
static FAST_INLINE struct block *fast_find(struct allocator *a,
                                           const struct shard *f,
                                           const map_granule *granule,
                                           larder_addr addr)
{
    struct block *b;

    if (map_shard(granule) != f->number)
        return NULL;
    b = map_find_in(granule, &a->slab, addr);
    if (b == NULL || b->state != BLOCK_LIVE || b->uses != NULL)
        return NULL;
    return b;
}

/* b has absorbed `high`: link b to the block behind it. */
static FAST_INLINE void fast_link_after(struct allocator *a, struct block *b,
                                        const struct block *high)
{
    b->next = high->next;
    if (high->next != 0)
        slab_at(&a->slab, high->next)->prev = b->self;
}

/* Merge b, which is in no list, with its free neighbours and insert the
 * result. */
static FAST_INLINE void fast_merge(struct allocator *a, struct shard *f,
                                   struct fit *fit, struct block *b)
{
    unsigned before;
    unsigned after;

    larder__assert(b->state == BLOCK_LIVE && slab_is_linked(&a->slab, b));
    if (b->next != 0) {
        struct block *high = slab_at(&a->slab, b->next);

        if (high->state == BLOCK_FREE) {
            fit_remove(fit, high);
            b->bytes += high->bytes;
            fast_link_after(a, b, high);
            shard_push_header(f, high);
        }
    }
    if (b->prev != 0) {
        struct block *low = slab_at(&a->slab, b->prev);

        if (low->state == BLOCK_FREE) {
            before = fit_class(low->bytes);
            low->bytes += b->bytes;
            after = fit_class(low->bytes);
            fast_link_after(a, low, b);
            shard_push_header(f, b);
            if (after != before) {
                fit_remove_from(fit, before, low);
                fit_insert_in(fit, after, low);
            }
            return;
        }
    }
    b->state = BLOCK_FREE;
    larder__assert(slab_is_linked(&a->slab, b));
    fit_insert(fit, b);
}

/* Free b, which fast_find() returned.  The caller holds f's lock.  False:
 * nothing was done; take the slow path. */
static FAST_INLINE bool fast_free(struct allocator *a, struct shard *f,
                                  const map_granule *granule, struct block *b)
{
    struct tally *tally = shard_tally(a, f, -(int64_t)b->bytes);
    struct heap *heap = b->segment->heap;

    if (tally == NULL)
        return false;
    larder__assert(b->uses == NULL && b->events == 0);
    larder__assert(heap->shard == f && heap->pool->owner == NULL);
    tally_sub(tally, fast_kind(a, b->bytes), b->bytes, b->requested);
    map_remove_in(granule, b);
    fast_merge(a, f, heap->fit, b);
    return true;
}

/* ---- the careful path (careful.c) ---------------------------------------- */

/* These close the fast path to requests, because each request may belong to a
 * private pool, meet a part of a piece, or has to be recorded.  The careful path
 * finds that out under the lock of the request's stream, so that other streams
 * do not wait.  What threads share there, the filters of private pools and the
 * history, is used under one more lock, shards.common; a thread that holds all
 * other locks needs it not, as it excludes every shard. */

/* Serve a request of `bytes` > 0 from its stream's own free blocks, or free the
 * block at addr into them.  `caller` is the return address of the public
 * function, for the history.  The caller holds no lock.  False: nothing was
 * done; take the slow path. */
bool larder__careful_alloc(struct allocator *a, uint64_t bytes,
                           larder_stream stream, larder_addr *out,
                           const void *caller);
bool larder__careful_free(struct allocator *a, larder_addr addr,
                          const void *caller);
