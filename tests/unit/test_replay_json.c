/* test_replay_json.c - the results of a replay as JSON, compared exactly, and
 * the settings under which a job is tried. */
#include "unit/replay_rig.h"

#include "replay/replay_setting.h"

static void assert_json(const struct replay_result *r,
                        const struct replay_options *o, const char *want)
{
    char *line = replay_result_json(r, "t.trace", o);

    assert_non_null(line);
    assert_string_equal(line, want);
    free(line);
}

/* All different, so that none can stand for another. */
static const struct replay_result counted = {
    .ops = 1,
    .oom_count = 2,
    .oom_op = 3,
    .peak_requested_bytes = 4,
    .peak_allocated_bytes = 5,
    .peak_reserved_bytes = 6,
    .peak_fragmentation = 0.25,
    .driver_allocs = 7,
    .driver_frees = 8,
    .pages_created = 9,
    .pages_mapped = 10,
    .pages_unmapped = 11,
    .stream_syncs = 12,
    .driver_calls = 13,
    .driver_time_ns = 14,
    .later_driver_calls = 15,
    .later_driver_time_ns = 16,
    .ns_per_op = 1.5,
    .min_capacity_bytes = 17,
};

#define COUNTS                                                                 \
    "\"ops\":1,\"oom_op\":3,\"oom_count\":2,\"peak_requested_bytes\":4,"       \
    "\"peak_allocated_bytes\":5,\"peak_reserved_bytes\":6,"                    \
    "\"peak_fragmentation\":0.25,\"driver_allocs\":7,\"driver_frees\":8,"      \
    "\"pages_created\":9,\"pages_mapped\":10,\"pages_unmapped\":11,"           \
    "\"stream_syncs\":12,\"driver_calls\":13,\"driver_time_ns\":14,"
#define TIMED                                                                  \
    "\"later_driver_calls\":15,\"later_driver_time_ns\":16,\"ns_per_op\":1.5"

static void a_trace_s_result_has_its_counts(void **state)
{
    struct replay_options o = {.policy = LARDER_POLICY_PYTORCH,
                               .conf = "max_split_size_mb:64"};
    struct replay_result r = counted;

    (void)state;
    assert_json(&r, &o,
                "{\"trace\":\"t.trace\",\"policy\":\"pytorch\","
                "\"conf\":\"max_split_size_mb:64\"," COUNTS TIMED "}");
    o.min_capacity = true;
    o.policy = LARDER_POLICY_LARDER;
    o.conf = NULL;
    assert_json(
        &r, &o,
        "{\"trace\":\"t.trace\",\"policy\":\"larder\",\"conf\":\"\"," COUNTS
            TIMED ",\"min_capacity_bytes\":17}");
    r.ns_per_op = 0;
    r.min_capacity_bytes = 0;
    o.release = "2.5";
    assert_json(&r, &o,
                "{\"trace\":\"t.trace\",\"policy\":\"pytorch\",\"conf\":\"\","
                "\"pytorch\":\"2.5\"," COUNTS
                "\"later_driver_calls\":15,\"later_driver_time_ns\":16,"
                "\"ns_per_op\":0.0,\"min_capacity_bytes\":null}");
}

static void unmeasured_values_are_null(void **state)
{
    const struct replay_options o = {.policy = LARDER_POLICY_LARDER};
    struct replay_result r = {.peak_fragmentation = -1, .ns_per_op = -1};

    (void)state;
    assert_json(&r, &o,
                "{\"trace\":\"t.trace\",\"policy\":\"larder\",\"conf\":\"\","
                "\"ops\":0,\"oom_op\":null,\"oom_count\":0,"
                "\"peak_requested_bytes\":0,\"peak_allocated_bytes\":0,"
                "\"peak_reserved_bytes\":0,\"peak_fragmentation\":null,"
                "\"driver_allocs\":0,\"driver_frees\":0,\"pages_created\":0,"
                "\"pages_mapped\":0,\"pages_unmapped\":0,\"stream_syncs\":0,"
                "\"driver_calls\":0,\"driver_time_ns\":0,\"ns_per_op\":null}");
}

/* ---- snapshots ------------------------------------------------------------- */

static const struct snap_trace_notes notes = {
    .rolled_back = 20,
    .unmatched_frees = 21,
    .overwritten = 22,
    .zero_sizes = 23,
    .deferred = 24,
    .empty_caches = 25,
    .pools = 26,
    .pool_allocs = 27,
    .unpooled = 28,
    .recorded_ooms = 29,
};

