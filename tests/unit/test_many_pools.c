/* test_many_pools.c - the cost of a private pool does not grow with the number
 * of pools: counted in steps, not in time. */
#include "support/rig.h"

#include "core/entry/handle.h"

enum { POOLS = 200000, FEW = 1000, CHAIN_MAX = 16 };

static larder_pool_id id_of(int i)
{
    /* As programs number them: in one half of the id or in the other. */
    return i % 2 == 0 ? (larder_pool_id){.first = (uint64_t)i + 1}
                      : (larder_pool_id){.second = (uint64_t)i};
}

static const struct allocator *inside(const struct rig *rig)
{
    return handle_allocator(rig->a);
}

static size_t longest_chain(const struct pool_index *index)
{
    size_t longest = 0;

    for (size_t i = 0; i < index->chain_count; i++) {
        size_t length = 0;

        for (const struct private_pool *p = index->chains[i]; p != NULL;
             p = p->chained)
            length++;
        if (length > longest)
            longest = length;
    }
    return longest;
}

static void begin_and_end(struct rig *rig, larder_pool_id id)
{
    assert_ok(larder_pool_begin(rig->a, id, NULL, NULL));
    assert_ok(larder_pool_end(rig->a, id));
}

static void a_pool_is_found_in_few_steps_among_many(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    const struct pool_index *index = &inside(&rig)->privates.index;

    (void)state;
    for (int i = 0; i < POOLS; i++) {
        begin_and_end(&rig, id_of(i));
        if (i == FEW)
            assert_in_range(longest_chain(index), 1, CHAIN_MAX);
    }
    assert_int_equal(index->pool_count, POOLS);
    assert_in_range(longest_chain(index), 1, CHAIN_MAX);
    assert_ok(larder_check(rig.a));
    for (int i = 0; i < POOLS; i++)
        assert_ok(larder_pool_release(rig.a, id_of(i)));
    assert_refused(LARDER_ERR_UNKNOWN_POOL,
                   larder_pool_release(rig.a, id_of(7)), "last user");
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(index->pool_count, 0);
    assert_null(inside(&rig)->privates.first);
    begin_and_end(&rig, id_of(7));
    rig_down(&rig);
}

/* Only pools without users are searched when memory is released. */
static void pools_in_use_are_passed_over(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    const struct allocator *a = inside(&rig);

    (void)state;
    for (int i = 0; i < 100; i++)
        begin_and_end(&rig, id_of(i));
    assert_null(a->privates.unused);
    assert_ok(larder_pool_release(rig.a, id_of(40)));
    assert_ok(larder_pool_release(rig.a, id_of(30)));
    assert_ptr_equal(a->privates.unused->unused_next, a->privates.unused_last);
    assert_ok(larder_empty_cache(rig.a));
    assert_null(a->privates.unused);
    assert_int_equal(a->privates.index.pool_count, 98);
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

/* Any of them may end first. */
static void pools_begun_together_end_in_any_order(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");

    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_ok(larder_pool_begin(rig.a, id_of(i), NULL, NULL));
    for (int i = 0; i < 1000; i++) /* 7 and 1000 have no common factor */
        assert_ok(larder_pool_end(rig.a, id_of(i * 7 % 1000)));
    assert_null(inside(&rig)->routes);
    assert_refused(LARDER_ERR_UNKNOWN_POOL, larder_pool_end(rig.a, id_of(3)),
                   "is not begun");
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_is_found_in_few_steps_among_many),
        cmocka_unit_test(pools_in_use_are_passed_over),
        cmocka_unit_test(pools_begun_together_end_in_any_order),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
