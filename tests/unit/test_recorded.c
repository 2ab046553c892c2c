/* test_recorded.c - a recording is repeated: what is the same, and how
 * differences are reported. */
#include "convert_rig.h"

#include "snapshot/snapshot_conf.h"

/* Two blocks of a small segment, one freed and its place reused; a large
 * segment, released for a request that then fails. */
#define SMALL_PART                                                             \
    EVENT("segment_alloc", 140000000000000, 2097152)                           \
    "," EVENT("alloc", 140000000000000, 500) "," EVENT(                        \
        "alloc", 140000000000512, 1000) "," FREED(140000000000000, 500) ","
#define REUSE(addr)                                                            \
    "{\"action\":\"alloc\",\"addr\":" #addr ",\"size\":300,\"stream\":0,"      \
    "\"frames\":[{\"filename\":\"a.cpp\",\"line\":1,\"name\":\"f\"},"          \
    "{\"filename\":\"model.py\",\"line\":12,\"name\":\"forward\"}]},"
#define LARGE_PART                                                             \
    EVENT("segment_alloc", 150000000000000, 20971520)                          \
    "," EVENT("alloc", 150000000000000, 5000000) "," FREED(                    \
        150000000000000, 5000000) "," EVENT("segment_free", 150000000000000,   \
                                            20971520) "," OOM(0, 62914560)
#define END                                                                    \
    SEGMENT(140000000000000, 2097152, "small",                                 \
            BLOCK(140000000000000, 512, 300, "active_allocated") "," BLOCK(    \
                140000000000512, 1024, 1000,                                   \
                "active_allocated") "," BLOCK(140000000001536, 2095616, 0,     \
                                              "inactive"))

static struct recorded_result compare(const char *segments, const char *events)
{
    struct snapshot *s = read_snapshot(segments, events);
    char *conf = snapshot_conf(s, NULL);
    struct recorded_result r;
    struct tool_error error;
    struct story story;

    assert_non_null(conf);
    make_story(s, &story);
    if (!recorded_compare(&story, conf, &r, &error))
        fail_msg("not compared: %s", error.text);
    story_free(&story);
    snapshot_free(s);
    free(conf);
    return r;
}

static void expect_same(const struct recorded_result *r, uint64_t placements)
{
    if (!r->compared)
        fail_msg("%s", r->reason);
    assert_int_equal(r->placements, placements);
    assert_int_equal(r->same, placements);
    assert_string_equal(r->segment_words, "");
    assert_true(r->segments_same);
    assert_string_equal(r->end_words, "");
    assert_true(r->end_same);
}

/* One event or block per line. */
/* clang-format off */

static void a_recording_of_this_policy_is_the_same(void **state)
{
    struct recorded_result r =
        compare(END, SMALL_PART REUSE(140000000000000) LARGE_PART);

    (void)state;
    expect_same(&r, 4);
    assert_int_equal(r.segment_events, 3);
    assert_int_equal(r.end_blocks, 3);
}

static void another_address_is_named(void **state)
{
    static const char end[] =
        SEGMENT(140000000000000, 2097152, "small",
                BLOCK(140000000000000, 512, 0, "inactive") ","
        BLOCK(140000000000512, 1024, 1000, "active_allocated") ","
        BLOCK(140000000001536, 512, 300, "active_allocated") ","
        BLOCK(140000000002048, 2095104, 0, "inacti" "ve"));
    struct recorded_result r =
        compare(end, SMALL_PART REUSE(140000000001536) LARGE_PART);

    (void)state;
    assert_true(r.compared);
    assert_int_equal(r.same, 3);
    assert_int_equal(r.first.event, 5);
    assert_int_equal(r.first.bytes, 300);
    assert_int_equal(r.first.expected, 140000000001536);
    assert_int_equal(r.first.got, 140000000000000);
    assert_int_equal(r.first.segment, 140000000000000);
    assert_int_equal(r.first.segment_bytes, 2097152);
    assert_string_equal(r.first.frame, "model.py:12 forward");
    assert_true(r.segments_same);
}

static void another_state_at_the_end_is_named(void **state)
{
    static const char end[] =
        SEGMENT(140000000000000, 2097152, "small",
                BLOCK(140000000000000, 512, 300, "active_allocated") ","
        BLOCK(140000000000512, 2048, 1000, "active_allocated") ","
        BLOCK(140000000002560, 2094592, 0, "inactive"));
    struct recorded_result r =
        compare(end, SMALL_PART REUSE(140000000000000) LARGE_PART);

    (void)state;
    assert_true(r.compared);
    assert_int_equal(r.same, r.placements);
    assert_false(r.end_same);
    assert_non_null(strstr(r.end_words, ", 2048 bytes, active_allocated; "));
    assert_non_null(strstr(r.end_words, ", 1024 bytes, active_allocated"));
}

