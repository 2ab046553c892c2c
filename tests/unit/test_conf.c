/* test_conf.c - the grammar of settings: what is accepted, the error for each
 * wrong word, and the effects in bytes that PyTorch's own tests pin down
 * (test_allocator_settings, test_roundup_power2_divisions_*). */
#include "../support/rig.h"

#define SPEC "sim:80GiB,backing=none"

/* ---- accepted ------------------------------------------------------------ */

static void every_key_is_accepted_with_its_values(void **state)
{
    static const char *const accepted[] = {
        "minimum:8GiB,process_limit:8GiB,group_limit:8GiB",
        "",
        "backend:native",
        "max_split_size_mb:21",
        "max_split_size_mb:1048576",
        "max_non_split_rounding_mb:20",
        "max_non_split_rounding_mb:1024",
        "large_segment_size_mb:12",
        "large_segment_size_mb:64",
        "large_segment_size_mb:12,max_split_size_mb:15",
        "max_split_size_mb:40,large_segment_size_mb:40",
        "max_non_split_rounding_mb:12,large_segment_size_mb:12",
        "pytorch:2.5,max_non_split_rounding_mb:20",
        "pytorch:2.6,max_non_split_rounding_mb:21",
        "pytorch:2.10,max_non_split_rounding_mb:20",
        "roundup_power2_divisions:1",
        "roundup_power2_divisions:16",
        "roundup_power2_divisions:[64:8]",
        "roundup_power2_divisions:[64:8,128:2,256:4,512:2,1024:4,>:1]",
        "roundup_power2_divisions:[128:1,256:0,512:4]",
        "roundup_power2_divisions:[>:4]",
        "roundup_power2_divisions:[1:1,32768:2,1048576:4]",
        "garbage_collection_threshold:0.5",
        "garbage_collection_threshold:0.0001",
        "garbage_collection_threshold:0.9999",
        "per_process_memory_fraction:0",
        "per_process_memory_fraction:0.5",
        "per_process_memory_fraction:1.0",
        "expandable_segments:True",
        "expandable_segments:False",
        "throw_on_cudamalloc_oom:True",
        "graph_capture_record_stream_reuse:False",
        "release_lock_on_cudamalloc:True",
        "release_lock_on_hipmalloc:False",
        "pinned_use_cuda_host_register:True",
        "pinned_use_hip_host_register:True",
        "pinned_use_background_threads:False",
        "pinned_free_catch_all:True",
        "pinned_num_register_threads:1",
        "pinned_num_register_threads:128",
        "pinned_reserve_segment_size_mb:1",
        "pinned_max_round_threshold_mb:64",
        "pinned_max_cached_size_mb:4096",
        "preallocate:512MiB",
        "preallocate:1g",
        "limit:2GiB",
        "limit:1",
        "defrag:off",
        "defrag:limit",
        "defrag:eager",
        "lifetimes:off",
        "lifetimes:hints",
        "migrate:off",
        "migrate:on",
        "debug:0",
        "debug:1",
        "debug:3",
        "trim_age:0",
        "trim_age:0.25",
        "trim_age:1000000",
        "pending_limit:1GiB",
        "reclaim_budget_ms:0",
        "reclaim_budget_ms:250",
        "reclaim_budget_ms:unlimited",
        "pinned_limit:2GiB",
    };

    (void)state;
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++) {
        larder_result r = larder_conf_check(accepted[i]);

        if (r != LARDER_OK)
            print_error("refused: %s: %s\n", accepted[i], larder_last_error());
        assert_int_equal(r, LARDER_OK);
    }
}

