/* test_conf_values.c - what each setting sets, at the borders of what it
 * accepts and one beyond. */
#include "support/rig.h"

#include "support/count.h"

#include "core/settings/conf.h"
#include "core/settings/conf_keys.h"

/* ---- parsing ------------------------------------------------------------------- */

static struct conf parsed(const char *text)
{
    struct conf conf;

    larder__conf_init(&conf);
    if (larder__conf_parse(&conf, text) != LARDER_OK)
        fail_msg("'%s': %s", text, larder_last_error());
    return conf;
}

static void not_parsed(const char *text, const char *words)
{
    struct conf before;
    struct conf conf;

    larder__conf_init(&before);
    memcpy(&conf, &before, sizeof conf);
    if (larder__conf_parse(&conf, text) != LARDER_ERR_CONF ||
        strstr(larder_last_error(), words) == NULL)
        fail_msg("'%s': %s: expected '%s'", text, larder_last_error(), words);
    assert_memory_equal(&conf, &before, sizeof conf);
}

/* A setting of one number is, at each value, what is expected of its field. */
#define SETS(text, member, value)                                              \
    do {                                                                       \
        struct conf conf_ = parsed(text);                                      \
                                                                               \
        if (conf_.member != (value))                                           \
            fail_msg("%s: " #member " is not " #value, text);                  \
    } while (0)

/* ---- numbers --------------------------------------------------------------------- */

static void numbers_are_accepted_up_to_their_limits(void **state)
{
    (void)state;
    SETS("history:0", history_events, 0);
    SETS("history:4294967296", history_events, UINT64_C(1) << 32);
    not_parsed("history:4294967297", "events up to 2^32, 0 for none");
    SETS("debug:0", debug, 0);
    SETS("debug:3", debug, 3);
    not_parsed("debug:4", "debug: '4' is not accepted");
    SETS("ask_budget_ms:0", ask_budget_ms, 0);
    SETS("ask_budget_ms:8796093022207", ask_budget_ms, UINT64_MAX >> 21);
    not_parsed("ask_budget_ms:8796093022208", "a number of milliseconds");
    SETS("reclaim_budget_ms:0", reclaim_budget_ms, 0);
    SETS("reclaim_budget_ms:9", reclaim_budget_ms, 9);
    SETS("reclaim_budget_ms:unlimited", reclaim_budget_ms, CONF_UNLIMITED);
    not_parsed("reclaim_budget_ms:/", "or unlimited");
    not_parsed("reclaim_budget_ms:;", "or unlimited");
    SETS("max_split_size_mb:2147483647", max_split_bytes,
         (UINT64_C(2147483647) << 20));
    not_parsed("max_split_size_mb:2147483648", "is not accepted");
    SETS("pytorch:2.10,max_split_size_mb:8796093022207", max_split_bytes,
         UINT64_C(8796093022207) << 20);
    SETS("pytorch:2.10,max_split_size_mb:8796093022209", max_split_bytes,
         UINT64_C(1) << 63);
    SETS("max_split_size_mb:40k", max_split_bytes, MIB(40));
    SETS("max_split_size_mb:-5", max_split_bytes, UINT64_C(1) << 63);
    SETS("garbage_collection_threshold:5e-1x", gc_threshold, 0.5);
    SETS("expandable_segments_reserve:0.5", reserve, 0.5);
    SETS("expandable_segments_reserve:0.5", reserve_is_gib, false);
    SETS("expandable_segments_reserve:40g", reserve, 40);
    SETS("expandable_segments_reserve:40g", reserve_is_gib, true);
    not_parsed("expandable_segments_reserve:0", "a number above 0");
    not_parsed("expandable_segments_reserve:40M", "a number above 0");
    not_parsed("expandable_segments_reserve:inf", "a number above 0");
    not_parsed("expandable_segments_reserve_by_class:[a:G]", "such as 40G");
    not_parsed("expandable_segments_reserve_by_class:a", "expected '['");
    SETS("large_segment_size_mb:12", large_segment_bytes, MIB(12));
    not_parsed("large_segment_size_mb:10", "must be > 10 MB: it is 10");
    SETS("large_segment_size_mb:11", large_segment_bytes, MIB(11));
}

static void sizes_of_the_policy_are_from_their_least_to_1000000(void **state)
{
    (void)state;
    SETS("", handle_mib, 0);
    SETS("handle_mib:0", handle_mib, 0);
    SETS("handle_mib:1000000", handle_mib, 1000000);
    SETS("handle_mib:1000000", small_kib, 128);
    not_parsed("handle_mib:1000001", "a number up to 1000000, 0 for the rule");
    not_parsed("handle_mib:-1", "a number up to 1000000, 0 for the rule");
    SETS("", small_kib, 128);
    SETS("small_kib:128", small_kib, 128);
    SETS("small_kib:1000000", small_kib, 1000000);
    SETS("small_kib:1000000", handle_mib, 0);
    not_parsed("small_kib:127", "a number from 128 to 1000000");
    not_parsed("small_kib:1000001", "a number from 128 to 1000000");
}

static void sizes_are_accepted_up_to_their_limits(void **state)
{
    (void)state;
    SETS("preallocate:0", preallocate_bytes, 0);
    SETS("preallocate:3GiB", preallocate_bytes, GIB(3));
    SETS("limit:1", limit_bytes, 1);
    not_parsed("limit:0", "a size above 0");
    not_parsed("limit:x", "such as 512MiB");
    SETS("pending_limit:0", pending_limit_bytes, 0);
    SETS("pending_limit:5", pending_limit_bytes, 5);
    SETS("pinned_limit:1", pinned_limit_bytes, 1);
    not_parsed("pinned_limit:0", "a size above 0");
    not_parsed("pinned_limit:x", "such as 512MiB");
    SETS("pinned_reserve_segment_size_mb:1", pinned_reserve_bytes, MIB(1));
    SETS("pinned_max_round_threshold_mb:2", pinned_round_max_bytes, MIB(2));
    SETS("pinned_max_cached_size_mb:3", pinned_cached_max_bytes, MIB(3));
    not_parsed("pinned_reserve_segment_size_mb:0", "has to be greater than 0");
    SETS("pinned_max_round_threshold_mb:0", pinned_round_max_bytes, 0);
    SETS("pinned_max_cached_size_mb:0", pinned_cached_max_bytes, 0);
    SETS("minimum:7", minimum_bytes, 7);
    SETS("minimum:7", minimum_given, true);
    SETS("process_limit:7", process_limit_bytes, 7);
    SETS("process_limit:7", limits_given, true);
    SETS("process_limit:0", process_limit_bytes, CONF_UNLIMITED);
    SETS("group_limit:9", group_limit_bytes, 9);
    SETS("group_limit:0", group_limit_bytes, CONF_UNLIMITED);
    SETS("group_limit:0", limits_given, true);
}

/* These are checked and then ignored. */
static void threads_are_a_power_of_2_up_to_128(void **state)
{
    static const char *const taken[] = {"1", "2", "64", "128"};
    static const char *const refused[] = {"0", "3", "127", "129", "255"};
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        (void)snprintf(text, sizeof text, "pinned_num_register_threads:%s",
                       taken[i]);
        (void)parsed(text);
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        (void)snprintf(text, sizeof text, "pinned_num_register_threads:%s",
                       refused[i]);
        not_parsed(text, "has to be power of 2");
    }
    not_parsed("pinned_num_register_threads:256", "less than or equal to 128");
    not_parsed("pinned_num_register_threads:x", "a power of 2 up to 128");
}