/* A new segment although the first one has room. */
static void a_segment_that_is_not_taken_is_named(void **state)
{
    struct recorded_result r = compare(
        "",
        EVENT("segment_alloc", 140000000000000, 2097152) ","
        EVENT("alloc", 140000000000000, 500) ","
        EVENT("segment_alloc", 150000000000000, 2097152) ","
        EVENT("alloc", 150000000000000, 500));

    (void)state;
    assert_true(r.compared);
    assert_false(r.segments_same);
    assert_non_null(strstr(r.segment_words, "event 3: recorded: segment_alloc "
                                            "of 2097152 bytes at"));
    assert_int_equal(r.same, 1);
    assert_int_equal(r.first.got, 140000000000512);
}

/* In the large segment a block, a place that was used before, and a block
 * larger than its request; in the small one a block in the middle. */
static void the_state_before_is_rebuilt(void **state)
{
    static const char segments[] =
        SEGMENT(150000000000000, 20971520, "large",
                BLOCK(150000000000000, 5500416, 5000000, "active_allocated") ","
        BLOCK(150000005500416, 4194304, 4000000, "active_allocated") ","
        BLOCK(150000009694720, 11276800, 0, "inactive")) ","
        SEGMENT(140000000000000, 2097152, "small",
                BLOCK(140000000000000, 1024, 0, "inactive") ","
        BLOCK(140000000001024, 512, 500, "active_allocated") ","
        BLOCK(140000000001536, 2095616, 0, "inactive"));
    struct recorded_result r = compare(
        segments,
        EVENT("alloc", 140000000000000, 900) ","
        FREED(140000000000000, 900) ","
        EVENT("alloc", 150000005500416, 4000000) ","
        FREED(150000009694720, 11000000));

    (void)state;
    expect_same(&r, 2);
}

/* The free waits while another allocation is made, which therefore gets another
 * place. */
static void a_free_that_waited_waits_again(void **state)
{
    static const char events[] =
        EVENT("segment_alloc", 140000000000000, 2097152) ","
        EVENT("alloc", 140000000000000, 500) ","
        EVENT("free_requested", 140000000000000, 500) ","
        EVENT("alloc", 140000000000512, 500) ","
        EVENT("free_completed", 140000000000000, 500) ","
        EVENT("alloc", 140000000000000, 500);
    struct recorded_result r = compare(
        SEGMENT(140000000000000, 2097152, "small",
                BLOCK(140000000000000, 512, 500, "active_allocated") ","
        BLOCK(140000000000512, 512, 500, "active_allocated") ","
        BLOCK(140000000001024, 2096128, 0, "inactive")),
        events);

    (void)state;
    expect_same(&r, 3);
}

/* The request could not be served, released another stream's segment and
 * waited; only then, too late, was the first place free. */
static void a_wait_for_room_is_recorded_in_its_place(void **state)
{
    static const char events[] =
        EVENT("segment_alloc", 140000000000000, 20971520) ","
        EVENT("alloc", 140000000000000, 9000000) ","
        EVENT("alloc", 140000009000448, 9000000) ","
        EVENT_ON("segment_alloc", 150000000000000, 20971520, 7) ","
        EVENT_ON("alloc", 150000000000000, 9000000, 7) ","
        EVENT_ON("free_requested", 150000000000000, 9000000, 7) ","
        EVENT_ON("free_completed", 150000000000000, 9000000, 7) ","
        EVENT("free_requested", 140000000000000, 9000000) ","
        EVENT("free_completed", 140000000000000, 9000000) ","
        EVENT_ON("segment_free", 150000000000000, 20971520, 7) ","
        EVENT("segment_alloc", 160000000000000, 20971520) ","
        EVENT("alloc", 160000000000000, 9000000);
    static const char end[] =
        SEGMENT(140000000000000, 20971520, "large",
        BLOCK(140000000000000, 9000448, 0, "inactive") ","
        BLOCK(140000009000448, 9000448, 9000000, "active_allocated") ","
        BLOCK(140000018000896, 2970624, 0, "inactive")) ","
        SEGMENT(160000000000000, 20971520, "large",
        BLOCK(160000000000000, 9000448, 9000000, "active_allocated") ","
        BLOCK(160000009000448, 11971072, 0, "inactive"));
    struct recorded_result r = compare(end, events);

    (void)state;
    expect_same(&r, 4);
}

