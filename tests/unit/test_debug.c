/* test_debug.c - the setting debug:2 reports writes outside of allocations.
 * What it does not check is unaffected, and the level below misses each of
 * these bugs. */
#include "support/debug_rig.h"

#include <larder/share.h>

#define SPEC "sim:64MiB"

static struct rig rig_debug(int policy, int level)
{
    char conf[64];

    snprintf(conf, sizeof conf, "debug:%d,history:1000,history_stacks:fp",
             level);
    return rig_up_policy(SPEC, policies[policy], conf);
}

/* ---- around allocations ------------------------------------------------------ */

static void write_outside(struct rig *rig, int64_t where, const char *words,
                          larder_result expected)
{
    larder_addr before = rig_alloc(rig, 3000);
    larder_addr p = rig_alloc(rig, 1000);
    larder_addr behind = rig_alloc(rig, 3000);

    at(p)[where] = 0x42;
    assert_result(expected, larder_check(rig->a));
    if (expected != LARDER_OK)
        assert_words(words);
    assert_result(expected, larder_free(rig->a, p));
    if (expected != LARDER_OK)
        assert_words(words);
    rig_free(rig, before);
    rig_free(rig, behind);
    assert_ok(larder_check(rig->a));
}

static void a_write_outside_is_reported(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        for (int level = 1; level <= 3; level++) {
            larder_result expected = found(level, LARDER_ERR_OVERWRITTEN);
            struct rig rig = rig_debug(i, level);

            write_outside(&rig, 1000, "0x42 was written 0 bytes behind",
                          expected);
            write_outside(&rig, 1511, "511 bytes behind the end", expected);
            /* Below debug:2 the bytes in front may be an unmapped page. */
            if (level > 1) {
                write_outside(&rig, -1, "0x42 was written 1 bytes before",
                              expected);
                write_outside(&rig, -512, "512 bytes before", expected);
            }
            rig_down(&rig);
        }
    }
}

static void the_place_is_named(void **state)
{
    struct rig rig = rig_debug(0, 2);
    larder_addr p;

    (void)state;
    p = rig_alloc(&rig, 1000);
    at(p)[1000] = 0;
    assert_refused(LARDER_ERR_OVERWRITTEN, larder_free(rig.a, p),
                   "allocated by ");
    assert_words("of 1000 bytes on stream 0");
    rig_down(&rig);
}

static void destroying_reports_overwritten_zones(void **state)
{
    struct rig rig = rig_debug(0, 2);
    larder_addr p = rig_alloc(&rig, 1000);

    (void)state;
    at(p)[-1] = 0;
    assert_refused(LARDER_ERR_OVERWRITTEN, larder_destroy(rig.a),
                   "1 bytes before");
    assert_device_empty(rig.dev);
    assert_ok(larder_device_close(rig.dev));
}

/* ---- after frees --------------------------------------------------------------- */

static void a_write_after_a_free_is_reported(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        for (int level = 1; level <= 2; level++) {
            struct rig rig = rig_debug(i, level);
            larder_addr kept = rig_alloc(&rig, MIB(1));
            larder_addr p = rig_alloc(&rig, KIB(40));

            rig_free(&rig, p);
            if (level > 1 || policies[i] != LARDER_POLICY_DIRECT)
                at(p)[KIB(39)] = 7; /* else it is unmapped and faults */
            if (level == 1)
                assert_ok(larder_check(rig.a));
            else
                assert_refused(LARDER_ERR_OVERWRITTEN, larder_check(rig.a),
                               "it lies 39936 bytes from the beginning");
            if (level == 2)
                at(p)[KIB(39)] = 0xFF;
            rig_free(&rig, kept);
            rig_down(&rig);
        }
    }
}