/* ---- fractions --------------------------------------------------------------------- */

static void fractions_are_read_to_the_last_digit(void **state)
{
    (void)state;
    SETS("trim_age:0", trim_age_ns, 0);
    SETS("trim_age:0.5", trim_age_ns, 500000000);
    SETS("trim_age:.5", trim_age_ns, 500000000);
    SETS("trim_age:2.", trim_age_ns, UINT64_C(2000000000));
    SETS("trim_age:12.25", trim_age_ns, UINT64_C(12250000000));
    SETS("trim_age:1000000", trim_age_ns, UINT64_C(1000000000000000));
    not_parsed("trim_age:1000000.1", "a number of seconds up to 1000000");
    not_parsed("trim_age:-0.1", "a number of seconds up to 1000000");
    SETS("trim_age:000000000000001", trim_age_ns, UINT64_C(1000000000));
    SETS("trim_age:1.00000000000000999999", trim_age_ns,
         UINT64_C(1000000000)); /* what a double does not hold is left out */
    SETS("trim_age:1e-3", trim_age_ns, UINT64_C(1000000));
    not_parsed("trim_age:.", "a number of seconds");
    not_parsed("trim_age:-", "a number of seconds");
    not_parsed("trim_age:1.2.3", "a number of seconds");
    not_parsed("trim_age:1/", "a number of seconds");
    not_parsed("trim_age:1;", "a number of seconds");
    SETS("per_process_memory_fraction:0", fraction, 0);
    SETS("per_process_memory_fraction:1", fraction, 1);
    SETS("per_process_memory_fraction:1", fraction_given, true);
    SETS("per_process_memory_fraction:0.375", fraction, 0.375);
    not_parsed("per_process_memory_fraction:1.000001", "is invalid");
    not_parsed("per_process_memory_fraction:-0.000001", "is invalid");
    SETS("garbage_collection_threshold:0.000001", gc_threshold, 0.000001);
    SETS("garbage_collection_threshold:0.999999", gc_threshold, 0.999999);
    not_parsed("garbage_collection_threshold:0", "too small, set it 0.0~1.0");
    not_parsed("garbage_collection_threshold:1", "too big, set it 0.0~1.0");
}

