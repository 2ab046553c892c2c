/* test_order.c - memory that changes its stream or its owner is handed out after
 * the work that still uses it (core/segments/order.h), on a device that waits
 * as a driver does. */
#include "support/rig.h"

enum { OLD = 1, NEW = 2, THIRD = 3, FIRST_BYTE = 0x11, SECOND_BYTE = 0x22 };

static const larder_pool_id pool = {1, 1};
static const larder_policy policies[] = {
    LARDER_POLICY_DIRECT, LARDER_POLICY_PYTORCH, LARDER_POLICY_LARDER};
enum { POLICIES = sizeof policies / sizeof policies[0] };

/* Queue a write to the whole allocation. */
static void use(struct rig *rig, larder_addr addr, uint64_t bytes,
                unsigned char value, larder_stream stream)
{
    assert_ok(larder_device_fill(rig->dev, addr, value, bytes, stream));
}

/* The new owner writes at once; what the former one has queued must not come
 * later. */
static void assert_own(struct rig *rig, larder_addr addr, uint64_t bytes)
{
    const unsigned char *at = (const unsigned char *)(uintptr_t)addr;

    use(rig, addr, bytes, SECOND_BYTE, NEW);
    assert_ok(larder_sim_complete(rig->dev, NEW));
    for (larder_stream s = OLD; s <= THIRD; s++)
        assert_ok(larder_sim_complete(rig->dev, s));
    for (uint64_t i = 0; i < bytes; i += KIB(1))
        assert_int_equal(at[i], SECOND_BYTE);
    assert_int_equal(at[bytes - 1], SECOND_BYTE);
}

/* Freed with work queued on it. */
static void free_in_use(struct rig *rig, larder_addr addr, uint64_t bytes)
{
    use(rig, addr, bytes, FIRST_BYTE, OLD);
    rig_free(rig, addr);
}

/* The next request is placed where `was` was, and its memory is its own. */
static void assert_own_again(struct rig *rig, larder_addr was, uint64_t bytes)
{
    larder_addr now = rig_alloc_on(rig, bytes, NEW);

    assert_int_equal(now, was);
    assert_own(rig, now, bytes);
    rig_free(rig, now);
}

/* ---- pieces ------------------------------------------------------------------ */

static void a_piece_is_carved_after_the_work_on_it(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct rig rig = rig_up_policy("sim:64MiB,events=driver", policies[i],
                                       "preallocate:16MiB");
        larder_addr was = rig_alloc_on(&rig, KIB(4), OLD);

        free_in_use(&rig, was, KIB(4));
        assert_ok(larder_empty_cache(rig.a));
        assert_own_again(&rig, was, KIB(4));
        rig_down(&rig);
    }
}

/* No call but an allocation that runs out of memory; under `direct` not even
 * that. */
static void running_out_carves_a_piece_after_the_work_on_it(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct rig rig =
            rig_up_policy("sim:40MiB,vmm=off,events=driver", policies[i], "");
        larder_addr was;

        assert_ok(larder_reserve(rig.a, MIB(32)));
        was = rig_alloc_on(&rig, MIB(30), OLD);
        free_in_use(&rig, was, MIB(30));
        assert_own_again(&rig, was, MIB(30));
        rig_down(&rig);
    }
}

static void a_released_pools_part_is_carved_after_the_work_on_it(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct rig rig = rig_up_policy("sim:64MiB,events=driver", policies[i],
                                       "preallocate:16MiB");
        larder_addr was = rig_alloc_in(&rig, pool, MIB(10), OLD);

        free_in_use(&rig, was, MIB(10));
        assert_ok(larder_pool_release(rig.a, pool));
        assert_ok(larder_empty_cache(rig.a));
        assert_own_again(&rig, was, MIB(10));
        rig_down(&rig);
    }
}

