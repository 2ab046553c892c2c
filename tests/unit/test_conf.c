/* test_conf.c - the grammar of settings: what is accepted, the error for each
 * wrong word, and the environment. */
#include <larder/pinned.h>

#include "support/rig.h"

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
        "large_segment_size_mb:11,expandable_segments:False",
        "large_segment_size_mb:12,expandable_segments:True",
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
        "roundup_power2_divisions:[4294967296:4]",
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
    struct rig rig = rig_up(
        SPEC, "  max_split_size_mb : 40 ,\t expandable_segments: True \n");

    (void)state;
    assert_int_equal(rig_stats(&rig).max_split_size, MIB(40));
    rig_down(&rig);
    rig = rig_up(SPEC, "max_split _size_mb:\r4 1");
    assert_int_equal(rig_stats(&rig).max_split_size, MIB(41));
    assert_ok(larder_configure(rig.a, " \t\n"));
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
    {"expandable_segment:True", "did you mean expandable_segments?",
     "expandable_segments_reserve"},
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
    {"max_split_size_mb:MiB40", "max_split_size_mb", "> 20"},
    {"max_split_size_mb:0x40", "max_split_size_mb", "> 20"},
    {"max_split_size_mb:4e3", "max_split_size_mb", "> 20"},
    {"max_split_size_mb:2147483648", "max_split_size_mb", "> 20"},
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
    {"large_segment_size_mb:11,expandable_segments:True",
     "large_segment_size_mb must be even with expandable_segments", "11"},
    {"expandable_segments:True,large_segment_size_mb:13",
     "large_segment_size_mb must be even with expandable_segments", "13"},
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
    {"roundup_power2_divisions:[64:8", "roundup_power2_divisions", "']'"},
    {"roundup_power2_divisions:[64:8,,]", "roundup_power2_divisions",
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
    {"garbage_collection_threshold:x0.5", "garbage_collection_threshold",
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
    {"pinned_max_cached_size_mb:x", "pinned_max_cached_size_mb", "MiB"},
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
    {"small_kib:127", "small_kib", "from 128 to 1000000"},
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

static void what_is_fixed_at_creation_cannot_change(void **state)
{
    static const char *const changes[] = {"debug:1", "ledger:off",
                                          "ledger_group:root", "small_kib:200",
                                          "limit:1MiB,debug:2"};
    struct rig rig = rig_up(SPEC, "debug:0,small_kib:512");
    larder_allocator *pinned = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        assert_refused(LARDER_ERR_CONF, larder_configure(rig.a, changes[i]),
                       "fixed when the allocator was created");
    assert_ok(larder_configure(rig.a, "debug:0,ledger:on,small_kib:512"));
    rig_free(&rig, rig_alloc(&rig, MIB(2)));
    assert_ok(larder_pinned_create(rig.dev, NULL, &pinned));
    assert_ok(larder_configure(pinned, "debug:2,small_kib:200"));
    assert_ok(larder_destroy(pinned));
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
        cmocka_unit_test(what_is_fixed_at_creation_cannot_change),
        cmocka_unit_test(the_environment_is_read_if_no_settings_are_given),
        cmocka_unit_test(the_text_of_settings_is_copied),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