#define NOTES                                                                  \
    ",\"rolled_back\":20,\"unmatched_frees\":21,\"overwritten\":22,"           \
    "\"zero_sizes\":23,\"deferred\":24,\"empty_caches\":25,\"pools\":26,"      \
    "\"pool_allocs\":27,\"unpooled\":28,\"recorded_ooms\":29,"
#define ON_DEVICE(policy, conf)                                                \
    "{\"trace\":\"t.trace\",\"device\":2,\"policy\":\"" policy                 \
    "\",\"conf\":\"" conf "\"," COUNTS TIMED NOTES

static void a_snapshot_s_result_has_what_a_trace_cannot_express(void **state)
{
    const struct replay_options o = {.policy = LARDER_POLICY_LARDER};
    struct replay_snapshot s = {.device = 2, .notes = notes};
    struct replay_result r = counted;

    (void)state;
    r.snapshot = &s;
    assert_json(&r, &o, ON_DEVICE("larder", "") "\"recorded_oom\":null}");
}

static void a_recording_is_compared(void **state)
{
    const struct replay_options o = {.policy = LARDER_POLICY_LARDER};
    char conf[] = "gc";
    struct replay_snapshot s = {.device = 2,
                                .notes = notes,
                                .recorded_settings = true,
                                .conf = conf,
                                .recorded = {.compared = true,
                                             .placements = 30,
                                             .same = 30,
                                             .segments_same = true,
                                             .segment_events = 31,
                                             .end_same = true}};
    struct replay_result r = counted;

    (void)state;
    r.snapshot = &s;
    assert_json(
        &r, &o,
        ON_DEVICE("pytorch",
                  "gc") "\"recorded_oom\":null,"
                        "\"recorded_placements\":30,\"recorded_same\":30,"
                        "\"recorded_first_difference\":null,"
                        "\"recorded_segment_events\":31,\"recorded_segments_"
                        "same\":true,"
                        "\"recorded_segments_difference\":null,"
                        "\"recorded_end_same\":true,\"recorded_end_"
                        "difference\":null}");
    s.recorded.same = 29;
    s.recorded.first = (struct recorded_difference){.event = 32,
                                                    .bytes = 33,
                                                    .expected = 34,
                                                    .segment = 36,
                                                    .segment_bytes = 37,
                                                    .frame = "a.py:1 f"};
    s.recorded.segments_same = false;
    s.recorded.end_same = false;
    strcpy(s.recorded.segment_words, "sw");
    strcpy(s.recorded.end_words, "ew");
    assert_json(
        &r, &o,
        ON_DEVICE(
            "pytorch",
            "gc") "\"recorded_oom\":null,"
                  "\"recorded_placements\":30,\"recorded_same\":29,"
                  "\"recorded_first_difference\":{\"event\":32,\"bytes\":33,"
                  "\"expected\":\"0x22\",\"got\":null,\"segment\":\"0x24\","
                  "\"segment_bytes\":37,\"frame\":\"a.py:1 f\"},"
                  "\"recorded_segment_events\":31,"
                  "\"recorded_segments_same\":false,"
                  "\"recorded_segments_difference\":\"sw\","
                  "\"recorded_end_same\":false,\"recorded_end_difference\":"
                  "\"ew\"}");
}

static void the_reason_against_a_comparison_is_given(void **state)
{
    const struct replay_options o = {.policy = LARDER_POLICY_LARDER};
    char conf[] = "";
    struct replay_snapshot s = {.device = 2,
                                .notes = notes,
                                .recorded_settings = true,
                                .conf = conf,
                                .recorded = {.reason = "why"}};
    struct replay_result r = counted;

    (void)state;
    r.snapshot = &s;
    assert_json(&r, &o,
                ON_DEVICE("pytorch", "") "\"recorded_oom\":null,"
                                         "\"recorded_not_compared\":\"why\"}");
}

