/* reference_walk.c - walks the model's blocks in address order. */
#include "model/reference_state.h"

#include <stdlib.h>

static int by_address(const void *a, const void *b)
{
    const struct ref_segment *s = *(const struct ref_segment *const *)a;
    const struct ref_segment *t = *(const struct ref_segment *const *)b;

    return s->addr < t->addr ? -1 : s->addr > t->addr;
}

static larder_block_state state_of(const struct ref_block *b)
{
    if (b->allocated)
        return LARDER_BLOCK_ALLOCATED;
    return ref_block_idle(b) ? LARDER_BLOCK_FREE : LARDER_BLOCK_PENDING;
}

/* Sum up blocks [from, to): a contiguous mapped range. */
static larder_segment_info range_info(const struct ref_segment *s, size_t from,
                                      size_t to)
{
    larder_segment_info info = {.addr = s->blocks[from].addr,
                                .stream = s->stream,
                                .is_large = !s->pool->is_small,
                                .is_expandable = s->page != 0,
                                .block_count = to - from};

    if (s->pool->private != NULL)
        info.pool = s->pool->private->id;
    for (size_t i = from; i < to; i++) {
        const struct ref_block *b = &s->blocks[i];

        info.bytes += b->bytes;
        if (b->allocated)
            info.allocated_bytes += b->bytes;
        if (!ref_block_idle(b)) {
            info.active_bytes += b->bytes;
            info.requested_bytes += b->requested;
        }
    }
    return info;
}

static int visit_range(const struct ref_segment *s, size_t from, size_t to,
                       larder_segment_fn *segment_fn, larder_block_fn *block_fn,
                       void *ctx)
{
    larder_segment_info info = range_info(s, from, to);
    int stop = 0;

    if (segment_fn != NULL)
        stop = segment_fn(ctx, &info);
    for (size_t i = from; i < to && !stop && block_fn != NULL; i++) {
        const struct ref_block *b = &s->blocks[i];
        larder_block_info block = {.addr = b->addr,
                                   .bytes = b->bytes,
                                   .requested_bytes = b->requested,
                                   .state = state_of(b)};

        stop = block_fn(ctx, &info, &block);
    }
    return stop;
}

static int visit_segment(const struct ref_segment *s,
                         larder_segment_fn *segment_fn,
                         larder_block_fn *block_fn, void *ctx)
{
    int stop = 0;

    for (size_t from = 0, to; from < s->count && !stop; from = to) {
        to = from + 1;
        if (!s->blocks[from].mapped)
            continue;
        while (to < s->count && s->blocks[to].mapped)
            to++;
        stop = visit_range(s, from, to, segment_fn, block_fn, ctx);
    }
    return stop;
}

void reference_walk(const struct reference *r, larder_segment_fn *segment_fn,
                    larder_block_fn *block_fn, void *ctx)
{
    if (r->segment_count == 0)
        return;
    /* Their order has no meaning, so they may stay sorted. */
    qsort(r->segments, r->segment_count, sizeof(*r->segments), by_address);
    for (size_t i = 0; i < r->segment_count; i++) {
        if (visit_segment(r->segments[i], segment_fn, block_fn, ctx))
            return;
    }
}