/* A capture cannot wait, and finds a piece that nothing uses. */
static void a_capture_carves_a_piece_that_is_idle(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct rig rig = rig_up_policy("sim:64MiB,events=driver", policies[i],
                                       "preallocate:16MiB");
        larder_addr was = rig_alloc_on(&rig, MIB(10), OLD);
        larder_addr now;

        free_in_use(&rig, was, MIB(10));
        assert_ok(larder_empty_cache(rig.a));
        assert_ok(larder_pool_begin(rig.a, pool, NULL, NULL));
        assert_ok(larder_sim_capture_begin(rig.dev, NEW));
        now = rig_alloc_on(&rig, MIB(10), NEW);
        assert_ok(larder_sim_capture_end(rig.dev, NEW));
        assert_ok(larder_pool_end(rig.a, pool));
        assert_int_equal(now, was);
        assert_own(&rig, now, MIB(10));
        rig_free(&rig, now);
        assert_ok(larder_pool_release(rig.a, pool));
        rig_down(&rig);
    }
}

/* What cannot be waited for stays where it is. */
static void a_part_whose_stream_cannot_be_waited_for_stays(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct rig rig = rig_up_policy("sim:64MiB,events=driver", policies[i],
                                       "preallocate:16MiB");
        larder_addr was = rig_alloc_on(&rig, MIB(10), OLD);
        larder_addr now;

        use(&rig, was, MIB(10), FIRST_BYTE, OLD);
        assert_ok(larder_device_fail(rig.dev, LARDER_CALL_stream_sync, 1, 0,
                                     LARDER_ERR_DEVICE));
        rig_free(&rig, was);
        (void)larder_empty_cache(rig.a);
        now = rig_alloc_on(&rig, MIB(10), NEW);
        assert_true(now >= was + MIB(10) || now + MIB(10) <= was);
        assert_ok(larder_check(rig.a));
        assert_ok(larder_device_fail(rig.dev, LARDER_CALL_stream_sync, 0, 0,
                                     LARDER_ERR_DEVICE));
        assert_own(&rig, now, MIB(10));
        rig_free(&rig, now);
        rig_down(&rig);
    }
}

/* ---- lending ----------------------------------------------------------------- */

/* A pool that has 30 MiB free on its stream OLD, with work queued on them, and
 * is lent to NEW.  If it is not for graphs its pages may move. */
struct loan {
    struct rig rig;
    larder_addr lent;   /* the pool's */
    larder_addr filler; /* of NEW, so that it has to borrow */
};

static struct loan loan_of(const char *spec, const char *conf, int for_graphs)
{
    struct loan l = {.rig = rig_up_policy(spec, LARDER_POLICY_LARDER, conf)};

    assert_ok(larder_pool_begin(l.rig.a, pool, NULL, NULL));
    assert_ok(larder_pool_set_lending(l.rig.a, pool, !for_graphs));
    l.lent = rig_alloc_on(&l.rig, MIB(30), OLD);
    assert_ok(larder_pool_end(l.rig.a, pool));
    use(&l.rig, l.lent, MIB(30), FIRST_BYTE, OLD);
    rig_free(&l.rig, l.lent);
    assert_ok(larder_pool_lend(l.rig.a, pool, NEW));
    l.filler = rig_alloc_on(&l.rig, MIB(21), NEW);
    return l;
}

static struct loan loan_up(const char *spec, const char *conf)
{
    return loan_of(spec, conf, 1);
}

/* The pool has lost all its users by now, or loses them here. */
static void loan_down(struct loan *l)
{
    if (l->filler != 0)
        rig_free(&l->rig, l->filler);
    while (larder_pool_release(l->rig.a, pool) == LARDER_OK)
        ;
    rig_down(&l->rig);
}

static larder_addr borrow(struct loan *l)
{
    larder_addr addr = rig_alloc_on(&l->rig, MIB(20), NEW);

    assert_in_range(addr, l->lent, l->lent + MIB(10));
    return addr;
}