/* If it is found where no result can report it, the next free reports it. */
static void memory_leaving_the_quarantine_is_checked(void **state)
{
    struct rig rig = rig_debug(0, 2);
    larder_addr p = rig_alloc(&rig, KIB(1500));
    larder_addr all;
    larder_addr other = rig_alloc(&rig, 100);

    (void)state;
    rig_free(&rig, p);
    at(p)[0] = 7;
    all = rig_alloc(&rig, MIB(61)); /* needs the room */
    assert_refused(LARDER_ERR_OVERWRITTEN, larder_free(rig.a, other),
                   "it lies 0 bytes from the beginning");
    rig_free(&rig, all);
    rig_down(&rig);
}

static void the_quarantine_is_bounded(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct rig rig = rig_debug(i, 2);

        for (int n = 0; n < 200; n++)
            rig_free(&rig, rig_alloc(&rig, KIB(300)));
        assert_true((uint64_t)rig_stats(&rig).active_bytes.all.current <=
                    MIB(2));
        assert_true((uint64_t)rig_stats(&rig).active_bytes.all.current >=
                    MIB(1));
        assert_int_equal(rig_stats(&rig).allocated_bytes.all.current, 0);
        assert_ok(larder_empty_cache(rig.a));
        assert_int_equal(rig_reserved(&rig), 0);
        rig_down(&rig);
    }
}

static void unwritten_memory_holds_the_poison(void **state)
{
    struct rig rig = rig_debug(0, 2);
    larder_addr p = rig_alloc(&rig, 1000);
    float value;

    (void)state;
    memcpy(&value, at(p), sizeof value);
    assert_true(value != value);
    memset(at(p), 0, 1000);
    rig_free(&rig, p);
    memcpy(&value, at(p), sizeof value);
    assert_true(value != value);
    at(p)[0] = 0xFF;
    rig_down(&rig);
}

/* ---- debug:3 --------------------------------------------------------------------- */

/* At the level below, a stale address reaches memory and is reported later. */
/* The zone in front, the one behind, the poison. */
static void what_cannot_be_marked_is_not_allocated(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct rig rig = rig_debug(i, 2);
        larder_addr kept = rig_alloc(&rig, 3000);
        larder_addr p;

        for (unsigned long nth = 1; nth <= 3; nth++) {
            assert_ok(larder_device_fail(rig.dev, LARDER_CALL_fill, nth, 1,
                                         LARDER_ERR_DEVICE));
            assert_result(LARDER_ERR_DEVICE, larder_alloc(rig.a, 1000, 0, &p));
            assert_ok(larder_check(rig.a));
            assert_int_equal(rig_stats(&rig).allocation.all.current, 1);
        }
        rig_free(&rig, rig_alloc(&rig, 1000));
        rig_free(&rig, kept);
        assert_ok(larder_check(rig.a));
        rig_down(&rig);
    }
}

static void a_stale_address_faults(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        for (int level = 2; level <= 3; level++) {
            struct rig rig = rig_debug(i, level);
            larder_addr kept = rig_alloc(&rig, KIB(100));
            larder_addr p = rig_alloc(&rig, MIB(12));

            /* Larger than the quarantine: cached memory is not checked. */
            rig_free(&rig, p);
            if (level == 3)
                assert_result(LARDER_ERR_DEVICE,
                              larder_device_fill(rig.dev, p + MIB(6), 0, 1, 0));
            else if (policies[i] != LARDER_POLICY_DIRECT)
                assert_ok(larder_device_fill(rig.dev, p + MIB(6), 0, 1, 0));
            assert_ok(larder_check(rig.a));
            rig_free(&rig, kept);
            rig_down(&rig);
        }
    }
}

/* The same beside other blocks, on devices so large that handles would have
 * many pages.  An access that cannot fault, because others use the same
 * segment, is reported as at the level below. */
