/* scenario.h - a run through everything the allocator does, which continues
 * after any call in it has failed.
 *
 * A fault is armed, the scenario runs, and each failure is checked at once: the
 * fault can explain the result, every structure is consistent, and live memory
 * still holds the bytes that were written to it.  At the end, with the fault
 * removed, the allocator works and releases everything. */
#pragma once

#include "support/history_rig.h"
#include "support/host_faults.h"

/* ---- faults -------------------------------------------------------------- */

struct fault {
    int is_host;
    larder_call call; /* of the device, if it is not a host fault */
    unsigned long nth;
    unsigned long times; /* 0: from the nth on */
    larder_result with;
};

static inline void fault_plan(const struct fault *f, larder_device *dev,
                              unsigned long nth)
{
    if (f->is_host)
        larder__host_fail(nth, f->times);
    else
        assert_ok(larder_device_fail(dev, f->call, nth, f->times, f->with));
}

static inline void fault_off(const struct fault *f, larder_device *dev)
{
    fault_plan(f, dev, 0);
}

/* Resume a lasting fault after a pause. */
static inline void fault_resume(const struct fault *f, larder_device *dev)
{
    if (f->times == 0)
        fault_plan(f, dev, 1);
}

/* Runs with the fault planned; returns whether it struck. */
typedef int fault_run(const struct fault *f, const void *setup);

/* Run with the fault at each place in turn, once and from then on; returns the
 * number of places. */
static inline unsigned long fault_sweep(struct fault f, fault_run *run,
                                        const void *setup)
{
    for (f.nth = 1;; f.nth++) {
        f.times = 1;
        if (!run(&f, setup))
            return f.nth - 1;
        f.times = 0;
        run(&f, setup);
    }
}

/* A device call, and the minimum number of places where it can fail. */
struct fault_place {
    larder_call call;
    unsigned long least;
};

static inline void fault_sweep_call(const struct fault_place *place,
                                    fault_run *run, const void *setup)
{
    struct fault f = {.call = place->call, .with = LARDER_ERR_DEVICE};
    unsigned long points = fault_sweep(f, run, setup);

    if (points < place->least)
        print_error("%s: %lu places\n", larder_call_name(f.call), points);
    assert_true(points >= place->least);
}

static inline void fault_describe(const struct fault *f, const char *conf)
{
    print_error("fault: %s, number %lu%s, as %s; configuration '%s'\n",
                f->is_host ? "host memory" : larder_call_name(f->call), f->nth,
                f->times == 0 ? " and all after it" : "",
                larder_result_name(f->with), conf);
}

static inline void fault_fail(const struct fault *f, larder_result r)
{
    fault_describe(f, "");
    fail_msg("%s: %s", larder_result_name(r), larder_last_error());
}

/* It worked, or it failed as the fault makes it fail. */
static inline void fault_expect(const struct fault *f, larder_result r)
{
    if (r != LARDER_OK && r != f->with)
        fault_fail(f, r);
}

/* ---- the state of a run -------------------------------------------------- */

enum {
    SLOTS = 128,
    POOL_SLOTS = 16, /* the last ones belong to the private pool */
    FIRST_POOL_SLOT = SLOTS - POOL_SLOTS,
    PATTERN_STRIDE = 1024 * 1024
};

struct slot {
    larder_addr addr; /* 0: none */
    uint64_t bytes;
};

struct scenario {
    struct rig rig;
    const struct fault *fault;
    const char *conf;
    int has_memory; /* addresses can be written to */
    int failures;   /* seen by the caller */
    int in_pool;
    int pool_held;
    uint64_t pieces_bytes;
    struct slot slots[SLOTS];
    struct slot at_checkpoint[POOL_SLOTS];
};

static const larder_pool_id scenario_pool = {5, 0};

enum { POOL_STREAM = 4 };

static inline uint64_t *pattern_word(const struct slot *slot, uint64_t offset)
{
    return (uint64_t *)(uintptr_t)(slot->addr + offset);
}

