/* decisions.c - runs a random program, and says in a few lines what the
 * allocator decided. */
#include "golden/decisions.h"

#include <inttypes.h>

#include <larder/pinned.h>

#include "support/call_log.h"

static const struct operation operations[] = {
#define X(name, weight, needs) {#name, weight, needs, op_##name},
    OPERATION_MAP(X)
#undef X
};

enum { OPERATIONS = sizeof operations / sizeof operations[0] };

/* ---- the log -------------------------------------------------------------------- */

void step_says(struct world *w, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (w->log != NULL) {
        fprintf(w->log, "%d ", w->step);
        vfprintf(w->log, format, args);
        fputc('\n', w->log);
    }
    va_end(args);
}

/* The driver calls since the last time. */
static void mix_driver(struct world *w)
{
    assert_int_equal(fflush(w->driver), 0);
    if (w->log != NULL)
        fputs(w->calls + w->calls_mixed, w->log);
    mix_words(w, DIGEST_driver, w->calls + w->calls_mixed);
    w->calls_mixed = w->calls_length;
}

bool step_ends_silently(struct world *w, larder_result r)
{
    assert_in_range(r, 0, RESULTS - 1);
    w->results[r]++;
    mix_driver(w);
    mix(w, DIGEST_placed, (uint64_t)r);
    if (w->log != NULL && r != LARDER_OK)
        fprintf(w->log, "  %s: %s\n", larder_result_name(r),
                larder_last_error());
    return r == LARDER_OK;
}

bool step_ends(struct world *w, larder_result r)
{
    if (step_ends_silently(w, r))
        return true;
    mix_words(w, DIGEST_words, larder_last_error());
    return false;
}

/* ---- the beginning ----------------------------------------------------------------- */

static int reclaim(void *ctx)
{
    struct world *w = ctx;
    struct slot *slot = draw_live(w);
    larder_addr addr = slot != NULL ? slot->addr : 0;

    step_says(w, "asked to free something");
    if (slot == NULL || chance(w, 3))
        return 0;
    slot_free(w, slot);
    return slot->addr != addr;
}

static void observe(void *ctx, const larder_oom_info *info)
{
    const uint64_t values[] = {
        info->requested_bytes,    info->segment_bytes,     info->stream,
        info->device_total_bytes, info->device_free_bytes,
    };

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        mix(ctx, DIGEST_words, values[i]);
    mix_words(ctx, DIGEST_words, info->message);
}

static bool allocators_begin(struct world *w)
{
    larder_options opt;
    larder_result r;

    larder_options_init(&opt);
    opt.policy = w->plan.policy;
    opt.conf = w->plan.conf;
    r = larder_create(w->rig.dev, &opt, &w->rig.a);
    if (!step_ends(w, r))
        return false;
    opt.policy = LARDER_POLICY_PYTORCH;
    opt.conf = "";
    if (plan_has(&w->plan, FEATURE_company))
        assert_ok(larder_create(w->rig.dev, &opt, &w->other));
    opt.policy = LARDER_POLICY_DEFAULT;
    opt.conf = "pinned_max_cached_size_mb:4,pinned_limit:24MiB";
    if (plan_has(&w->plan, FEATURE_pinned))
        assert_ok(larder_pinned_create(w->rig.dev, &opt, &w->pinned));
    if (plan_has(&w->plan, FEATURE_callbacks)) {
        assert_ok(larder_add_reclaim(w->rig.a, reclaim, w));
        assert_ok(larder_add_oom_observer(w->rig.a, observe, w));
    }
    if (plan_has(&w->plan, FEATURE_history))
        history_begin(w);
    return true;
}

static void model_begin(struct world *w)
{
    w->seed = w->plan.seed;
    w->captured = -1;
    for (int i = 0; i < DIGEST_COUNT; i++)
        w->digests[i] = DIGEST_BEGIN;
    for (int i = 0; i < POOLS; i++)
        w->pools[i].id = (larder_pool_id){(uint64_t)i, 7};
    for (int i = 0; i < SIZES; i++)
        w->sizes[i] = draw_size(w);
    w->wanted_bytes = draw_wanted(w);
}

static bool world_begin(struct world *w)
{
    model_begin(w);
    assert_ok(larder_device_open(w->plan.spec, 0, &w->rig.dev));
    assert_ok(larder_sim_regions(w->rig.dev, &w->first, &w->second));
    w->driver = open_memstream(&w->calls, &w->calls_length);
    assert_non_null(w->driver);
    call_log_begin(w->rig.dev, 0, w->driver);
    host_begin(w);
    return allocators_begin(w);
}

/* ---- steps ---------------------------------------------------------------------------- */

static const struct operation *draw_operation(struct world *w)
{
    unsigned total = 0;
    unsigned at;

    for (int i = 0; i < OPERATIONS; i++) {
        if ((operations[i].needs & ~w->plan.features) == 0)
            total += operations[i].weight;
    }
    at = (unsigned)draw(w, total);
    for (int i = 0;; i++) {
        if ((operations[i].needs & ~w->plan.features) != 0)
            continue;
        if (at < operations[i].weight)
            return &operations[i];
        at -= operations[i].weight;
    }
}

