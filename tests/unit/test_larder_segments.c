/* test_larder_segments.c - the larder policy on devices without virtual memory:
 * which segments exist, which are released, and which streams may use them. */
#include "support/rig.h"

#define SPEC "sim:64MiB,backing=none,vmm=off,events="

static struct rig up(const char *spec, const char *conf)
{
    return rig_up_policy(spec, LARDER_POLICY_LARDER, conf);
}

/* Allocate `count` blocks, then free all: the segments are empty. */
static void get_and_give(struct rig *rig, int count, uint64_t bytes)
{
    larder_addr addrs[64];

    for (int i = 0; i < count; i++)
        addrs[i] = rig_alloc_on(rig, bytes, 0);
    for (int i = 0; i < count; i++)
        rig_free(rig, addrs[i]);
    assert_ok(larder_check(rig->a));
}

/* ---- as in PyTorch --------------------------------------------------------- */

/* A trace that fits on the device only if segments are released. */
static void places_are_those_of_pytorch(void **state)
{
    struct rig ours = up(SPEC "immediate", "");
    struct rig theirs =
        rig_up_policy(SPEC "immediate", LARDER_POLICY_PYTORCH, "");
    larder_addr live[2][16] = {{0}};
    uint32_t seed = 3;

    (void)state;
    for (int i = 0; i < 4000; i++) {
        unsigned k;
        uint64_t bytes;

        seed = seed * 1664525u + 1013904223u;
        k = seed >> 28;
        bytes = 1 + (seed >> 4) % (1u << (10 + (seed >> 24) % 15));

        rig_free(&ours, live[0][k]);
        rig_free(&theirs, live[1][k]);
        live[0][k] = live[1][k] = 0;
        assert_int_equal(larder_alloc(ours.a, bytes, 0, &live[0][k]),
                         larder_alloc(theirs.a, bytes, 0, &live[1][k]));
        assert_int_equal(rig_reserved(&ours), rig_reserved(&theirs));
        assert_int_equal(rig_calls(&ours, LARDER_CALL_mem_free),
                         rig_calls(&theirs, LARDER_CALL_mem_free));
    }
    assert_true(rig_calls(&ours, LARDER_CALL_mem_free) > 0);
    for (int k = 0; k < 16; k++) {
        rig_free(&ours, live[0][k]);
        rig_free(&theirs, live[1][k]);
    }
    rig_down(&ours);
    rig_down(&theirs);
}

/* ---- before giving up ------------------------------------------------------ */

/* PyTorch requests 20 MiB, because other requests could use the rest, and
 * fails. */
static void the_last_segment_is_no_larger_than_it_has_to_be(void **state)
{
    struct rig rig = up(SPEC "immediate", "");

    (void)state;
    rig_alloc_on(&rig, MIB(50), 0);
    rig_alloc_on(&rig, MIB(3), 0);
    assert_int_equal(rig_reserved(&rig), MIB(54));
    rig_down(&rig);
}

/* Memory in use stays, and so does memory whose release would not help. */
static void nothing_is_released_if_it_would_not_suffice(void **state)
{
    struct rig rig = up(SPEC "immediate", "defrag:off");
    larder_addr a = rig_alloc_on(&rig, MIB(24), 0);
    larder_addr none;

    (void)state;
    rig_alloc_on(&rig, MIB(30), 0);
    rig_free(&rig, a);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(36), 0, &none));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 0);
    assert_int_equal(rig_reserved(&rig), MIB(54));
    rig_down(&rig);
}

static void one_event_is_waited_for_when_it_is_enough(void **state)
{
    struct rig rig = up(SPEC "manual", "");
    larder_addr a = rig_alloc_on(&rig, MIB(30), 0);
    larder_addr b = rig_alloc_on(&rig, MIB(30), 0);

    (void)state;
    assert_ok(larder_record_stream(rig.a, a, 1));
    assert_ok(larder_record_stream(rig.a, b, 2));
    rig_free(&rig, a);
    rig_free(&rig, b);
    rig_alloc_on(&rig, MIB(30), 0);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_sync), 1);
    rig_down(&rig);
}

/* ---- private pools -------------------------------------------------------- */

static void a_private_pool_s_segments_stay(void **state)
{
    struct rig rig = up(SPEC "immediate", "");
    larder_pool_id id = {1, 1};
    larder_addr addr;

    (void)state;
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    rig_free(&rig, rig_alloc_on(&rig, MIB(40), 0));
    assert_ok(larder_pool_end(rig.a, id));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(30), 0, &addr));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 0);
    assert_ok(larder_pool_release(rig.a, id));
    rig_alloc_on(&rig, MIB(30), 0);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 1);
    rig_down(&rig);
}

static int no_stream(void *ctx, larder_stream stream)
{
    (void)ctx;
    (void)stream;
    return 0;
}

/* Not even for requests that do not go to the pool. */
static void nothing_is_released_while_a_pool_is_begun(void **state)
{
    struct rig rig = up(SPEC "immediate", "");
    larder_pool_id id = {1, 1};
    larder_addr addr;

    (void)state;
    get_and_give(&rig, 56, MIB(1));
    assert_ok(larder_pool_begin(rig.a, id, no_stream, NULL));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(40), 0, &addr));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_mem_free), 0);
    assert_ok(larder_pool_end(rig.a, id));
    assert_ok(larder_pool_release(rig.a, id));
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_those_of_pytorch),
        cmocka_unit_test(the_last_segment_is_no_larger_than_it_has_to_be),
        cmocka_unit_test(nothing_is_released_if_it_would_not_suffice),
        cmocka_unit_test(one_event_is_waited_for_when_it_is_enough),
        cmocka_unit_test(a_private_pool_s_segments_stay),
        cmocka_unit_test(nothing_is_released_while_a_pool_is_begun),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
