/* test_wait.c - a request that waits within a budget: what has ended already
 * costs none of it, and nothing is waited for that will not end. */
#include <stdbool.h>

#include "support/rig.h"

#include "core/entry/handle.h"
#include "core/request/request.h"

#define SPEC "sim:64MiB,backing=none,events=manual"

static struct rig up(const char *conf)
{
    return rig_up_policy(SPEC, LARDER_POLICY_LARDER, conf);
}

static bool wait_one(struct rig *rig, struct request *q)
{
    struct allocator *a;
    bool came;

    assert_ok(larder__handle_lock(rig->a, &a));
    came = larder__request_wait_one(a, q);
    larder__handle_unlock(a);
    return came;
}

static void push_back(struct rig *rig)
{
    struct request q = {.size = 512};
    struct allocator *a;

    assert_ok(larder__handle_lock(rig->a, &a));
    larder__request_limit_pending(a, &q);
    larder__handle_unlock(a);
}

static int64_t active(struct rig *rig)
{
    return rig_stats(rig).active.all.current;
}

static void what_has_ended_needs_no_time(void **state)
{
    struct rig rig = up("reclaim_budget_ms:0");
    struct request q = {.size = 512};

    (void)state;
    rig_leave_pending(&rig, MIB(4), 1);
    assert_ok(larder_sim_complete(rig.dev, 1));
    assert_true(wait_one(&rig, &q));
    assert_false(q.out_of_time);
    assert_int_equal(active(&rig), 0);
    rig_down(&rig);
}

static void what_has_not_ended_uses_up_the_budget(void **state)
{
    struct rig rig = up("reclaim_budget_ms:0");
    struct request q = {.size = 512};

    (void)state;
    rig_leave_pending(&rig, MIB(4), 1);
    assert_false(wait_one(&rig, &q));
    assert_true(q.out_of_time);
    assert_int_equal(active(&rig), 1);
    assert_ok(larder_sim_complete(rig.dev, 1));
    assert_true(wait_one(&rig, &q)); /* looking costs nothing */
    rig_down(&rig);
}

/* Whatever the budget. */
static void nothing_is_waited_for_where_nothing_is_pending(void **state)
{
    static const char *const confs[] = {"", "reclaim_budget_ms:0",
                                        "reclaim_budget_ms:8796093022207"};

    (void)state;
    for (size_t i = 0; i < sizeof confs / sizeof confs[0]; i++) {
        struct rig rig = up(confs[i]);
        struct request q = {.size = 512};

        (void)rig_alloc(&rig, MIB(4));
        assert_false(wait_one(&rig, &q));
        assert_false(q.out_of_time);
        rig_down(&rig);
    }
}

/* The time that has begun goes on over several waits. */
static void a_budget_begins_with_the_first_wait(void **state)
{
    struct rig rig = up("reclaim_budget_ms:8796093022207");
    struct request q = {.size = 512, .give_up_ns = 1};
    struct request fresh = {.size = 512};

    (void)state;
    rig_leave_pending(&rig, MIB(4), 1);
    assert_false(wait_one(&rig, &q));
    assert_true(q.out_of_time);
    assert_int_equal(q.give_up_ns, 1);
    assert_ok(larder_sim_complete(rig.dev, 1));
    assert_true(wait_one(&rig, &fresh));
    assert_true(fresh.give_up_ns > 1);
    rig_down(&rig);
}

/* Each wait is for one, the oldest. */
static void without_a_budget_the_oldest_is_waited_for(void **state)
{
    struct rig rig = up("");
    struct request q = {.size = 512};

    (void)state;
    rig_leave_pending(&rig, MIB(4), 1);
    rig_leave_pending(&rig, MIB(4), 2);
    assert_true(wait_one(&rig, &q));
    assert_int_equal(active(&rig), 1);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_sync), 1);
    assert_true(wait_one(&rig, &q));
    assert_int_equal(active(&rig), 0);
    assert_int_equal(q.give_up_ns, 0);
    rig_down(&rig);
}

/* As much as the limit may wait, and no byte more; but not in a capture. */
static void what_waits_beyond_its_limit_is_waited_for(void **state)
{
    struct rig rig = up("pending_limit:8MiB");

    (void)state;
    rig_leave_pending(&rig, MIB(4), 1);
    rig_leave_pending(&rig, MIB(4), 2);
    push_back(&rig);
    assert_int_equal(active(&rig), 2);
    rig_leave_pending(&rig, 512, 3);
    assert_ok(larder_capture_begin(rig.a));
    push_back(&rig);
    assert_int_equal(active(&rig), 3);
    assert_ok(larder_capture_end(rig.a));
    push_back(&rig);
    assert_int_equal(active(&rig), 2);
    assert_ok(larder_configure(rig.a, "pending_limit:0"));
    push_back(&rig);
    assert_int_equal(active(&rig), 0);
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_ended_needs_no_time),
        cmocka_unit_test(what_has_not_ended_uses_up_the_budget),
        cmocka_unit_test(nothing_is_waited_for_where_nothing_is_pending),
        cmocka_unit_test(a_budget_begins_with_the_first_wait),
        cmocka_unit_test(without_a_budget_the_oldest_is_waited_for),
        cmocka_unit_test(what_waits_beyond_its_limit_is_waited_for),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
