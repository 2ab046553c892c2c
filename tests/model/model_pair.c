/* model_pair.c - runs each operation on both sides, then compares everything
 * that the public functions show. */
#include "model/model_pair.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Keep the first words only. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static bool
differ(struct model_pair *m, const char *format, ...)
{
    va_list args;

    if (m->why[0] == '\0') {
        va_start(args, format);
        vsnprintf(m->why, sizeof m->why, format, args);
        va_end(args);
    }
    return false;
}

/* ---- addresses ---------------------------------------------------------- */

static larder_addr to_library(const struct model_pair *m, larder_addr addr)
{
    return addr == 0 ? 0 : addr - REFERENCE_ADDRESS_BASE + m->base;
}

static int64_t offset_of(larder_addr addr, larder_addr base)
{
    return addr == 0 ? -1 : (int64_t)(addr - base);
}

static bool is_live(const struct model_pair *m, larder_addr addr)
{
    for (size_t i = 0; i < MODEL_SLOTS; i++) {
        if (m->live[i] == addr)
            return true;
    }
    return false;
}

/* ---- statistics --------------------------------------------------------- */

static bool compare_stat(struct model_pair *m, const char *name,
                         const char *part, const larder_stat *want,
                         const larder_stat *got)
{
    if (memcmp(want, got, sizeof *want) == 0)
        return true;
    return differ(m,
                  "%s%s: model %" PRId64 "/%" PRId64 "/%" PRId64 "/%" PRId64
                  ", library %" PRId64 "/%" PRId64 "/%" PRId64 "/%" PRId64,
                  name, part, want->current, want->peak, want->allocated,
                  want->freed, got->current, got->peak, got->allocated,
                  got->freed);
}

static bool compare_split(struct model_pair *m, const char *name,
                          const larder_stat_split *want,
                          const larder_stat_split *got)
{
    return compare_stat(m, name, ".small_pool", &want->small_pool,
                        &got->small_pool) &&
           compare_stat(m, name, ".large_pool", &want->large_pool,
                        &got->large_pool) &&
           compare_stat(m, name, ".all", &want->all, &got->all);
}

static bool compare_scalar(struct model_pair *m, const char *name, int64_t want,
                           int64_t got)
{
    if (want == got)
        return true;
    return differ(m, "%s: model %" PRId64 ", library %" PRId64, name, want,
                  got);
}

