/* memory.c - the public calls on memory: allocate, free, record a stream. */
#include <inttypes.h>

#include <larder/hint.h>

#include "base/fail.h"
#include "core/debug/debug.h"
#include "core/entry/handle.h"
#include "core/history/recording.h"
#include "core/observe/walk.h"
#include "core/peers/peers.h"
#include "core/policy_larder/fast.h"
#include "core/pools/pool.h"
#include "core/request/request.h"
#include "core/segments/blocks.h"
#include "core/segments/order.h"
#include "core/segments/release.h"
#include "core/segments/segment.h"
#include "core/state/zone.h"

/* Code after a hit is out of line and called last, so that a hit saves no
 * registers. */
#define LAST __attribute__((noinline))

/* ---- allocating ----------------------------------------------------------- */

/* With debug:2 or 3. */
static LAST larder_result request_zoned(struct allocator *a, uint64_t bytes,
                                        larder_stream stream, larder_hint hint,
                                        larder_addr *out)
{
    struct block *b = NULL;
    larder_addr addr;
    larder_result r = larder__request(a, bytes, stream, hint, &addr);

    if (r != LARDER_OK)
        return r;
    b = zone_find(a, addr);
    r = larder__debug_allocated(a, b);
    if (r == LARDER_OK) {
        *out = addr;
    } else {
        map_remove(&a->map, b);
        larder__block_retire(a, b);
    }
    return r;
}

static LAST larder_result alloc_slowly(struct allocator *a, uint64_t bytes,
                                       larder_stream stream, larder_hint hint,
                                       larder_addr *out, const void *caller)
{
    larder_result r;

    if (bytes == 0) {
        *out = 0;
        return LARDER_OK;
    }
    if (hint != LARDER_HINT_LONG && shards_are_careful(a) &&
        larder__careful_alloc(a, bytes, stream, out, caller))
        return LARDER_OK;
    peers_answer_calls(a);
    allocator_lock(a);
    shards_enter(a);
    history_enter(a, caller);
    if (a->debug == NULL)
        r = larder__request(a, bytes, stream, hint, out);
    else
        r = request_zoned(a, bytes, stream, hint, out);
    if (a->shards.count > 0)
        larder__shard_stock(a, stream);
    peers_keep_told(a);
    allocator_unlock(a);
    return r;
}

/* No fast path: the handle counts its calls, or has no allocator. */
static LAST larder_result alloc_counted(larder_allocator *handle,
                                        uint64_t bytes, larder_stream stream,
                                        larder_hint hint, larder_addr *out,
                                        const void *caller)
{
    struct allocator *a = larder__handle_enter(handle);
    larder_result r;

    if (a == NULL)
        return larder__handle_bad(handle);
    r = alloc_slowly(a, bytes, stream, hint, out, caller);
    larder__handle_leave(handle);
    return r;
}

static LAST larder_result alloc_waiting(struct allocator *a, struct shard *f,
                                        uint64_t bytes, larder_addr *out,
                                        const void *caller)
{
    bool done;

    lock_take(&f->lock);
    done = fast_alloc(a, f, bytes, out);
    lock_leave(&f->lock);
    return done ? LARDER_OK
                : alloc_slowly(a, bytes, f->stream, LARDER_HINT_NONE, out,
                               caller);
}

/* Inlined, so that larder_alloc() does not look at its hint.  The fast path knows
 * no pool of long-lived memory. */
