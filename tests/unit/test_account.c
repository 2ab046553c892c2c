/* test_account.c - the account of the device's memory (larder/account.h). */
#include "account_rig.h"

#include <larder/pinned.h>

#include "device/device.h"

static larder_account_line line_of(larder_allocator *a, larder_owner_kind kind)
{
    struct account_lines t = account_of(a);

    for (int i = 0; i < t.count; i++) {
        if (t.lines[i].kind == kind)
            return t.lines[i];
    }
    fail_msg("no line %s", larder_owner_name(kind));
    return t.lines[0];
}

/* The lines of the device add up to its total memory. */
static void assert_balanced(struct rig *rig)
{
    struct account_lines t = account_of(rig->a);
    uint64_t sum = 0;
    larder_device_props props = {.size = sizeof props};

    assert_ok(larder_device_get_props(rig->dev, &props));
    for (int i = 0; i < t.count; i++)
        sum +=
            t.lines[i].kind == LARDER_OWNER_PINNED ? 0 : t.lines[i].held_bytes;
    assert_int_equal(sum, props.total_bytes);
    assert_ok(larder_check(rig->a));
}

static void every_owner_has_a_line_and_they_add_up(void **state)
{
    static const larder_pool_id id = {7, 1};

    (void)state;
    for (int i = 0; i < WAYS; i++) {
        struct rig rig = way_up("sim:4GiB,context=100MiB", i);
        larder_addr own = rig_alloc(&rig, MIB(64));
        larder_addr weights = tagged(&rig, "weights", MIB(200));
        larder_addr graph;
        struct account_lines t;

        assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
        graph = rig_alloc(&rig, MIB(30));
        assert_ok(larder_pool_end(rig.a, id));
        t = account_of(rig.a);
        assert_int_equal(t.lines[0].kind, LARDER_OWNER_CACHE);
        assert_int_equal(t.lines[0].used_bytes, MIB(64));
        assert_in_range(t.lines[0].held_bytes, MIB(64), MIB(160));
        assert_int_equal(t.lines[1].kind, LARDER_OWNER_TAG);
        assert_string_equal(t.names[1], "weights");
        assert_int_equal(t.lines[1].used_bytes, MIB(200));
        assert_int_equal(t.lines[1].held_bytes,
                         usage_of(&rig, "weights").reserved_bytes);
        assert_int_equal(t.lines[2].kind, LARDER_OWNER_POOL);
        assert_int_equal(t.lines[2].pool.first, 7);
        assert_int_equal(t.lines[2].used_bytes, MIB(30));
        assert_int_equal(line_of(rig.a, LARDER_OWNER_CONTEXT).held_bytes,
                         MIB(100));
        assert_int_equal(line_of(rig.a, LARDER_OWNER_OTHERS).held_bytes, 0);
        assert_balanced(&rig);
        rig_free(&rig, own);
        assert_balanced(&rig);
        assert_ok(larder_empty_cache(rig.a));
        assert_balanced(&rig);
        assert_int_equal(line_of(rig.a, LARDER_OWNER_CACHE).held_bytes, 0);
        rig_free(&rig, weights);
        rig_free(&rig, graph);
        rig_down(&rig);
    }
}

static void memory_of_others_has_its_own_line(void **state)
{
    struct rig rig = rig_up_policy("sim:4GiB", LARDER_POLICY_LARDER, "");
    larder_addr mine = rig_alloc(&rig, MIB(10));
    larder_allocator *second;
    larder_addr library;
    larder_addr theirs;

    (void)state;
    assert_ok(larder__device_mem_alloc(rig.dev, MIB(300), &library));
    assert_int_equal(line_of(rig.a, LARDER_OWNER_OTHERS).held_bytes, MIB(300));
    assert_ok(larder_create(rig.dev, NULL, &second));
    assert_ok(larder_alloc(second, MIB(40), 0, &theirs));
    assert_int_equal(line_of(rig.a, LARDER_OWNER_ALLOCATORS).held_bytes,
                     line_of(second, LARDER_OWNER_CACHE).held_bytes);
    assert_int_equal(line_of(rig.a, LARDER_OWNER_OTHERS).held_bytes, MIB(300));
    assert_balanced(&rig);
    assert_ok(larder_destroy(second));
    assert_int_equal(line_of(rig.a, LARDER_OWNER_ALLOCATORS).held_bytes, 0);
    rig_free(&rig, mine);
    assert_ok(larder__device_mem_free(rig.dev, library));
    rig_down(&rig);
}

