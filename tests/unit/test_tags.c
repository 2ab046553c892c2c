/* test_tags.c - named sets of allocations: what they hold, and what they are
 * allowed to hold. */
#include "support/host_faults.h"
#include "support/tag_rig.h"

#include <pthread.h>

/* ---- tags -------------------------------------------------------------------- */

static void a_tag_has_what_was_allocated_for_it(void **state)
{
    (void)state;
    for (int i = 0; i < WAYS; i++) {
        struct rig rig = way_up("sim:256MiB", i);
        larder_addr other = rig_alloc(&rig, 5000);
        larder_addr small = tagged(&rig, "kv", 5000);
        larder_addr large = tagged(&rig, "kv", MIB(30));
        larder_tag_usage usage = usage_of(&rig, "kv");

        assert_int_equal(usage.allocation_count, 2);
        assert_int_equal(usage.requested_bytes, 5000 + MIB(30));
        assert_int_equal(usage.allocated_bytes, 5120 + MIB(30));
        assert_int_equal(usage.reserved_bytes, MIB(2) + MIB(40));
        assert_int_equal(usage.limit_bytes, 0);
        assert_false(usage.is_paused);
        rig_free(&rig, large);
        usage = usage_of(&rig, "kv");
        assert_int_equal(usage.allocation_count, 1);
        assert_int_equal(usage.requested_bytes, 5000);
        assert_int_equal(usage.allocated_bytes, 5120);
        assert_int_equal(usage.peak_allocated_bytes, 5120 + MIB(30));
        assert_int_equal(usage.reserved_bytes, MIB(2) + MIB(40));
        assert_ok(larder_empty_cache(rig.a));
        usage = usage_of(&rig, "kv");
        assert_int_equal(usage.reserved_bytes, MIB(2));
        assert_int_equal(usage.peak_reserved_bytes, MIB(2) + MIB(40));
        rig_free(&rig, small);
        rig_free(&rig, other);
        assert_ok(larder_empty_cache(rig.a));
        assert_int_equal(rig_reserved(&rig), 0);
        rig_down(&rig);
    }
}

/* A tag comes whole or not at all. */
static void a_tag_that_gets_no_host_memory_is_not_there(void **state)
{
    struct rig rig = way_up("sim:256MiB", 2);
    larder_result r = LARDER_ERR_NO_HOST_MEMORY;
    unsigned long nth = 0;

    (void)state;
    while (r != LARDER_OK) {
        larder__host_fail(++nth, 1);
        r = larder_tag_begin(rig.a, "kv");
        larder__host_fail(0, 0);
        if (r == LARDER_OK)
            break;
        assert_result(LARDER_ERR_NO_HOST_MEMORY, r);
        assert_result(LARDER_ERR_INVALID, larder_tag_end(rig.a));
        assert_ok(larder_check(rig.a));
    }
    assert_true(nth > 2);
    (void)rig_alloc(&rig, MIB(2));
    assert_ok(larder_tag_end(rig.a));
    assert_int_equal(usage_of(&rig, "kv").allocation_count, 1);
    rig_down(&rig);
}

static void tags_nest_and_belong_to_one_allocator(void **state)
{
    struct rig rig = way_up("sim:256MiB", 2);
    struct rig other = way_up("sim:256MiB,count=2", 2);

    (void)state;
    assert_ok(larder_tag_begin(rig.a, "outer"));
    assert_ok(larder_tag_begin(other.a, "elsewhere"));
    assert_ok(larder_tag_begin(rig.a, "inner"));
    rig_alloc(&rig, 1000);
    rig_alloc(&other, 1000);
    assert_ok(larder_tag_end(rig.a));
    rig_alloc(&rig, 1000);
    rig_alloc(&rig, 1000);
    assert_ok(larder_tag_end(rig.a));
    rig_alloc(&rig, 1000);
    assert_int_equal(usage_of(&rig, "inner").allocation_count, 1);
    assert_int_equal(usage_of(&rig, "outer").allocation_count, 2);
    assert_int_equal(usage_of(&other, "elsewhere").allocation_count, 1);
    assert_refused(LARDER_ERR_INVALID, larder_tag_end(rig.a), "begun no tag");
    rig_down(&other); /* while its tag is begun */
    for (int i = 0; i < 16; i++)
        assert_ok(larder_tag_begin(rig.a, "deep"));
    assert_refused(LARDER_ERR_INVALID, larder_tag_begin(rig.a, "deep"),
                   "begun 16 tags");
    for (int i = 0; i < 16; i++)
        assert_ok(larder_tag_end(rig.a));
    rig_down(&rig);
}

