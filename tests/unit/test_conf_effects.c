/* test_conf_effects.c - what settings do, in the bytes that PyTorch's own tests
 * pin down (test_allocator_settings, test_roundup_power2_divisions_*). */
#include "support/rig.h"

#define SPEC "sim:80GiB,backing=none"

/* The size of the block that a request gets. */
static uint64_t block_bytes(struct rig *rig, uint64_t request)
{
    int64_t before = rig_stats(rig).active_bytes.all.allocated;
    larder_addr p = rig_alloc(rig, request);
    uint64_t bytes =
        (uint64_t)(rig_stats(rig).active_bytes.all.allocated - before);

    rig_free(rig, p);
    assert_ok(larder_empty_cache(rig->a));
    return bytes;
}

static const struct rounding {
    const char *conf;
    uint64_t request;
    uint64_t block;
} roundings[] = {
    /* PyTorch's test_allocator_settings. */
    {"", MIB(84), MIB(84)},
    {"roundup_power2_divisions:4", MIB(84), MIB(96)},
    {"garbage_collection_threshold:0.5,max_split_size_mb:40", MIB(84), MIB(84)},
    {"garbage_collection_threshold:0.5,"
     "roundup_power2_divisions:[64:8,128:2,256:2,512:2,1024:1,>:1]",
     MIB(84), MIB(88)},
    {"garbage_collection_threshold:0.5,"
     "roundup_power2_divisions:[64:8,128:2,256:2,512:2,1024:1,>:1]",
     MIB(400), MIB(512)},
    /* test_roundup_power2_divisions_0 and _1. */
    {"roundup_power2_divisions:[128:1,256:0,512:4]", MIB(268), MIB(268)},
    {"roundup_power2_divisions:[128:1,256:0,512:4]", MIB(520), MIB(640)},
    {"roundup_power2_divisions:1", 1312500, 1312768},
    /* The example of PyTorch's documentation.  Up to 2.9 `>` begins with the
     * last class that was named, not with the one after it. */
    {"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", MIB(100) + 1,
     MIB(100) + 512},
    {"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", MIB(300), MIB(300)},
    {"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", MIB(600), MIB(768)},
    {"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", MIB(800), MIB(1024)},
    {"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", MIB(1100), MIB(1152)},
    {"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", MIB(2100), MIB(2304)},
    {"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", MIB(40000),
     MIB(40960)},
    /* The first pair holds for all smaller sizes, even below 1 MiB; classes
     * after it that are not named have none. */
    {"roundup_power2_divisions:[64:8]", 9000, 9216},
    {"roundup_power2_divisions:[64:8]", MIB(34), MIB(36)},
    {"roundup_power2_divisions:[64:8]", MIB(130), MIB(130)},
    {"roundup_power2_divisions:[64:8,256:2]", MIB(130), MIB(130)},
    {"roundup_power2_divisions:[64:8,256:2]", MIB(300), MIB(384)},
    {"roundup_power2_divisions:[>:4]", 9000, 10240},
    {"roundup_power2_divisions:[>:4]", MIB(84), MIB(96)},
    /* The last class is 32 GiB and more, even if a larger one is named. */
    {"roundup_power2_divisions:[1048576:2]", GIB(33), GIB(48)},
    /* Powers of two stay unchanged; up to 512 per division, steps are 512. */
    {"roundup_power2_divisions:8", MIB(64), MIB(64)},
    {"roundup_power2_divisions:8", 512, 512},
    {"roundup_power2_divisions:8", 3000, 3072},
    {"roundup_power2_divisions:8", 4096, 4096},
    {"roundup_power2_divisions:8", 4097, 4608},
    {"roundup_power2_divisions:8", 8193, 9216},
    {"roundup_power2_divisions:4", 2000, 2048},
    {"roundup_power2_divisions:2", 1025, 1536},
    /* Without the setting: multiples of 512. */
    {"", 1, 512},
    {"", 512, 512},
    {"", 513, 1024},
    {"", MIB(1), MIB(1)},
};