static inline uint64_t pattern_value(const struct slot *slot, uint64_t offset)
{
    return (slot->addr + offset) * UINT64_C(0x9E3779B97F4A7C15) + slot->bytes;
}

static inline void pattern_write(const struct scenario *s,
                                 const struct slot *slot)
{
    uint64_t last = slot->bytes - sizeof(uint64_t);

    if (!s->has_memory)
        return;
    for (uint64_t at = 0; at < last; at += PATTERN_STRIDE)
        *pattern_word(slot, at) = pattern_value(slot, at);
    last -= last % sizeof(uint64_t);
    *pattern_word(slot, last) = pattern_value(slot, last);
}

static inline void pattern_verify(const struct scenario *s,
                                  const struct slot *slot)
{
    uint64_t last = slot->bytes - sizeof(uint64_t);

    if (!s->has_memory)
        return;
    for (uint64_t at = 0; at < last; at += PATTERN_STRIDE)
        assert_int_equal(*pattern_word(slot, at), pattern_value(slot, at));
    last -= last % sizeof(uint64_t);
    assert_int_equal(*pattern_word(slot, last), pattern_value(slot, last));
}

static inline void scenario_verify(struct scenario *s)
{
    assert_ok(larder_check(s->rig.a));
    for (int i = 0; i < SLOTS; i++) {
        if (s->slots[i].addr != 0)
            pattern_verify(s, &s->slots[i]);
    }
}

/* Whether a call that returned r succeeded.  Without a fault it returns OK or
 * `otherwise` here.  A fault that strikes once explains one failure. */
static inline int succeeded_or(struct scenario *s, const char *what,
                               larder_result r, larder_result otherwise)
{
    if (r == LARDER_OK)
        return 1;
    if (r == otherwise)
        return 0;
    if (s->fault->nth == 0 || (s->failures > 0 && s->fault->times == 1) ||
        (r != s->fault->with && r != LARDER_ERR_OUT_OF_MEMORY)) {
        fault_describe(s->fault, s->conf);
        fail_msg("%s gave %s after %d failures: %s", what,
                 larder_result_name(r), s->failures, larder_last_error());
    }
    assert_true(strlen(larder_last_error()) > 0);
    s->failures++;
    fault_off(s->fault, s->rig.dev);
    scenario_verify(s);
    fault_resume(s->fault, s->rig.dev);
    return 0;
}

#define TRY(s, call) succeeded_or((s), #call, (call), LARDER_OK)

/* ---- single steps -------------------------------------------------------- */

static inline void put_or(struct scenario *s, int i, uint64_t bytes,
                          larder_stream stream, larder_result otherwise)
{
    struct slot slot = {.bytes = bytes};

    assert_int_equal(s->slots[i].addr, 0);
    if (!succeeded_or(s, "larder_alloc",
                      larder_alloc(s->rig.a, bytes, stream, &slot.addr),
                      otherwise)) {
        assert_int_equal(slot.addr, 0);
        return;
    }
    pattern_write(s, &slot);
    s->slots[i] = slot;
}

static inline void put(struct scenario *s, int i, uint64_t bytes,
                       larder_stream stream)
{
    put_or(s, i, bytes, stream, LARDER_OK);
}

/* A free never fails, even during a fault. */
static inline void drop(struct scenario *s, int i)
{
    if (s->slots[i].addr == 0)
        return;
    pattern_verify(s, &s->slots[i]);
    assert_ok(larder_free(s->rig.a, s->slots[i].addr));
    s->slots[i].addr = 0;
}

static inline void drop_range(struct scenario *s, int begin, int end, int step)
{
    for (int i = begin; i < end; i += step)
        drop(s, i);
}

static inline void use(struct scenario *s, int i, larder_stream stream)
{
    if (s->slots[i].addr != 0)
        TRY(s, larder_record_stream(s->rig.a, s->slots[i].addr, stream));
}

