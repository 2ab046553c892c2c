/* test_history.c - the ring of events: its contents, what is lost, and that
 * recording changes nothing else. */
#include "support/clock.h"
#include "support/history_rig.h"
#include "support/random.h"

#include <time.h>

/* ---- what is recorded ---------------------------------------------------- */

static void an_allocation_and_its_free_make_events(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    larder_addr p;

    (void)state;
    history_on(&rig, 0);
    assert_int_equal(history_info(&rig).max_events,
                     LARDER_HISTORY_EVENTS_DEFAULT);
    p = rig_alloc(&rig, 1000);
    rig_free(&rig, p);
    rig_alloc_on(&rig, MIB(3), 2);
    assert_events(&rig, "segment_alloc +0 2097152; alloc +0 1000; "
                        "free_requested +0 1000; free_completed +0 1000; "
                        "segment_alloc +2097152 20971520 stream 2; "
                        "alloc +2097152 3145728 stream 2; ");
    assert_ok(larder_empty_cache(rig.a));
    assert_true(strstr(events_of(&rig).text, "segment_free +0 2097152; ") !=
                NULL);
    rig_down(&rig);
}

static void a_free_is_completed_when_recorded_streams_are(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none,events=manual", "");
    larder_addr p;

    (void)state;
    p = rig_alloc(&rig, 1000);
    history_on(&rig, 10);
    assert_ok(larder_record_stream(rig.a, p, 3));
    rig_free(&rig, p);
    assert_events(&rig, "free_requested +0 1000; ");
    assert_ok(larder_sim_complete(rig.dev, 3));
    assert_ok(larder_empty_cache(rig.a));
    assert_events(&rig, "free_requested +0 1000; free_completed +0 1000; "
                        "segment_free +0 2097152; ");
    rig_down(&rig);
}

static void pages_are_mapped_and_unmapped(void **state)
{
    struct rig rig =
        rig_up("sim:1GiB,backing=none", "expandable_segments:True");
    larder_addr p;
    larder_addr first;
    larder_addr second;
    char want[512];

    (void)state;
    history_on(&rig, 100);
    p = rig_alloc(&rig, MIB(30));
    rig_free(&rig, p);
    assert_ok(larder_empty_cache(rig.a));
    assert_ok(larder_sim_regions(rig.dev, &first, &second));
    snprintf(want, sizeof want,
             "segment_map +%llu 41943040; alloc +%llu 31457280; "
             "free_requested +%llu 31457280; free_completed +%llu 31457280; "
             "segment_unmap +%llu 41943040; ",
             (unsigned long long)(p - first), (unsigned long long)(p - first),
             (unsigned long long)(p - first), (unsigned long long)(p - first),
             (unsigned long long)(p - first));
    assert_events(&rig, want);
    rig_down(&rig);
}

static int next_number(void *ctx, const larder_event *e)
{
    uint64_t *number = ctx;

    assert_int_equal(e->time_us, ++*number);
    return 0;
}

static void a_counted_history_has_numbers_instead_of_times(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    larder_history_options opt;
    uint64_t number = 0;

    (void)state;
    larder_history_options_init(&opt);
    opt.counted = 1;
    assert_ok(larder_history_start(rig.a, &opt));
    rig_free(&rig, rig_alloc(&rig, 1000));
    assert_ok(larder_history_walk(rig.a, next_number, &number));
    assert_int_equal(number, 4);
    rig_down(&rig);
}

static void a_failure_records_what_the_device_had_free(void **state)
{
    struct rig rig = rig_up("sim:100MiB,backing=none", "");
    larder_addr p;

    (void)state;
    history_on(&rig, 100);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(101) + 1, 5, &p));
    assert_events(&rig, "oom 105906688 free 104857600 stream 5; ");
    rig_down(&rig);
}

static void events_name_their_private_pool(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    larder_pool_id one = {7, 0};
    larder_pool_id two = {0, 9};
    larder_addr p;

    (void)state;
    history_on(&rig, 100);
    assert_ok(larder_pool_begin(rig.a, one, NULL, NULL));
    p = rig_alloc(&rig, 1000);
    assert_ok(larder_pool_end(rig.a, one));
    assert_ok(larder_pool_begin(rig.a, two, NULL, NULL));
    rig_alloc(&rig, 1000);
    assert_ok(larder_pool_end(rig.a, two));
    rig_free(&rig, p);
    assert_events(&rig, "segment_alloc +0 2097152 pool 7.0; "
                        "alloc +0 1000 pool 7.0; "
                        "segment_alloc +2097152 2097152 pool 0.9; "
                        "alloc +2097152 1000 pool 0.9; "
                        "free_requested +0 1000 pool 7.0; "
                        "free_completed +0 1000 pool 7.0; ");
    /* A restarted history numbers pools from the beginning. */
    history_on(&rig, 100);
    assert_ok(larder_pool_begin(rig.a, two, NULL, NULL));
    rig_alloc(&rig, 1000);
    assert_ok(larder_pool_end(rig.a, two));
    assert_events(&rig, "alloc +2098176 1000 pool 0.9; ");
    rig_down(&rig);
}

