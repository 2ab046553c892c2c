/* test_preload_faults.c - each request for host memory and each driver call
 * fails in turn: the program gets a result, no rule of the driver is broken,
 * and nothing is left behind. */
#include "preload_rig.h"

#include "base/host.h"

struct run {
    cud_context own;
    cud_stream stream;
    int failures;
};

static void want(struct run *r, cud_result answer)
{
    r->failures += answer != CUD_SUCCESS;
}

/* Memory that the driver does not take back still belongs to the program. */
static void give_if(struct run *r, cud_addr addr)
{
    cud_result answer = addr == 0 ? CUD_SUCCESS : cuMemFree_v2(addr);

    want(r, answer);
    if (answer != CUD_SUCCESS)
        want(r, cuMemFree_v2(addr));
}

static void release_if(struct run *r, cud_page page)
{
    cud_result answer = page == 0 ? CUD_SUCCESS : cuMemRelease(page);

    want(r, answer);
    if (answer != CUD_SUCCESS)
        want(r, cuMemRelease(page));
}

/* Allocates and frees memory of every kind, and skips what fails. */
static void scenario(struct run *r)
{
    const cud_page_prop prop = {.type = CUD_PAGE_PINNED,
                                .location = {.type = CUD_ON_DEVICE, .id = 0}};
    cud_addr held = 0;
    cud_addr ordered = 0;
    cud_addr big = 0;
    cud_page page = 0;
    size_t free_bytes;
    size_t total;

    want(r, cuMemAlloc_v2(&held, MIB(30)));
    want(r, cuMemAllocAsync(&ordered, KIB(4), r->stream));
    want(r, cuMemGetInfo_v2(&free_bytes, &total));
    if (ordered != 0)
        want(r, cuMemFreeAsync(ordered, NULL));
    give_if(r, held);
    held = 0;
    want(r, cuMemAlloc_v2(&held, MIB(25)));
    want(r, cuMemCreate(&page, MIB(200), &prop, 0));
    release_if(r, page);
    want(r, cuMemAlloc_v2(&big, MIB(200)));
    give_if(r, big);
    give_if(r, held);
}

/* Refused memory may still wait to be released: a later attempt does it. */
static void assert_nothing_left(void)
{
    assert_ok(larder_preload_empty_cache(0));
    assert_int_equal(stats_now().live_bytes, 0);
    assert_int_equal(stats_now().outside_bytes, 0);
    assert_int_equal(stats_now().held_bytes, 0);
    if (fake()->broken() != 0)
        print_error("broken rules:\n%s", fake()->lines());
    assert_int_equal(fake()->broken(), 0);
}

static void set_up_run(struct run *r)
{
    r->own = rig_context(0);
    r->stream = new_stream();
    r->failures = 0;
    release(allocate(512));
    (void)larder_preload_empty_cache(0);
    fake()->forget();
}

static void tear_down_run(struct run *r)
{
    assert_int_equal(cuStreamDestroy_v2(r->stream), CUD_SUCCESS);
}

static void every_host_allocation_may_fail(void **state)
{
    int failed = 0;

    (void)state;
    for (unsigned long times = 0; times <= 1; times++) {
        struct run r = {.failures = 1};

        for (unsigned long n = 1; r.failures != 0; n++) {
            set_up_run(&r);
            larder__host_fail(n, times);
            scenario(&r);
            larder__host_fail(0, 0);
            failed += r.failures != 0;
            assert_nothing_left();
            tear_down_run(&r);
        }
    }
    assert_true(failed > 5);
}

static void every_call_of_the_driver_may_fail(void **state)
{
    static const int answers[] = {CUD_OUT_OF_MEMORY, CUD_UNKNOWN};
    int failed = 0;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        for (unsigned long n = 1; n < 120; n++) {
            struct run r;

            set_up_run(&r);
            fake()->plan(NULL, n, 1, answers[i]);
            scenario(&r);
            fake()->plan(NULL, 0, 0, 0);
            failed += r.failures != 0;
            assert_nothing_left();
            tear_down_run(&r);
        }
    }
    assert_true(failed > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_host_allocation_may_fail),
        cmocka_unit_test(every_call_of_the_driver_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