static void settings_are_joined_by_commas(void **state)
{
    (void)state;
    assert_ok(larder_conf_check("max_split_size_mb:40,"
                                "max_non_split_rounding_mb:30,"
                                "garbage_collection_threshold:0.5,"
                                "roundup_power2_divisions:"
                                "[64:8,128:2,256:4,512:2,1024:4,>:1],"
                                "expandable_segments:True,"
                                "pinned_use_background_threads:True"));
    assert_ok(larder_conf_check("max_split_size_mb:40,")); /* as in PyTorch */
    assert_result(LARDER_ERR_CONF, larder_conf_check(","));
    assert_result(LARDER_ERR_CONF, larder_conf_check(",limit:1g"));
    assert_result(LARDER_ERR_CONF, larder_conf_check("limit:1g,,limit:1g"));
    assert_result(LARDER_ERR_CONF, larder_conf_check("limit:1g limit:1g"));
    assert_result(LARDER_ERR_CONF, larder_conf_check("limit:1g;limit:1g"));
}

static void blanks_do_not_count(void **state)
{
    struct rig rig = rig_up(SPEC, " \t\n");

    (void)state;
    assert_ok(larder_configure(
        rig.a, "  max_split_size_mb : 40 ,\t expandable_segments: True \n"));
    assert_int_equal(rig_stats(&rig).max_split_size, MIB(40));
    assert_ok(larder_configure(rig.a, "max_split _size_mb:\r4 1"));
    assert_int_equal(rig_stats(&rig).max_split_size, MIB(41));
    assert_ok(larder_conf_check(
        "roundup_power2_divisions : [ 64 : 8 , > : 1 ] , limit : 1 GiB"));
    rig_down(&rig);
}

static void the_last_of_two_values_applies(void **state)
{
    struct rig rig = rig_up(SPEC, "max_split_size_mb:40,max_split_size_mb:50");

    (void)state;
    assert_int_equal(rig_stats(&rig).max_split_size, MIB(50));
    rig_down(&rig);
}

/* ---- refused ------------------------------------------------------------- */

/* The error for each text: PyTorch's own wording where it has one, and always
 * the key and an acceptable value. */
