/* test_conf_extremes.c - an allocator works with every numeric setting at its
 * least, at its most, and at odd values in between: random requests on three
 * streams, whose memory never overlaps, under every policy. */
#include "support/rig.h"

#include <larder/pinned.h>

enum { SLOTS = 200, STEPS = 1500, STREAMS = 3, CHECK_EVERY = 250 };

static const char *const settings[] = {
    "handle_mib:1",
    "handle_mib:2",
    "handle_mib:3",
    "handle_mib:1000000",
    "small_kib:128",
    "small_kib:129",
    "small_kib:333",
    "small_kib:2047",
    "small_kib:1000000",
    "small_kib:129,handle_mib:5",
    "max_split_size_mb:21",
    "max_split_size_mb:2147483647",
    "pytorch:2.10,max_split_size_mb:8796093022207",
    "max_non_split_rounding_mb:21,pytorch:2.9",
    "max_non_split_rounding_mb:2147483647",
    "large_segment_size_mb:11",
    "large_segment_size_mb:12",
    "large_segment_size_mb:22",
    "large_segment_size_mb:500,max_split_size_mb:500,"
    "max_non_split_rounding_mb:500",
    "roundup_power2_divisions:1",
    "pytorch:2.10,roundup_power2_divisions:2147483648",
    "pytorch:2.10,roundup_power2_divisions:[1:2147483648,>:2]",
    "garbage_collection_threshold:0.00000000000001",
    "garbage_collection_threshold:0.99999999999999",
    "per_process_memory_fraction:0.00000000000001",
    "per_process_memory_fraction:1.0",
    "limit:1",
    "limit:3333333",
    "limit:8388607TiB",
    "preallocate:1",
    "preallocate:3333333",
    "pending_limit:0",
    "pending_limit:1",
    "pending_limit:8388607TiB",
    "reclaim_budget_ms:0",
    "reclaim_budget_ms:8796093022207",
    "trim_age:0.000000001",
    "trim_age:1000000",
    "history:1",
    "history:3",
    "minimum:1",
    "minimum:333333333",
    "process_limit:1",
    "process_limit:8388607TiB",
    "group_limit:3333333",
    "ask_budget_ms:0",
    "ask_budget_ms:8796093022207",
    "debug:1",
    "debug:2",
    "debug:3",
    "debug:2,small_kib:128",
    "preallocate:8388607TiB",
    "group_limit:1",
    "process_limit:3333333",
    "large_segment_size_mb:1048576",
    "large_segment_size_mb:2147483645,max_split_size_mb:2147483647,"
    "max_non_split_rounding_mb:2147483647",
    "expandable_segments:True,large_segment_size_mb:12",
    "expandable_segments:True,large_segment_size_mb:1048576",
    "expandable_segments:True,large_segment_size_mb:2147483646,"
    "max_split_size_mb:2147483647,max_non_split_rounding_mb:2147483647",
};

static const char *const pinned_settings[] = {
    "pinned_limit:1",
    "pinned_limit:8388607TiB",
    "pinned_reserve_segment_size_mb:1",
    "pinned_reserve_segment_size_mb:33",
    "pinned_max_round_threshold_mb:1",
    "pinned_max_round_threshold_mb:2147483647",
    "pinned_max_cached_size_mb:1",
    "pinned_max_cached_size_mb:2147483647",
};

enum {
    SETTINGS = sizeof settings / sizeof settings[0],
    PINNED_SETTINGS = sizeof pinned_settings / sizeof pinned_settings[0]
};

/* ---- a workload --------------------------------------------------------------- */

struct work {
    const char *conf;
    larder_allocator *a;
    int is_pinned;
    larder_addr addr[SLOTS];
    uint64_t bytes[SLOTS];
    int count;
    uint32_t seed;
};

static uint32_t next(struct work *w)
{
    w->seed = w->seed * 1664525u + 1013904223u;
    return w->seed >> 8;
}

static uint64_t random_bytes(struct work *w)
{
    switch (next(w) % 8) {
    case 0:
        return 1 + next(w) % MIB(8);
    case 1:
        return 1 + next(w) % 3000;
    default:
        return 1 + next(w) % 300000;
    }
}