#define SEGMENTS "sim:64MiB,vmm=off,events=driver"

static const struct {
    const char *spec;
    const char *conf;
} lenders[] = {
    {SEGMENTS, ""},
    {SEGMENTS, "debug:2"},
    {"sim:64MiB,events=driver", ""},
    {"sim:64MiB,events=driver", "expandable_segments:True"},
    {"sim:64MiB,events=driver", "debug:2"},
};
enum { LENDERS = sizeof lenders / sizeof lenders[0] };

static void a_block_is_lent_after_its_own_stream(void **state)
{
    (void)state;
    for (int i = 0; i < LENDERS; i++) {
        struct loan l = loan_up(lenders[i].spec, lenders[i].conf);
        larder_addr q = borrow(&l);

        assert_own(&l.rig, q, MIB(20));
        rig_free(&l.rig, q);
        loan_down(&l);
    }
}

/* It writes on the borrower's stream and in its order. */
static void debug_fills_a_borrowed_block_on_its_borrower(void **state)
{
    struct loan l = loan_up(SEGMENTS, "debug:2");
    const unsigned char *at;
    larder_addr q;

    (void)state;
    assert_ok(larder_sim_complete(l.rig.dev, OLD));
    q = borrow(&l);
    at = (const unsigned char *)(uintptr_t)q;
    use(&l.rig, q, MIB(20), SECOND_BYTE, NEW);
    assert_ok(larder_sim_complete(l.rig.dev, NEW));
    assert_int_equal(*at, SECOND_BYTE);
    assert_ok(larder_sim_complete(l.rig.dev, OLD));
    assert_int_equal(*at, SECOND_BYTE);
    use(&l.rig, q, MIB(20), SECOND_BYTE, NEW);
    rig_free(&l.rig, q); /* its stream was not forgotten */
    loan_down(&l);
}

/* What is queued on the borrower when the pool has its memory back has run. */
static void assert_returned(struct loan *l)
{
    use(&l->rig, l->lent, MIB(30), FIRST_BYTE, OLD);
    assert_ok(larder_sim_complete(l->rig.dev, OLD));
    assert_ok(larder_sim_complete(l->rig.dev, NEW));
    assert_int_equal(*(unsigned char *)(uintptr_t)l->lent, FIRST_BYTE);
}

static larder_result by_recall(struct loan *l)
{
    return larder_pool_recall(l->rig.a, pool);
}

static larder_result by_begin(struct loan *l)
{
    larder_result r = larder_pool_begin(l->rig.a, pool, NULL, NULL);

    return r == LARDER_OK ? larder_pool_end(l->rig.a, pool) : r;
}

static larder_result by_another_loan(struct loan *l)
{
    return larder_pool_lend(l->rig.a, pool, THIRD);
}

static larder_result by_a_checkpoint(struct loan *l)
{
    larder_checkpoint *cp;
    larder_result r;
    size_t count;

    assert_ok(larder_checkpoint_take(l->rig.a, pool, &cp));
    r = larder_checkpoint_restore(l->rig.a, cp, NULL, 0, &count, NULL, 0,
                                  &count);
    larder_checkpoint_destroy(cp);
    return r;
}

static larder_result (*const ends[])(struct loan *) = {
    by_recall, by_begin, by_another_loan, by_a_checkpoint};
enum { ENDS = sizeof ends / sizeof ends[0] };

static void a_loan_ends_after_the_borrowers_work(void **state)
{
    (void)state;
    for (int i = 0; i < LENDERS * ENDS; i++) {
        struct loan l = loan_up(lenders[i / ENDS].spec, lenders[i / ENDS].conf);
        larder_addr q = borrow(&l);

        use(&l.rig, q, MIB(20), SECOND_BYTE, NEW);
        rig_free(&l.rig, q);
        assert_ok(ends[i % ENDS](&l));
        assert_returned(&l);
        loan_down(&l);
    }
}