/* ---- words --------------------------------------------------------------------------- */

static void each_name_has_its_value(void **state)
{
    (void)state;
    SETS("defrag:off", defrag, CONF_DEFRAG_OFF);
    SETS("defrag:limit", defrag, CONF_DEFRAG_LIMIT);
    SETS("defrag:eager", defrag, CONF_DEFRAG_EAGER);
    SETS("lifetimes:off", lifetimes, CONF_LIFETIMES_OFF);
    SETS("lifetimes:hints", lifetimes, CONF_LIFETIMES_HINTS);
    SETS("migrate:off", migrate, CONF_MIGRATE_OFF);
    SETS("migrate:on", migrate, CONF_MIGRATE_ON);
    SETS("history_stacks:off", history_stacks, LARDER_STACKS_OFF);
    SETS("history_stacks:fp", history_stacks, LARDER_STACKS_FRAME_POINTERS);
    SETS("history_stacks:unwind", history_stacks, LARDER_STACKS_UNWIND);
    SETS("history_stacks:off", history_given, true);
    SETS("ledger:off", ledger, false);
    SETS("ledger:off", ledger_given, true);
    SETS("ledger:on", ledger, true);
    SETS("ledger_thread:True", ledger_thread, true);
    SETS("ledger_thread:False", ledger_thread, false);
    SETS("expandable_segments:True", expandable_segments, true);
    SETS("throw_on_cudamalloc_oom:True", throw_on_oom, true);
    assert_string_equal(parsed("ledger_group:users").ledger_group, "users");
    not_parsed("ledger_group:", "the name or number of a group");
    not_parsed("backend:Native", "backend is 'Native'");
    not_parsed("pytorch:2.3", "a release of PyTorch from 2.4 to 2.15");
    assert_string_equal(parsed("pytorch:2.12").rules->version, "2.12");
}