static void a_stale_address_among_others_is_noticed(void **state)
{
    static const char *const specs[] = {"sim:2GiB", "sim:32GiB"};

    (void)state;
    for (int i = 0; i < POLICIES * 2; i++) {
        struct rig rig = rig_up_policy(specs[i / POLICIES],
                                       policies[i % POLICIES], "debug:3");
        larder_addr before = rig_alloc(&rig, MIB(4));
        larder_addr p = rig_alloc(&rig, MIB(4));
        larder_addr behind = rig_alloc(&rig, MIB(4));
        larder_result r;

        rig_free(&rig, p);
        r = larder_device_fill(rig.dev, p + MIB(2), 0, 1, 0);
        if (policies[i % POLICIES] == LARDER_POLICY_PYTORCH) {
            assert_ok(r);
            assert_refused(LARDER_ERR_OVERWRITTEN, larder_check(rig.a),
                           "it lies 2097152 bytes from the beginning");
            at(p)[MIB(2)] = 0xFF;
        } else {
            assert_result(LARDER_ERR_DEVICE, r);
        }
        rig_free(&rig, before);
        rig_free(&rig, behind);
        rig_down(&rig);
    }
}

static void leaks_are_reported(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        for (int level = 2; level <= 3; level++) {
            struct rig rig = rig_debug(i, level);
            const larder_pool_id id = {0, 7};

            (void)rig_alloc(&rig, 100);
            (void)rig_alloc(&rig, MIB(3));
            rig_free(&rig, rig_alloc(&rig, MIB(5)));
            assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
            (void)rig_alloc(&rig, 1000);
            assert_ok(larder_pool_end(rig.a, id));
            if (level == 2) {
                assert_ok(larder_destroy(rig.a));
            } else {
                assert_refused(LARDER_ERR_LEAKED, larder_destroy(rig.a),
                               "3 allocations of 3146828 bytes in total");
                assert_words("has 3145728 bytes on stream 0");
                assert_words("allocated by ");
            }
            assert_device_empty(rig.dev);
            assert_ok(larder_device_close(rig.dev));
        }
    }
}

/* ---- streams -------------------------------------------------------------------- */

/* Queued work counts as before the free, whichever way it was queued. */
static void queued_work_is_waited_for(void **state)
{
    struct rig rig = rig_up_policy("sim:64MiB,events=manual",
                                   LARDER_POLICY_LARDER, "debug:2");
    larder_addr p = rig_alloc_on(&rig, 1000, 1);

    (void)state;
    assert_ok(larder_device_fill(rig.dev, p, 1, 1001, 1));
    assert_told_behind(larder_free(rig.a, p));
    p = rig_alloc_on(&rig, 1000, 1);
    assert_ok(larder_device_fill(rig.dev, p, 1, 1000, 1));
    rig_free(&rig, p);
    assert_ok(larder_sim_complete(rig.dev, 1));
    rig_down(&rig);
}

static void a_recorded_stream_may_write_on(void **state)
{
    struct rig rig = rig_up_policy("sim:64MiB,events=manual",
                                   LARDER_POLICY_LARDER, "debug:2");
    larder_addr p = rig_alloc_on(&rig, 1000, 1);

    (void)state;
    assert_ok(larder_record_stream(rig.a, p, 2));
    assert_ok(larder_device_fill(rig.dev, p, 1, 1000, 2));
    rig_free(&rig, p);
    assert_ok(larder_check(rig.a));
    assert_ok(larder_sim_complete(rig.dev, 2));
    assert_ok(larder_check(rig.a));
    rig_free(&rig, rig_alloc_on(&rig, 1000, 1)); /* the stream is queried */
    assert_ok(larder_sim_complete(rig.dev, 1));
    at(p)[5] = 3; /* now it is too late */
    assert_refused(LARDER_ERR_OVERWRITTEN, larder_check(rig.a),
                   "it lies 5 bytes");
    at(p)[5] = 0xFF;
    rig_down(&rig);
}

/* A graph would replay the fills, so nothing is filled. */
static void captures_are_left_alone(void **state)
{
    struct rig rig = rig_debug(0, 2);
    larder_addr p;
    larder_addr q = rig_alloc_on(&rig, 1000, 3);

    (void)state;
    assert_ok(larder_sim_capture_begin(rig.dev, 3));
    p = rig_alloc_on(&rig, 1000, 3);
    memset(at(p - 200), 5, 200);
    at(q)[1000] = 1;
    assert_ok(larder_free(rig.a, p));
    assert_ok(larder_sim_capture_end(rig.dev, 3));
    assert_told_behind(larder_free(rig.a, q));
    rig_down(&rig);
}

