/* pinned_policy.c - pinned host memory: eight sizes for each power of two, cut
 * from segments so that every remainder is useful.
 *
 * Blocks belong to no device stream: the host uses them, in its own order, and
 * each recorded stream delays their reuse. */
#include <larder/pinned.h>

#include "base/bits.h"
#include "base/fail.h"
#include "core/pinned/pinned_policy.h"
#include "core/policy_pytorch/pytorch.h"
#include "core/request/request.h"
#include "core/segments/segment.h"
#include "core/segments/segment_size.h"

enum {
    UNIT = 256,
    SLACK_PERCENT = 25,
    DIVISIONS = 8 /* the step above 2^k is at most 2^k / 8 */
};

/* Only pinned_* settings apply here, not those for device memory. */
static void pinned_adjust(struct conf *conf)
{
    struct conf plain;

    larder__conf_init(&plain);
    conf->max_split_bytes = plain.max_split_bytes;
    conf->large_segment_bytes = plain.large_segment_bytes;
    conf->gc_threshold = 0;
    conf->fraction_given = false;
    conf->expandable_segments = false;
    conf->throw_on_oom = false;
    conf->limit_bytes = conf->pinned_limit_bytes;
    conf->preallocate_bytes = conf->pinned_reserve_bytes;
    for (int i = 0; i < CONF_SIZE_CLASSES; i++)
        conf->divisions[i] = DIVISIONS;
}

/* A segment that will not be cached is not shared either. */
static bool exceeds_cached(const struct allocator *a, uint64_t segment_bytes)
{
    return segment_bytes > a->conf.pinned_cached_max_bytes;
}

static larder_result pinned_find(struct allocator *a, struct request *q)
{
    if (q->stream != LARDER_PINNED_STREAM)
        return larder__fail(LARDER_ERR_INVALID,
                            "pinned memory belongs to no stream: use "
                            "larder_pinned_alloc()");
    if (q->bytes > a->conf.pinned_round_max_bytes) {
        q->size = bits_up(q->bytes, UNIT);
        q->segment_bytes = larder__segment_size(&a->conf, q->size);
    }
    if (q->size > SMALL_MAX_BYTES && exceeds_cached(a, q->segment_bytes))
        q->segment_bytes = bits_up(q->size, ROUND_SEGMENT_BYTES);
    return larder__segment_ladder_find(a, q);
}

/* Sizes are multiples of the unit, so every remainder is a useful block. */
static bool pinned_should_split(const struct allocator *a,
                                const struct request *q)
{
    (void)a;
    return q->block->bytes > q->size;
}

static void pinned_freed(struct allocator *a, struct block *b)
{
    const struct segment *s = b->segment;

    if (b->bytes == s->bytes && s->kind == SEGMENT_DRIVER &&
        exceeds_cached(a, s->bytes) && !allocator_is_capturing(a) &&
        s->heap->pool->owner == NULL)
        (void)larder__segment_release(a, b); /* if that fails it stays cached */
}

const struct policy larder__policy_pinned = {
    .name = "pinned",
    .is_host = true,
    .find = pinned_find,
    .slack_percent = SLACK_PERCENT,
    .should_split = pinned_should_split,
    .freed = pinned_freed,
    .adjust = pinned_adjust,
    .explain_fully = true,
    .unit_bytes = UNIT,
    .small_max_bytes = SMALL_MAX_BYTES,
};
