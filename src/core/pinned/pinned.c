/* pinned.c - pinned host memory: eight sizes for each power of two, cut from
 * segments so that every remainder is useful; and its public calls.
 *
 * Blocks belong to no device stream: the host uses them, in its own order, and
 * each recorded stream delays their reuse. */
#include <larder/pinned.h>

#include <string.h>

#include "base/bits.h"
#include "base/fail.h"
#include "base/sized.h"
#include "core/api/lifecycle.h"
#include "core/entry/handle.h"
#include "core/policy_pytorch/pytorch.h"
#include "core/segments/segment.h"

/* ---- the policy ------------------------------------------------------------- */

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

static const struct policy pinned_policy = {
    .name = "pinned",
    .is_host = true,
    .find = pinned_find,
    .slack_percent = SLACK_PERCENT,
    .should_split = pinned_should_split,
    .freed = pinned_freed,
    .adjust = pinned_adjust,
    .explain_fully = true,
    .unit_bytes = UNIT,
};

/* ---- creating -------------------------------------------------------------- */

larder_result larder_pinned_create(larder_device *dev,
                                   const larder_options *opt,
                                   larder_allocator **out)
{
    larder_options own;
    larder_device *pinned = NULL;
    larder_allocator *made = NULL;
    larder_result r;

    r = larder__device_check(dev);
    if (r != LARDER_OK)
        return r;
    if (out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    r = larder__options_read(opt, &own);
    if (r != LARDER_OK)
        return r;
    if (own.policy != LARDER_POLICY_DEFAULT)
        return larder__fail(LARDER_ERR_INVALID,
                            "pinned memory has a policy of its own: "
                            "larder_options.policy is %d, must be 0",
                            (int)own.policy);
    r = larder__pinned_device_create(dev, &pinned);
    if (r != LARDER_OK)
        return r;
    r = larder__allocator_create(pinned, &pinned_policy, &own, &made);
    if (r != LARDER_OK) {
        (void)larder_device_close(pinned);
        return r;
    }
    handle_allocator(made)->owns_device = true;
    *out = made;
    return LARDER_OK;
}

/* ---- memory ---------------------------------------------------------------- */

static larder_result check_is_pinned(larder_allocator *handle)
{
    const struct allocator *a = larder__handle_enter(handle);
    bool is_host;

    if (a == NULL)
        return larder__handle_bad(handle);
    is_host = a->policy->is_host;
    larder__handle_leave(handle);
    if (is_host)
        return LARDER_OK;
    return larder__fail(LARDER_ERR_INVALID,
                        "this is an allocator of device memory: expected one "
                        "from larder_pinned_create()");
}

larder_result larder_pinned_alloc(larder_allocator *pinned, uint64_t bytes,
                                  void **out)
{
    larder_addr addr = 0;
    larder_result r;

    if (out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    r = check_is_pinned(pinned);
    if (r == LARDER_OK)
        r = larder_alloc(pinned, bytes, LARDER_PINNED_STREAM, &addr);
    if (r == LARDER_OK)
        *out = (void *)(uintptr_t)addr;
    return r;
}

larder_result larder_pinned_free(larder_allocator *pinned, void *ptr)
{
    larder_result r = check_is_pinned(pinned);

    return r == LARDER_OK ? larder_free(pinned, (larder_addr)(uintptr_t)ptr)
                          : r;
}

larder_result larder_pinned_record_stream(larder_allocator *pinned, void *ptr,
                                          larder_stream stream)
{
    larder_result r = check_is_pinned(pinned);

    if (r != LARDER_OK)
        return r;
    return larder_record_stream(pinned, (larder_addr)(uintptr_t)ptr, stream);
}

/* ---- statistics ------------------------------------------------------------ */

void larder_pinned_stats_init_sized(larder_pinned_stats *st, size_t size)
{
    sized_init(st, size);
}

static larder_pinned_duration duration_us(const struct pinned_duration *d)
{
    const uint64_t us = 1000;

    return (larder_pinned_duration){
        .total_us = d->total_ns / us,
        .max_us = d->max_ns / us,
        .min_us = d->min_ns / us,
        .count = d->count,
        .avg_us = d->count > 0 ? d->total_ns / us / d->count : 0,
    };
}

static void pinned_stats_fill(const struct allocator *a,
                              larder_pinned_stats *out)
{
    const struct pinned_times *t = larder__pinned_device_times(a->device);
    larder_stats whole;

    larder_stats_init(&whole);
    larder__stats_copy(&a->stats, &whole);
    *out = (larder_pinned_stats){
        .size = sizeof *out,
        .allocations = whole.segment.all,
        .allocated_bytes = whole.reserved_bytes.all,
        .active_requests = whole.active.all,
        .active_bytes = whole.active_bytes.all,
        .num_host_alloc = whole.num_device_alloc,
        .num_host_free = whole.num_device_free,
        .host_alloc_time = duration_us(&t->alloc),
        .host_free_time = duration_us(&t->free),
    };
}

larder_result larder_pinned_stats_get(larder_allocator *pinned,
                                      larder_pinned_stats *st)
{
    struct allocator *a;
    larder_pinned_stats own;
    larder_result r;

    if (st == NULL || st->size < sizeof st->size)
        return larder__fail(LARDER_ERR_INVALID, "larder_pinned_stats: use "
                                                "larder_pinned_stats_init()");
    r = check_is_pinned(pinned);
    if (r == LARDER_OK)
        r = larder__handle_lock(pinned, &a);
    if (r != LARDER_OK)
        return r;
    larder__assert(a->policy->is_host);
    pinned_stats_fill(a, &own);
    larder__handle_unlock(a);
    return sized_write(st, &own, sizeof own);
}
