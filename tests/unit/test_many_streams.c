/* test_many_streams.c - a failing request does not search the memory of every
 * stream that ever existed: counted in heaps, not in time. */
#include "support/rig.h"

#include "core/entry/handle.h"
#include "core/state/shard.h"

/* More streams than have shards; the device has memory for the first of
 * them. */
enum { STREAMS = 2000, STOCKED_MOST = SHARDS_MAX + 10 };

static const struct {
    larder_policy policy;
    const char *spec;
    uint64_t bytes;
} cases[] = {
    {LARDER_POLICY_PYTORCH, "sim:10000MiB,backing=none", MIB(20)},
    {LARDER_POLICY_DIRECT, "sim:500MiB,backing=none", MIB(1)},
    {LARDER_POLICY_LARDER, "sim:1000MiB,backing=none", MIB(2)},
    {LARDER_POLICY_LARDER, "sim:10000MiB,backing=none,vmm=off", MIB(20)},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static uint32_t stocked_heaps(const struct rig *rig)
{
    const struct allocator *a = handle_allocator(rig->a);
    uint32_t count = 0;

    for (int kind = 0; kind < POOL_KINDS; kind++)
        count += a->pools[kind].stocked_count;
    return count;
}

static void failing_requests_visit_few_heaps(void **state)
{
    static larder_addr kept[STREAMS];

    (void)state;
    for (int i = 0; i < CASES; i++) {
        struct rig rig = rig_up_policy(cases[i].spec, cases[i].policy, "");
        int served = 0;

        for (larder_stream s = 0; s < STREAMS; s++) {
            kept[s] = 0;
            served +=
                larder_alloc(rig.a, cases[i].bytes, s, &kept[s]) == LARDER_OK;
        }
        assert_in_range(served, 50, STREAMS / 2);
        assert_in_range(stocked_heaps(&rig), 0, STOCKED_MOST);
        assert_ok(larder_check(rig.a));

        /* Freed memory is found, whichever stream it belonged to. */
        rig_free(&rig, kept[served - 1]);
        rig_free(&rig, kept[3]);
        assert_ok(larder_check(rig.a));
        kept[3] = rig_alloc_on(&rig, cases[i].bytes, STREAMS - 1);
        kept[served - 1] = rig_alloc_on(&rig, cases[i].bytes, STREAMS - 2);
        for (larder_stream s = 0; s < (larder_stream)served; s++)
            rig_free(&rig, kept[s]);
        assert_ok(larder_empty_cache(rig.a));
        assert_int_equal(rig_reserved(&rig), 0);
        assert_in_range(stocked_heaps(&rig), 0, STOCKED_MOST);
        assert_ok(larder_check(rig.a));
        rig_down(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failing_requests_visit_few_heaps),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
