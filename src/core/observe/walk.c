/* walk.c - finds and visits blocks, slowly. */
#include "core/observe/walk.h"

#include <stdlib.h>

#include "base/fail.h"
#include "base/host.h"
#include "core/entry/handle.h"
#include "core/segments/blocks.h"
#include "core/state/paged.h"

const struct block *larder__block_containing(struct allocator *a,
                                             larder_addr addr)
{
    const struct segment *s = a->segments;
    const struct block *b;

    while (s != NULL && (addr < s->addr || addr - s->addr >= s->bytes))
        s = s->next;
    if (s == NULL)
        return NULL;
    b = s->head;
    while (addr - b->addr >= b->bytes)
        b = slab_at(&a->slab, b->next);
    return b->state == BLOCK_UNMAPPED ? NULL : b;
}

/* The first block from b on that has memory.  NULL: none. */
static struct block *mapped_from(struct allocator *a, struct block *b)
{
    while (b != NULL && b->state == BLOCK_UNMAPPED)
        b = block_next(a, b);
    return b;
}

static struct block *mapped_after(struct allocator *a, const struct block *b)
{
    return mapped_from(a, block_next(a, b));
}

/* ---- larder_walk ----------------------------------------------------------- */

/* A stretch to report as a segment: mapped blocks from `first` on, an uncarved
 * part of a piece, or all unmapped memory. */
struct stretch {
    larder_addr addr; /* 0: mapped nowhere */
    uint64_t bytes;
    struct block *first; /* first block; NULL: it is one free block */
};

struct stretches {
    struct stretch *list; /* NULL in the counting pass */
    size_t count;
};

struct visitor {
    struct allocator *a;
    larder__header_fn *fn;
    void *ctx;
};

static void stretch_add(struct stretches *all, larder_addr addr, uint64_t bytes,
                        struct block *first)
{
    if (all->list != NULL)
        all->list[all->count] = (struct stretch){addr, bytes, first};
    all->count++;
}

static void walk_add_segment(struct allocator *a, struct stretches *all,
                             const struct segment *s)
{
    larder_addr end = 0;

    for (struct block *b = mapped_from(a, s->head); b != NULL;
         b = mapped_after(a, b)) {
        larder__assert(b->state != BLOCK_UNMAPPED && b->addr >= end);
        if (b->addr != end)
            stretch_add(all, b->addr, 0, b);
        end = b->addr + b->bytes;
    }
}

static void add_piece(struct stretches *all, const struct piece *p)
{
    larder_addr at = p->addr;

    for (const struct segment *s = p->parts; s != NULL; s = s->piece_next) {
        larder__assert(s->piece == p && s->addr >= at);
        if (s->addr > at)
            stretch_add(all, at, s->addr - at, NULL);
        at = s->addr + s->bytes;
    }
    if (p->addr + p->bytes > at)
        stretch_add(all, at, p->addr + p->bytes - at, NULL);
}

static void add_loose(struct allocator *a, struct stretches *all)
{
    uint64_t bytes = larder__paged_loose_bytes(a);

    if (bytes != 0)
        stretch_add(all, 0, bytes, NULL);
}

static void walk_add_all(struct allocator *a, struct stretches *all)
{
    add_loose(a, all);
    for (const struct segment *s = a->segments; s != NULL; s = s->next)
        walk_add_segment(a, all, s);
    for (const struct piece *p = a->pieces; p != NULL; p = p->next)
        add_piece(all, p);
}

static int stretch_compare(const void *x, const void *y)
{
    larder_addr a = ((const struct stretch *)x)->addr;
    larder_addr b = ((const struct stretch *)y)->addr;

    return (a > b) - (a < b);
}

static larder_block_info block_info(const struct block *b)
{
    larder_block_info info = {.addr = b->addr, .bytes = b->bytes};

    if (b->state == BLOCK_LIVE)
        info.state = LARDER_BLOCK_ALLOCATED;
    else if (b->state == BLOCK_PENDING)
        info.state = LARDER_BLOCK_PENDING;
    else
        info.state = LARDER_BLOCK_FREE;
    if (info.state != LARDER_BLOCK_FREE)
        info.requested_bytes = b->requested;
    larder__assert(info.requested_bytes <= info.bytes);
    return info;
}