static FAST_INLINE larder_result
alloc_at_all(larder_allocator *handle, uint64_t bytes, larder_stream stream,
             larder_hint hint, larder_addr *out, const void *caller)
{
    struct allocator *a;
    struct shard *f;
    bool done;

    if (out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    a = handle_quick(handle);
    if (a == NULL)
        return alloc_counted(handle, bytes, stream, hint, out, caller);
    f = hint == LARDER_HINT_LONG ? NULL : shard_of(a, stream);
    if (f == NULL)
        return alloc_slowly(a, bytes, stream, hint, out, caller);
    if (!lock_try(&f->lock))
        return alloc_waiting(a, f, bytes, out, caller);
    done = fast_alloc(a, f, bytes, out);
    lock_leave(&f->lock);
    return done ? LARDER_OK : alloc_slowly(a, bytes, stream, hint, out, caller);
}

larder_result larder_alloc(larder_allocator *handle, uint64_t bytes,
                           larder_stream stream, larder_addr *out)
{
    return alloc_at_all(handle, bytes, stream, LARDER_HINT_NONE, out,
                        __builtin_return_address(0));
}

larder_result larder_alloc_hinted(larder_allocator *handle, uint64_t bytes,
                                  larder_stream stream, larder_hint hint,
                                  larder_addr *out)
{
    if (hint != LARDER_HINT_NONE && hint != LARDER_HINT_LONG &&
        hint != LARDER_HINT_SHORT)
        return larder__fail(LARDER_ERR_INVALID,
                            "%d is not a hint: expected LARDER_HINT_NONE, "
                            "LARDER_HINT_LONG or LARDER_HINT_SHORT",
                            (int)hint);
    return alloc_at_all(handle, bytes, stream, hint, out,
                        __builtin_return_address(0));
}

/* ---- freeing ---------------------------------------------------------- */

static uint64_t distance(larder_addr x, larder_addr y)
{
    return x < y ? y - x : x - y;
}

/* Explain why no live block begins at addr. */
static larder_result explain_unknown(struct allocator *a, larder_addr addr)
{
    const struct block *b = larder__block_containing(a, addr);

    if (b == NULL)
        return larder__fail(LARDER_ERR_UNKNOWN_ADDRESS,
                            "0x%" PRIx64 " is not in memory of this "
                            "allocator",
                            addr);
    if (b->state == BLOCK_LIVE && zone_user(b) != addr)
        return larder__fail(LARDER_ERR_UNKNOWN_ADDRESS,
                            "0x%" PRIx64 " lies %" PRIu64 " bytes %s the "
                            "allocation at 0x%" PRIx64,
                            addr, distance(addr, zone_user(b)),
                            addr < zone_user(b) ? "before" : "inside",
                            zone_user(b));
    if (addr % a->policy->unit_bytes != 0)
        return larder__fail(LARDER_ERR_UNKNOWN_ADDRESS,
                            "0x%" PRIx64 " was never allocated: it is not a "
                            "multiple of %d",
                            addr, (int)a->policy->unit_bytes);
    return larder__fail(LARDER_ERR_DOUBLE_FREE,
                        "0x%" PRIx64 " was freed before: it lies in free "
                        "memory of this allocator",
                        addr);
}

static larder_result find_live(struct allocator *a, larder_addr addr,
                               struct block **out)
{
    *out = a->debug == NULL ? map_find(&a->map, &a->slab, addr)
                            : zone_find(a, addr);
    if (*out != NULL && (*out)->state == BLOCK_LIVE)
        return LARDER_OK;
    return explain_unknown(a, addr);
}

static bool is_of_region(const struct allocator *a, const struct block *b)
{
    const struct private_pool *p;

    if (a->privates.regions == 0)
        return false;
    p = b->segment->heap->pool->owner;
    return p != NULL && p->region != NULL;
}

static larder_result free_live(struct allocator *a, struct block *b)
{
    if (a->debug != NULL)
        return larder__debug_free(a, b);
    larder__assert(b->state == BLOCK_LIVE);
    map_remove(&a->map, b);
    larder__block_retire(a, b);
    return LARDER_OK;
}

static LAST larder_result free_slowly(struct allocator *a, larder_addr addr,
                                      const void *caller)
{
    struct block *b = NULL;
    larder_result r;

    if (addr == 0 ||
        (shards_are_careful(a) && larder__careful_free(a, addr, caller)))
        return LARDER_OK;
    peers_answer_calls(a);
    allocator_lock(a);
    shards_enter(a);
    history_enter(a, caller);
    r = find_live(a, addr, &b);
    if (r == LARDER_OK && is_of_region(a, b))
        r = larder__fail(LARDER_ERR_UNKNOWN_ADDRESS,
                         "0x%" PRIx64 " lies in a region: expected "
                         "larder_region_decommit()",
                         addr);
    if (r == LARDER_OK)
        r = free_live(a, b);
    peers_keep_told(a);
    allocator_unlock(a);
    return r;
}

/* As alloc_counted(). */
static LAST larder_result free_counted(larder_allocator *handle,
                                       larder_addr addr, const void *caller)
{
    struct allocator *a = larder__handle_enter(handle);
    larder_result r;

    if (a == NULL)
        return larder__handle_bad(handle);
    r = free_slowly(a, addr, caller);
    larder__handle_leave(handle);
    return r;
}

/* addr cannot be freed under f's lock alone: release it and take the slow
 * path. */
static LAST larder_result free_unfound(struct allocator *a, struct shard *f,
                                       larder_addr addr, const void *caller)
{
    larder__assert(larder__witness_holds(&f->lock));
    lock_leave(&f->lock);
    return free_slowly(a, addr, caller);
}

/* Called with the lock of f, which it releases. */
static FAST_INLINE larder_result free_locked(struct allocator *a,
                                             struct shard *f,
                                             const map_granule *granule,
                                             larder_addr addr,
                                             const void *caller)
{
    struct block *b = fast_find(a, f, granule, addr);

    if (b == NULL || !a->shards.takes_frees || !fast_free(a, f, granule, b))
        return free_unfound(a, f, addr, caller);
    lock_leave(&f->lock);
    return LARDER_OK;
}

static LAST larder_result free_waiting(struct allocator *a, struct shard *f,
                                       const map_granule *granule,
                                       larder_addr addr, const void *caller)
{
    lock_take(&f->lock);
    return free_locked(a, f, granule, addr, caller);
}

larder_result larder_free(larder_allocator *handle, larder_addr addr)
{
    const void *caller = __builtin_return_address(0);
    struct allocator *a = handle_quick(handle);
    const map_granule *granule;
    struct shard *f;

    if (a == NULL)
        return free_counted(handle, addr, caller);
    granule = map_low_granule(&a->map, addr);
    f = granule == NULL ? NULL : shard_numbered(a, map_shard(granule));
    if (f == NULL)
        return free_slowly(a, addr, caller);
    if (!lock_try(&f->lock))
        return free_waiting(a, f, granule, addr, caller);
    return free_locked(a, f, granule, addr, caller);
}

/* ---- other calls ---------------------------------------------------------- */

larder_result larder_record_stream(larder_allocator *handle, larder_addr addr,
                                   larder_stream stream)
{
    struct allocator *a;
    struct block *b = NULL;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    r = find_live(a, addr, &b);
    if (r == LARDER_OK && stream != block_stream(b))
        r = larder__events_use(a, b, stream);
    return larder__handle_end(a, r);
}

larder_result larder_base_allocation(larder_allocator *handle, larder_addr addr,
                                     larder_addr *base, uint64_t *bytes)
{
    struct allocator *a;
    struct block *b = NULL;
    larder_result r;

    if (base == NULL || bytes == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    r = larder__handle_lock(handle, &a);
    if (r != LARDER_OK)
        return r;
    r = find_live(a, addr, &b);
    if (r == LARDER_OK && segment_is_expandable(b->segment)) {
        r = larder__fail(LARDER_ERR_UNSUPPORTED,
                         "0x%" PRIx64 " lies in an expandable segment, which "
                         "is not one allocation of the driver",
                         addr);
    } else if (r == LARDER_OK) {
        *base = b->segment->addr;
        *bytes = b->segment->bytes;
    }
    return larder__handle_end(a, r);
}

static larder_result release_everything(struct allocator *a)
{
    (void)allocator_make_room(a);
    return larder__release_cached(a);
}

larder_result larder_empty_cache(larder_allocator *handle)
{
    struct allocator *a;
    larder_result r =
        larder__handle_lock_for(handle, &a, __builtin_return_address(0));

    if (r != LARDER_OK)
        return r;
    if (allocator_is_capturing(a) && a->conf.rules->empties_unused) {
        r = larder__private_release_unused(a);
    } else {
        r = larder__capturing_forbids(a, "memory cannot be released");
        if (r == LARDER_OK)
            r = release_everything(a);
    }
    return larder__handle_end(a, r);
}

larder_result larder_reserve(larder_allocator *handle, uint64_t bytes)
{
    struct allocator *a;
    larder_result r =
        larder__handle_lock_for(handle, &a, __builtin_return_address(0));

    if (r != LARDER_OK)
        return r;
    return larder__handle_end(a, larder__piece_take(a, bytes));
}

/* The largest free block in a list. */
static uint64_t largest_of_list(const struct block *b)
{
    uint64_t largest = 0;

    for (; b != NULL; b = b->left) {
        if (b->bytes > largest)
            largest = b->bytes;
    }
    return largest;
}

static uint64_t largest_of_heap(const struct heap *heap, uint64_t largest)
{
    const struct block *b = bins_largest(heap->bins);
    uint64_t bytes = b != NULL ? b->bytes : 0;

    for (int i = FIT_CLASSES - 1; heap->fit != NULL && bytes == 0 && i >= 0;
         i--)
        bytes = largest_of_list(heap->fit->first[i]);
    return bytes > largest ? bytes : largest;
}

static uint64_t largest_of(const struct pool *pools, uint64_t largest)
{
    const struct heap *heap;

    for (size_t i = 0; (heap = pools_heap(pools, i)) != NULL; i++)
        largest = largest_of_heap(heap, largest);
    return largest;
}

larder_result larder_largest_cached(larder_allocator *handle, uint64_t *out)
{
    struct allocator *a;
    larder_result r;

    if (out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    r = larder__handle_lock(handle, &a);
    if (r != LARDER_OK)
        return r;
    *out = largest_of(a->pools, 0);
    for (const struct private_pool *p = a->privates.first; p != NULL;
         p = p->next) {
        if (!p->is_paused) /* what was freed since has no memory */
            *out = largest_of(p->pools, *out);
    }
    return larder__handle_end(a, LARDER_OK);
}
