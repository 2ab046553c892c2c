/* test_pool_lend.c - private pools lend their free memory (larder.h). */
#include <stdbool.h>

#include "support/tag_rig.h"

#include <larder/account.h>

#include "device/device_object.h"

static const larder_pool_id graphs = {7, 1};

static struct rig up(const char *spec, const char *conf)
{
    return rig_up_policy(spec, LARDER_POLICY_LARDER, conf);
}

static const char *const kinds[] = {"", "expandable_segments:True"};

/* Where private pools are in segments, in pages, and all is in segments. */
static struct rig up_kind(int kind)
{
    return up(kind < 2 ? "sim:400MiB,backing=none"
                       : "sim:400MiB,backing=none,vmm=off",
              kinds[kind % 2]);
}

static larder_addr pool_alloc(struct rig *rig, uint64_t bytes,
                              larder_stream stream)
{
    larder_addr addr;

    assert_ok(larder_pool_begin(rig->a, graphs, NULL, NULL));
    assert_ok(larder_pool_set_lending(rig->a, graphs, 1));
    addr = rig_alloc_on(rig, bytes, stream);
    assert_ok(larder_pool_end(rig->a, graphs));
    return addr;
}

static void pool_done(struct rig *rig, int times)
{
    for (int i = 0; i < times; i++)
        assert_ok(larder_pool_release(rig->a, graphs));
}

static void free_memory_of_a_pool_serves_others_and_returns(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct rig rig = up_kind(i);
        larder_addr kept = pool_alloc(&rig, MIB(60), 0);
        larder_addr gone[4];
        larder_addr big;

        for (int k = 0; k < 4; k++)
            gone[k] = pool_alloc(&rig, MIB(60), 0);
        for (int k = 0; k < 4; k++)
            rig_free(&rig, gone[k]);
        big = rig_alloc(&rig, MIB(260));
        assert_ok(larder_check(rig.a));
        assert_in_range(rig_pool_info(&rig, graphs).reserved_bytes, MIB(60),
                        MIB(140));
        rig_free(&rig, big);
        gone[0] = pool_alloc(&rig, MIB(300), 0); /* by growth */
        assert_ok(larder_check(rig.a));
        rig_free(&rig, gone[0]);
        rig_free(&rig, kept);
        pool_done(&rig, 6);
        rig_down(&rig);
    }
}

static void whole_handles_are_lent_by_a_single_unmap(void **state)
{
    struct rig rig = up("sim:400MiB,backing=none", kinds[1]);
    larder_addr gone = pool_alloc(&rig, MIB(200), 0);
    larder_addr big = rig_alloc(&rig, MIB(180));
    larder_addr other;

    (void)state;
    rig_free(&rig, gone);
    assert_ok(larder_device_reset_counters(rig.dev));
    other = rig_alloc(&rig, MIB(180));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_unmap), 1);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_page_release), 0);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_set_access), 1);
    rig_free(&rig, other);
    rig_free(&rig, big);
    pool_done(&rig, 1);
    rig_down(&rig);
}

static void a_minimum_is_not_lent(void **state)
{
    struct rig rig = up("sim:400MiB,backing=none", kinds[1]);
    larder_addr gone = pool_alloc(&rig, MIB(200), 0);
    larder_addr big = 0;

    (void)state;
    rig_free(&rig, gone);
    assert_ok(larder_pool_set_minimum(rig.a, graphs, MIB(160)));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(250), 0, &big));
    big = rig_alloc(&rig, MIB(238));
    assert_in_range(rig_pool_info(&rig, graphs).reserved_bytes, MIB(160),
                    MIB(162));
    gone = pool_alloc(&rig, MIB(160), 0);
    rig_free(&rig, gone);
    rig_free(&rig, big);
    pool_done(&rig, 2);
    rig_down(&rig);
}

static void a_tag_lends_its_cached_memory(void **state)
{
    struct rig rig = up("sim:400MiB,backing=none", "");
    larder_addr gone = tagged(&rig, "w", MIB(300));
    larder_addr big;

    (void)state;
    rig_free(&rig, gone);
    assert_ok(larder_device_reset_counters(rig.dev));
    big = rig_alloc(&rig, MIB(390));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_page_release), 0);
    rig_free(&rig, big);
    rig_down(&rig);
}