static bool compare_stats(struct model_pair *m)
{
    larder_stats want;
    larder_stats got;

    larder_stats_init(&got);
    if (larder_stats_get(m->allocator, &got) != LARDER_OK)
        return differ(m, "larder_stats_get: %s", larder_last_error());
    reference_stats(m->reference, &want);
    m->stats = got;
#define X(name, text)                                                          \
    if (!compare_split(m, #name, &want.name, &got.name))                       \
        return false;
    LARDER_METRIC_MAP(X)
#undef X
#define X(name, text)                                                          \
    if (!compare_scalar(m, #name, want.name, got.name))                        \
        return false;
    LARDER_COUNTER_MAP(X)
#undef X
    return compare_stat(m, "oversize_allocations", "",
                        &want.oversize_allocations,
                        &got.oversize_allocations) &&
           compare_stat(m, "oversize_segments", "", &want.oversize_segments,
                        &got.oversize_segments) &&
           compare_scalar(m, "max_split_size", want.max_split_size,
                          got.max_split_size);
}

/* ---- blocks ------------------------------------------------------------- */

struct row {
    bool is_segment;
    larder_segment_info segment; /* also of a block */
    larder_block_info block;
};

struct table {
    struct row *rows;
    size_t count;
    size_t capacity;
    larder_addr base;
};

static struct row *table_add(struct table *t,
                             const larder_segment_info *segment)
{
    if (t->count == t->capacity) {
        t->capacity = t->capacity == 0 ? 256 : 2 * t->capacity;
        t->rows = realloc(t->rows, t->capacity * sizeof *t->rows);
        if (t->rows == NULL)
            exit(2);
    }
    memset(&t->rows[t->count], 0, sizeof *t->rows);
    t->rows[t->count].segment = *segment;
    t->rows[t->count].segment.addr -= t->base;
    return &t->rows[t->count++];
}

static int add_segment(void *ctx, const larder_segment_info *segment)
{
    table_add(ctx, segment)->is_segment = true;
    return 0;
}

static int add_block(void *ctx, const larder_segment_info *segment,
                     const larder_block_info *block)
{
    struct table *t = ctx;
    struct row *row = table_add(t, segment);

    row->block = *block;
    row->block.addr -= t->base;
    return 0;
}

static bool segment_same(const larder_segment_info *a,
                         const larder_segment_info *b)
{
    return a->addr == b->addr && a->bytes == b->bytes &&
           a->allocated_bytes == b->allocated_bytes &&
           a->active_bytes == b->active_bytes &&
           a->requested_bytes == b->requested_bytes && a->stream == b->stream &&
           a->pool.first == b->pool.first && a->pool.second == b->pool.second &&
           !a->is_large == !b->is_large &&
           !a->is_expandable == !b->is_expandable &&
           !a->is_reserved == !b->is_reserved &&
           a->block_count == b->block_count;
}

/* The request that a free block once served does not count: the library forgets
 * it. */
static bool block_same(const larder_block_info *a, const larder_block_info *b)
{
    return a->addr == b->addr && a->bytes == b->bytes && a->state == b->state &&
           (a->state == LARDER_BLOCK_FREE ||
            a->requested_bytes == b->requested_bytes);
}

static bool row_same(const struct row *a, const struct row *b)
{
    return a->is_segment == b->is_segment &&
           segment_same(&a->segment, &b->segment) &&
           (a->is_segment || block_same(&a->block, &b->block));
}

static void row_text(const struct table *t, size_t i, char *out, size_t size)
{
    const larder_segment_info *s;
    const larder_block_info *b;

    if (i >= t->count) {
        snprintf(out, size, "nothing");
        return;
    }
    s = &t->rows[i].segment;
    b = &t->rows[i].block;
    if (t->rows[i].is_segment)
        snprintf(out, size,
                 "segment %" PRIu64 "+%" PRIu64 " allocated %" PRIu64
                 " active %" PRIu64 " requested %" PRIu64 " stream %" PRIu64
                 " pool %" PRIu64 ".%" PRIu64 "%s%s, %zu blocks",
                 s->addr, s->bytes, s->allocated_bytes, s->active_bytes,
                 s->requested_bytes, s->stream, s->pool.first, s->pool.second,
                 s->is_large ? " large" : " small",
                 s->is_expandable ? " expandable" : "", s->block_count);
    else
        snprintf(out, size,
                 "block %" PRIu64 "+%" PRIu64 " requested %" PRIu64 " state %d",
                 b->addr, b->bytes, b->requested_bytes, (int)b->state);
}

static bool compare_tables(struct model_pair *m, const struct table *want,
                           const struct table *got)
{
    for (size_t i = 0; i < want->count || i < got->count; i++) {
        char w[MODEL_WHY_MAX / 2 - 32];
        char g[MODEL_WHY_MAX / 2 - 32];

        if (i < want->count && i < got->count &&
            row_same(&want->rows[i], &got->rows[i]))
            continue;
        row_text(want, i, w, sizeof w);
        row_text(got, i, g, sizeof g);
        return differ(m, "walk: model %s; library %s", w, g);
    }
    return true;
}

bool model_pair_compare_blocks(struct model_pair *m)
{
    struct table want = {.base = REFERENCE_ADDRESS_BASE};
    struct table got = {.base = m->base};
    larder_sim_usage usage = {.size = sizeof usage};
    bool same;

    reference_walk(m->reference, add_segment, add_block, &want);
    if (larder_walk(m->allocator, add_segment, add_block, &got) != LARDER_OK)
        differ(m, "larder_walk: %s", larder_last_error());
    same = compare_tables(m, &want, &got);
    free(want.rows);
    free(got.rows);
    if (!same)
        return false;
    if (larder_sim_get_usage(m->device, &usage) != LARDER_OK)
        return differ(m, "larder_sim_get_usage: %s", larder_last_error());
    return compare_scalar(m, "bytes of the device in use",
                          (int64_t)reference_used_bytes(m->reference),
                          (int64_t)usage.used_bytes);
}

bool model_pair_check(struct model_pair *m)
{
    if (larder_check(m->allocator) == LARDER_OK)
        return true;
    return differ(m, "larder_check: %s", larder_last_error());
}

/* ---- operations --------------------------------------------------------- */

static bool same_result(struct model_pair *m, larder_result want,
                        larder_result got)
{
    if (want == got)
        return true;
    return differ(m, "result: model %s, library %s (%s)",
                  larder_result_name(want), larder_result_name(got),
                  larder_last_error());
}

static bool step_alloc(struct model_pair *m, const struct model_op *op)
{
    larder_addr want = 0;
    larder_addr got = 0;

    if (m->live[op->slot] != 0)
        return true;
    if (!same_result(
            m, reference_alloc(m->reference, op->value, op->stream, &want),
            larder_alloc(m->allocator, op->value, op->stream, &got)))
        return false;
    if (offset_of(want, REFERENCE_ADDRESS_BASE) != offset_of(got, m->base))
        return differ(m, "address: model %" PRId64 ", library %" PRId64,
                      offset_of(want, REFERENCE_ADDRESS_BASE),
                      offset_of(got, m->base));
    m->live[op->slot] = want;
    return true;
}

static bool step_free(struct model_pair *m, const struct model_op *op)
{
    larder_addr addr = m->live[op->slot];

    if (addr == 0)
        return true;
    m->live[op->slot] = 0;
    m->before[op->slot] = addr;
    return same_result(m, reference_free(m->reference, addr),
                       larder_free(m->allocator, to_library(m, addr)));
}

/* Neither freeing nor recording an address that is not live may have an effect.
 * Either error will do: which one depends on what the library still knows about
 * the address. */
static bool step_free_bad(struct model_pair *m, const struct model_op *op)
{
    larder_addr addr = m->before[op->slot];
    larder_result r;

    if (addr == 0 || is_live(m, addr))
        return true;
    r = larder_free(m->allocator, to_library(m, addr));
    if (r != LARDER_ERR_DOUBLE_FREE && r != LARDER_ERR_UNKNOWN_ADDRESS)
        return differ(m, "free of what is not live: %s", larder_result_name(r));
    r = larder_record_stream(m->allocator, to_library(m, addr), 0);
    if (r == LARDER_OK)
        return differ(m, "record_stream of what is not live: LARDER_OK");
    return true;
}

static bool step_record(struct model_pair *m, const struct model_op *op)
{
    larder_addr addr = m->live[op->slot];

    if (addr == 0)
        return true;
    return same_result(
        m, reference_record_stream(m->reference, addr, op->stream),
        larder_record_stream(m->allocator, to_library(m, addr), op->stream));
}

static bool step_complete(struct model_pair *m, const struct model_op *op)
{
    reference_complete(m->reference, op->stream);
    return same_result(m, LARDER_OK,
                       larder_sim_complete(m->device, op->stream));
}

static larder_pool_id pool_id(unsigned number)
{
    larder_pool_id id = {number % 2 == 0 ? number + 1 : 0,
                         number % 2 == 0 ? 0 : number};

    return id;
}

static int accepts(void *ctx, larder_stream stream)
{
    const unsigned *filter = ctx;

    return *filter >> stream & 1;
}

static bool step_pool(struct model_pair *m, const struct model_op *op)
{
    larder_pool_id id = pool_id(op->slot);
    larder_pool_filter *filter = accepts;
    larder_result want;

    switch (op->kind) {
    case MODEL_POOL_BEGIN:
        if (op->stream == (1u << MODEL_STREAMS) - 1)
            filter = NULL;
        want = reference_pool_begin(m->reference, id, filter,
                                    &m->filters[op->slot]);
        if (want == LARDER_OK)
            m->filters[op->slot] = op->stream;
        return same_result(
            m, want,
            larder_pool_begin(m->allocator, id, filter, &m->filters[op->slot]));
    case MODEL_POOL_END:
        return same_result(m, reference_pool_end(m->reference, id),
                           larder_pool_end(m->allocator, id));
    default:
        return same_result(m, reference_pool_release(m->reference, id),
                           larder_pool_release(m->allocator, id));
    }
}

static bool step_configure(struct model_pair *m, const struct model_op *op)
{
    char conf[MODEL_CONF_MAX];

    model_conf_text(op->value, conf);
    reference_configure(m->reference, conf);
    return same_result(m, LARDER_OK, larder_configure(m->allocator, conf));
}

static bool step_fraction(struct model_pair *m, const struct model_op *op)
{
    double fraction = (double)op->value / 100;

    reference_set_fraction(m->reference, fraction);
    return same_result(m, LARDER_OK,
                       larder_set_memory_fraction(m->allocator, fraction));
}

static bool step_one(struct model_pair *m, const struct model_op *op)
{
    switch (op->kind) {
    case MODEL_ALLOC:
        return step_alloc(m, op);
    case MODEL_FREE:
        return step_free(m, op);
    case MODEL_FREE_BAD:
        return step_free_bad(m, op);
    case MODEL_RECORD:
        return step_record(m, op);
    case MODEL_COMPLETE:
        return step_complete(m, op);
    case MODEL_EMPTY_CACHE:
        return same_result(m, reference_empty_cache(m->reference),
                           larder_empty_cache(m->allocator));
    case MODEL_CONFIGURE:
        return step_configure(m, op);
    case MODEL_FRACTION:
        return step_fraction(m, op);
    case MODEL_RESET_PEAK:
        reference_reset_peak(m->reference);
        return same_result(m, LARDER_OK, larder_stats_reset_peak(m->allocator));
    case MODEL_RESET_ACCUMULATED:
        reference_reset_accumulated(m->reference);
        return same_result(m, LARDER_OK,
                           larder_stats_reset_accumulated(m->allocator));
    default:
        return step_pool(m, op);
    }
}

bool model_pair_step(struct model_pair *m, const struct model_op *op)
{
    return step_one(m, op) && compare_stats(m);
}

/* ---- beginning and end -------------------------------------------------- */

bool model_pair_open(struct model_pair *m, uint64_t capacity, uint64_t conf)
{
    larder_options options;
    larder_addr second;
    char spec[128];
    char text[MODEL_CONF_MAX];

    memset(m, 0, sizeof *m);
    model_conf_text(conf, text);
    m->reference = reference_create(capacity, false, text);
    snprintf(spec, sizeof spec, "sim:%" PRIu64 ",backing=none,events=manual",
             capacity);
    larder_options_init(&options);
    options.policy = LARDER_POLICY_PYTORCH;
    options.conf = text;
    if (larder_device_open(spec, 0, &m->device) != LARDER_OK ||
        larder_sim_regions(m->device, &m->base, &second) != LARDER_OK ||
        larder_create(m->device, &options, &m->allocator) != LARDER_OK)
        return differ(m, "%s, '%s': %s", spec, text, larder_last_error());
    return true;
}

static bool device_is_empty(struct model_pair *m)
{
    larder_sim_usage usage = {.size = sizeof usage};

    if (larder_sim_get_usage(m->device, &usage) != LARDER_OK)
        return differ(m, "larder_sim_get_usage: %s", larder_last_error());
    if (usage.used_bytes != 0 || usage.reservations != 0 || usage.events != 0)
        return differ(m,
                      "left on the device: %" PRIu64 " bytes, %" PRIu64
                      " ranges, %" PRIu64 " events",
                      usage.used_bytes, usage.reservations, usage.events);
    return true;
}

bool model_pair_close(struct model_pair *m)
{
    bool ok = m->why[0] == '\0';

    if (m->allocator != NULL && larder_destroy(m->allocator) != LARDER_OK)
        ok = differ(m, "larder_destroy: %s", larder_last_error());
    if (m->device != NULL && !device_is_empty(m))
        ok = false;
    if (larder_device_close(m->device) != LARDER_OK)
        ok = differ(m, "larder_device_close: %s", larder_last_error());
    reference_destroy(m->reference);
    return ok;
}
