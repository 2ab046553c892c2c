/* test_replay_spec.c - the device that a replay opens for the user's
 * options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "replay/replay_spec.h"

static const struct trace plain;
static const struct trace ordered = {.orders_work = true};

static void expect_spec(const char *device, const struct trace *t,
                        uint64_t capacity, const char *expected)
{
    char *spec = replay_spec_make(device, t, capacity);

    assert_non_null(spec);
    assert_string_equal(spec, expected);
    free(spec);
}

static void memory_is_not_backed_unless_the_spec_says_so(void **state)
{
    (void)state;
    expect_spec("sim:80GiB", &plain, 0,
                "sim:80GiB,backing=none,events=immediate");
}

static void parts_given_in_a_spec_are_kept(void **state)
{
    (void)state;
    expect_spec("sim:1GiB,backing=memory", &plain, 0,
                "sim:1GiB,backing=memory,events=immediate");
    expect_spec("sim:1GiB,vmm=off,context=300MiB", &plain, 0,
                "sim:1GiB,vmm=off,context=300MiB,backing=none,"
                "events=immediate");
    expect_spec("sim:1GiB,events=immediate,backing=none", &ordered, 0,
                "sim:1GiB,events=immediate,backing=none");
    expect_spec("sim:1GiB,events=manual", &plain, 0,
                "sim:1GiB,events=manual,backing=none");
}

static void events_are_manual_where_the_trace_orders_work(void **state)
{
    (void)state;
    expect_spec("sim:1GiB", &ordered, 0, "sim:1GiB,backing=none,events=manual");
}

static void automatic_events_are_chosen_by_the_trace(void **state)
{
    (void)state;
    expect_spec("sim:1GiB,events=auto,vmm=on", &ordered, 0,
                "sim:1GiB,vmm=on,backing=none,events=manual");
    expect_spec("sim:1GiB,vmm=on,events=auto", &plain, 0,
                "sim:1GiB,vmm=on,backing=none,events=immediate");
}

static void a_capacity_replaces_the_size_alone(void **state)
{
    (void)state;
    expect_spec("sim:1GiB,vmm=off", &plain, 2097152,
                "sim:2097152,vmm=off,backing=none,events=immediate");
}

static void a_key_is_not_found_inside_another_or_a_value(void **state)
{
    (void)state;
    assert_true(replay_spec_has("sim:1GiB,backing=none", "backing"));
    assert_false(replay_spec_has("sim:1GiB,mybacking=none", "backing"));
    assert_false(replay_spec_has("sim:1GiB,shared=backing", "backing"));
    assert_false(replay_spec_has("sim:1GiB,backing", "backing"));
}

static void malformed_parts_are_left_for_the_device_to_name(void **state)
{
    (void)state;
    expect_spec("sim:,,x=", &plain, 0,
                "sim:,,x=,backing=none,events=immediate");
}

static void other_devices_are_taken_as_they_are(void **state)
{
    (void)state;
    assert_false(replay_spec_is_sim("cuda:0"));
    assert_true(replay_spec_is_sim("sim:1GiB"));
    expect_spec("cuda:0", &ordered, 0, "cuda:0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_not_backed_unless_the_spec_says_so),
        cmocka_unit_test(parts_given_in_a_spec_are_kept),
        cmocka_unit_test(events_are_manual_where_the_trace_orders_work),
        cmocka_unit_test(automatic_events_are_chosen_by_the_trace),
        cmocka_unit_test(a_capacity_replaces_the_size_alone),
        cmocka_unit_test(a_key_is_not_found_inside_another_or_a_value),
        cmocka_unit_test(malformed_parts_are_left_for_the_device_to_name),
        cmocka_unit_test(other_devices_are_taken_as_they_are),
    };

    return cmocka_run_group_tests_name("replay_spec", tests, NULL, NULL);
}
