/* test_fault_hints.c - allocations with hints on a device that is nearly full,
 * while every driver call and every request for host memory involved fails in
 * turn. */
#include "fault/scenario.h"

#include <larder/hint.h>

static void put_hinted(struct scenario *s, int i, uint64_t bytes,
                       larder_hint hint)
{
    struct slot slot = {.bytes = bytes};

    if (!TRY(s, larder_alloc_hinted(s->rig.a, bytes, (larder_stream)i % 2, hint,
                                    &slot.addr))) {
        assert_int_equal(slot.addr, 0);
        return;
    }
    pattern_write(s, &slot);
    s->slots[i] = slot;
}

/* Short-lived large blocks and long-lived small ones, until pages have to
 * move. */
static void everything_once(struct scenario *s)
{
    int small = SLOTS / 2;

    put_hinted(s, 0, MIB(30), LARDER_HINT_SHORT); /* nearly full from here on */
    drop(s, 0);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 20; i++) {
            put_hinted(s, i, KIB(1500) + (uint64_t)i * 1000, LARDER_HINT_SHORT);
            put_hinted(s, small++, KIB(600) + (uint64_t)i * 5000,
                       LARDER_HINT_LONG);
            if (i % 5 == 0)
                use(s, i, 3);
        }
        drop_range(s, 0, 20, 1);
        TRY(s, larder_sim_complete(s->rig.dev, 3));
        put_hinted(s, 20, MIB(30), LARDER_HINT_NONE);
        drop(s, 20);
    }
    drop_range(s, SLOTS / 2, small, 1);
}

/* Whether the fault struck. */
static int run_once(const struct fault *f, const void *setup)
{
    struct scenario s = {.fault = f, .conf = "", .has_memory = 1};
    int fired;

    (void)setup;
    s.rig = rig_up_pages("sim:64MiB,events=manual", LARDER_POLICY_LARDER, "");
    fault_plan(f, s.rig.dev, f->nth);
    everything_once(&s);
    fired = f->nth != 0 && fault_fired(f, s.rig.dev);
    fault_off(f, s.rig.dev);
    scenario_verify(&s);
    put(&s, 0, MIB(64), 0);
    drop(&s, 0);
    if (f->nth == 0)
        assert_int_equal(s.failures, 0);
    rig_down(&s.rig);
    return fired;
}

static unsigned long sweep(struct fault f)
{
    return fault_sweep(f, run_once, NULL);
}

static void without_a_fault_all_fits(void **state)
{
    const struct fault f = {.call = LARDER_CALL_map, .with = LARDER_ERR_DEVICE};

    (void)state;
    run_once(&f, NULL);
}

static void every_device_call_may_fail(void **state)
{
    static const larder_call calls[] = {
        LARDER_CALL_page_create,     LARDER_CALL_map,
        LARDER_CALL_unmap,           LARDER_CALL_set_access,
        LARDER_CALL_event_create,    LARDER_CALL_event_record,
        LARDER_CALL_address_reserve,
    };

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        assert_true(sweep((struct fault){.call = calls[i],
                                         .with = LARDER_ERR_DEVICE}) > 0);
    assert_true(sweep((struct fault){.call = LARDER_CALL_page_create,
                                     .with = LARDER_ERR_OUT_OF_MEMORY}) > 0);
}

static void every_host_request_may_fail(void **state)
{
    (void)state;
    assert_true(sweep((struct fault){.is_host = 1,
                                     .with = LARDER_ERR_NO_HOST_MEMORY}) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_fault_all_fits),
        cmocka_unit_test_teardown(every_device_call_may_fail, end_host_faults),
        cmocka_unit_test_teardown(every_host_request_may_fail, end_host_faults),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