static inline int count_segment(void *ctx, const larder_segment_info *segment)
{
    (void)segment;
    ++*(int *)ctx;
    return 0;
}

/* ---- parts --------------------------------------------------------------- */

/* Splits and merges in both default pools, on two streams. */
static inline void part_blocks(struct scenario *s)
{
    for (int i = 0; i < 40; i++)
        put(s, i, 600 + (uint64_t)i * 4000, (larder_stream)i % 2);
    drop_range(s, 0, 40, 3);
    drop_range(s, 1, 40, 3);
    for (int i = 40; i < 50; i++)
        put(s, i, MIB(3) + (uint64_t)i * 512, (larder_stream)i % 2);
    put(s, 50, MIB(12), 0);
    drop_range(s, 40, 50, 2);
    put(s, 40, MIB(6), 0);
    drop_range(s, 2, 51, 1);
}

static inline void part_streams(struct scenario *s)
{
    for (int i = 0; i < 12; i++)
        put(s, i, i % 2 == 0 ? 5000 : MIB(2), 0);
    for (int i = 0; i < 12; i++) {
        use(s, i, 2);
        if (i % 3 == 0)
            use(s, i, 3);
    }
    drop_range(s, 0, 6, 1);
    TRY(s, larder_sim_complete(s->rig.dev, 2));
    put(s, 0, 5000, 0);
    drop_range(s, 6, 12, 1);
    put(s, 6, MIB(2), 0);
    TRY(s, larder_sim_complete(s->rig.dev, 3));
    put(s, 7, 5000, 0);
    drop_range(s, 0, 8, 1);
}

static inline int is_pool_stream(void *ctx, larder_stream stream)
{
    (void)ctx;
    return stream == POOL_STREAM;
}

static inline void take_checkpoint(struct scenario *s, larder_checkpoint **cp)
{
    if (!TRY(s, larder_checkpoint_take(s->rig.a, scenario_pool, cp)))
        return;
    memcpy(s->at_checkpoint, &s->slots[FIRST_POOL_SLOT],
           sizeof s->at_checkpoint);
}

/* Afterwards the pool's blocks are those of the checkpoint again. */
static inline void restore_checkpoint(struct scenario *s,
                                      const larder_checkpoint *cp)
{
    larder_addr freed[POOL_SLOTS], created[POOL_SLOTS];
    size_t freed_count, created_count;

    if (!TRY(s, larder_checkpoint_restore(s->rig.a, cp, freed, POOL_SLOTS,
                                          &freed_count, created, POOL_SLOTS,
                                          &created_count)))
        return;
    memcpy(&s->slots[FIRST_POOL_SLOT], s->at_checkpoint,
           sizeof s->at_checkpoint);
    for (int i = FIRST_POOL_SLOT; i < SLOTS; i++) {
        if (s->slots[i].addr != 0)
            pattern_write(s, &s->slots[i]);
    }
}

static inline void part_pool(struct scenario *s)
{
    larder_checkpoint *cp = NULL;
    int first = FIRST_POOL_SLOT;
    int same;

    put(s, 0, 5000, 0);
    use(s, 0, 2);
    if (!TRY(s, larder_pool_begin(s->rig.a, scenario_pool, is_pool_stream,
                                  NULL))) {
        drop(s, 0);
        return;
    }
    s->in_pool = s->pool_held = 1;
    for (int i = 0; i < 5; i++)
        put(s, first + i, i % 2 == 0 ? 7000 : MIB(4), POOL_STREAM);
    drop(s, first + 1);
    take_checkpoint(s, &cp);
    drop(s, first + 2);
    for (int i = 5; i < 8; i++)
        put(s, first + i, 9000, POOL_STREAM);
    drop(s, 0); /* while the pool is begun: it has to wait for its event */
    put(s, 1, 8000, 0);
    if (cp != NULL)
        restore_checkpoint(s, cp);
    TRY(s, larder_pool_live_is(s->rig.a, scenario_pool, NULL, 0, &same));
    assert_ok(larder_pool_end(s->rig.a, scenario_pool));
    s->in_pool = 0;
    put(s, 2, 8000, 0);
    drop_range(s, first, SLOTS, 2);
    assert_ok(larder_pool_release(s->rig.a, scenario_pool));
    s->pool_held = 0;
    TRY(s, larder_empty_cache(s->rig.a));
    drop_range(s, first, SLOTS, 1);
    drop_range(s, 0, 3, 1);
    larder_checkpoint_destroy(cp);
}

