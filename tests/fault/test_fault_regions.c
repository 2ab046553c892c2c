/* test_fault_regions.c - a region sleeps and wakes, while each request for host
 * memory and each device call fails in turn: contents are kept, and everything
 * works once the fault is removed. */
#include <stdbool.h>

#include "scenario.h"

#include <larder/region.h>

#define PAGE ((uint64_t)LARDER_REGION_PAGE)

enum { PAGES = 32 };

static const bool is_used[PAGES] = {
    [0] = true,  [1] = true,  [2] = true,  [3] = true,  [4] = true, [5] = true,
    [10] = true, [11] = true, [13] = true, [14] = true, [15] = true};

static unsigned char *page_of(larder_region *kv, unsigned i)
{
    larder_region_info info = {.size = sizeof info};

    assert_ok(larder_region_get_info(kv, &info));
    return (unsigned char *)(uintptr_t)(info.addr + i * PAGE);
}

static bool is_paused(larder_region *kv)
{
    larder_region_info info = {.size = sizeof info};

    assert_ok(larder_region_get_info(kv, &info));
    return info.is_paused;
}

static void commit(larder_region *kv, uint64_t page, uint64_t count)
{
    assert_ok(larder_region_commit(kv, page * PAGE, count * PAGE));
}

/* Two committed runs, and an idle page in one of them. */
static larder_region *region_up(struct rig *rig)
{
    larder_region_options opt;
    larder_region *kv;

    larder_region_options_init(&opt);
    assert_ok(larder_region_create(rig->a, PAGES * PAGE, &opt, &kv));
    commit(kv, 0, 3);
    commit(kv, 3, 3);
    commit(kv, 10, 6);
    assert_ok(larder_region_decommit(kv, 12 * PAGE, PAGE));
    for (unsigned i = 0; i < PAGES; i++) {
        if (is_used[i])
            memset(page_of(kv, i), (int)i + 1, PAGE);
    }
    return kv;
}

static void verify(struct rig *rig, larder_region *kv)
{
    assert_ok(larder_check(rig->a));
    for (unsigned i = 0; i < PAGES && !is_paused(kv); i++) {
        const unsigned char *p = page_of(kv, i);

        if (is_used[i])
            assert_true(p[0] == i + 1 && p[PAGE - 1] == i + 1);
    }
}

/* Whether the fault struck. */
static int run_once(const struct fault *f, const void *conf)
{
    struct rig rig = rig_up_policy("sim:64MiB", LARDER_POLICY_LARDER, conf);
    larder_region *kv = region_up(&rig);
    larder_result r;
    int fired;

    assert_ok(larder_device_reset_counters(rig.dev));
    fault_plan(f, rig.dev, f->nth);
    r = larder_region_pause(kv, LARDER_PAUSE_KEEP);
    fault_expect(f, r);
    verify(&rig, kv);
    if (is_paused(kv)) {
        r = larder_region_resume(kv);
        fault_expect(f, r);
        assert_int_equal(is_paused(kv), r != LARDER_OK);
    }
    verify(&rig, kv);
    fired = fault_fired(f, rig.dev);
    fault_off(f, rig.dev);
    if (is_paused(kv))
        assert_ok(larder_region_resume(kv));
    verify(&rig, kv);
    assert_ok(larder_region_pause(kv, LARDER_PAUSE_KEEP));
    assert_ok(larder_region_resume(kv));
    verify(&rig, kv);
    assert_ok(larder_region_destroy(kv));
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_reserved(&rig), 0);
    rig_down(&rig);
    return fired;
}

static void every_host_request_may_fail(void **state)
{
    struct fault f = {.is_host = 1, .with = LARDER_ERR_NO_HOST_MEMORY};

    (void)state;
    assert_true(fault_sweep(f, run_once, "") >= 1);
}

static void every_device_call_may_fail(void **state)
{
    static const struct fault_place calls[] = {
        {LARDER_CALL_page_create, 2},  {LARDER_CALL_page_release, 3},
        {LARDER_CALL_map, 2},          {LARDER_CALL_unmap, 2},
        {LARDER_CALL_set_access, 2},   {LARDER_CALL_copy, 6},
        {LARDER_CALL_event_record, 2}, {LARDER_CALL_event_sync, 2},
        {LARDER_CALL_host_alloc, 1},   {LARDER_CALL_host_free, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        fault_sweep_call(&calls[i], run_once, "");
}

/* The copy of the contents is queued and cannot be waited for: neither the host
 * memory nor the pages are released while it may run, and it completes
 * later. */
static void a_copy_that_cannot_be_waited_for_is_not_cut_off(void **state)
{
    struct rig rig =
        rig_up_policy("sim:64MiB,events=manual", LARDER_POLICY_LARDER, "");
    larder_region *kv = region_up(&rig);
    larder_region_info info = {.size = sizeof info};

    (void)state;
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_event_record, 2, 0,
                                 LARDER_ERR_DEVICE));
    assert_result(LARDER_ERR_DEVICE,
                  larder_region_pause(kv, LARDER_PAUSE_KEEP));
    assert_ok(larder_region_get_info(kv, &info));
    assert_false(info.is_paused);
    assert_int_equal(info.kept_bytes, 11 * PAGE); /* the copy may write there */
    assert_ok(
        larder_device_fail(rig.dev, LARDER_CALL_event_record, 0, 0, LARDER_OK));
    verify(&rig, kv);
    assert_ok(larder_region_pause(kv, LARDER_PAUSE_KEEP));
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_event_record, 1, 0,
                                 LARDER_ERR_DEVICE));
    assert_result(LARDER_ERR_DEVICE, larder_region_resume(kv));
    assert_true(is_paused(kv));
    assert_ok(larder_region_get_info(kv, &info));
    assert_int_equal(info.held_bytes, 11 * PAGE); /* and read here */
    assert_ok(
        larder_device_fail(rig.dev, LARDER_CALL_event_record, 0, 0, LARDER_OK));
    assert_ok(larder_region_resume(kv));
    verify(&rig, kv);
    assert_ok(larder_region_get_info(kv, &info));
    assert_int_equal(info.kept_bytes, 0);
    assert_ok(larder_region_destroy(kv));
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_host_request_may_fail),
        cmocka_unit_test(every_device_call_may_fail),
        cmocka_unit_test(a_copy_that_cannot_be_waited_for_is_not_cut_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