static void a_minimum_is_kept_from_the_others(void **state)
{
    static const larder_pool_id id = {7, 1};

    (void)state;
    for (int i = 0; i < WAYS; i++) {
        struct rig rig = way_up("sim:1GiB", i);
        larder_addr big = rig_alloc(&rig, MIB(100));
        larder_addr more = 0;
        larder_addr weights;

        assert_ok(larder_tag_set_minimum(rig.a, "weights", MIB(400)));
        assert_result(LARDER_ERR_OUT_OF_MEMORY,
                      larder_alloc(rig.a, MIB(560), 0, &more));
        assert_ok(larder_alloc(rig.a, MIB(500), 0, &more));
        assert_int_equal(line_of(rig.a, LARDER_OWNER_TAG).minimum_bytes,
                         MIB(400));
        assert_in_range(line_of(rig.a, LARDER_OWNER_TAG).available_bytes,
                        MIB(400), MIB(424));
        weights = tagged(&rig, "weights", MIB(400));
        /* In addition to what it holds. */
        assert_in_range(line_of(rig.a, LARDER_OWNER_TAG).available_bytes, 0,
                        MIB(24));
        assert_balanced(&rig);
        rig_free(&rig, weights);
        assert_ok(larder_empty_cache(rig.a));
        assert_result(LARDER_ERR_OUT_OF_MEMORY,
                      larder_alloc(rig.a, MIB(200), 0, &weights));
        assert_ok(larder_tag_set_minimum(rig.a, "weights", 0));
        weights = rig_alloc(&rig, MIB(200));
        rig_free(&rig, weights);
        rig_free(&rig, big);
        rig_free(&rig, more);
        assert_result(LARDER_ERR_UNKNOWN_POOL,
                      larder_pool_set_minimum(rig.a, id, MIB(1)));
        rig_down(&rig);
    }
}

static void a_minimum_that_cannot_be_kept_is_refused(void **state)
{
    struct rig rig = rig_up_policy("sim:1GiB", LARDER_POLICY_LARDER, "");
    larder_addr live = rig_alloc(&rig, MIB(600));
    larder_addr cached = rig_alloc(&rig, MIB(300));

    (void)state;
    rig_free(&rig, cached);
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_tag_set_minimum(rig.a, "weights", MIB(500)),
                   "cannot be kept");
    assert_int_equal(line_of(rig.a, LARDER_OWNER_TAG).minimum_bytes, 0);
    assert_ok(larder_tag_set_minimum(rig.a, "weights", MIB(400)));
    assert_ok(larder_check(rig.a));
    rig_free(&rig, live);
    rig_down(&rig);
}

/* To the byte: what is cached stays if there is room beside it, and goes if
 * that makes room. */
static void a_minimum_may_take_the_last_byte(void **state)
{
    static const larder_pool_id id = {7, 1};
    struct rig rig = rig_up("sim:64MiB,context=0", "");
    larder_addr block = rig_alloc(&rig, MIB(20));

    (void)state;
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    assert_ok(larder_pool_end(rig.a, id));
    assert_ok(larder_pool_set_minimum(rig.a, id, MIB(44)));
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_pool_set_minimum(rig.a, id, MIB(44) + 1),
                   "a minimum of 46137345 bytes cannot be kept: owners would "
                   "hold 46137345 bytes less than their minimums, and 20971520 "
                   "of a capacity of 67108864 bytes are held");
    assert_int_equal(line_of(rig.a, LARDER_OWNER_POOL).minimum_bytes, MIB(44));
    rig_free(&rig, block);
    assert_ok(larder_pool_set_minimum(rig.a, id, MIB(43)));
    assert_ok(larder_pool_set_minimum(rig.a, id, MIB(44)));
    assert_int_equal(rig_reserved(&rig), MIB(20));
    assert_ok(larder_pool_set_minimum(rig.a, id, MIB(44) + 1));
    assert_int_equal(rig_reserved(&rig), 0);
    assert_ok(larder_pool_set_minimum(rig.a, id, MIB(64)));
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_pool_set_minimum(rig.a, id, MIB(64) + 1),
                   "a minimum of 67108865 bytes");
    rig_down(&rig);
}

