/* test_account_lines.c - every figure of every line of an account, with owners
 * of each kind, awake and asleep. */
#include "account_rig.h"

#include <larder/region.h>

/* A line in MiB. */
struct want {
    larder_owner_kind kind;
    const char *name;
    uint64_t pool;
    uint64_t held;
    uint64_t used;
    uint64_t asleep;
    uint64_t minimum;
    uint64_t limit;
    uint64_t available;
};

static void assert_line(const struct account_lines *t, int i,
                        const struct want *want)
{
    const larder_account_line *line = &t->lines[i];

    assert_int_equal(line->kind, want->kind);
    assert_string_equal(t->names[i], want->name != NULL ? want->name : "");
    assert_int_equal(line->pool.first, want->pool);
    if (line->held_bytes != MIB(want->held) ||
        line->used_bytes != MIB(want->used) ||
        line->asleep_bytes != MIB(want->asleep) ||
        line->minimum_bytes != MIB(want->minimum) ||
        line->limit_bytes != MIB(want->limit) ||
        line->available_bytes != MIB(want->available))
        fail_msg("%s %s: held %llu used %llu asleep %llu minimum %llu limit "
                 "%llu available %llu KiB",
                 larder_owner_name(line->kind), t->names[i],
                 (unsigned long long)line->held_bytes >> 10,
                 (unsigned long long)line->used_bytes >> 10,
                 (unsigned long long)line->asleep_bytes >> 10,
                 (unsigned long long)line->minimum_bytes >> 10,
                 (unsigned long long)line->limit_bytes >> 10,
                 (unsigned long long)line->available_bytes >> 10);
}

static void assert_account(larder_allocator *a, const struct want *want,
                           int count)
{
    struct account_lines t = account_of(a);

    assert_int_equal(t.count, count);
    for (int i = 0; i < count; i++)
        assert_line(&t, i, &want[i]);
}

static larder_region *region_of(struct rig *rig, const char *name,
                                uint64_t bytes)
{
    larder_region_options opt;
    larder_region *g;

    larder_region_options_init(&opt);
    opt.name = name;
    assert_ok(larder_region_create(rig->a, MIB(64), &opt, &g));
    assert_ok(larder_region_commit(g, 0, bytes));
    return g;
}

static larder_addr pooled(struct rig *rig, uint64_t number, uint64_t bytes)
{
    larder_pool_id id = {number, 0};
    larder_addr addr;

    assert_ok(larder_pool_begin(rig->a, id, NULL, NULL));
    addr = rig_alloc(rig, bytes);
    assert_ok(larder_pool_end(rig->a, id));
    return addr;
}

/* Of 1 GiB, in MiB: the cache uses 30 and has 20 beside them, a tag 40, pools 12
 * and 14 (freed, which stays theirs), a region 8; asleep are a tag's 20 and a
 * region's 6.  The first pool is to have 30, and at most 100. */
static void every_figure_is_what_its_owner_has(void **state)
{
    static const struct want want[] = {
        {LARDER_OWNER_CACHE, NULL, 0, 50, 30, 0, 0, 0, 896},
        {LARDER_OWNER_TAG, "awake", 0, 40, 40, 0, 0, 0, 916},
        {LARDER_OWNER_TAG, "asleep", 0, 0, 0, 20, 0, 0, 916},
        {LARDER_OWNER_POOL, NULL, 7, 12, 12, 0, 30, 100, 88},
        {LARDER_OWNER_POOL, NULL, 8, 14, 0, 0, 0, 0, 902},
        {LARDER_OWNER_REGION, "tables", 0, 8, 8, 0, 0, 0, 916},
        {LARDER_OWNER_REGION, "dozing", 0, 0, 0, 6, 0, 0, 916},
        {LARDER_OWNER_REFUSED, NULL, 0, 0, 0, 0, 0, 0, 0},
        {LARDER_OWNER_ALLOCATORS, NULL, 0, 20, 0, 0, 0, 0, 0},
        {LARDER_OWNER_CONTEXT, NULL, 0, 0, 0, 0, 0, 0, 0},
        {LARDER_OWNER_OTHERS, NULL, 0, 0, 0, 0, 0, 0, 0},
        {LARDER_OWNER_FREE, NULL, 0, 880, 0, 0, 0, 0, 0},
        {LARDER_OWNER_PINNED, NULL, 0, 26, 0, 26, 0, 0, 0},
    };
    static const larder_pool_id seven = {7, 0};
    struct rig rig = rig_up_policy("sim:1GiB,context=0", LARDER_POLICY_LARDER,
                                   "handle_mib:2");
    struct rig second = {.dev = rig.dev};
    larder_region *tables;
    larder_region *dozing;
    larder_addr cached;

    (void)state;
    assert_ok(larder_create(rig.dev, NULL, &second.a));
    (void)rig_alloc(&second, MIB(4)); /* a segment of 20 MiB */
    cached = rig_alloc(&rig, MIB(20));
    (void)rig_alloc(&rig, MIB(30));
    rig_free(&rig, cached);
    (void)tagged(&rig, "awake", MIB(40));
    (void)tagged(&rig, "asleep", MIB(20));
    assert_ok(larder_pause(rig.a, "asleep", LARDER_PAUSE_KEEP));
    (void)pooled(&rig, 7, MIB(12));
    assert_ok(larder_pool_set_minimum(rig.a, seven, MIB(30)));
    assert_ok(larder_pool_set_limit(rig.a, seven, MIB(100)));
    rig_free(&rig, pooled(&rig, 8, MIB(14)));
    tables = region_of(&rig, "tables", MIB(8));
    dozing = region_of(&rig, "dozing", MIB(6));
    assert_ok(larder_region_pause(dozing, LARDER_PAUSE_KEEP));
    assert_account(rig.a, want, sizeof want / sizeof want[0]);
    assert_ok(larder_region_destroy(tables));
    assert_ok(larder_region_resume(dozing));
    assert_ok(larder_region_destroy(dozing));
    assert_ok(larder_destroy(second.a));
    assert_ok(larder_destroy(rig.a));
    assert_ok(larder_device_close(rig.dev));
}

