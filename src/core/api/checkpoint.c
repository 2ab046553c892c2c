/* checkpoint.c - saves and restores the state of a private pool.
 *
 * A captured graph writes to the addresses it was captured with.  To capture
 * another one after replaying some, the pool must look as it did when the last
 * of those was captured: the blocks that were live then are live again, at the
 * same addresses (PyTorch: checkpointing of private pools for CUDA graph
 * trees).
 *
 * Restoring checks everything and acquires all host memory first, so that it
 * happens completely or not at all. */
#include <inttypes.h>

#include "base/fail.h"
#include "base/host.h"
#include "core/debug/debug.h"
#include "core/entry/handle.h"
#include "core/pools/pool.h"
#include "core/pools/private.h"
#include "core/policy_larder/lend.h"
#include "core/segments/blocks.h"
#include "core/segments/events.h"
#include "core/segments/release.h"
#include "core/state/zone.h"

/* A block of one of the pool's segments. */
struct saved_block {
    larder_addr addr;
    uint64_t bytes;
    uint64_t requested; /* 0: it was not live */
    larder_stream stream;
    bool is_small;
    bool is_unmapped; /* addresses of an expandable segment */
    bool has_zones;
};

struct larder_checkpoint {
    larder_pool_id id;
    size_t count;
    struct saved_block blocks[]; /* by segment, in order of address */
};

enum { CUTS = 2 }; /* headers to cut a saved block out of free memory */

/* Addresses that a restore reports to its caller. */
struct addr_list {
    larder_addr *list; /* may be NULL */
    size_t capacity;
    size_t count;
};

static void addr_list_add(struct addr_list *l, larder_addr addr)
{
    if (l->list != NULL && l->count < l->capacity)
        l->list[l->count] = addr;
    l->count++;
}

/* ---- taking a checkpoint -------------------------------------------------- */

/* A block that larder_pool_lend() lent is not the pool's to bring back.  (Under
 * the policy `pytorch` it is, as in PyTorch.) */
static bool is_own_live(const struct private_pool *p, const struct block *b)
{
    return b->state == BLOCK_LIVE && !(b->is_lent && p->has_lent);
}

/* Copy the pool's blocks; with `out` NULL only count them. */
static size_t save_blocks(struct allocator *a, const struct private_pool *p,
                          struct saved_block *out)
{
    size_t n = 0;

    for (struct segment *s = p->segments; s != NULL; s = s->pool_next) {
        for (const struct block *b = s->head; b != NULL; b = block_next(a, b)) {
            if (out != NULL)
                out[n] = (struct saved_block){
                    .addr = b->addr,
                    .bytes = b->bytes,
                    .requested = is_own_live(p, b) ? b->requested : 0,
                    .stream = s->heap->stream,
                    .is_small = s->heap->pool->is_small,
                    .is_unmapped = b->state == BLOCK_UNMAPPED,
                    .has_zones = is_own_live(p, b) && b->zones != ZONES_NONE,
                };
            n++;
        }
    }
    return n;
}