static void steps_take(struct world *w)
{
    for (w->step = 0; w->step < w->plan.steps; w->step++) {
        draw_operation(w)->take(w);
        if (w->step % LOOK_EVERY == LOOK_EVERY - 1)
            look(w);
    }
}

/* ---- the end ---------------------------------------------------------------------------- */

static void blocks_end(struct world *w)
{
    for (int i = 0; i < STREAMS; i++)
        assert_ok(larder_sim_complete(w->rig.dev, (larder_stream)i));
    for (int i = 0; i < SLOTS; i++) {
        if (w->slots[i].addr != 0)
            slot_free(w, &w->slots[i]);
    }
    for (int i = 0; i < PINS; i++)
        CALL(w, larder_pinned_free(w->pinned, w->pins[i]));
}

static void allocators_end(struct world *w)
{
    look(w);
    look_at_history(w);
    op_empty_cache(w);
    look(w);
    w->stats = rig_stats(&w->rig);
    if (plan_has(&w->plan, FEATURE_faults))
        op_fault(w);
    step_ends(w, larder_destroy(w->rig.a));
    faults_end(w);
    for (int i = 0; i < REGIONS; i++)
        assert_ok(larder_region_destroy(w->regions[i]));
    step_ends(w, larder_destroy(w->other));
    step_ends(w, larder_destroy(w->pinned));
}

static void world_end(struct world *w)
{
    mix_driver(w);
    call_log_end(w->rig.dev);
    fclose(w->driver);
    free(w->calls);
    assert_ok(larder_device_close(w->rig.dev));
    host_end();
}

/* ---- what it decided ----------------------------------------------------------------------- */

static void put(FILE *out, const char *name, uint64_t value)
{
    if (value != 0)
        fprintf(out, " %s %" PRIu64, name, value);
}

static void put_plan(const struct world *w, FILE *out)
{
    static const char *const features[] = {
#define X(name) #name,
        FEATURE_MAP(X)
#undef X
    };

    fprintf(out, "program %u: %s, %s, '%s':", w->plan.number,
            larder_policy_name(w->plan.policy), w->plan.spec, w->plan.conf);
    for (int i = 0; i < FEATURE_COUNT; i++) {
        if (plan_has(&w->plan, (enum feature)i))
            fprintf(out, " %s", features[i]);
    }
    fputs("\n  results", out);
    for (int i = 0; i < RESULTS; i++)
        put(out, larder_result_name((larder_result)i) + sizeof "LARDER_" - 1,
            w->results[i]);
}

static void put_calls(struct world *w, FILE *out)
{
    larder_device_counters counters = rig_counters(&w->rig);

    fputs("\n  calls", out);
    for (int i = 0; i < LARDER_CALL_COUNT; i++)
        put(out, larder_call_name((larder_call)i), counters.calls[i]);
    fputs("\n  failed", out);
    for (int i = 0; i < LARDER_CALL_COUNT; i++)
        put(out, larder_call_name((larder_call)i), counters.failed[i]);
    fputs("\n  figures", out);
    put(out, "time_ns", counters.time_ns);
    put(out, "pages_mapped", counters.pages_mapped);
    put(out, "pages_unmapped", counters.pages_unmapped);
}

static void put_statistics(const struct world *w, FILE *out)
{
    const larder_stats st = w->stats;

    put(out, "peak_reserved", (uint64_t)st.reserved_bytes.all.peak);
    put(out, "peak_allocated", (uint64_t)st.allocated_bytes.all.peak);
#define X(name, text) put(out, #name, (uint64_t)st.name);
    LARDER_COUNTER_MAP(X)
    LARDER_OWN_COUNTER_MAP(X)
#undef X
}

static void put_left(struct world *w, FILE *out)
{
    larder_sim_usage usage = rig_usage(w->rig.dev);

    put(out, "allocations_left", usage.allocations);
    put(out, "pages_left", usage.pages);
    put(out, "mappings_left", usage.mappings);
    put(out, "reservations_left", usage.reservations);
    put(out, "events_left", usage.events);
    put(out, "bytes_left", usage.self_bytes - usage.context_bytes);
}

static void put_digests(const struct world *w, FILE *out)
{
    static const char *const names[] = {
#define X(name) #name,
        DIGEST_MAP(X)
#undef X
    };

    fputs("\n  digests", out);
    for (int i = 0; i < DIGEST_COUNT; i++)
        fprintf(out, " %s %08" PRIx32, names[i], digest_short(w->digests[i]));
    fputc('\n', out);
}

char *program_run(unsigned number, FILE *log)
{
    struct world *w = test_calloc(1, sizeof *w);
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    assert_non_null(out);
    plan_make(&w->plan, number);
    w->log = log;
    if (world_begin(w)) {
        steps_take(w);
        faults_end(w);
        owners_end(w);
        blocks_end(w);
        allocators_end(w);
    }
    put_plan(w, out);
    put_calls(w, out);
    put_statistics(w, out);
    put_left(w, out);
    world_end(w);
    put_digests(w, out);
    assert_int_equal(fclose(out), 0);
    test_free(w);
    return text;
}