static void a_release_may_be_a_build_s_version(void **state)
{
    static const char *const versions[][2] = {
        {"2.9.1", "2.9"},
        {"2.9.1+cu128", "2.9"},
        {"2.10.0a0+git5b1a2c3", "2.10"},
        {"2.9.0.dev20250801", "2.9"},
        {"2.9.0.dev20250801+cu129", "2.9"},
        {"2.4.1.post1", "2.4"},
        {"2.15rc2", "2.15"},
        {"2.11.0b1+cu126.with-extra", "2.11"},
    };
    static const char *const none[] = {
        "2.16",    "2.3.1",  "2.1",        "2.90",     "2",     "2.9.",
        "2.9x",    "2.9.1+", "2.9.1+cu/2", "2.9.1.cu", "2.9-1", "+cu128",
        "2.16.0a", "v2.9",   "12.9",       "2.9.rc",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(versions); i++) {
        char text[80];

        snprintf(text, sizeof text, "pytorch:%s", versions[i][0]);
        assert_string_equal(parsed(text).rules->version, versions[i][1]);
    }
    for (size_t i = 0; i < COUNT(none); i++) {
        char text[80];

        snprintf(text, sizeof text, "pytorch:%s", none[i]);
        not_parsed(text, "2.4 to 2.15, the newest known");
    }
}

/* A path goes up to the next comma, whatever is in it. */
static void a_path_has_up_to_255_bytes(void **state)
{
    char text[600];
    char path[300];
    struct conf conf;

    (void)state;
    memset(path, 'p', sizeof path);
    path[255] = '\0';
    (void)snprintf(text, sizeof text, "dump_on_oom: %s,limit:5", path);
    conf = parsed(text);
    assert_string_equal(conf.dump_path, path);
    assert_int_equal(conf.limit_bytes, 5);
    path[255] = 'p';
    path[256] = '\0';
    (void)snprintf(text, sizeof text, "dump_on_oom:%s", path);
    not_parsed(text, "a path of 1 to 255 bytes");
    not_parsed("dump_on_oom:,limit:5", "a path of 1 to 255 bytes");
    assert_string_equal(parsed("dump_on_oom:a b:[c]").dump_path, "a b:[c]");
}

static void a_word_has_up_to_64_characters(void **state)
{
    char text[200];
    char word[CONF_WORD_MAX + 2];

    (void)state;
    memset(word, 'g', sizeof word);
    word[CONF_WORD_MAX] = '\0';
    (void)snprintf(text, sizeof text, "ledger_group:%s", word);
    assert_string_equal(parsed(text).ledger_group, word);
    word[CONF_WORD_MAX] = 'g';
    word[CONF_WORD_MAX + 1] = '\0';
    (void)snprintf(text, sizeof text, "ledger_group:%s", word);
    not_parsed(text, "a word longer than 64 characters: "
                     "'gggggggggggggggggggg...'");
}

/* Blanks are all that C's isspace() takes for some. */
static void blanks_are_passed_over_wherever_they_are(void **state)
{
    (void)state;
    SETS(" \t\n\v\f\rl \t\n\v\f\rimit \t\n\v\f\r: \t\n\v\f\r5", limit_bytes, 5);
    not_parsed("limit:5\b", "is not accepted");
    not_parsed("limit:5\x0e", "is not accepted");
    not_parsed("limit:5!", "is not accepted");
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    not_parsed("limit", "limit: expected ':', found the end");
    not_parsed("limit,debug:1", "limit: expected ':' before ',debug:1'");
    not_parsed("limit:1]", "limit: expected ',' before ']'");
    not_parsed(
        "limi:1",
        "Unrecognized CachingAllocator option: limi; did "
        "you mean limit? accepted: pytorch, backend, max_split_size_mb,");
    not_parsed("limi:1", "release_lock_on_hipmalloc, "
                         "pinned_use_cuda_host_register,");
    not_parsed(":1", "Unrecognized CachingAllocator option: ''; accepted:");
    assert_string_equal(strrchr(larder_last_error(), ','), ", group_limit");
}

/* ---- rounding ------------------------------------------------------------------------- */