static void a_loan_that_nobody_used_ends_without_a_wait(void **state)
{
    struct loan l = loan_up(SEGMENTS, "");

    (void)state;
    assert_ok(larder_device_reset_counters(l.rig.dev));
    assert_ok(larder_pool_recall(l.rig.a, pool));
    assert_int_equal(rig_calls(&l.rig, LARDER_CALL_event_record), 0);
    loan_down(&l);
}

/* It cannot wait then, and the pool stays lent. */
static void a_loan_that_was_used_does_not_end_during_a_capture(void **state)
{
    (void)state;
    for (int i = 0; i < ENDS; i++) {
        struct loan l = loan_up(SEGMENTS, "");
        larder_addr q = borrow(&l);

        rig_free(&l.rig, q);
        assert_ok(larder_capture_begin(l.rig.a));
        assert_refused(LARDER_ERR_CAPTURING, ends[i](&l),
                       "the stream it was lent to");
        assert_ok(larder_capture_end(l.rig.a));
        q = borrow(&l);
        rig_free(&l.rig, q);
        assert_ok(ends[i](&l));
        loan_down(&l);
    }
}

static void fail_waits(struct loan *l, int on)
{
    assert_ok(larder_device_fail(l->rig.dev, LARDER_CALL_event_sync,
                                 (uint64_t)on, 0, LARDER_ERR_DEVICE));
}

static void a_loan_does_not_end_before_it_was_waited_for(void **state)
{
    (void)state;
    for (int i = 0; i < ENDS; i++) {
        struct loan l = loan_up(SEGMENTS, "");
        larder_addr q = borrow(&l);

        rig_free(&l.rig, q);
        fail_waits(&l, 1);
        assert_result(LARDER_ERR_DEVICE, ends[i](&l));
        assert_ok(larder_check(l.rig.a));
        fail_waits(&l, 0);
        q = borrow(&l);
        use(&l.rig, q, MIB(20), SECOND_BYTE, NEW);
        rig_free(&l.rig, q);
        assert_ok(ends[i](&l));
        assert_returned(&l);
        loan_down(&l);
    }
}

static void nothing_is_lent_before_its_stream_was_waited_for(void **state)
{
    struct loan l = loan_up(SEGMENTS, "");
    larder_addr q = 0;

    (void)state;
    fail_waits(&l, 1);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(l.rig.a, MIB(20), NEW, &q));
    assert_ok(larder_check(l.rig.a));
    fail_waits(&l, 0);
    q = borrow(&l);
    assert_own(&l.rig, q, MIB(20));
    rig_free(&l.rig, q);
    loan_down(&l);
}

/* To another stream: from a pool in use, and from one that was released.  Work
 * on pages that were moved before would be reported. */
static void pages_of_a_lent_pool_move_after_the_borrowers_work(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct loan l =
            loan_of("sim:64MiB,events=driver", "expandable_segments:True", 0);
        larder_addr q = borrow(&l);
        larder_addr other;

        use(&l.rig, q, MIB(20), SECOND_BYTE, NEW);
        rig_free(&l.rig, q);
        if (i == 1)
            assert_ok(larder_pool_release(l.rig.a, pool));
        other = rig_alloc_on(&l.rig, MIB(34), THIRD);
        assert_ok(larder_sim_complete(l.rig.dev, NEW)); /* nothing is skipped */
        use(&l.rig, other, MIB(34), FIRST_BYTE, THIRD);
        assert_ok(larder_sim_complete(l.rig.dev, THIRD));
        rig_free(&l.rig, other);
        loan_down(&l);
    }
}

