/* test_oom_cause.c - why memory ran out: who holds the free piece that would
 * have been large enough. */
#include "support/rig.h"

#define SPEC "sim:64MiB,vmm=off"

static void assert_cause(struct rig *rig, uint64_t bytes, larder_stream stream,
                         const char *largest, const char *cause)
{
    larder_addr addr;

    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_alloc(rig->a, bytes, stream, &addr), largest);
    assert_words(cause);
}

/* Free memory of a pool that is kept, on the stream of the request. */
static void a_private_pools_free_block_is_of_no_use_to_others(void **state)
{
    const larder_pool_id id = {1, 0};
    struct rig rig = rig_up_policy(SPEC, LARDER_POLICY_LARDER, "");

    (void)state;
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    rig_free(&rig, rig_alloc(&rig, MIB(40)));
    assert_ok(larder_pool_end(rig.a, id));
    assert_cause(&rig, MIB(30), 0,
                 "The largest free block that this request could use: 0 bytes.",
                 "Why: each stream and pool has its own free memory. A block "
                 "of 40.00 MiB was free, but belongs to another.");
    rig_down(&rig);
}

/* The opposite: a default pool's free memory, and a request in a private
 * one. */
static void a_default_pools_free_block_is_of_no_use_to_private_ones(
    void **state)
{
    const larder_pool_id id = {1, 0};
    struct rig rig = rig_up_policy(SPEC, LARDER_POLICY_LARDER, "");
    larder_addr hole = rig_alloc(&rig, MIB(36));
    larder_addr beside;

    (void)state;
    rig_free(&rig, hole);
    hole = rig_alloc(&rig, MIB(20)); /* the segment is split: it stays */
    beside = rig_alloc(&rig, MIB(16));
    rig_free(&rig, hole);
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    assert_cause(&rig, MIB(30), 0,
                 "The largest free block that this request could use: 0 bytes.",
                 "Why: no memory is released while a private pool is begun");
    assert_ok(larder_pool_end(rig.a, id));
    rig_free(&rig, beside);
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_private_pools_free_block_is_of_no_use_to_others),
        cmocka_unit_test(
            a_default_pools_free_block_is_of_no_use_to_private_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