/* It cannot grow, and releasing cached memory for its minimum would destroy
 * it. */
static void a_pool_without_users_gets_no_larger_minimum(void **state)
{
    static const larder_pool_id id = {7, 1};

    (void)state;
    for (int i = 0; i < WAYS; i++) {
        struct rig rig = way_up("sim:96MiB,context=0", i);
        larder_addr block = rig_alloc_in(&rig, id, MIB(4), 0);
        larder_addr other = rig_alloc(&rig, MIB(40));

        assert_ok(larder_pool_set_minimum(rig.a, id, MIB(8)));
        assert_ok(larder_tag_set_minimum(rig.a, "t", MIB(30)));
        rig_free(&rig, block);
        assert_ok(larder_pool_release(rig.a, id));
        assert_refused(LARDER_ERR_UNKNOWN_POOL,
                       larder_pool_set_minimum(rig.a, id, MIB(8) + 1),
                       "was released by its last user");
        assert_ok(larder_pool_set_minimum(rig.a, id, MIB(8)));
        assert_ok(larder_pool_set_minimum(rig.a, id, MIB(2)));
        assert_ok(larder_configure(rig.a, "limit:50MiB"));
        assert_result(LARDER_ERR_UNKNOWN_POOL,
                      larder_pool_set_minimum(rig.a, id, MIB(8)));
        assert_int_equal(line_of(rig.a, LARDER_OWNER_POOL).minimum_bytes,
                         MIB(2));
        assert_ok(larder_empty_cache(rig.a));
        assert_refused(LARDER_ERR_UNKNOWN_POOL,
                       larder_pool_set_minimum(rig.a, id, 0), "does not exist");
        rig_free(&rig, other);
        rig_down(&rig);
    }
}

/* Also below a limit that was set meanwhile, and to what exceeds it. */
static void a_minimum_can_be_lowered_where_it_is_not_there(void **state)
{
    static const larder_pool_id id = {7, 1};
    struct rig rig = rig_up("sim:64MiB,context=0", "");

    (void)state;
    rig_free(&rig, rig_alloc(&rig, MIB(20)));
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    assert_ok(larder_pool_end(rig.a, id));
    assert_ok(larder_pool_set_minimum(rig.a, id, MIB(44)));
    assert_ok(larder_set_memory_fraction(rig.a, 0.25));
    assert_ok(larder_pool_set_minimum(rig.a, id, MIB(44)));
    assert_ok(larder_pool_set_minimum(rig.a, id, MIB(40)));
    assert_int_equal(rig_reserved(&rig), MIB(20));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_pool_set_minimum(rig.a, id, MIB(40) + 1));
    assert_int_equal(line_of(rig.a, LARDER_OWNER_POOL).minimum_bytes, MIB(40));
    assert_ok(larder_pool_set_minimum(rig.a, id, MIB(16)));
    rig_down(&rig);
}

/* A recorded stream still uses memory that was freed while its tag is paused. */
static void pending_memory_of_a_paused_tag_is_nobody_s(void **state)
{
    struct rig rig = way_up("sim:256MiB,context=0,events=manual", 2);
    larder_addr at = tagged(&rig, "w", MIB(40));
    struct account_lines t;

    (void)state;
    (void)rig_alloc(&rig, MIB(20));
    assert_ok(larder_record_stream(rig.a, at, 5));
    assert_ok(larder_pause(rig.a, "w", LARDER_PAUSE_DROP));
    rig_free(&rig, at);
    t = account_of(rig.a);
    assert_int_equal(t.lines[0].kind, LARDER_OWNER_CACHE);
    assert_int_equal(t.lines[0].used_bytes, MIB(20));
    assert_int_equal(t.lines[1].kind, LARDER_OWNER_TAG);
    assert_int_equal(t.lines[1].used_bytes, 0);
    assert_int_equal(t.lines[1].available_bytes, MIB(236));
    assert_ok(larder_sim_complete(rig.dev, 5));
    assert_ok(larder_resume(rig.a, "w"));
    rig_down(&rig);
}