static void expect(const struct work *w, larder_result r, larder_result or_this)
{
    if (r == LARDER_OK || r == or_this)
        return;
    fail_msg("%s: %s: %s", w->conf, larder_result_name(r), larder_last_error());
}

static void assert_apart(const struct work *w, larder_addr addr, uint64_t bytes)
{
    for (int i = 0; i < w->count; i++) {
        if (addr < w->addr[i] + w->bytes[i] && w->addr[i] < addr + bytes)
            fail_msg("%s: two live allocations share 0x%llx", w->conf,
                     (unsigned long long)addr);
    }
}

static larder_result ask(struct work *w, uint64_t bytes, larder_addr *addr)
{
    void *ptr = NULL;
    larder_result r;

    if (!w->is_pinned)
        return larder_alloc(w->a, bytes, next(w) % STREAMS, addr);
    r = larder_pinned_alloc(w->a, bytes, &ptr);
    *addr = (larder_addr)(uintptr_t)ptr;
    return r;
}

static void work_alloc(struct work *w)
{
    uint64_t bytes = random_bytes(w);
    larder_addr addr = 0;
    larder_result r = ask(w, bytes, &addr);

    expect(w, r, LARDER_ERR_OUT_OF_MEMORY);
    if (r != LARDER_OK)
        return;
    assert_apart(w, addr, bytes);
    w->addr[w->count] = addr;
    w->bytes[w->count++] = bytes;
}

static void work_free(struct work *w)
{
    int i = (int)(next(w) % (unsigned)w->count);

    if (next(w) % 4 == 0)
        expect(w, larder_record_stream(w->a, w->addr[i], next(w) % STREAMS),
               LARDER_OK);
    expect(w, larder_free(w->a, w->addr[i]), LARDER_OK);
    w->count--;
    w->addr[i] = w->addr[w->count];
    w->bytes[i] = w->bytes[w->count];
}

static void work_run(larder_allocator *a, const char *conf, int is_pinned)
{
    struct work w = {.conf = conf, .a = a, .is_pinned = is_pinned, .seed = 1};

    for (int i = 0; i < STEPS; i++) {
        if (w.count < SLOTS && next(&w) % 5 < 3)
            work_alloc(&w);
        else if (w.count > 0)
            work_free(&w);
        if (i % CHECK_EVERY == 0)
            expect(&w, larder_check(a), LARDER_OK);
        if (i % 500 == 499)
            expect(&w, larder_empty_cache(a), LARDER_OK);
    }
    while (w.count > 0)
        work_free(&w);
    expect(&w, larder_empty_cache(a), LARDER_OK);
    expect(&w, larder_check(a), LARDER_OK);
}

/* ---- the tests ------------------------------------------------------------------ */

static void run_with(larder_policy policy, const char *conf)
{
    struct rig rig = rig_up_policy("sim:1GiB,backing=none", policy, conf);

    work_run(rig.a, conf, 0);
    rig_down(&rig);
}

static void an_allocator_works_with_settings_at_their_ends(void **state)
{
    (void)state;
    for (int i = 0; i < SETTINGS; i++) {
        run_with(LARDER_POLICY_LARDER, settings[i]);
        run_with(LARDER_POLICY_PYTORCH, settings[i]);
        run_with(LARDER_POLICY_DIRECT, settings[i]);
    }
}

static void pinned_memory_works_with_settings_at_their_ends(void **state)
{
    (void)state;
    for (int i = 0; i < PINNED_SETTINGS; i++) {
        larder_options opt;
        larder_allocator *pinned;
        struct rig rig = rig_up("sim:64MiB", "");

        larder_options_init(&opt);
        opt.conf = pinned_settings[i];
        assert_ok(larder_pinned_create(rig.dev, &opt, &pinned));
        work_run(pinned, pinned_settings[i], 1);
        assert_ok(larder_destroy(pinned));
        rig_down(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allocator_works_with_settings_at_their_ends),
        cmocka_unit_test(pinned_memory_works_with_settings_at_their_ends),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