/* Memory freed while its tag slept is not mapped. */
static void a_tag_asleep_lends_nothing(void **state)
{
    struct rig rig = up("sim:400MiB,backing=none", "");
    larder_addr gone = tagged(&rig, "w", MIB(300));
    larder_addr kept = tagged(&rig, "w", MIB(40));
    larder_addr big;

    (void)state;
    assert_ok(larder_pause(rig.a, "w", LARDER_PAUSE_DROP));
    rig_free(&rig, gone);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(420), 0, &big));
    assert_null(strstr(larder_last_error(), "in private pools"));
    assert_ok(larder_check(rig.a));
    assert_ok(larder_resume(rig.a, "w"));
    rig_free(&rig, kept);
    rig_down(&rig);
}

/* Neither is memory that could not be released to the device when the tag went
 * to sleep. */
static void a_tag_half_asleep_lends_nothing(void **state)
{
    struct rig rig = up("sim:400MiB,backing=none", "");
    larder_addr gone[2] = {tagged_on(&rig, "w", MIB(150), 0),
                           tagged_on(&rig, "w", MIB(150), 1)};
    larder_addr big;

    (void)state;
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_unmap, 2, 1,
                                 LARDER_ERR_DEVICE));
    assert_ok(
        larder_device_fail(rig.dev, LARDER_CALL_map, 1, 1, LARDER_ERR_DEVICE));
    assert_result(LARDER_ERR_DEVICE,
                  larder_pause(rig.a, "w", LARDER_PAUSE_DROP));
    assert_true(usage_of(&rig, "w").is_paused);
    rig_free(&rig, gone[0]);
    rig_free(&rig, gone[1]);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(200), 0, &big));
    assert_ok(larder_check(rig.a));
    assert_ok(larder_resume(rig.a, "w"));
    big = rig_alloc(&rig, MIB(200));
    rig_free(&rig, big);
    rig_down(&rig);
}

/* Queued work still finds the memory it was queued for. */
static void lending_waits_for_work_on_the_memory(void **state)
{
    struct rig rig = up("sim:400MiB,events=driver", kinds[1]);
    larder_addr gone = pool_alloc(&rig, MIB(300), 5);
    larder_addr big;

    (void)state;
    assert_ok(larder_device_fill(rig.dev, gone + MIB(100), 1, 1, 5));
    rig_free(&rig, gone);
    big = rig_alloc(&rig, MIB(380));
    assert_ok(larder_sim_complete(rig.dev, 5));
    rig_free(&rig, big);
    pool_done(&rig, 1);
    rig_down(&rig);
}

/* ---- graphs ---------------------------------------------------------------- */

enum { CAPTURED = 3, EAGER = 4 };

/* A graph with 200 MiB of scratch in one piece, and 40 MiB that stays. */
static larder_addr capture(struct rig *rig, int lends, larder_addr *kept)
{
    larder_addr scratch;

    assert_ok(larder_pool_begin(rig->a, graphs, NULL, NULL));
    assert_ok(larder_pool_set_lending(rig->a, graphs, lends));
    assert_ok(larder_sim_capture_begin(rig->dev, CAPTURED));
    *kept = rig_alloc_on(rig, MIB(40), CAPTURED);
    scratch = rig_alloc_on(rig, MIB(200), CAPTURED);
    rig_free(rig, scratch);
    assert_ok(larder_sim_capture_end(rig->dev, CAPTURED));
    assert_ok(larder_pool_end(rig->a, graphs));
    return scratch;
}