/* Of 128 MiB, 64 are a reserved piece, of which the cache uses 10 and a pool
 * could use the rest. */
static void what_is_free_in_a_piece_is_for_segments_alone(void **state)
{
    static const struct want want[] = {
        {LARDER_OWNER_CACHE, NULL, 0, 64, 10, 0, 0, 0, 64},
        {LARDER_OWNER_TAG, "paged", 0, 20, 0, 0, 0, 0, 44},
        {LARDER_OWNER_REGION, "tables", 0, 2, 0, 0, 0, 0, 62},
    };
    struct rig rig = rig_up_policy("sim:128MiB,context=0", LARDER_POLICY_LARDER,
                                   "handle_mib:2");
    larder_region *tables;
    struct account_lines t;

    (void)state;
    assert_ok(larder_reserve(rig.a, MIB(64)));
    (void)rig_alloc(&rig, MIB(10));
    rig_free(&rig, tagged(&rig, "paged", MIB(8)));
    tables = region_of(&rig, "tables", MIB(2));
    assert_ok(larder_region_decommit(tables, 0, MIB(2)));
    t = account_of(rig.a);
    for (int i = 0; i < 3; i++)
        assert_line(&t, i, &want[i]);
    assert_ok(larder_region_destroy(tables));
    assert_ok(larder_destroy(rig.a));
    assert_ok(larder_device_close(rig.dev));
}

/* Unmapping fails half way, and so does mapping again. */
static void what_a_failed_pause_leaves_is_promised_to_nobody(void **state)
{
    static const struct want want[] = {
        {LARDER_OWNER_CACHE, NULL, 0, 0, 0, 0, 0, 0, 112},
        {LARDER_OWNER_REGION, "tables", 0, 16, 16, 0, 0, 0, 112},
    };
    struct rig rig = rig_up_policy("sim:128MiB,context=0", LARDER_POLICY_LARDER,
                                   "handle_mib:2");
    larder_region *tables = region_of(&rig, "tables", MIB(8));
    struct account_lines t;
    larder_addr rest;
    larder_addr more;

    (void)state;
    assert_ok(larder_region_commit(tables, MIB(16), MIB(8)));
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_unmap, 2, 1,
                                 LARDER_ERR_DEVICE));
    assert_ok(
        larder_device_fail(rig.dev, LARDER_CALL_map, 1, 1, LARDER_ERR_DEVICE));
    assert_result(LARDER_ERR_DEVICE,
                  larder_region_pause(tables, LARDER_PAUSE_DROP));
    t = account_of(rig.a);
    for (int i = 0; i < 2; i++)
        assert_line(&t, i, &want[i]);
    rest = rig_alloc(&rig, MIB(112));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(2), 0, &more));
    rig_free(&rig, rest);
    assert_ok(larder_region_resume(tables));
    assert_ok(larder_region_destroy(tables));
    assert_ok(larder_destroy(rig.a));
    assert_ok(larder_device_close(rig.dev));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_failed_pause_leaves_is_promised_to_nobody),
        cmocka_unit_test(what_is_free_in_a_piece_is_for_segments_alone),
        cmocka_unit_test(every_figure_is_what_its_owner_has),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