static inline void part_expandable(struct scenario *s)
{
    TRY(s, larder_configure(s->rig.a, "expandable_segments:True"));
    for (int i = 0; i < 8; i++)
        put(s, i, i % 2 == 0 ? 300000 : MIB(7), (larder_stream)i % 2);
    put(s, 8, MIB(45), 0);
    use(s, 8, 2);
    drop_range(s, 0, 9, 2);
    TRY(s, larder_empty_cache(s->rig.a));
    put(s, 0, MIB(25), 0);
    drop_range(s, 0, 9, 1);
    TRY(s, larder_configure(s->rig.a, "expandable_segments:False"));
    put(s, 0, MIB(9), 0);
    TRY(s, larder_empty_cache(s->rig.a));
    drop(s, 0);
}

static inline int scenario_reclaim(void *ctx)
{
    (void)ctx;
    return 1;
}

static inline void scenario_observe(void *ctx, const larder_oom_info *info)
{
    struct scenario *s = ctx;

    assert_non_null(info->message);
    assert_true(info->requested_bytes > 0);
    (void)s;
}

/* A full device: garbage collection, oversize segments, the ladder. */
static inline void part_full(struct scenario *s)
{
    TRY(s, larder_add_reclaim(s->rig.a, scenario_reclaim, s));
    TRY(s, larder_add_oom_observer(s->rig.a, scenario_observe, s));
    TRY(s, larder_set_memory_fraction(s->rig.a, 0.95));
    TRY(s, larder_configure(s->rig.a, "max_split_size_mb:24,"
                                      "garbage_collection_threshold:0.2"));
    put(s, 0, MIB(30), 0);
    put(s, 1, MIB(40), 0);
    drop_range(s, 0, 2, 1);
    put(s, 2, MIB(60), 0);
    put_or(s, 3, MIB(150), 0, LARDER_ERR_OUT_OF_MEMORY);
    TRY(s, larder_configure(s->rig.a, ""));
    for (int i = 4; i < 20; i++)
        put_or(s, i, MIB(16), (larder_stream)i % 2, LARDER_ERR_OUT_OF_MEMORY);
    for (int i = 4; i < 20; i += 2)
        use(s, i, 3);
    drop_range(s, 2, 12, 1);
    put_or(s, 2, MIB(50), 1, LARDER_ERR_OUT_OF_MEMORY);
    drop_range(s, 0, SLOTS, 1);
    put(s, 0, MIB(90), 0);
    drop(s, 0);
    TRY(s, larder_set_memory_fraction(s->rig.a, 1));
    /* The next part needs room: retry, if the fault struck here. */
    if (!TRY(s, larder_empty_cache(s->rig.a)))
        TRY(s, larder_empty_cache(s->rig.a));
}

static inline void part_reserve(struct scenario *s)
{
    if (TRY(s, larder_reserve(s->rig.a, MIB(8))))
        s->pieces_bytes += MIB(8);
    for (int i = 0; i < 6; i++)
        put(s, i, i % 2 == 0 ? 2000 : MIB(5), (larder_stream)i % 3);
    drop_range(s, 0, 6, 1);
    TRY(s, larder_empty_cache(s->rig.a));
}