static void sizes_are_rounded_as_pytorch_rounds_them(void **state)
{
    struct rig rig = rig_up(SPEC, "");

    (void)state;
    for (size_t i = 0; i < sizeof roundings / sizeof roundings[0]; i++) {
        const struct rounding *r = &roundings[i];
        uint64_t got;

        assert_ok(larder_configure(rig.a, r->conf));
        got = block_bytes(&rig, r->request);
        if (got != r->block)
            fail_msg("'%s': %llu bytes got a block of %llu, expected %llu",
                     r->conf, (unsigned long long)r->request,
                     (unsigned long long)got, (unsigned long long)r->block);
    }
    rig_down(&rig);
}

static void requested_bytes_are_not_rounded(void **state)
{
    struct rig rig = rig_up(SPEC, "roundup_power2_divisions:4");

    (void)state;
    rig_alloc(&rig, MIB(84));
    assert_int_equal(rig_stats(&rig).requested_bytes.all.current, MIB(84));
    assert_int_equal(rig_stats(&rig).allocated_bytes.all.current, MIB(96));
    rig_down(&rig);
}

/* Reserved bytes after a request of 300 MiB with a cached block of 200 MiB: 300
 * MiB if garbage was collected. */
static uint64_t reserved_after_a_miss(struct rig *rig)
{
    uint64_t reserved;
    larder_addr p = rig_alloc(rig, MIB(200));

    rig_free(rig, p);
    p = rig_alloc(rig, MIB(300));
    reserved = rig_reserved(rig);
    rig_free(rig, p);
    assert_ok(larder_empty_cache(rig->a));
    return reserved;
}

static void each_parse_resets_three_settings_and_keeps_the_others(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none",
                            "max_split_size_mb:40,roundup_power2_divisions:2,"
                            "garbage_collection_threshold:0.1,limit:900MiB,"
                            "per_process_memory_fraction:0.8");
    double fraction = 0;
    larder_addr p;

    (void)state;
    assert_int_equal(rig_stats(&rig).max_split_size, MIB(40));
    assert_int_equal(block_bytes(&rig, MIB(84)), MIB(96));
    assert_int_equal(reserved_after_a_miss(&rig), MIB(384));

    assert_ok(larder_configure(rig.a, ""));
    assert_int_equal(rig_stats(&rig).max_split_size, MIB(40)); /* the first */
    assert_int_equal(block_bytes(&rig, MIB(84)), MIB(84));
    assert_int_equal(reserved_after_a_miss(&rig), MIB(500));
    assert_ok(larder_memory_fraction(rig.a, &fraction));
    assert_true(fraction == 0.8);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(820), 0, &p));

    assert_ok(larder_configure(rig.a, "per_process_memory_fraction:1.0"));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(902), 0, &p));
    p = rig_alloc(&rig, MIB(820));
    rig_free(&rig, p);
    rig_down(&rig);
}

static void expandable_segments_can_be_switched_while_running(void **state)
{
    struct rig rig = rig_up(SPEC, "expandable_segments:True");
    larder_addr p = rig_alloc(&rig, MIB(30));

    (void)state;
    assert_int_equal(rig_usage(rig.dev).allocations, 0);
    rig_free(&rig, p);
    assert_ok(larder_configure(rig.a, "max_split_size_mb:40"));
    p = rig_alloc(&rig, MIB(30)); /* still on: keys that are not named stay */
    assert_int_equal(rig_usage(rig.dev).allocations, 0);
    rig_free(&rig, p);
    assert_ok(larder_configure(rig.a, "expandable_segments:False"));
    p = rig_alloc(&rig, MIB(30));
    assert_int_equal(rig_usage(rig.dev).allocations, 1);
    rig_free(&rig, p);
    rig_down(&rig);
}

/* As PyTorch does on platforms without support. */
static void expandable_segments_are_off_without_virtual_memory(void **state)
{
    struct rig rig =
        rig_up("sim:1GiB,backing=none,vmm=off", "expandable_segments:True");

    (void)state;
    rig_alloc(&rig, 512);
    rig_alloc(&rig, MIB(30));
    assert_int_equal(rig_usage(rig.dev).allocations, 2);
    assert_int_equal(rig_stats(&rig).segment.all.current, 2);
    rig_down(&rig);
}