static larder_result checkpoint_take(struct allocator *a, larder_pool_id id,
                                     larder_checkpoint **out)
{
    struct private_pool *p;
    larder_checkpoint *cp;
    size_t count;
    larder_result r = larder__private_find(a, id, &p);

    if (r != LARDER_OK)
        return r;
    if (p->users == 0)
        return larder__fail(LARDER_ERR_UNKNOWN_POOL,
                            "the pool was released by its last user");
    if (!allocator_is_capturing(a))
        larder__events_poll(a);
    count = save_blocks(a, p, NULL);
    cp = larder__host_alloc(1, sizeof *cp + count * sizeof cp->blocks[0]);
    if (cp == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    cp->id = id;
    cp->count = save_blocks(a, p, cp->blocks);
    larder__assert(cp->count == count);
    *out = cp;
    return LARDER_OK;
}

larder_result larder_checkpoint_take(larder_allocator *handle,
                                     larder_pool_id id, larder_checkpoint **out)
{
    struct allocator *a;
    larder_result r;

    if (out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    r = larder__handle_lock_for(handle, &a, __builtin_return_address(0));
    if (r != LARDER_OK)
        return r;
    return larder__handle_end(a, checkpoint_take(a, id, out));
}

void larder_checkpoint_destroy(larder_checkpoint *cp)
{
    larder__host_free(cp);
}

/* ---- restoring ------------------------------------------------------------ */

/* Whether the saved block was in a segment of this kind.  If another kind now
 * occupies the same addresses, the map may lack room for the block. */
static bool is_of_kind(const struct saved_block *saved, const struct segment *s)
{
    return saved->stream == s->heap->stream &&
           saved->is_small == s->heap->pool->is_small;
}

/* Whether the saved block has memory now, if it had any. */
static bool has_memory(struct allocator *a, const struct segment *s,
                       const struct saved_block *saved)
{
    const struct block *b = saved->is_unmapped ? NULL : s->head;

    while (b != NULL &&
           (b->state != BLOCK_UNMAPPED || b->addr + b->bytes <= saved->addr ||
            b->addr >= saved->addr + saved->bytes))
        b = block_next(a, b);
    return b == NULL;
}

/* The number of saved blocks, from `first` on, that tile a segment which the
 * pool still has; 0: none. */
static size_t tile(struct allocator *a, const struct private_pool *p,
                   const larder_checkpoint *cp, size_t first)
{
    struct segment *s = p->segments;
    uint64_t bytes = 0;
    size_t i = first;

    while (s != NULL && s->addr != cp->blocks[first].addr)
        s = s->pool_next;
    while (s != NULL && i < cp->count && bytes < s->bytes &&
           cp->blocks[i].addr == s->addr + bytes &&
           is_of_kind(&cp->blocks[i], s) && has_memory(a, s, &cp->blocks[i]))
        bytes += cp->blocks[i++].bytes;
    return s != NULL && bytes == s->bytes ? i - first : 0;
}

static larder_result check_segments(struct allocator *a,
                                    const struct private_pool *p,
                                    const larder_checkpoint *cp)
{
    size_t i = 0;

    while (i < cp->count) {
        size_t blocks = tile(a, p, cp, i);

        if (blocks == 0)
            return larder__fail(LARDER_ERR_INVALID,
                                "the segment at 0x%" PRIx64
                                " no longer belongs to the pool, or lacks "
                                "pages that it had",
                                cp->blocks[i].addr);
        i += blocks;
    }
    return LARDER_OK;
}

static larder_result check_idle(struct allocator *a,
                                const struct private_pool *p)
{
    for (struct segment *s = p->segments; s != NULL; s = s->pool_next) {
        for (const struct block *b = s->head; b != NULL; b = block_next(a, b)) {
            if (b->state == BLOCK_PENDING ||
                (b->state == BLOCK_LIVE && b->uses != NULL))
                return larder__fail(LARDER_ERR_INVALID,
                                    "a recorded stream uses 0x%" PRIx64,
                                    zone_user(b));
        }
    }
    return LARDER_OK;
}

/* Check everything that can fail. */
static larder_result restore_check(struct allocator *a,
                                   const larder_checkpoint *cp,
                                   struct private_pool **p)
{
    larder_result r = larder__private_find(a, cp->id, p);

    if (r != LARDER_OK)
        return r;
    if (!allocator_is_capturing(a))
        larder__events_poll(a);
    if (a->debug != NULL)
        larder__quarantine_leave(a, *p);
    if ((r = check_idle(a, *p)) != LARDER_OK ||
        (r = check_segments(a, *p, cp)) != LARDER_OK)
        return r;
    if (!larder__slab_ensure(&a->slab, CUTS * (uint32_t)cp->count + SLAB_SPARE))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    return LARDER_OK;
}

static bool in_map(struct allocator *a, const struct block *b)
{
    return map_find(&a->map, &a->slab, b->addr) == b;
}

/* Free the live blocks that are in the map, or those that are not. */
static void checkpoint_free_live(struct allocator *a,
                                 const struct private_pool *p, bool mapped,
                                 struct addr_list *freed)
{
    for (struct segment *s = p->segments; s != NULL; s = s->pool_next) {
        for (struct block *b = s->head; b != NULL; b = block_next(a, b)) {
            struct block *before = block_prev(a, b);
            bool joins = before != NULL && before->state == BLOCK_FREE;

            if (b->state != BLOCK_LIVE || in_map(a, b) != mapped)
                continue;
            if (mapped) {
                addr_list_add(freed, zone_user(b));
                map_remove(&a->map, b);
            }
            larder__block_retire(a, b);
            if (joins)
                b = before;
        }
    }
}

/* Remove the part of the free block from `addr` on from its heap. */
static struct block *take_from(struct allocator *a, struct block *b,
                               larder_addr addr)
{
    struct block *rest;

    larder__assert(b->state == BLOCK_FREE && b->addr <= addr);
    heap_remove(b);
    if (b->addr == addr)
        return b;
    rest = larder__block_split(a, b, addr - b->addr);
    heap_insert(b);
    return rest;
}

/* Make the saved block live; the memory is free now, and may begin before it if
 * pages were mapped meanwhile.  Its red zones may have been overwritten and are
 * not checked. */
static const struct block *allocate_saved(struct allocator *a,
                                          const struct private_pool *p,
                                          const struct saved_block *saved)
{
    struct segment *s = p->segments;
    struct block *b;

    larder__assert(s != NULL && saved->bytes > 0);
    while (saved->addr < s->addr || saved->addr - s->addr >= s->bytes) {
        s = s->pool_next;
        larder__assert(s != NULL);
    }
    b = s->head;
    while (b->addr + b->bytes <= saved->addr)
        b = slab_at(&a->slab, b->next);
    b = take_from(a, b, saved->addr);
    larder__assert(b->bytes >= saved->bytes);
    larder__block_allocate(a, b, saved->bytes,
                           saved->requested > 0 ? saved->requested
                                                : saved->bytes,
                           b->bytes > saved->bytes);
    b->zones = saved->has_zones ? ZONES_BARE : ZONES_NONE;
    return b;
}

/* As in PyTorch, all saved blocks are allocated and then those that were free
 * are freed again, so that statistics match.  Only blocks that stay live enter
 * the map, which has no room for small remainders of large segments. */
static void restore(struct allocator *a, const larder_checkpoint *cp,
                    const struct private_pool *p, struct addr_list *freed,
                    struct addr_list *created)
{
    larder__assert(allocator_is_locked(a));
    checkpoint_free_live(a, p, true, freed);
    larder__assert(p->usage.allocations == 0);
    for (size_t i = 0; i < cp->count; i++) {
        const struct block *b;

        if (cp->blocks[i].is_unmapped)
            continue;
        b = allocate_saved(a, p, &cp->blocks[i]);
        if (cp->blocks[i].requested > 0) {
            map_put(&a->map, b);
            addr_list_add(created, zone_user(b));
        }
    }
    checkpoint_free_live(a, p, false, NULL);
    larder__assert(p->usage.allocations == created->count);
}

larder_result larder_checkpoint_restore(
    larder_allocator *handle, const larder_checkpoint *cp, larder_addr *freed,
    size_t freed_capacity, size_t *freed_count, larder_addr *created,
    size_t created_capacity, size_t *created_count)
{
    struct addr_list gone = {.list = freed, .capacity = freed_capacity};
    struct addr_list back = {.list = created, .capacity = created_capacity};
    struct allocator *a;
    struct private_pool *p;
    larder_result r;

    if (cp == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    r = larder__handle_lock_for(handle, &a, __builtin_return_address(0));
    if (r != LARDER_OK)
        return r;
    r = restore_check(a, cp, &p);
    if (r == LARDER_OK)
        r = larder__pool_recall(a, p);
    if (r == LARDER_OK) {
        restore(a, cp, p, &gone, &back);
        if (freed_count != NULL)
            *freed_count = gone.count;
        if (created_count != NULL)
            *created_count = back.count;
    }
    return larder__handle_end(a, r);
}