static inline void part_look(struct scenario *s)
{
    larder_stats st;
    larder_addr base;
    uint64_t bytes;
    double fraction;
    char text[8192];
    int segments = 0;

    put(s, 0, 4000, 0);
    larder_stats_init(&st);
    TRY(s, larder_stats_get(s->rig.a, &st));
    TRY(s, larder_memory_summary(s->rig.a, 0, text, sizeof text, NULL));
    TRY(s, larder_walk(s->rig.a, count_segment, NULL, &segments));
    TRY(s, larder_check(s->rig.a));
    TRY(s, larder_largest_cached(s->rig.a, &bytes));
    TRY(s, larder_memory_fraction(s->rig.a, &fraction));
    if (s->slots[0].addr != 0) {
        larder_result r =
            larder_base_allocation(s->rig.a, s->slots[0].addr, &base, &bytes);

        if (r != LARDER_ERR_UNSUPPORTED) /* paged memory has none */
            TRY(s, r);
    }
    TRY(s, larder_stats_reset_peak(s->rig.a));
    drop(s, 0);
}

static inline int bytes_forget(void *ctx, const void *from, size_t count)
{
    *(size_t *)ctx += count;
    (void)from;
    return 0;
}

/* Snapshots with the history on or off, and a restarted history. */
static inline void part_history(struct scenario *s)
{
    larder_history_options opt;
    larder_history_info info = {.size = sizeof info};
    size_t written = 0;

    larder_annotate("scenario");
    put(s, 0, 5000, 0);
    TRY(s, larder_history_mark(s->rig.a, "mark"));
    TRY(s, larder_snapshot_write_to(s->rig.a, bytes_forget, &written, NULL));
    larder_history_options_init(&opt);
    opt.max_events = 100;
    opt.stacks = LARDER_STACKS_FRAME_POINTERS;
    TRY(s, larder_history_start(s->rig.a, &opt));
    drop(s, 0);
    put(s, 0, MIB(2), 1);
    TRY(s, larder_snapshot_write_to(s->rig.a, bytes_forget, &written, NULL));
    TRY(s, larder_history_clear(s->rig.a));
    TRY(s, larder_history_get(s->rig.a, &info));
    TRY(s, larder_history_stop(s->rig.a));
    larder_annotate(NULL);
    drop(s, 0);
}

/* ---- the whole scenario -------------------------------------------------- */

struct setup {
    larder_policy policy;
    const char *conf;
    uint64_t preallocated;
    int has_no_pages;
};

static const struct setup scenario_setups[] = {
    {LARDER_POLICY_PYTORCH, "", 0, 0},
    {LARDER_POLICY_PYTORCH, "max_split_size_mb:30,expandable_segments:True", 0,
     0},
    {LARDER_POLICY_PYTORCH, "preallocate:32MiB", MIB(32), 0},
    {LARDER_POLICY_DIRECT, "", 0, 0},
    {LARDER_POLICY_LARDER, "", 0, 0},
    {LARDER_POLICY_LARDER, "defrag:eager,preallocate:32MiB", MIB(32), 0},
    {LARDER_POLICY_LARDER, "defrag:off", 0, 0},
    {LARDER_POLICY_LARDER, "", 0, 1},
    {LARDER_POLICY_PYTORCH,
     "history:64,history_stacks:fp,dump_on_oom:/dev/null", 0, 0},
};

enum { SETUPS = sizeof scenario_setups / sizeof scenario_setups[0] };

/* With the fault removed, everything works and all memory is released. */
static inline void scenario_end(struct scenario *s, const struct setup *setup)
{
    larder_stats st;

    scenario_verify(s);
    assert_false(s->in_pool);
    drop_range(s, 0, SLOTS, 1);
    assert_ok(larder_configure(s->rig.a, ""));
    assert_ok(larder_set_memory_fraction(s->rig.a, 1));
    put(s, 0, 1000, 0);
    put(s, 1, MIB(30), 1);
    put(s, 2, MIB(3), 2);
    drop_range(s, 0, 3, 1);
    assert_ok(larder_empty_cache(s->rig.a));
    st = rig_stats(&s->rig);
    assert_int_equal(st.allocation.all.current, 0);
    assert_int_equal(st.active.all.current, 0);
    assert_int_equal(st.requested_bytes.all.current, 0);
    assert_int_equal(st.inactive_split.all.current, 0);
    assert_int_equal(st.reserved_bytes.all.current,
                     s->pieces_bytes + setup->preallocated);
    rig_down(&s->rig);
}