/* A device may refuse to wait for any stream while one is captured. */
static void a_capture_elsewhere_ends_nothing(void **state)
{
    (void)state;
    for (int tried = 0; tried < 2; tried++) {
        struct rig rig = rig_debug(0, 2);
        larder_addr before = tried ? rig_alloc_on(&rig, 1000, 1) : 0;
        larder_addr p;

        assert_ok(larder_sim_capture_begin(rig.dev, 3));
        p = rig_alloc_on(&rig, 1000, 1);
        rig_free(&rig, rig_alloc_on(&rig, 1000, 1));
        rig_free(&rig, rig_alloc_on(&rig, 1000, 1));
        assert_ok(larder_sim_capture_end(rig.dev, 3));
        if (tried) {
            at(before)[1000] = 1;
            assert_told_behind(larder_free(rig.a, before));
        }
        at(p)[1000] = 1;
        assert_told_behind(larder_free(rig.a, p));
        rig_down(&rig);
    }
}

/* ---- unaffected memory ----------------------------------------------------------- */

static void addresses_and_counts_are_the_programs(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct rig rig = rig_debug(i, 2);
        larder_addr p = rig_alloc(&rig, 1000);
        larder_addr base = 0;
        uint64_t bytes = 0;
        larder_result r;

        assert_int_equal(p % 512, 0);
        assert_int_equal(rig_stats(&rig).requested_bytes.all.current, 1000);
        assert_int_equal(rig_stats(&rig).allocation.all.current, 1);
        r = larder_base_allocation(rig.a, p, &base, &bytes);
        assert_true(r == LARDER_ERR_UNSUPPORTED ||
                    (base < p && p + 1000 < base + bytes));
        assert_refused(LARDER_ERR_UNKNOWN_ADDRESS, larder_free(rig.a, p + 8),
                       "lies 8 bytes inside");
        assert_refused(LARDER_ERR_UNKNOWN_ADDRESS, larder_free(rig.a, p - 512),
                       "lies 512 bytes before");
        assert_ok(larder_record_stream(rig.a, p, 1));
        rig_free(&rig, p);
        assert_refused(LARDER_ERR_DOUBLE_FREE, larder_free(rig.a, p),
                       "was freed before");
        rig_down(&rig);
    }
}

static void a_device_without_bytes_works_on(void **state)
{
    struct rig rig = rig_up_policy("sim:80GiB,backing=none",
                                   LARDER_POLICY_LARDER, "debug:3");

    (void)state;
    for (int n = 0; n < 100; n++)
        rig_free(&rig, rig_alloc(&rig, MIB(200)));
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_outside_is_reported),
        cmocka_unit_test(the_place_is_named),
        cmocka_unit_test(destroying_reports_overwritten_zones),
        cmocka_unit_test(a_write_after_a_free_is_reported),
        cmocka_unit_test(memory_leaving_the_quarantine_is_checked),
        cmocka_unit_test(the_quarantine_is_bounded),
        cmocka_unit_test(unwritten_memory_holds_the_poison),
        cmocka_unit_test(what_cannot_be_marked_is_not_allocated),
        cmocka_unit_test(a_stale_address_faults),
        cmocka_unit_test(a_stale_address_among_others_is_noticed),
        cmocka_unit_test(leaks_are_reported),
        cmocka_unit_test(queued_work_is_waited_for),
        cmocka_unit_test(a_recorded_stream_may_write_on),
        cmocka_unit_test(captures_are_left_alone),
        cmocka_unit_test(a_capture_elsewhere_ends_nothing),
        cmocka_unit_test(addresses_and_counts_are_the_programs),
        cmocka_unit_test(a_device_without_bytes_works_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