static const struct refusal {
    const char *conf;
    const char *words;
    const char *accepted;
} refusals[] = {
    {"foo:1,bar:2", "Unrecognized CachingAllocator option: foo",
     "max_split_size_mb"},
    {"foo", "Unrecognized CachingAllocator option: foo", "preallocate"},
    {"limit:1g,bar:2", "Unrecognized CachingAllocator option: bar", "defrag"},
    {"Limit:1g", "Unrecognized CachingAllocator option: Limit", "limit"},
    {":1", "Unrecognized CachingAllocator option", "limit"},
    {"]", "Unrecognized CachingAllocator option", "limit"},
    {"max_split_size_mb", "max_split_size_mb", "':'"},
    {"max_split_size_mb=40", "max_split_size_mb", "max_split_size_mb,"},
    {"max_split_size_mb:", "max_split_size_mb", "> 20"},
    {"max_split_size_mb:[40]", "max_split_size_mb", "> 20"},
    {"max_split_size_mb:2",
     "CachingAllocator option max_split_size_mb too small, must be > 20", "2"},
    {"max_split_size_mb:20",
     "CachingAllocator option max_split_size_mb too small, must be > 20", "20"},
    {"max_split_size_mb:-40", "max_split_size_mb", "> 20"},
    {"max_split_size_mb:+40", "max_split_size_mb", "> 20"},
    {"max_split_size_mb:40MiB", "max_split_size_mb", "> 20"},
    {"max_split_size_mb:0x40", "max_split_size_mb", "> 20"},
    {"max_split_size_mb:4e3", "max_split_size_mb", "> 20"},
    {"max_split_size_mb:99999999999999999999", "max_split_size_mb", "> 20"},
    {"max_split_size_mb:17592186044416", "max_split_size_mb", "> 20"},
    {"max_non_split_rounding_mb:19",
     "CachingAllocator option max_non_split_rounding_mb too small, must be >=",
     "20"},
    {"max_non_split_rounding_mb:30,large_segment_size_mb:40",
     "max_non_split_rounding_mb too small, must be >= 40", "30"},
    {"pytorch:2.6,max_non_split_rounding_mb:20",
     "max_non_split_rounding_mb too small, must be > 20", "20"},
    {"max_non_split_rounding_mb:20,pytorch:2.9",
     "max_non_split_rounding_mb too small, must be > 20", "20"},
    {"large_segment_size_mb:12,max_split_size_mb:11",
     "max_split_size_mb too small, must be >= 12", "11"},
    {"max_non_split_rounding_mb:x", "max_non_split_rounding_mb", "20"},
    {"large_segment_size_mb:10",
     "CachingAllocator option large_segment_size_mb must be > 10 MB", "10"},
    {"large_segment_size_mb:", "large_segment_size_mb", "> 10"},
    {"max_split_size_mb:30,large_segment_size_mb:40", "max_split_size_mb",
     "40"},
    {"minimum:8GiB,process_limit:4GiB", "minimum of 8589934592 bytes too large",
     "process_limit"},
    {"group_limit:8589934591,minimum:8GiB", "must be <= group_limit",
     "8589934591"},
    {"roundup_power2_divisions:3",
     "For roundups, the divisons has to be power of 2",
     "roundup_power2_divisions"},
    {"roundup_power2_divisions:-1", "roundup_power2_divisions", "power of 2"},
    {"roundup_power2_divisions:", "roundup_power2_divisions", "power of 2"},
    {"roundup_power2_divisions:[]", "roundup_power2_divisions", "power of 2"},
    {"roundup_power2_divisions:[64:8", "roundup_power2_divisions", "']'"},
    {"roundup_power2_divisions:[64:8,]", "roundup_power2_divisions",
     "power of 2"},
    {"roundup_power2_divisions:[64]", "roundup_power2_divisions", "':'"},
    {"roundup_power2_divisions:[64:]", "roundup_power2_divisions",
     "power of 2"},
    {"roundup_power2_divisions:[64:3]",
     "For roundups, the divisons has to be power of 2",
     "roundup_power2_divisions"},
    {"roundup_power2_divisions:[65:8]",
     "For roundups, the intervals have to be power of 2",
     "roundup_power2_divisions"},
    {"roundup_power2_divisions:[0:8]",
     "For roundups, the intervals have to be power of 2",
     "roundup_power2_divisions"},
    {"roundup_power2_divisions:[>64:8]", "roundup_power2_divisions",
     "power of 2"},
    {"roundup_power2_divisions:[64:8]x", "roundup_power2_divisions", "','"},
    {"garbage_collection_threshold:0",
     "garbage_collect_threshold too small, set it 0.0~1.0",
     "garbage_collection_threshold"},
    {"garbage_collection_threshold:-0.5",
     "garbage_collect_threshold too small, set it 0.0~1.0",
     "garbage_collection_threshold"},
    {"garbage_collection_threshold:1",
     "garbage_collect_threshold too big, set it 0.0~1.0",
     "garbage_collection_threshold"},
    {"garbage_collection_threshold:1.2",
     "garbage_collect_threshold too big, set it 0.0~1.0",
     "garbage_collection_threshold"},
    {"garbage_collection_threshold:inf", "garbage_collection_threshold", "1.0"},
    {"garbage_collection_threshold:nan", "garbage_collection_threshold", "1.0"},
    {"garbage_collection_threshold:", "garbage_collection_threshold", "1.0"},
    {"garbage_collection_threshold:0.5x", "garbage_collection_threshold",
     "1.0"},
    {"per_process_memory_fraction:1.1",
     "per_process_memory_fraction is invalid, set it in [0.0, 1.0]", "1.1"},
    {"per_process_memory_fraction:-0.1",
     "per_process_memory_fraction is invalid, set it in [0.0, 1.0]", "-0.1"},
    {"per_process_memory_fraction:half", "per_process_memory_fraction",
     "[0.0, 1.0]"},
    {"per_process_memory_fraction:nan", "per_process_memory_fraction",
     "[0.0, 1.0]"},
    {"expandable_segments:true",
     "Expected a single True/False argument for expandable_segments", "true"},
    {"expandable_segments:1",
     "Expected a single True/False argument for expandable_segments", "1"},
    {"expandable_segments:",
     "Expected a single True/False argument for expandable_segments", "''"},
    {"release_lock_on_cudamalloc:none",
     "Expected a single True/False argument for release_lock_on_cudamalloc",
     "none"},
    {"pinned_use_cuda_host_register:yes",
     "Expected a single True/False argument for pinned_use_cuda_host_register",
     "yes"},
    {"throw_on_cudamalloc_oom:1",
     "Expected a single True/False argument for throw_on_cudamalloc_oom", "1"},
    {"throw_on_cudamalloc_oom:0",
     "Expected a single True/False argument for throw_on_cudamalloc_oom", "0"},
    {"graph_capture_record_stream_reuse:True",
     "graph_capture_record_stream_reuse", "False"},
    {"backend:foo",
     "Unknown allocator backend, options are native and cudaMallocAsync",
     "foo"},
    {"backend:cudaMallocAsync", "cudaMallocAsync", "native"},
    {"backend:", "backend", "native"},
    {"pinned_num_register_threads:3",
     "Number of register threads has to be power of 2",
     "pinned_num_register_threads"},
    {"pinned_num_register_threads:0",
     "Number of register threads has to be power of 2",
     "pinned_num_register_threads"},
    {"pinned_num_register_threads:256",
     "Number of register threads should be less than or equal to 128",
     "pinned_num_register_threads"},
    {"pinned_reserve_segment_size_mb:0", "pinned_reserve_segment_size_mb",
     "greater than 0"},
    {"pinned_max_cached_size_mb:x", "pinned_max_cached_size_mb", "> 0"},
    {"preallocate:", "preallocate", "512MiB"},
    {"preallocate:lots", "preallocate", "512MiB"},
    {"preallocate:-1", "preallocate", "512MiB"},
    {"preallocate:1.5", "preallocate", "512MiB"},
    {"preallocate:1.GiB", "preallocate", "512MiB"},
    {"preallocate:99999999TiB", "preallocate", "512MiB"},
    {"limit:0", "limit", "above 0"},
    {"limit:80GB2", "limit", "512MiB"},
    {"defrag:on", "defrag", "off, limit or eager"},
    {"defrag:", "defrag", "off, limit or eager"},
    {"defrag:Eager", "defrag", "off, limit or eager"},
    {"lifetimes:on", "lifetimes", "off or hints"},
    {"migrate:yes", "migrate", "off or on"},
    {"migrate:", "migrate", "off or on"},
    {"debug:4", "debug", "a level from 0 to 3"},
    {"debug:on", "debug", "a level from 0 to 3"},
    {"trim_age:-1", "trim_age", "a number of seconds up to 1000000"},
    {"trim_age:1000001", "trim_age", "a number of seconds up to 1000000"},
    {"trim_age:1s", "trim_age", "a number of seconds"},
    {"pending_limit:all", "pending_limit", "512MiB"},
    {"reclaim_budget_ms:-1", "reclaim_budget_ms", "or unlimited"},
    {"reclaim_budget_ms:5x", "reclaim_budget_ms", "or unlimited"},
    {"reclaim_budget_ms:never", "reclaim_budget_ms", "or unlimited"},
    {"pinned_limit:0", "pinned_limit", "above 0"},
};