static void a_block_outside_every_segment_is_a_reason(void **state)
{
    struct recorded_result r = compare("", FREED(140000000000000, 500));

    (void)state;
    assert_false(r.compared);
    assert_string_equal(r.reason,
                        "a block from before the recording is in no segment");
}

static struct snapshot *with_settings(const char *conf,
                                      struct snapshot_settings set)
{
    char json[1024];
    struct snapshot *s;

    snprintf(json, sizeof json,
             "{\"segments\":[],\"device_traces\":[],\"allocator_settings\":{"
             "\"PYTORCH_CUDA_ALLOC_CONF\":\"%s\"}}", conf);
    s = read_json(json);
    set.conf = s->settings.conf;
    s->settings = set;
    return s;
}

static void conf_is(const char *text, struct snapshot_settings set,
                    const char *expected)
{
    struct snapshot *s = with_settings(text, set);
    char *conf = snapshot_conf(s, NULL);

    assert_string_equal(conf, expected);
    free(conf);
    snapshot_free(s);
}

static void settings_become_a_configuration(void **state)
{
    (void)state;
    conf_is("", (struct snapshot_settings){.has_max_split_size = true,
                                    .max_split_size = MIB(128),
                                    .has_expandable_segments = true,
                                    .expandable_segments = true,
                                    .garbage_collection_threshold = 0.75,
                                    .roundup_count = 2,
                                    .roundup = {{1, 4}, {2, 4}}},
            "expandable_segments:True,max_split_size_mb:128,"
            "garbage_collection_threshold:0.75,roundup_power2_divisions:4");
    conf_is("", (struct snapshot_settings){.roundup_count = 2,
                                     .roundup = {{1, 4}, {2, 8}}},
            "roundup_power2_divisions:[1:4,2:8]");
}

static void what_the_text_alone_has_is_kept(void **state)
{
    const struct snapshot_settings none = {.present = true};

    (void)state;
    conf_is("large_segment_size_mb:64", none, "large_segment_size_mb:64");
    conf_is(" a : [1:2,3:4] , b:1,,pytorch:2.9", none, "a : [1:2,3:4] ,b:1");
}

static void values_in_force_replace_the_text(void **state)
{
    (void)state;
    conf_is("expandable_segments:True,max_split_size_mb:64,"
            "per_process_memory_fraction:0.5",
            (struct snapshot_settings){.has_expandable_segments = true,
                                       .has_max_split_size = true,
                                       .max_split_size = MIB(96)},
            "max_split_size_mb:96,per_process_memory_fraction:0.5");
}

static void a_key_that_is_not_set_is_0(void **state)
{
    struct snapshot *s =
        with_settings("a:3,b:x", (struct snapshot_settings){.present = true});

    (void)state;
    assert_int_equal(snapshot_set_number(s, "a"), 3);
    assert_int_equal(snapshot_set_number(s, "c"), 0);
    assert_true(snapshot_set_to(s, "b", "x"));
    assert_true(snapshot_set_to(s, "b", NULL));
    assert_false(snapshot_set_to(s, "b", "xy"));
    assert_false(snapshot_set_to(s, "c", NULL));
    snapshot_free(s);
}

static void a_key_has_the_last_of_its_values(void **state)
{
    const char *conf = "ab:1,a:[2:3,4:5],a:7 ,b:9";
    size_t length;
    const char *value = snapshot_conf_value(conf, "a", &length);

    (void)state;
    assert_int_equal(length, 2);
    assert_memory_equal(value, "7 ", 2);
    assert_null(snapshot_conf_value(conf, "4", &length));
    assert_null(snapshot_conf_value("", "a", &length));
}

/* clang-format on */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recording_of_this_policy_is_the_same),
        cmocka_unit_test(another_address_is_named),
        cmocka_unit_test(another_state_at_the_end_is_named),
        cmocka_unit_test(a_segment_that_is_not_taken_is_named),
        cmocka_unit_test(the_state_before_is_rebuilt),
        cmocka_unit_test(a_free_that_waited_waits_again),
        cmocka_unit_test(a_wait_for_room_is_recorded_in_its_place),
        cmocka_unit_test(a_block_outside_every_segment_is_a_reason),
        cmocka_unit_test(settings_become_a_configuration),
        cmocka_unit_test(what_the_text_alone_has_is_kept),
        cmocka_unit_test(values_in_force_replace_the_text),
        cmocka_unit_test(a_key_that_is_not_set_is_0),
        cmocka_unit_test(a_key_has_the_last_of_its_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
