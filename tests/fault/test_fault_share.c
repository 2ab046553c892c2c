/* test_fault_share.c - memory is sent and received, while each request for host
 * memory and each device call fails in turn: nothing is left behind, and
 * sharing works once the fault is removed. */
#include "scenario.h"

#include "support/share_rig.h"

#include <sys/resource.h>

enum { BYTES = 5 << 20, SEED = 3 };

/* Send and receive; a failure leaves nothing behind except in the socket. */
static larder_import *pass(const struct fault *f, struct rig *rig,
                           larder_export *e)
{
    struct pair p = pair_up(SOCK_STREAM);
    larder_import *m = NULL;
    larder_result r = larder_export_send(e, p.near);

    fault_expect(f, r);
    if (r == LARDER_OK) {
        r = larder_import_receive(rig->dev, p.far, &m);
        fault_expect(f, r);
        assert_true((m != NULL) == (r == LARDER_OK));
    }
    pair_down(&p);
    return m;
}

static larder_import *import_end(const struct fault *f, larder_import *m)
{
    larder_result r = larder_import_close(m);

    fault_expect(f, r);
    return r == LARDER_OK ? NULL : m;
}

static int run_once(const struct fault *f, const void *setup)
{
    struct rig rig =
        rig_up_pages("sim:64MiB,export=fd", LARDER_POLICY_LARDER, "");
    larder_addr addr = rig_alloc(&rig, BYTES);
    larder_export *e = NULL;
    larder_import *m = NULL;
    int fired;

    (void)setup;
    pattern_put(addr, BYTES, SEED);
    assert_ok(larder_device_reset_counters(rig.dev));
    fault_plan(f, rig.dev, f->nth);
    fault_expect(f, larder_export_open(rig.a, addr, &e));
    if (e != NULL)
        m = pass(f, &rig, e);
    if (m != NULL)
        m = import_end(f, m);
    assert_ok(larder_export_close(e));
    fired = fault_fired(f, rig.dev);
    fault_off(f, rig.dev);
    assert_ok(larder_check(rig.a));
    assert_ok(larder_import_close(m));
    assert_ok(larder_export_open(rig.a, addr, &e));
    m = pass(f, &rig, e);
    assert_non_null(m);
    pattern_is(import_info(m).addr, BYTES, SEED);
    assert_ok(larder_import_close(m));
    assert_ok(larder_export_close(e));
    rig_free(&rig, addr);
    rig_down(&rig);
    return fired;
}

static unsigned long sweep(struct fault f)
{
    return fault_sweep(f, run_once, NULL);
}

static void every_host_request_may_fail(void **state)
{
    (void)state;
    assert_true(sweep((struct fault){.is_host = 1,
                                     .with = LARDER_ERR_NO_HOST_MEMORY}) >= 3);
}

static void every_device_call_may_fail(void **state)
{
    static const struct {
        larder_call call;
        unsigned long least;
    } calls[] = {
        {LARDER_CALL_page_export, 3},
        {LARDER_CALL_page_import, 3},
        {LARDER_CALL_address_reserve, 1},
        {LARDER_CALL_address_free, 1},
        {LARDER_CALL_map, 3},
        {LARDER_CALL_set_access, 1},
        {LARDER_CALL_unmap, 1},
        {LARDER_CALL_page_release, 3},
    };

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct fault f = {.call = calls[i].call, .with = LARDER_ERR_DEVICE};

        assert_int_equal(sweep(f), calls[i].least);
    }
}

/* This process is at its limit of descriptors, when it sends and when it
 * receives. */
static void descriptors_that_run_out_are_named(void **state)
{
    struct fault none = {.with = LARDER_OK};
    struct rig rig =
        rig_up_pages("sim:64MiB,export=fd", LARDER_POLICY_LARDER, "");
    larder_addr addr = rig_alloc(&rig, BYTES);
    struct pair p = pair_up(SOCK_STREAM);
    larder_export *e = NULL;
    larder_import *m = NULL;
    struct rlimit before, low;
    int next;

    (void)state;
    pattern_put(addr, BYTES, SEED);
    assert_ok(larder_export_open(rig.a, addr, &e));
    assert_ok(larder_export_send(e, p.near));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    next = dup(p.near);
    low = before;
    low.rlim_cur = (rlim_t)next + 2; /* two of three */
    close(next);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    assert_true(larder_export_send(e, p.near) != LARDER_OK);
    assert_refused(LARDER_ERR_SYSTEM, larder_import_receive(rig.dev, p.far, &m),
                   "open no more descriptors");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(dup(p.near), next); /* none was left open */
    close(next);
    pair_down(&p);
    m = pass(&none, &rig, e);
    pattern_is(import_info(m).addr, BYTES, SEED);
    assert_ok(larder_import_close(m));
    assert_ok(larder_export_close(e));
    rig_free(&rig, addr);
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_host_request_may_fail),
        cmocka_unit_test(every_device_call_may_fail),
        cmocka_unit_test(descriptors_that_run_out_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