static void every_wrong_setting_is_named_with_what_is_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const struct refusal *f = &refusals[i];
        larder_result r = larder_conf_check(f->conf);
        const char *said = larder_last_error();

        if (r != LARDER_ERR_CONF || strstr(said, f->words) == NULL ||
            strstr(said, f->accepted) == NULL)
            fail_msg("'%s' gave %s: '%s'; expected the words '%s' and '%s'",
                     f->conf, larder_result_name(r), said, f->words,
                     f->accepted);
    }
}

static void a_word_that_is_too_long_is_refused(void **state)
{
    char key[4096];
    char value[4096];

    (void)state;
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    assert_result(LARDER_ERR_CONF, larder_conf_check(key));
    snprintf(value, sizeof value, "max_split_size_mb:%04000d", 40);
    assert_result(LARDER_ERR_CONF, larder_conf_check(value));
    snprintf(value, sizeof value, "backend:%.3000s", key);
    assert_result(LARDER_ERR_CONF, larder_conf_check(value));
}

static void one_refused_setting_changes_none_of_the_others(void **state)
{
    struct rig rig = rig_up(SPEC, "max_split_size_mb:40,limit:1GiB");
    larder_addr p = 0;

    (void)state;
    assert_result(LARDER_ERR_CONF,
                  larder_configure(rig.a, "max_split_size_mb:50,limit:2GiB,"
                                          "expandable_segments:True,foo:1"));
    assert_int_equal(rig_stats(&rig).max_split_size, MIB(40));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(1500), 0, &p));
    p = rig_alloc(&rig, MIB(30));
    assert_int_equal(rig_usage(rig.dev).reservations, 0);
    rig_down(&rig);
}