static larder_segment_info segment_info(struct allocator *a,
                                        const struct stretch *at)
{
    const struct segment *s = at->first->segment;
    larder_segment_info info = {
        .addr = at->addr,
        .stream = s->heap->stream,
        .is_large = !s->heap->pool->is_small,
        .is_expandable = segment_is_expandable(s),
        .is_reserved = s->kind == SEGMENT_CARVED,
        .is_paused = segment_is_paused(s),
    };

    if (s->heap->pool->owner != NULL)
        info.pool = s->heap->pool->owner->id;
    for (const struct block *b = at->first;
         b != NULL && b->addr == at->addr + info.bytes;
         b = mapped_after(a, b)) {
        larder_block_info block = block_info(b);

        info.block_count++;
        info.bytes += block.bytes;
        if (block.state == LARDER_BLOCK_ALLOCATED)
            info.allocated_bytes += block.bytes;
        if (block.state != LARDER_BLOCK_FREE)
            info.active_bytes += block.bytes;
        info.requested_bytes += block.requested_bytes;
    }
    larder__assert(info.addr + info.bytes <= s->addr + s->bytes);
    larder__assert(info.allocated_bytes <= info.active_bytes);
    larder__assert(info.active_bytes <= info.bytes);
    return info;
}

/* These functions return nonzero when the visitor wants to stop. */
static int visit_blocks(const struct visitor *v, const struct stretch *at)
{
    larder_segment_info info = segment_info(v->a, at);
    larder_addr next = at->addr;
    int end = 0;

    for (struct block *b = at->first; !end && b != NULL && b->addr == next;
         b = mapped_after(v->a, b)) {
        larder_block_info block = block_info(b);

        next += b->bytes;
        end = v->fn(v->ctx, &info, &block, b);
    }
    return end;
}

static int visit_gap(const struct visitor *v, const struct stretch *gap)
{
    larder_segment_info info = {
        .addr = gap->addr,
        .bytes = gap->bytes,
        .is_large = 1,
        .is_expandable = gap->addr == 0,
        .is_reserved = gap->addr != 0,
        .block_count = 1,
    };
    larder_block_info block = {.addr = gap->addr, .bytes = gap->bytes};

    return v->fn(v->ctx, &info, &block, NULL);
}

larder_result larder__walk_headers(struct allocator *a, larder__header_fn *fn,
                                   void *ctx)
{
    const struct visitor v = {.a = a, .fn = fn, .ctx = ctx};
    struct stretches all = {0};
    size_t count;
    int end = 0;

    larder__assert(allocator_is_locked(a));
    walk_add_all(a, &all); /* counting pass */
    count = all.count;
    if (count == 0)
        return LARDER_OK;
    all.list = larder__host_alloc(count, sizeof *all.list);
    if (all.list == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    all.count = 0;
    walk_add_all(a, &all);
    larder__assert(all.count == count);
    qsort(all.list, all.count, sizeof *all.list, stretch_compare);
    for (size_t i = 0; !end && i < all.count; i++)
        end = all.list[i].first != NULL ? visit_blocks(&v, &all.list[i])
                                        : visit_gap(&v, &all.list[i]);
    larder__host_free(all.list);
    return LARDER_OK;
}

/* The functions of a program that looks. */
struct looker {
    larder_segment_fn *segment_fn;
    larder_block_fn *block_fn;
    void *ctx;
};

static int look(void *ctx, const larder_segment_info *segment,
                const larder_block_info *block, const struct block *header)
{
    const struct looker *l = ctx;
    int end = 0;

    (void)header;
    if (l->segment_fn != NULL && block->addr == segment->addr)
        end = l->segment_fn(l->ctx, segment);
    if (!end && l->block_fn != NULL)
        end = l->block_fn(l->ctx, segment, block);
    return end;
}

larder_result larder_walk(larder_allocator *handle,
                          larder_segment_fn *segment_fn,
                          larder_block_fn *block_fn, void *ctx)
{
    struct looker l = {segment_fn, block_fn, ctx};
    struct allocator *a;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    r = larder__walk_headers(a, look, &l);
    larder__handle_unlock(a);
    return r;
}