/* A lent pool without users is released to the piece that it came from. */
static void a_lent_part_of_a_piece_returns_after_the_borrowers_work(
    void **state)
{
    struct loan l = loan_up(SEGMENTS, "preallocate:62MiB");
    larder_addr q = borrow(&l);
    larder_addr now;

    (void)state;
    use(&l.rig, q, MIB(20), FIRST_BYTE, NEW);
    rig_free(&l.rig, q);
    assert_ok(larder_pool_release(l.rig.a, pool));
    assert_ok(larder_empty_cache(l.rig.a));
    now = rig_alloc_on(&l.rig, MIB(30), THIRD);
    assert_int_equal(now, l.lent);
    use(&l.rig, now, MIB(30), SECOND_BYTE, THIRD);
    assert_ok(larder_sim_complete(l.rig.dev, THIRD));
    assert_ok(larder_sim_complete(l.rig.dev, NEW));
    assert_int_equal(*(unsigned char *)(uintptr_t)now, SECOND_BYTE);
    rig_free(&l.rig, now);
    loan_down(&l);
}

/* Of a borrowed block the pool's own stream is a foreign one. */
static void the_lenders_stream_can_be_recorded(void **state)
{
    (void)state;
    for (int i = 0; i < LENDERS; i++) {
        struct loan l = loan_up(lenders[i].spec, lenders[i].conf);
        larder_addr q = borrow(&l);

        assert_ok(larder_record_stream(l.rig.a, q, OLD));
        assert_ok(larder_record_stream(l.rig.a, q, NEW)); /* its own */
        use(&l.rig, q, MIB(20), SECOND_BYTE, OLD);
        rig_free(&l.rig, q);
        assert_refused(LARDER_ERR_BUSY, larder_pool_recall(l.rig.a, pool),
                       "a recorded stream still uses it");
        assert_ok(larder_sim_complete(l.rig.dev, OLD));
        assert_ok(larder_pool_recall(l.rig.a, pool));
        loan_down(&l);
    }
}

/* Its owner frees it before the checkpoint is restored. */
static void a_checkpoint_does_not_bring_back_what_was_borrowed(void **state)
{
    struct loan l = loan_up(SEGMENTS, "");
    larder_addr q = borrow(&l);
    larder_checkpoint *cp;
    size_t freed;
    size_t created;

    (void)state;
    assert_ok(larder_checkpoint_take(l.rig.a, pool, &cp));
    rig_free(&l.rig, q);
    assert_ok(larder_checkpoint_restore(l.rig.a, cp, NULL, 0, &freed, NULL, 0,
                                        &created));
    assert_int_equal(freed, 0);
    assert_int_equal(created, 0);
    assert_int_equal(rig_pool_info(&l.rig, pool).allocations, 0);
    larder_checkpoint_destroy(cp);
    loan_down(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_piece_is_carved_after_the_work_on_it),
        cmocka_unit_test(running_out_carves_a_piece_after_the_work_on_it),
        cmocka_unit_test(a_released_pools_part_is_carved_after_the_work_on_it),
        cmocka_unit_test(a_capture_carves_a_piece_that_is_idle),
        cmocka_unit_test(a_part_whose_stream_cannot_be_waited_for_stays),
        cmocka_unit_test(a_block_is_lent_after_its_own_stream),
        cmocka_unit_test(debug_fills_a_borrowed_block_on_its_borrower),
        cmocka_unit_test(a_loan_ends_after_the_borrowers_work),
        cmocka_unit_test(a_loan_that_nobody_used_ends_without_a_wait),
        cmocka_unit_test(a_loan_that_was_used_does_not_end_during_a_capture),
        cmocka_unit_test(a_loan_does_not_end_before_it_was_waited_for),
        cmocka_unit_test(nothing_is_lent_before_its_stream_was_waited_for),
        cmocka_unit_test(pages_of_a_lent_pool_move_after_the_borrowers_work),
        cmocka_unit_test(
            a_lent_part_of_a_piece_returns_after_the_borrowers_work),
        cmocka_unit_test(the_lenders_stream_can_be_recorded),
        cmocka_unit_test(a_checkpoint_does_not_bring_back_what_was_borrowed),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