static void a_refused_request_has_its_cures(void **state)
{
    const struct replay_options o = {.policy = LARDER_POLICY_LARDER};
    struct replay_snapshot s = {
        .device = 2,
        .notes = notes,
        .refused = {
            .card = {.found = true, .asked = 40, .event = 41},
            .fits = true,
            .short_bytes = 42,
            .device_bytes = 43,
            .min_bytes = 44,
            .cures = {{.policy = LARDER_POLICY_PYTORCH, .expandable = true},
                      {.policy = LARDER_POLICY_LARDER},
                      {.policy = LARDER_POLICY_PYTORCH, .gc_percent = 60}},
            .cure_count = 3}};
    struct replay_result r = counted;

    (void)state;
    r.snapshot = &s;
    assert_json(
        &r, &o,
        ON_DEVICE("larder", "") "\"recorded_oom\":{\"bytes\":40,"
                                "\"event\":41,\"fits\":true,\"short_bytes\":42,"
                                "\"device_bytes\":43,\"min_capacity_bytes\":44,"
                                "\"by_beginning\":false,\"cures\":["
                                "\"expandable_segments:True\","
                                "\"garbage_collection_threshold:0.60\"],"
                                "\"larder_fits\":true}}");
    s.refused.cure_count = 1;
    s.refused.fits = false;
    s.refused.by_beginning = true;
    s.refused.min_bytes = 0;
    assert_json(&r, &o,
                ON_DEVICE("larder",
                          "") "\"recorded_oom\":{\"bytes\":40,"
                              "\"event\":41,\"fits\":false,\"short_bytes\":42,"
                              "\"device_bytes\":43,\"min_capacity_bytes\":null,"
                              "\"by_beginning\":true,\"cures\":[\"expandable_"
                              "segments:True\"],"
                              "\"larder_fits\":false}}");
}

/* ---- text ------------------------------------------------------------------ */

static void bytes_that_are_no_utf8_are_replaced(void **state)
{
    struct replay_options o = {.policy = LARDER_POLICY_LARDER};
    struct replay_result r = {.ops = 0};
    char *line;

    (void)state;
    o.conf = "\xFF"
             "a\xC3\xA4\xC3"
             "b\xE2\x82\xAC\xF0\x9F\x98\x80\xF0\x9F\x98";
    line = replay_result_json(&r, "t", &o);
    assert_non_null(line);
    assert_non_null(strstr(line, "\"conf\":\"\\uFFFDa\\u00E4\\uFFFD"
                                 "b\\u20AC\\uD83D\\uDE00\\uFFFD"
                                 "\\uFFFD\\uFFFD\""));
    free(line);
}

/* ---- settings -------------------------------------------------------------- */

static void a_setting_is_written_in_pytorch_s_grammar(void **state)
{
    const struct replay_setting all = {.policy = LARDER_POLICY_PYTORCH,
                                       .expandable = true,
                                       .max_split_mb = 21,
                                       .gc_percent = 5,
                                       .roundup = 4,
                                       .segment_mb = 64};
    const struct replay_setting none = {.policy = LARDER_POLICY_PYTORCH};
    char conf[REPLAY_CONF_MAX];

    (void)state;
    assert_string_equal(replay_setting_conf(&none, NULL, conf), "");
    assert_int_equal(replay_setting_keys(&none), 0);
    assert_string_equal(
        replay_setting_conf(&all, NULL, conf),
        "expandable_segments:True,max_split_size_mb:21,"
        "garbage_collection_threshold:0.05,roundup_power2_divisions:4,"
        "large_segment_size_mb:64");
    assert_int_equal(replay_setting_keys(&all), 5);
    assert_string_equal(
        replay_setting_conf(&none,
                            "a:1,pytorch:2.5,b:2,"
                            "per_process_memory_fraction:0.5,c:3",
                            conf),
        "per_process_memory_fraction:0.5,pytorch:2.5");
    assert_string_equal(
        replay_setting_conf(&none, "pytorch_x:1,xpytorch:2,pytorc:3", conf),
        "");
}

static void settings_differ_by_any_key(void **state)
{
    static const struct replay_setting none = {.policy = LARDER_POLICY_PYTORCH};

    (void)state;
    for (size_t i = 0; i < replay_setting_count; i++) {
        for (size_t k = 0; k < replay_setting_count; k++)
            assert_int_equal(
                replay_setting_same(&replay_settings[i], &replay_settings[k]),
                i == k);
        assert_int_equal(replay_setting_keys(&replay_settings[i]),
                         i > 0 && replay_settings[i].policy == none.policy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_s_result_has_its_counts),
        cmocka_unit_test(unmeasured_values_are_null),
        cmocka_unit_test(a_snapshot_s_result_has_what_a_trace_cannot_express),
        cmocka_unit_test(a_recording_is_compared),
        cmocka_unit_test(the_reason_against_a_comparison_is_given),
        cmocka_unit_test(a_refused_request_has_its_cures),
        cmocka_unit_test(bytes_that_are_no_utf8_are_replaced),
        cmocka_unit_test(a_setting_is_written_in_pytorch_s_grammar),
        cmocka_unit_test(settings_differ_by_any_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