struct outcome {
    int failures; /* seen by a caller */
    int fired;    /* whether the planned failure took place, seen or not */
};

/* After the scenario: whether the nth request or call took place.  For host
 * requests the plan itself tells: a plan that was not used up can still
 * strike. */
static inline int fault_fired(const struct fault *f, larder_device *dev)
{
    larder_device_counters counters = {.size = sizeof counters};
    int struck = 0;

    if (!f->is_host) {
        assert_ok(larder_device_get_counters(dev, &counters));
        return counters.calls[f->call] + counters.failed[f->call] >= f->nth;
    }
    for (unsigned long i = 0; i < f->nth; i++) {
        void *ptr = larder__host_alloc(1, 1);

        struck |= ptr == NULL;
        larder__host_free(ptr);
    }
    return !struck;
}

/* Run the whole scenario with the fault armed.  Real memory costs kernel time,
 * so it is used only where one call among many fails. */
static inline struct outcome scenario_run(const struct fault *f,
                                          const struct setup *setup)
{
    struct outcome outcome;
    int has_memory = f->times == 1 || getenv("LARDER_LONG") != NULL;
    char spec[128];
    struct scenario s = {
        .fault = f,
        .conf = setup->conf,
        .has_memory = has_memory,
    };

    (void)snprintf(spec, sizeof spec,
                   "sim:192MiB,events=manual,context=3MiB%s%s",
                   has_memory ? "" : ",backing=none",
                   setup->has_no_pages ? ",vmm=off" : "");
    s.rig = rig_up_policy(spec, setup->policy, setup->conf);
    assert_ok(larder_device_reset_counters(s.rig.dev));
    fault_plan(f, s.rig.dev, f->nth);
    part_blocks(&s);
    part_streams(&s);
    part_pool(&s);
    part_expandable(&s);
    part_full(&s);
    part_reserve(&s);
    part_look(&s);
    part_history(&s);
    outcome.failures = s.failures;
    outcome.fired = f->nth != 0 && fault_fired(f, s.rig.dev);
    fault_off(f, s.rig.dev);
    scenario_end(&s, setup);
    return outcome;
}

/* The result of a sweep. */
struct sweep {
    unsigned long points;   /* places where the fault was put */
    unsigned long failures; /* seen by callers */
};

/* Put the fault at the 1st place, the 2nd, ..., every `stride`-th, once and
 * then from there on, until the scenario completes without reaching it. */
static inline struct sweep scenario_sweep(struct fault f,
                                          const struct setup *setup,
                                          unsigned long stride)
{
    struct sweep sweep = {0};

    for (f.nth = 1;; f.nth += stride) {
        struct outcome outcome;

        f.times = 1;
        outcome = scenario_run(&f, setup);
        if (!outcome.fired)
            break;
        sweep.points++;
        sweep.failures += (unsigned long)outcome.failures;
        f.times = 0;
        outcome = scenario_run(&f, setup);
        sweep.failures += (unsigned long)outcome.failures;
    }
    return sweep;
}

/* LARDER_LONG in the environment: test every place.  On the stand-in for the
 * driver half of them: faults are planted above it, and all it adds is that
 * it refuses wrong calls. */
static inline unsigned long sweep_stride(unsigned long usual)
{
    if (getenv("LARDER_LONG") != NULL)
        return 1;
    return getenv("LARDER_TEST_DRIVER") != NULL ? 2 * usual : usual;
}
