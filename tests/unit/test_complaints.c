/* test_complaints.c - complaints of users of other memory systems, as programs
 * (docs/SHARING.md): each fails or wastes memory under the policy `pytorch`,
 * and does not under `larder`. */
#include "support/tag_rig.h"

#include <larder/region.h>

#include "device/device.h"

static const char spec[] = "sim:24GiB,backing=none";

/* ---- a graph's pool and eager requests (sglang) ---------------------------- */

enum { CAPTURED = 3, EAGER = 0, PREFILL = 12 };

static const larder_pool_id graphs = {7, 1};

/* 10 GiB of weights; a graph with 6 GiB of scratch; then a prefill of twelve
 * tensors of 1 GiB while no graph runs.  Returns how many of the tensors could
 * be allocated. */
static int prefill_tensors(struct rig *rig)
{
    larder_addr tensors[PREFILL] = {0};
    larder_addr scratch[6];
    larder_addr weights = rig_alloc(rig, GIB(10));
    int had = 0;

    assert_ok(larder_pool_begin(rig->a, graphs, NULL, NULL));
    assert_ok(larder_sim_capture_begin(rig->dev, CAPTURED));
    for (int i = 0; i < 6; i++)
        scratch[i] = rig_alloc_on(rig, GIB(1), CAPTURED);
    for (int i = 0; i < 6; i++)
        rig_free(rig, scratch[i]);
    assert_ok(larder_sim_capture_end(rig->dev, CAPTURED));
    assert_ok(larder_pool_end(rig->a, graphs));
    for (int cycle = 0; cycle < 3; cycle++) {
        assert_ok(larder_pool_lend(rig->a, graphs, EAGER));
        for (had = 0; had < PREFILL; had++) {
            if (larder_alloc(rig->a, GIB(1), EAGER, &tensors[had]) != LARDER_OK)
                break;
        }
        for (int i = 0; i < had; i++)
            rig_free(rig, tensors[i]);
        assert_ok(larder_pool_recall(rig->a, graphs)); /* a launch may follow */
    }
    rig_free(rig, weights);
    assert_ok(larder_pool_release(rig->a, graphs));
    assert_ok(larder_check(rig->a));
    return had;
}

static void a_graphs_free_runs_serve_eager_requests(void **state)
{
    struct rig pytorch = rig_up(spec, "");
    struct rig larder = rig_up_policy(spec, LARDER_POLICY_LARDER, "");

    (void)state;
    assert_int_equal(prefill_tensors(&pytorch), 8);
    assert_int_equal(prefill_tensors(&larder), PREFILL);
    rig_down(&pytorch);
    rig_down(&larder);
}

/* ---- a key-value cache and what is cached (verl) --------------------------- */

/* A training step that leaves 16 GiB cached. */
static void train(struct rig *rig)
{
    larder_addr tensors[16];

    for (int i = 0; i < 16; i++)
        tensors[i] = rig_alloc(rig, GIB(1));
    for (int i = 0; i < 16; i++)
        rig_free(rig, tensors[i]);
}

static void a_cache_yields_to_the_key_value_cache(void **state)
{
    struct rig pytorch = rig_up(spec, "");
    struct rig larder = rig_up_policy(spec, LARDER_POLICY_LARDER, "");
    larder_region *kv;
    uint64_t handle;

    (void)state;
    train(&pytorch);
    assert_result(LARDER_ERR_OUT_OF_MEMORY, /* as an engine calls the driver */
                  larder__device_page_create(pytorch.dev, GIB(12), &handle));
    train(&larder);
    assert_ok(larder_region_create(larder.a, GIB(64), NULL, &kv));
    assert_ok(larder_region_commit(kv, 0, GIB(12)));
    assert_true(rig_usage(larder.dev).used_bytes <= GIB(24));
    assert_ok(larder_region_decommit(kv, 0, GIB(12)));
    train(&larder); /* and back */
    assert_ok(larder_region_destroy(kv));
    assert_ok(larder_check(larder.a));
    rig_down(&pytorch);
    rig_down(&larder);
}

/* ---- a wake that fails half-way (vLLM) ------------------------------------- */

enum { HANDLES = 16 };

/* As an engine does it by hand: one handle per allocation, and no cleanup if
 * one cannot be created.  Returns how many were created. */
static int wake_by_hand(struct rig *rig, uint64_t handles[HANDLES])
{
    int made = 0;

    while (made < HANDLES && larder__device_page_create(
                                 rig->dev, GIB(1), &handles[made]) == LARDER_OK)
        made++;
    return made;
}

static void a_wake_that_fails_leaves_nothing_behind(void **state)
{
    struct rig pytorch = rig_up(spec, "");
    struct rig larder = rig_up_policy(spec, LARDER_POLICY_LARDER, "");
    larder_addr others[2];
    larder_addr weights[16];
    uint64_t handles[HANDLES];
    larder_addr library;
    uint64_t asleep;
    int made;

    (void)state;
    others[0] = rig_alloc(&pytorch, GIB(12));
    made = wake_by_hand(&pytorch, handles);
    assert_int_equal(made, 12); /* of 16: 12 GiB that no one accounts for */
    while (made > 0)
        assert_ok(larder__device_page_release(pytorch.dev, handles[--made]));
    rig_free(&pytorch, others[0]);

    for (int i = 0; i < 16; i++)
        weights[i] = tagged(&larder, "weights", GIB(1));
    assert_ok(larder_pause(larder.a, "weights", LARDER_PAUSE_DROP));
    asleep = rig_usage(larder.dev).used_bytes;
    assert_ok(larder__device_mem_alloc(larder.dev, GIB(12), &library));
    for (int i = 0; i < 10; i++) {
        assert_result(LARDER_ERR_OUT_OF_MEMORY,
                      larder_resume(larder.a, "weights"));
        assert_int_equal(rig_usage(larder.dev).used_bytes, asleep + GIB(12));
    }
    assert_ok(larder__device_mem_free(larder.dev, library));
    for (int i = 0; i < 100; i++) { /* repeated sleep */
        assert_ok(larder_resume(larder.a, "weights"));
        assert_ok(larder_pause(larder.a, "weights", LARDER_PAUSE_DROP));
        assert_int_equal(rig_usage(larder.dev).used_bytes, asleep);
    }
    assert_ok(larder_resume(larder.a, "weights"));
    for (int i = 0; i < 16; i++)
        rig_free(&larder, weights[i]);
    rig_down(&pytorch);
    rig_down(&larder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graphs_free_runs_serve_eager_requests),
        cmocka_unit_test(a_cache_yields_to_the_key_value_cache),
        cmocka_unit_test(a_wake_that_fails_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