static void a_graphs_scratch_is_lent_on_request(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct rig rig = up_kind(i / 2);
        larder_addr kept;
        larder_addr scratch = capture(&rig, i % 2, &kept);
        larder_addr cached = rig_alloc_on(&rig, MIB(100), EAGER);
        larder_addr eager = 0;

        assert_result(LARDER_ERR_OUT_OF_MEMORY,
                      larder_alloc(rig.a, MIB(150), EAGER, &eager));
        assert_ok(larder_pool_lend(rig.a, graphs, EAGER));
        assert_result(LARDER_ERR_OUT_OF_MEMORY, /* another stream */
                      larder_alloc(rig.a, MIB(150), EAGER + 1, &eager));
        assert_ok(larder_alloc(rig.a, MIB(150), EAGER, &eager));
        assert_int_equal(eager, scratch);
        assert_ok(larder_pool_lend(rig.a, graphs, EAGER)); /* it is already */
        assert_refused(LARDER_ERR_BUSY,
                       larder_pool_lend(rig.a, graphs, EAGER + 1),
                       "free that first");
        assert_refused(LARDER_ERR_BUSY, larder_pool_recall(rig.a, graphs),
                       "free that first");
        assert_refused(LARDER_ERR_BUSY,
                       larder_pool_begin(rig.a, graphs, NULL, NULL),
                       "has lent");
        rig_free(&rig, eager);
        assert_ok(larder_pool_recall(rig.a, graphs));
        assert_result(LARDER_ERR_OUT_OF_MEMORY,
                      larder_alloc(rig.a, MIB(150), EAGER, &eager));
        assert_ok(larder_check(rig.a));
        rig_free(&rig, cached);
        rig_free(&rig, kept);
        pool_done(&rig, 1);
        rig_down(&rig);
    }
}

/* Addresses that a graph writes to stay mapped, whatever is lent: the graph
 * does not fault. */
static void a_graphs_addresses_keep_their_memory(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig = up("sim:100MiB", kinds[i]);
        larder_addr kept;
        larder_addr scratch;
        larder_addr gone;
        larder_addr big = 0;

        assert_ok(larder_pool_begin(rig.a, graphs, NULL, NULL));
        assert_ok(larder_pool_set_lending(rig.a, graphs, 1));
        assert_ok(larder_sim_capture_begin(rig.dev, CAPTURED));
        kept = rig_alloc_on(&rig, MIB(20), CAPTURED);
        scratch = rig_alloc_on(&rig, MIB(20), CAPTURED);
        rig_free(&rig, scratch);
        assert_ok(larder_sim_capture_end(rig.dev, CAPTURED));
        gone = rig_alloc_on(&rig, MIB(40), CAPTURED);
        assert_ok(larder_pool_end(rig.a, graphs));
        rig_free(&rig, gone);
        (void)larder_alloc(rig.a, MIB(70), EAGER, &big);
        assert_int_equal(big, 0);
        assert_ok(larder_pool_lend(rig.a, graphs, EAGER));
        (void)larder_alloc(rig.a, MIB(58), EAGER, &big);
        assert_int_not_equal(big, 0);
        memset((void *)(uintptr_t)kept, 1, MIB(20));
        memset((void *)(uintptr_t)scratch, 2, MIB(20));
        memset((void *)(uintptr_t)big, 3, MIB(58));
        assert_int_equal(*(unsigned char *)(uintptr_t)kept, 1);
        assert_int_equal(*(unsigned char *)(uintptr_t)scratch, 2);
        rig_free(&rig, big);
        assert_ok(larder_pool_recall(rig.a, graphs));
        rig_free(&rig, kept);
        pool_done(&rig, 1);
        rig_down(&rig);
    }
}

/* Of all its streams, whichever comes first; one of them has none. */
static larder_result no_answer(void *self, larder_stream stream, int *out)
{
    (void)self;
    (void)stream;
    (void)out;
    return LARDER_ERR_DEVICE;
}

/* Where the device does not say whether a stream is capturing, it may be. */
static void a_stream_that_does_not_answer_may_be_of_a_graph(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig = up("sim:400MiB,backing=none", kinds[i]);
        larder_device_ops ops = rig.dev->ops;
        larder_addr gone;
        larder_addr big;

        rig.dev->ops.stream_is_capturing = no_answer;
        gone = pool_alloc(&rig, MIB(200), EAGER);
        rig_free(&rig, gone);
        rig.dev->ops = ops;
        assert_result(LARDER_ERR_OUT_OF_MEMORY,
                      larder_alloc(rig.a, MIB(380), EAGER, &big));
        pool_done(&rig, 1);
        rig_down(&rig);
    }
}