/* The divisions of each class, one character each. */
static void assert_divisions(const char *value, const char *want)
{
    char text[128];
    struct conf conf;

    (void)snprintf(text, sizeof text, "roundup_power2_divisions:%s", value);
    conf = parsed(text);
    assert_int_equal(strlen(want), CONF_SIZE_CLASSES);
    for (int i = 0; i < CONF_SIZE_CLASSES; i++) {
        if (conf.divisions[i] != (uint32_t)(want[i] - '0'))
            fail_msg("%s: class %d has %u divisions, expected %c", value, i,
                     conf.divisions[i], want[i]);
    }
}

static void classes_have_the_divisions_that_were_named(void **state)
{
    (void)state;
    assert_divisions("4", "4444444444444444");
    not_parsed("roundup_power2_divisions:0", "a power of 2");
    assert_divisions("[]", "0000000000000000");
    assert_divisions("[1:8]", "8000000000000000");
    assert_divisions("[2:8]", "8800000000000000");
    assert_divisions("[4:8,16:2]", "8880200000000000");
    assert_divisions("[16:2,4:8]", "2282200000000000");
    assert_divisions("[4:8,16:2,>:1]", "8880111111111111");
    assert_divisions("[4:8,16:2,>:1],pytorch:2.10", "8880211111111111");
    assert_divisions("[>:4]", "4444444444444444");
    assert_divisions("[16384:2]", "2222222222222220");
    assert_divisions("[32768:2]", "2222222222222222");
    assert_divisions("[65536:2]", "2222222222222222");
    assert_divisions("[1:1,65536:2]", "1000000000000002");
    assert_divisions("[32768:2,>:4],pytorch:2.10", "2222222222222222");
    SETS("pytorch:2.10,roundup_power2_divisions:2147483648", divisions[3],
         UINT32_C(2147483648));
    not_parsed("pytorch:2.10,roundup_power2_divisions:4294967296",
               "has to be power of 2");
    not_parsed("roundup_power2_divisions:[3:2]", "has '3'");
    not_parsed("roundup_power2_divisions:[>>:2]", "has '>>'");
}

/* ---- several settings ------------------------------------------------------------------ */

static void bounds_hold_between_settings(void **state)
{
    (void)state;
    (void)parsed("minimum:8,process_limit:8,group_limit:8");
    not_parsed("minimum:9,process_limit:8", "minimum of 9 bytes too large, "
                                            "must be <= process_limit: that "
                                            "is 8");
    not_parsed("minimum:9,group_limit:8", "must be <= group_limit: that is 8");
    (void)parsed("max_split_size_mb:21");
    not_parsed("max_split_size_mb:20", "must be > 20: it is 20");
    (void)parsed("pytorch:2.10,max_split_size_mb:20");
    not_parsed("pytorch:2.10,max_split_size_mb:19", "must be >= 20: it is 19");
    (void)parsed("large_segment_size_mb:24,max_split_size_mb:24");
    not_parsed("large_segment_size_mb:24,max_split_size_mb:23",
               "must be >= 24: it is 23");
    (void)parsed("max_non_split_rounding_mb:20");
    not_parsed("max_non_split_rounding_mb:19",
               "max_non_split_rounding_mb too small, must be >= 20: it is 19");
    (void)parsed("pytorch:2.6,max_non_split_rounding_mb:21");
    not_parsed("pytorch:2.6,max_non_split_rounding_mb:20",
               "must be > 20: it is 20");
    SETS("max_non_split_rounding_mb:22", max_non_split_rounding_bytes, MIB(22));
    SETS("pytorch:2.6,large_segment_size_mb:24", max_non_split_rounding_bytes,
         MIB(20));
    SETS("pytorch:2.12,large_segment_size_mb:24", max_non_split_rounding_bytes,
         MIB(24));
}

