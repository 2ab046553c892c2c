/* test_lab_faults.c - any request for host memory and any device call may fail:
 * the call reports it, nothing is lost, and the session stays usable. */
#include "kernels/kernels.h"
#include "lab_rig.h"
#include "tensor/host_memory.h"

enum { PLACES_MAX = 200 };

/* Every function that creates something; stops at the first failure. */
static larder_result make_all(lab *l, lab_tensor **made)
{
    const int64_t sizes[] = {40, 40}, large[] = {300, 300};
    larder_result r;

    r = lab_zeros(l, LAB_FLOAT32, LAB_HOST, 2, sizes, &made[0]);
    if (r == LARDER_OK)
        r = lab_randn(l, LAB_FLOAT32, LAB_DEVICE, 2, sizes, &made[1]);
    if (r == LARDER_OK)
        r = lab__tensor_alias(made[1], &made[2]);
    if (r == LARDER_OK)
        r = lab_randperm(l, 100, &made[3]);
    if (r == LARDER_OK)
        r = lab_arange(l, LAB_INT64, LAB_DEVICE, 0, 5000000, 1, &made[4]);
    if (r == LARDER_OK)
        r = lab_rand(l, LAB_FLOAT32, LAB_DEVICE, 2, large, &made[5]);
    if (r == LARDER_OK)
        r = lab__tensor_like(made[5], &made[6]);
    if (r == LARDER_OK)
        r = lab__matmul(made[6], made[5], made[5]);
    if (r == LARDER_OK)
        r = lab__copy(made[0], made[1]);
    return r;
}

enum { MADE = 7 };

static void drop_all(lab_tensor **made)
{
    for (int i = 0; i < MADE; i++) {
        lab_unref(made[i]);
        made[i] = NULL;
    }
}

static larder_result open_small(lab **out)
{
    lab_options opt;

    lab_options_init(&opt);
    opt.device = "sim:1GiB,context=1MiB";
    return lab_open(&opt, out);
}

/* Nothing is left of what was created, and the same works again. */
static void goes_on(lab *l)
{
    lab_tensor *made[MADE] = {NULL};
    lab_memory m = lab_rig_memory(l);

    assert_int_equal(m.tensors, 0);
    assert_int_equal(m.host_bytes, 0);
    assert_int_equal(m.requested_bytes, 0);
    lab_assert_ok(make_all(l, made));
    drop_all(made);
    lab_assert_ok(lab_close(l));
}

/* ---- host memory -------------------------------------------------------- */

static larder_result open_and_make(lab **l, lab_tensor **made)
{
    larder_result r = open_small(l);

    return r == LARDER_OK ? make_all(*l, made) : r;
}

static int host_sweep(void (*plan)(long passes))
{
    for (int i = 0; i < PLACES_MAX; i++) {
        lab_tensor *made[MADE] = {NULL};
        lab *l = NULL;
        larder_result r;

        plan(i);
        r = open_and_make(&l, made);
        plan(-1);
        drop_all(made);
        if (l != NULL)
            goes_on(l);
        if (r == LARDER_OK)
            return i;
        assert_int_equal(r, LARDER_ERR_NO_HOST_MEMORY);
        assert_non_null(strstr(lab_last_error(), "host memory"));
    }
    return PLACES_MAX;
}

static void any_request_for_host_memory_may_fail(void **state)
{
    int places = host_sweep(lab__host_fail_after);

    (void)state;
    /* session, pool, generator; seven tensors, the bytes of two; a product */
    assert_int_equal(places, 3 + 7 + 2 + 1);
    assert_int_equal(host_sweep(lab__host_fail_from), places);
}

/* ---- the device --------------------------------------------------------- */

static int device_sweep(larder_call call, larder_result with)
{
    for (int i = 1; i < PLACES_MAX; i++) {
        lab_tensor *made[MADE] = {NULL};
        lab *l = NULL;
        larder_result r;

        lab_assert_ok(open_small(&l));
        assert_ok(
            larder_device_fail(lab_device(l), call, (uint64_t)i, 0, with));
        r = make_all(l, made);
        assert_ok(larder_device_fail(lab_device(l), call, 0, 0, with));
        drop_all(made);
        goes_on(l);
        if (r == LARDER_OK)
            return i - 1;
        assert_int_equal(r, with);
        assert_string_equal(lab_last_error(), larder_last_error());
    }
    return PLACES_MAX;
}

static void any_call_of_the_device_may_fail(void **state)
{
    (void)state;
    assert_true(device_sweep(LARDER_CALL_mem_alloc, LARDER_ERR_DEVICE) >= 2);
    assert_true(device_sweep(LARDER_CALL_mem_alloc, LARDER_ERR_OUT_OF_MEMORY) >=
                2);
    for (int call = 0; call < LARDER_CALL_COUNT; call++)
        device_sweep((larder_call)call, LARDER_ERR_DEVICE);
}

/* The allocator keeps memory that the device does not take back. */
static void memory_the_device_refuses_to_free_does_no_harm(void **state)
{
    const int64_t size = 1000000;
    lab_options opt;
    lab *l = NULL;
    lab_tensor *t;

    (void)state;
    lab_options_init(&opt);
    opt.policy = LARDER_POLICY_DIRECT;
    lab_assert_ok(lab_open(&opt, &l));
    lab_assert_ok(lab_empty(l, LAB_FLOAT32, LAB_DEVICE, 1, &size, &t));
    assert_ok(larder_device_fail(lab_device(l), LARDER_CALL_mem_free, 1, 1,
                                 LARDER_ERR_DEVICE));
    lab_unref(t);
    lab_assert_ok(lab_zeros(l, LAB_FLOAT32, LAB_DEVICE, 1, &size, &t));
    lab_unref(t);
    assert_int_equal(lab_rig_memory(l).tensors, 0);
    lab_assert_ok(lab_close(l));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_request_for_host_memory_may_fail),
        cmocka_unit_test(any_call_of_the_device_may_fail),
        cmocka_unit_test(memory_the_device_refuses_to_free_does_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