static void the_smallest_block_that_fits_is_lent(void **state)
{
    enum { STREAMS = 4 };
    static const uint64_t mib[STREAMS][STREAMS] = {
        {40, 20, 30, 0}, {0, 20, 30, 40}, {30, 0, 40, 20}, {20, 40, 0, 30}};

    (void)state;
    for (int i = 0; i < STREAMS * 2; i++) {
        struct rig rig = up(i < STREAMS ? "sim:100MiB,backing=none"
                                        : "sim:100MiB,backing=none,vmm=off",
                            "");
        const uint64_t *sizes = mib[i % STREAMS];
        larder_addr at[STREAMS] = {0};
        larder_addr got;

        assert_ok(larder_pool_begin(rig.a, graphs, NULL, NULL));
        for (int k = 0; k < STREAMS; k++) {
            if (sizes[k] != 0)
                at[k] = rig_alloc_on(&rig, MIB(sizes[k]), (larder_stream)k);
            else
                rig_free(&rig, rig_alloc_on(&rig, 512, (larder_stream)k));
        }
        assert_ok(larder_pool_end(rig.a, graphs));
        for (int k = 0; k < STREAMS; k++) {
            if (sizes[k] != 0)
                rig_free(&rig, at[k]);
        }
        assert_ok(larder_pool_lend(rig.a, graphs, EAGER));
        for (uint64_t size = 20; size <= 40; size += 10) {
            int k = 0;

            while (sizes[k] != size)
                k++;
            got = rig_alloc_on(&rig, MIB(size) - KIB(900), EAGER);
            assert_int_equal(got, at[k]);
        }
        assert_ok(larder_check(rig.a));
        assert_ok(larder_destroy(rig.a));
        assert_ok(larder_device_close(rig.dev));
    }
}

static void under_pytorch_nothing_is_lent(void **state)
{
    struct rig rig = rig_up("sim:400MiB,backing=none", kinds[1]);
    larder_addr gone = pool_alloc(&rig, MIB(200), 0);
    larder_addr big = 0;

    (void)state;
    rig_free(&rig, gone);
    assert_ok(larder_pool_lend(rig.a, graphs, 0));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(250), 0, &big));
    pool_done(&rig, 1);
    rig_down(&rig);
}

static void mistakes_are_refused(void **state)
{
    struct rig rig = up("sim:400MiB,backing=none", "");
    larder_addr block;

    (void)state;
    assert_result(LARDER_ERR_UNKNOWN_POOL, larder_pool_lend(rig.a, graphs, 0));
    assert_result(LARDER_ERR_UNKNOWN_POOL, larder_pool_recall(rig.a, graphs));
    assert_ok(larder_pool_begin(rig.a, graphs, NULL, NULL));
    block = rig_alloc(&rig, MIB(1));
    assert_refused(LARDER_ERR_INVALID, larder_pool_lend(rig.a, graphs, 0),
                   "is begun");
    assert_ok(larder_pool_end(rig.a, graphs));
    assert_result(LARDER_ERR_UNKNOWN_STREAM,
                  larder_pool_lend(rig.a, graphs, LARDER_SIM_STREAMS));
    rig_free(&rig, block);
    pool_done(&rig, 1);
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_memory_of_a_pool_serves_others_and_returns),
        cmocka_unit_test(whole_handles_are_lent_by_a_single_unmap),
        cmocka_unit_test(a_minimum_is_not_lent),
        cmocka_unit_test(a_tag_lends_its_cached_memory),
        cmocka_unit_test(a_tag_asleep_lends_nothing),
        cmocka_unit_test(a_tag_half_asleep_lends_nothing),
        cmocka_unit_test(lending_waits_for_work_on_the_memory),
        cmocka_unit_test(a_graphs_scratch_is_lent_on_request),
        cmocka_unit_test(a_graphs_addresses_keep_their_memory),
        cmocka_unit_test(a_stream_that_does_not_answer_may_be_of_a_graph),
        cmocka_unit_test(the_smallest_block_that_fits_is_lent),
        cmocka_unit_test(under_pytorch_nothing_is_lent),
        cmocka_unit_test(mistakes_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