static void a_reserved_piece_is_one_segment_of_the_driver(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");

    (void)state;
    history_on(&rig, 100);
    assert_ok(larder_reserve(rig.a, MIB(64)));
    rig_alloc(&rig, 1000);
    assert_events(&rig, "segment_alloc +0 67108864; alloc +0 1000; ");
    rig_down(&rig);
}

static void skipped_actions_are_not_recorded(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    larder_history_options opt;

    (void)state;
    larder_history_options_init(&opt);
    opt.skip_actions =
        1u << LARDER_ACTION_free_requested | 1u << LARDER_ACTION_segment_alloc;
    assert_ok(larder_history_start(rig.a, &opt));
    rig_free(&rig, rig_alloc(&rig, 1000));
    assert_events(&rig, "alloc +0 1000; free_completed +0 1000; ");
    assert_int_equal(history_info(&rig).lost_events, 0);
    rig_down(&rig);
}

static void the_time_is_that_of_day(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    struct timespec t;
    uint64_t before_us;
    uint64_t after_us;
    uint64_t event_us;

    (void)state;
    history_on(&rig, 100);
    clock_gettime(CLOCK_REALTIME, &t);
    before_us = (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
    nap_ms(20);
    rig_alloc(&rig, 1000);
    nap_ms(20);
    clock_gettime(CLOCK_REALTIME, &t);
    after_us = (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
    event_us = events_of(&rig).last_us;
    assert_in_range(event_us, before_us + 19000, after_us - 19000);
    rig_down(&rig);
}

/* ---- the ring ------------------------------------------------------------ */

static void a_full_ring_keeps_the_newest_and_counts_the_rest(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    larder_history_info info;

    (void)state;
    rig_alloc(&rig, 512); /* a segment */
    history_on(&rig, 4);
    rig_free(&rig, rig_alloc(&rig, 1000));
    assert_int_equal(history_info(&rig).events, 3);
    assert_int_equal(history_info(&rig).lost_events, 0);
    rig_free(&rig, rig_alloc(&rig, 600));
    assert_events(&rig, "free_completed +512 1000; alloc +512 600; "
                        "free_requested +512 600; free_completed +512 600; ");
    info = history_info(&rig);
    assert_int_equal(info.is_on, 1);
    assert_int_equal(info.max_events, 4);
    assert_int_equal(info.events, 4);
    assert_int_equal(info.lost_events, 2);
    assert_ok(larder_history_clear(rig.a));
    assert_events(&rig, "");
    assert_int_equal(history_info(&rig).lost_events, 0);
    rig_alloc(&rig, 700);
    assert_events(&rig, "alloc +512 700; ");
    assert_ok(larder_history_stop(rig.a));
    assert_ok(larder_history_stop(rig.a));
    rig_alloc(&rig, 700);
    assert_events(&rig, "");
    assert_int_equal(history_info(&rig).is_on, 0);
    assert_ok(larder_history_clear(rig.a));
    rig_down(&rig);
}

static void wrong_options_are_refused(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    larder_history_options opt;
    larder_history_info info = {0};

    (void)state;
    larder_history_options_init(&opt);
    opt.depth = LARDER_STACK_DEPTH_MAX + 1;
    assert_refused(LARDER_ERR_INVALID, larder_history_start(rig.a, &opt),
                   "depth is 129: expected at most 128");
    larder_history_options_init(&opt);
    opt.max_events = UINT64_MAX;
    assert_refused(LARDER_ERR_INVALID, larder_history_start(rig.a, &opt),
                   "max_events is 18446744073709551615");
    larder_history_options_init(&opt);
    opt.stack_bytes = UINT64_MAX;
    assert_refused(LARDER_ERR_INVALID, larder_history_start(rig.a, &opt),
                   "stack_bytes");
    larder_history_options_init(&opt);
    opt.stacks = (larder_stacks)9;
    assert_refused(LARDER_ERR_INVALID, larder_history_start(rig.a, &opt),
                   "stacks is 9");
    larder_history_options_init(&opt);
    opt.stacks = LARDER_STACKS_CALLBACK;
    assert_refused(LARDER_ERR_INVALID, larder_history_start(rig.a, &opt),
                   "needs a stack_fn");
    opt.size = 1;
    assert_refused(LARDER_ERR_INVALID, larder_history_start(rig.a, &opt),
                   "larder_history_options_init");
    assert_refused(LARDER_ERR_INVALID, larder_history_get(rig.a, &info),
                   "size is not set");
    assert_result(LARDER_ERR_INVALID, larder_history_walk(rig.a, NULL, NULL));
    assert_result(LARDER_ERR_INVALID, larder_history_mark(rig.a, NULL));
    assert_string_equal(larder_action_name((larder_action)99), "?");
    assert_int_equal(history_info(&rig).is_on, 0);
    rig_down(&rig);
}

/* ---- settings ------------------------------------------------------------ */

static void a_setting_starts_the_history(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "history:5");

    (void)state;
    rig_alloc(&rig, 1000);
    assert_int_equal(history_info(&rig).max_events, 5);
    assert_events(&rig, "segment_alloc +0 2097152; alloc +0 1000; ");
    /* Other settings leave the history alone; its own restart or end it. */
    assert_ok(larder_configure(rig.a, "max_split_size_mb:30"));
    assert_int_equal(history_info(&rig).events, 2);
    assert_ok(larder_configure(rig.a, "history_stacks:fp"));
    assert_int_equal(history_info(&rig).events, 0);
    rig_alloc(&rig, 1000);
    assert_int_equal(history_info(&rig).stack_count, 1);
    assert_ok(larder_configure(rig.a, "history:0"));
    assert_int_equal(history_info(&rig).is_on, 0);
    rig_down(&rig);
}

static void settings_are_checked(void **state)
{
    (void)state;
    assert_refused(LARDER_ERR_CONF, larder_conf_check("history:x"),
                   "a number of events");
    assert_refused(LARDER_ERR_CONF, larder_conf_check("history:4294967297"),
                   "a number of events");
    assert_refused(LARDER_ERR_CONF, larder_conf_check("history_stacks:on"),
                   "expected off, fp or unwind");
    assert_refused(LARDER_ERR_CONF, larder_conf_check("dump_on_oom:"),
                   "a path of 1 to 255 bytes");
    assert_ok(larder_conf_check("history:4294967296,history_stacks:unwind,"
                                "dump_on_oom: /a b/c:[d].json,limit:1g"));
}

/* ---- annotations ----------------------------------------------------------- */

static void events_carry_the_thread_s_text(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");

    (void)state;
    rig_alloc(&rig, 512);
    history_on(&rig, 100);
    larder_annotate("base");
    rig_alloc(&rig, 512);
    larder_annotate_push("forward");
    rig_alloc(&rig, 513);
    larder_annotate("backward");
    rig_alloc(&rig, 514);
    larder_annotate_pop();
    rig_alloc(&rig, 515);
    larder_annotate_pop();
    larder_annotate(NULL);
    rig_alloc(&rig, 516);
    assert_events(&rig, "alloc +512 512 'base'; alloc +1024 513 'forward'; "
                        "alloc +2048 514 'backward'; alloc +3072 515 'base'; "
                        "alloc +4096 516; ");
    /* Another history gives the text its own number. */
    larder_annotate("late");
    rig_alloc(&rig, 512);
    history_on(&rig, 100);
    rig_alloc(&rig, 517);
    larder_annotate(NULL);
    assert_events(&rig, "alloc +5632 517 'late'; ");
    rig_down(&rig);
}

static void texts_are_cut_between_characters(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    char text[200];
    char want[300];

    (void)state;
    rig_alloc(&rig, 512);
    history_on(&rig, 100);
    memset(text, 'x', sizeof text);
    memcpy(&text[LARDER_ANNOTATION_MAX - 1], "\xC3\xA4", 2);
    text[sizeof text - 1] = '\0';
    larder_annotate(text);
    rig_alloc(&rig, 512);
    larder_annotate(NULL);
    text[LARDER_ANNOTATION_MAX - 1] = '\0';
    snprintf(want, sizeof want, "alloc +512 512 '%s'; ", text);
    assert_events(&rig, want);
    rig_down(&rig);
}

static void levels_too_deep_keep_the_last_text_that_fits(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    char text[16];

    (void)state;
    rig_alloc(&rig, 512);
    history_on(&rig, 100);
    for (int i = 1; i <= LARDER_ANNOTATION_DEPTH + 3; i++) {
        snprintf(text, sizeof text, "level %d", i);
        larder_annotate_push(text);
    }
    rig_alloc(&rig, 512);
    for (int i = 0; i < 4; i++)
        larder_annotate_pop();
    rig_alloc(&rig, 512);
    for (int i = 0; i < 100; i++)
        larder_annotate_pop();
    rig_alloc(&rig, 512);
    assert_events(&rig, "alloc +512 512 'level 16'; "
                        "alloc +1024 512 'level 15'; alloc +1536 512; ");
    rig_down(&rig);
}

/* More texts than fit: the rest are lost and counted. */
static void texts_are_bounded(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    char text[16];

    (void)state;
    history_on(&rig, 10);
    for (int i = 0; i < 70000; i++) {
        snprintf(text, sizeof text, "%d", i);
        assert_ok(larder_history_mark(rig.a, text));
    }
    assert_int_equal(history_info(&rig).lost_notes,
                     70000 - 65535 + (70000 - 4096));
    larder_annotate("new");
    rig_alloc(&rig, 512);
    larder_annotate(NULL);
    assert_events(&rig, "segment_alloc +0 2097152; alloc +0 512; ");
    rig_down(&rig);
}

/* ---- nothing else changes -------------------------------------------------- */

static struct picture churn(const char *conf)
{
    struct rig rig = rig_up("sim:256MiB,backing=none,events=manual", conf);
    larder_addr live[64] = {0};
    uint64_t seed = 88172645463325252u;
    struct picture p;

    for (int i = 0; i < 3000; i++) {
        larder_addr *slot;

        random_next(&seed);
        slot = &live[seed % 64];
        if (*slot != 0) {
            if (seed >> 20 & 1)
                assert_ok(larder_record_stream(rig.a, *slot, 3));
            rig_free(&rig, *slot);
            *slot = 0;
        } else if (larder_alloc(rig.a, 1 + seed % (8 << 20), seed >> 40 & 1,
                                slot) != LARDER_OK) {
            *slot = 0;
        }
        if (i % 50 == 0)
            assert_ok(larder_sim_complete(rig.dev, 3));
    }
    p = picture_take(&rig);
    rig_down(&rig);
    return p;
}

static void history_does_not_change_placement(void **state)
{
    (void)state;
    rig_same_picture(churn(""), churn("history:1000,history_stacks:fp"),
                     __FILE__, __LINE__);
    rig_same_picture(churn("expandable_segments:True"),
                     churn("expandable_segments:True,history:7"), __FILE__,
                     __LINE__);
}

static void pools_differ_by_either_number(void **state)
{
    static const larder_pool_id ids[] = {{2, 0}, {2, 5}, {3, 5}};
    struct rig rig = rig_up("sim:1GiB,backing=none", "history:20");
    struct event_text t;

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_ok(larder_pool_begin(rig.a, ids[i], NULL, NULL));
        rig_alloc(&rig, 1000);
        assert_ok(larder_pool_end(rig.a, ids[i]));
    }
    t = events_of(&rig);
    assert_non_null(strstr(t.text, " 1000 pool 2.0; "));
    assert_non_null(strstr(t.text, " 1000 pool 2.5; "));
    assert_non_null(strstr(t.text, " 1000 pool 3.5; "));
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allocation_and_its_free_make_events),
        cmocka_unit_test(a_free_is_completed_when_recorded_streams_are),
        cmocka_unit_test(pages_are_mapped_and_unmapped),
        cmocka_unit_test(a_counted_history_has_numbers_instead_of_times),
        cmocka_unit_test(a_failure_records_what_the_device_had_free),
        cmocka_unit_test(events_name_their_private_pool),
        cmocka_unit_test(a_reserved_piece_is_one_segment_of_the_driver),
        cmocka_unit_test(skipped_actions_are_not_recorded),
        cmocka_unit_test(the_time_is_that_of_day),
        cmocka_unit_test(a_full_ring_keeps_the_newest_and_counts_the_rest),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(a_setting_starts_the_history),
        cmocka_unit_test(settings_are_checked),
        cmocka_unit_test(events_carry_the_thread_s_text),
        cmocka_unit_test(texts_are_cut_between_characters),
        cmocka_unit_test(levels_too_deep_keep_the_last_text_that_fits),
        cmocka_unit_test(texts_are_bounded),
        cmocka_unit_test(history_does_not_change_placement),
        cmocka_unit_test(pools_differ_by_either_number),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