static void the_limit_of_the_cache_counts_all_it_holds(void **state)
{
    (void)state;
    for (int i = 0; i < WAYS; i++) {
        struct rig rig = way_up("sim:1GiB", i);
        larder_addr first = rig_alloc(&rig, MIB(60));
        larder_addr second = 0;
        larder_addr tag;

        assert_ok(larder_cache_set_limit(rig.a, MIB(100)));
        assert_result(LARDER_ERR_OUT_OF_MEMORY,
                      larder_alloc(rig.a, MIB(60), 0, &second));
        tag = tagged(&rig, "weights", MIB(300)); /* not cached */
        rig_free(&rig, first);
        second = rig_alloc(&rig, MIB(90)); /* replaces the first */
        assert_in_range(line_of(rig.a, LARDER_OWNER_CACHE).held_bytes, MIB(90),
                        MIB(100));
        rig_free(&rig, second);
        rig_free(&rig, tag);
        rig_down(&rig);
    }
}

static void pinned_memory_counts_for_the_device_it_is_pinned_for(void **state)
{
    struct rig rig = rig_up("sim:1GiB", "");
    larder_allocator *pinned;
    void *ptr;

    (void)state;
    assert_ok(larder_pinned_create(rig.dev, NULL, &pinned));
    assert_ok(larder_pinned_alloc(pinned, MIB(8), &ptr));
    assert_in_range(line_of(rig.a, LARDER_OWNER_PINNED).held_bytes, MIB(8),
                    MIB(32));
    assert_int_equal(line_of(rig.a, LARDER_OWNER_PINNED).held_bytes,
                     line_of(pinned, LARDER_OWNER_CACHE).held_bytes);
    assert_ok(larder_pinned_free(pinned, ptr));
    assert_ok(larder_destroy(pinned));
    assert_int_equal(line_of(rig.a, LARDER_OWNER_PINNED).held_bytes, 0);
    rig_down(&rig);
}

static void the_limit_of_a_pool_counts_pages_and_not_addresses(void **state)
{
    static const larder_pool_id id = {7, 1};
    struct rig rig = rig_up("sim:4GiB", "expandable_segments:True");
    larder_addr second = 0;
    larder_addr first;

    (void)state;
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    assert_ok(larder_pool_set_limit(rig.a, id, MIB(200)));
    first = rig_alloc(&rig, MIB(100));
    second = rig_alloc(&rig, MIB(60));
    assert_int_equal(rig_pool_info(&rig, id).reserved_bytes, MIB(160));
    rig_free(&rig, second);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(120), 0, &second));
    assert_ok(larder_pool_end(rig.a, id));
    rig_free(&rig, first);
    rig_down(&rig);
}

/* A page that the device fails to release belongs to no owner, but stays in the
 * account. */
static void memory_the_device_does_not_take_back_is_shown(void **state)
{
    struct rig rig = rig_up("sim:1GiB", "expandable_segments:True");
    larder_addr block = rig_alloc(&rig, MIB(40));

    (void)state;
    rig_free(&rig, block);
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_page_release, 1, 0,
                                 LARDER_ERR_DEVICE));
    (void)larder_empty_cache(rig.a);
    assert_int_equal(line_of(rig.a, LARDER_OWNER_REFUSED).held_bytes, MIB(40));
    assert_int_equal(line_of(rig.a, LARDER_OWNER_CACHE).held_bytes, 0);
    assert_balanced(&rig);
    assert_ok(
        larder_device_fail(rig.dev, LARDER_CALL_page_release, 0, 0, LARDER_OK));
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(line_of(rig.a, LARDER_OWNER_REFUSED).held_bytes, 0);
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_owner_has_a_line_and_they_add_up),
        cmocka_unit_test(memory_of_others_has_its_own_line),
        cmocka_unit_test(a_minimum_is_kept_from_the_others),
        cmocka_unit_test(a_minimum_that_cannot_be_kept_is_refused),
        cmocka_unit_test(a_minimum_may_take_the_last_byte),
        cmocka_unit_test(a_pool_without_users_gets_no_larger_minimum),
        cmocka_unit_test(a_minimum_can_be_lowered_where_it_is_not_there),
        cmocka_unit_test(pending_memory_of_a_paused_tag_is_nobody_s),
        cmocka_unit_test(the_limit_of_the_cache_counts_all_it_holds),
        cmocka_unit_test(pinned_memory_counts_for_the_device_it_is_pinned_for),
        cmocka_unit_test(the_limit_of_a_pool_counts_pages_and_not_addresses),
        cmocka_unit_test(memory_the_device_does_not_take_back_is_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