/* What the last text did not name: some of it holds on, and some does not. */
static void a_text_resets_what_pytorch_resets(void **state)
{
    struct conf conf =
        parsed("max_split_size_mb:40,garbage_collection_threshold:0.5,"
               "roundup_power2_divisions:4,max_non_split_rounding_mb:30,"
               "per_process_memory_fraction:0.5,history:5,minimum:6,"
               "process_limit:7,limit:8,ledger:off,trim_age:1,debug:2");

    (void)state;
    assert_true(conf.slack_given && conf.fraction_given && conf.history_given &&
                conf.minimum_given && conf.limits_given && conf.ledger_given);
    assert_ok(larder__conf_parse(&conf, ""));
    assert_int_equal(conf.max_split_bytes, CONF_UNLIMITED);
    assert_true(conf.gc_threshold == 0);
    for (int i = 0; i < CONF_SIZE_CLASSES; i++)
        assert_int_equal(conf.divisions[i], 0);
    assert_false(conf.slack_given || conf.fraction_given ||
                 conf.history_given || conf.minimum_given || conf.limits_given);
    assert_int_equal(conf.max_non_split_rounding_bytes, MIB(30));
    assert_true(conf.fraction == 0.5);
    assert_int_equal(conf.history_events, 5);
    assert_int_equal(conf.minimum_bytes, 6);
    assert_int_equal(conf.process_limit_bytes, 7);
    assert_int_equal(conf.limit_bytes, 8);
    assert_true(!conf.ledger && conf.ledger_given);
    assert_int_equal(conf.trim_age_ns, 1000000000);
    assert_int_equal(conf.debug, 2);
}

static void unnamed_settings_have_their_usual_values(void **state)
{
    struct conf conf = parsed("");

    (void)state;
    assert_string_equal(conf.rules->version, PYTORCH_DEFAULT);
    assert_int_equal(conf.max_split_bytes, CONF_UNLIMITED);
    assert_int_equal(conf.max_non_split_rounding_bytes, MIB(20));
    assert_int_equal(conf.large_segment_bytes, MIB(20));
    assert_int_equal(conf.limit_bytes, CONF_UNLIMITED);
    assert_int_equal(conf.defrag, CONF_DEFRAG_LIMIT);
    assert_int_equal(conf.lifetimes, CONF_LIFETIMES_HINTS);
    assert_int_equal(conf.migrate, CONF_MIGRATE_OFF);
    assert_int_equal(conf.reclaim_budget_ms, CONF_UNLIMITED);
    assert_int_equal(conf.pending_limit_bytes, CONF_UNLIMITED);
    assert_int_equal(conf.process_limit_bytes, CONF_UNLIMITED);
    assert_int_equal(conf.group_limit_bytes, CONF_UNLIMITED);
    assert_int_equal(conf.pinned_limit_bytes, CONF_UNLIMITED);
    assert_int_equal(conf.pinned_round_max_bytes, CONF_UNLIMITED);
    assert_int_equal(conf.pinned_cached_max_bytes, CONF_UNLIMITED);
    assert_true(conf.ledger && !conf.ledger_given && !conf.ledger_thread);
    assert_int_equal(conf.debug, 0);
    assert_int_equal(conf.trim_age_ns, 0);
    assert_int_equal(conf.history_events, 0);
    assert_string_equal(conf.dump_path, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_accepted_up_to_their_limits),
        cmocka_unit_test(sizes_of_the_policy_are_from_their_least_to_1000000),
        cmocka_unit_test(a_release_may_be_a_build_s_version),
        cmocka_unit_test(sizes_are_accepted_up_to_their_limits),
        cmocka_unit_test(threads_are_a_power_of_2_up_to_128),
        cmocka_unit_test(fractions_are_read_to_the_last_digit),
        cmocka_unit_test(each_name_has_its_value),
        cmocka_unit_test(a_path_has_up_to_255_bytes),
        cmocka_unit_test(a_word_has_up_to_64_characters),
        cmocka_unit_test(blanks_are_passed_over_wherever_they_are),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(classes_have_the_divisions_that_were_named),
        cmocka_unit_test(bounds_hold_between_settings),
        cmocka_unit_test(a_text_resets_what_pytorch_resets),
        cmocka_unit_test(unnamed_settings_have_their_usual_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