/* ---- effects ------------------------------------------------------------- */

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
    assert_int_equal(rig_stats(&rig).max_split_size, -1);
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

/* ---- the environment ----------------------------------------------------- */

static int64_t max_split_with(larder_device *dev, const char *conf)
{
    struct rig rig = {.dev = dev};
    larder_options opt;
    int64_t bytes;

    larder_options_init(&opt);
    opt.conf = conf;
    assert_ok(larder_create(dev, &opt, &rig.a));
    bytes = rig_stats(&rig).max_split_size;
    assert_ok(larder_destroy(rig.a));
    return bytes;
}

static void the_environment_is_read_if_no_settings_are_given(void **state)
{
    struct rig rig = {0};
    larder_device *dev;

    (void)state;
    assert_ok(larder_device_open(SPEC, 0, &dev));
    assert_int_equal(setenv("LARDER_CONF", "max_split_size_mb:77", 1), 0);
    assert_int_equal(max_split_with(dev, NULL), MIB(77));
    assert_int_equal(max_split_with(dev, ""), -1);
    assert_int_equal(max_split_with(dev, "max_split_size_mb:55"), MIB(55));
    assert_ok(larder_create(dev, NULL, &rig.a));
    assert_int_equal(rig_stats(&rig).max_split_size, MIB(77));
    assert_ok(larder_destroy(rig.a));

    assert_int_equal(setenv("LARDER_CONF", "max_split_size:77", 1), 0);
    assert_refused(LARDER_ERR_CONF, larder_create(dev, NULL, &rig.a),
                   "max_split_size");
    assert_int_equal(unsetenv("LARDER_CONF"), 0);
    assert_int_equal(max_split_with(dev, NULL), -1);
    assert_ok(larder_device_close(dev));
}

static void the_text_of_settings_is_copied(void **state)
{
    char conf[] = "max_split_size_mb:40";
    struct rig rig = rig_up(SPEC, conf);

    (void)state;
    memset(conf, 'x', sizeof conf - 1);
    assert_int_equal(rig_stats(&rig).max_split_size, MIB(40));
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_is_accepted_with_its_values),
        cmocka_unit_test(settings_are_joined_by_commas),
        cmocka_unit_test(blanks_do_not_count),
        cmocka_unit_test(the_last_of_two_values_applies),
        cmocka_unit_test(every_wrong_setting_is_named_with_what_is_accepted),
        cmocka_unit_test(a_word_that_is_too_long_is_refused),
        cmocka_unit_test(one_refused_setting_changes_none_of_the_others),
        cmocka_unit_test(sizes_are_rounded_as_pytorch_rounds_them),
        cmocka_unit_test(requested_bytes_are_not_rounded),
        cmocka_unit_test(each_parse_resets_three_settings_and_keeps_the_others),
        cmocka_unit_test(expandable_segments_can_be_switched_while_running),
        cmocka_unit_test(expandable_segments_are_off_without_virtual_memory),
        cmocka_unit_test(large_segment_size_is_what_requests_below_10_mib_take),
        cmocka_unit_test(
            max_non_split_rounding_bounds_what_an_oversize_request_takes),
        cmocka_unit_test(a_limit_is_of_reserved_bytes),
        cmocka_unit_test(the_environment_is_read_if_no_settings_are_given),
        cmocka_unit_test(the_text_of_settings_is_copied),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