static void large_segment_size_is_what_requests_below_10_mib_take(void **state)
{
    struct rig rig = rig_up(SPEC, "large_segment_size_mb:64");

    (void)state;
    rig_alloc(&rig, MIB(2));
    assert_int_equal(rig_reserved(&rig), MIB(64));
    rig_alloc(&rig, MIB(10));
    assert_int_equal(rig_reserved(&rig), MIB(64));
    rig_alloc(&rig, MIB(60));
    assert_int_equal(rig_reserved(&rig), MIB(124));
    rig_down(&rig);
}

static void max_non_split_rounding_bounds_what_an_oversize_request_takes(
    void **state)
{
    struct rig rig = rig_up(SPEC, "max_split_size_mb:40");
    larder_addr p = rig_alloc(&rig, MIB(100));
    larder_addr q;

    (void)state;
    rig_free(&rig, p);
    q = rig_alloc(&rig, MIB(80));
    assert_int_not_equal(q, p); /* 20 MiB too much */
    rig_free(&rig, q);
    assert_ok(larder_empty_cache(rig.a));

    p = rig_alloc(&rig, MIB(100));
    rig_free(&rig, p);
    assert_ok(larder_configure(
        rig.a, "max_split_size_mb:40,max_non_split_rounding_mb:30"));
    q = rig_alloc(&rig, MIB(80));
    assert_int_equal(q, p);
    assert_int_equal(rig_stats(&rig).allocated_bytes.all.current, MIB(100));
    rig_down(&rig);
}

static void a_limit_is_of_reserved_bytes(void **state)
{
    struct rig rig = rig_up(SPEC, "limit:44MiB");
    larder_addr p = 0;

    (void)state;
    rig_alloc(&rig, 512);
    rig_alloc(&rig, MIB(2));
    rig_alloc(&rig, MIB(22));
    assert_int_equal(rig_reserved(&rig), MIB(44));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(19), 0, &p));
    rig_alloc(&rig, MIB(18)); /* from held memory */
    rig_down(&rig);
}

/* The boundaries of PyTorch's three rules, and what a setting moves. */
static void a_segment_has_the_size_that_its_request_leads_to(void **state)
{
    static const struct {
        const char *conf;
        uint64_t bytes;
        uint64_t segment_bytes;
    } rules[] = {
        {"", 1, MIB(2)},
        {"", MIB(1), MIB(2)},
        {"", MIB(1) + 1, MIB(20)},
        {"", MIB(10) - 512, MIB(20)},
        {"", MIB(10), MIB(10)},
        {"", MIB(10) + 1, MIB(12)},
        {"large_segment_size_mb:64", MIB(1), MIB(2)},
        {"large_segment_size_mb:64", MIB(3), MIB(64)},
        {"large_segment_size_mb:64", MIB(33), MIB(34)},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        uint64_t bytes = 0;

        assert_int_equal(
            larder_conf_segment(rules[i].conf, rules[i].bytes, &bytes, NULL),
            LARDER_OK);
        assert_int_equal(bytes, rules[i].segment_bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_segment_has_the_size_that_its_request_leads_to),
        cmocka_unit_test(sizes_are_rounded_as_pytorch_rounds_them),
        cmocka_unit_test(requested_bytes_are_not_rounded),
        cmocka_unit_test(each_parse_resets_three_settings_and_keeps_the_others),
        cmocka_unit_test(expandable_segments_can_be_switched_while_running),
        cmocka_unit_test(expandable_segments_are_off_without_virtual_memory),
        cmocka_unit_test(large_segment_size_is_what_requests_below_10_mib_take),
        cmocka_unit_test(
            max_non_split_rounding_bounds_what_an_oversize_request_takes),
        cmocka_unit_test(a_limit_is_of_reserved_bytes),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