static void *allocate_elsewhere(void *arg)
{
    struct rig *rig = arg;

    rig_alloc(rig, 3000);
    return NULL;
}

static void a_tag_is_its_thread_s(void **state)
{
    struct rig rig = way_up("sim:256MiB", 2);
    pthread_t thread;

    (void)state;
    assert_ok(larder_tag_begin(rig.a, "mine"));
    rig_alloc(&rig, 3000);
    assert_int_equal(pthread_create(&thread, NULL, allocate_elsewhere, &rig),
                     0);
    pthread_join(thread, NULL);
    assert_ok(larder_tag_end(rig.a));
    assert_int_equal(usage_of(&rig, "mine").allocation_count, 1);
    assert_int_equal(rig_stats(&rig).allocation.all.current, 2);
    rig_down(&rig);
}

static void a_wrong_tag_is_named(void **state)
{
    struct rig rig = way_up("sim:256MiB", 2);
    larder_tag_usage usage = {.size = sizeof usage};
    char name[80];

    (void)state;
    memset(name, 'n', sizeof name);
    name[64] = '\0';
    assert_refused(LARDER_ERR_INVALID, larder_tag_begin(rig.a, name),
                   "expected 1 to 63 bytes");
    assert_refused(LARDER_ERR_INVALID, larder_tag_begin(rig.a, ""),
                   "expected 1 to 63 bytes");
    assert_refused(LARDER_ERR_INVALID, larder_tag_begin(rig.a, NULL),
                   "expected 1 to 63 bytes");
    name[63] = '\0';
    assert_ok(larder_tag_begin(rig.a, name));
    assert_ok(larder_tag_end(rig.a));
    assert_refused(LARDER_ERR_INVALID, larder_tag_stats(rig.a, "no", &usage),
                   "no tag 'no'");
    assert_refused(LARDER_ERR_INVALID,
                   larder_pause(rig.a, "no", LARDER_PAUSE_KEEP), "no tag 'no'");
    assert_refused(LARDER_ERR_INVALID,
                   larder_pause(rig.a, name, (larder_pause_mode)0),
                   "not a pause mode");
    assert_refused(LARDER_ERR_INVALID, larder_resume(rig.a, name),
                   "is not paused");
    usage.size = 0;
    assert_refused(LARDER_ERR_INVALID, larder_tag_stats(rig.a, name, &usage),
                   "set its size");
    rig_down(&rig);
}

/* ---- limits -------------------------------------------------------------------- */

static void a_tag_holds_no_more_than_its_limit(void **state)
{
    (void)state;
    for (int i = 0; i < WAYS; i++) {
        struct rig rig = way_up("sim:256MiB", i);
        larder_addr addr = 0, first;
        uint64_t calls;

        assert_ok(larder_tag_limit(rig.a, "kv", MIB(60)));
        first = tagged(&rig, "kv", MIB(35));
        calls = rig_calls(&rig, LARDER_CALL_page_create);
        assert_ok(larder_tag_begin(rig.a, "kv"));
        assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                       larder_alloc(rig.a, MIB(25), 0, &addr),
                       "The tag 'kv' may hold 60.00 MiB and holds 40.00 MiB; "
                       "this request needs ");
        assert_true(atof(strstr(larder_last_error(), "request needs ") + 14) >
                    60 - 40);
        if (ways[i].policy == LARDER_POLICY_LARDER)
            assert_words("Why: the tag's limit.");
        assert_int_equal(addr, 0);
        rig_free(&rig, first); /* makes the room */
        addr = rig_alloc_on(&rig, MIB(45), 1);
        assert_ok(larder_tag_end(rig.a));
        assert_true(rig_calls(&rig, LARDER_CALL_page_create) > calls);
        assert_int_equal(usage_of(&rig, "kv").refused_count, 1);
        assert_int_equal(usage_of(&rig, "kv").reserved_bytes, MIB(60));
        assert_ok(larder_tag_limit(rig.a, "kv", 0));
        tagged(&rig, "kv", MIB(100));
        rig_down(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tag_has_what_was_allocated_for_it),
        cmocka_unit_test_teardown(a_tag_that_gets_no_host_memory_is_not_there,
                                  end_host_faults),
        cmocka_unit_test(tags_nest_and_belong_to_one_allocator),
        cmocka_unit_test(a_tag_is_its_thread_s),
        cmocka_unit_test(a_wrong_tag_is_named),
        cmocka_unit_test(a_tag_holds_no_more_than_its_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
