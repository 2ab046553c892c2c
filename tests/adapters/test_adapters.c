/* test_adapters.c - the functions for CuPy, RMM and ONNX Runtime, called as
 * those libraries call them, on the stand-in driver. */
#include "cuda/cuda_rig.h"

#include <larder/adapters.h>

static larder_adapter *adapter;

static int set_up(void **state)
{
    larder_adapter_options opt;
    cud_context own = NULL;

    (void)state;
    assert_int_equal(DRIVER(cuInit)(0), CUD_SUCCESS);
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRetain)(&own, 0), CUD_SUCCESS);
    assert_int_equal(DRIVER(cuCtxSetCurrent)(own), CUD_SUCCESS);
    larder_adapter_options_init(&opt);
    opt.conf = "";
    assert_ok(larder_adapter_open(&opt, &adapter));
    larder_cupy_set_stream(0);
    return 0;
}

static int tear_down(void **state)
{
    unsigned long broken = fake()->broken();
    cud_context popped;

    (void)state;
    if (broken != 0)
        print_error("broken rules:\n%s", fake()->lines());
    fake()->forget();
    assert_ok(larder_adapter_close(adapter));
    DRIVER(cuCtxPopCurrent_v2)(&popped);
    return broken != 0;
}

static cud_stream new_stream(void)
{
    cud_stream stream = NULL;

    assert_int_equal(DRIVER(cuStreamCreate)(&stream, 1), CUD_SUCCESS);
    return stream;
}

static uint64_t allocated(int device)
{
    larder_allocator *a;
    larder_stats st;

    assert_ok(larder_adapter_allocator(adapter, device, &a));
    larder_stats_init(&st);
    assert_ok(larder_stats_get(a, &st));
    return (uint64_t)st.allocated_bytes.all.current;
}

/* ---- opening ----------------------------------------------------------------- */

static void wrong_options_are_reported_on_opening(void **state)
{
    larder_adapter_options opt;
    larder_adapter *none = NULL;

    (void)state;
    larder_adapter_options_init(&opt);
    opt.device = "cuda:9";
    assert_refused(LARDER_ERR_INVALID, larder_adapter_open(&opt, &none),
                   "no device 9");
    opt.device = NULL;
    opt.conf = "limit:lots";
    assert_refused(LARDER_ERR_CONF, larder_adapter_open(&opt, &none), "limit");
    assert_null(none);
    assert_int_equal(larder_adapter_open(NULL, NULL), LARDER_ERR_INVALID);
    assert_ok(larder_adapter_close(NULL));
}

static void settings_hold_for_every_device(void **state)
{
    larder_adapter_options opt;
    larder_adapter *small;

    (void)state;
    larder_adapter_options_init(&opt);
    opt.conf = "limit:2MiB";
    assert_ok(larder_adapter_open(&opt, &small));
    for (int device = 0; device < 2; device++) {
        assert_null(larder_cupy_malloc(small, MIB(3), device));
        assert_words("out of memory");
        assert_non_null(larder_cupy_malloc(small, 512, device));
    }
    assert_ok(larder_adapter_close(small)); /* while memory is allocated */
}

/* ---- CuPy ---------------------------------------------------------------------- */

static void cupy_memory_belongs_to_a_device_and_the_thread_s_stream(
    void **state)
{
    cud_stream stream = new_stream();
    void *first;
    void *second;

    (void)state;
    larder_cupy_set_stream((uintptr_t)stream);
    first = larder_cupy_malloc(adapter, MIB(3), 0);
    assert_non_null(first);
    assert_int_equal(allocated(0), MIB(3));
    assert_int_equal(allocated(1), 0);
    larder_cupy_free(adapter, first, 0);
    larder_cupy_set_stream(0);
    second = larder_cupy_malloc(adapter, MIB(3), 0);
    assert_ptr_not_equal(second, first);
    larder_cupy_set_stream((uintptr_t)stream);
    assert_ptr_equal(larder_cupy_malloc(adapter, MIB(3), 0), first);
    larder_cupy_free(adapter, first, 0);
    larder_cupy_free(adapter, second, 0);
    larder_cupy_free(adapter, NULL, 0);
    assert_int_equal(allocated(1), 0);
    larder_cupy_set_stream(0);
    assert_non_null(larder_cupy_malloc(adapter, MIB(3), 1));
    assert_int_equal(allocated(1), MIB(3));
    assert_int_equal(allocated(0), 0);
    larder_cupy_set_stream(2);
    assert_null(larder_cupy_malloc(adapter, 512, 0));
    assert_null(larder_cupy_malloc(adapter, 512, -1));
}

/* ---- RMM ------------------------------------------------------------------------ */

static void rmm_memory_is_reused_in_its_stream_s_order(void **state)
{
    cud_stream stream = new_stream();
    void *first = larder_rmm_allocate(MIB(3), stream, adapter);

    (void)state;
    larder_rmm_deallocate(first, MIB(3), stream, adapter);
    assert_ptr_equal(larder_rmm_allocate(MIB(3), stream, adapter), first);
    larder_rmm_deallocate(first, MIB(3), stream, adapter);
    larder_rmm_deallocate(NULL, 0, stream, adapter);
    assert_int_equal(allocated(0), 0);
    assert_null(larder_rmm_allocate(GIB(1), stream, adapter));
}

static void rmm_memory_given_back_elsewhere_waits_for_that(void **state)
{
    cud_stream stream = new_stream();
    cud_stream other = new_stream();
    void *first = larder_rmm_allocate(MIB(24), stream, adapter);
    void *second;

    (void)state;
    assert_int_equal(
        DRIVER(cuMemsetD8Async)((uintptr_t)first, 1, MIB(24), other), 0);
    larder_rmm_deallocate(first, MIB(24), other, adapter);
    second = larder_rmm_allocate(MIB(24), stream, adapter);
    assert_ptr_not_equal(second, first);
    larder_rmm_deallocate(second, MIB(24), stream, adapter);
    assert_int_equal(DRIVER(cuStreamSynchronize)(other), CUD_SUCCESS);
    second = larder_rmm_allocate(MIB(24), stream, adapter);
    larder_rmm_deallocate(second, MIB(24), stream, adapter);
}

static void the_two_names_of_the_default_stream_are_one(void **state)
{
    void *legacy = (void *)(uintptr_t)1;
    void *first = larder_rmm_allocate(MIB(3), NULL, adapter);

    (void)state;
    larder_rmm_deallocate(first, MIB(3), legacy, adapter);
    assert_ptr_equal(larder_rmm_allocate(MIB(3), legacy, adapter), first);
    larder_rmm_deallocate(first, MIB(3), NULL, adapter);
}

static void a_thread_s_own_stream_is_waited_for(void **state)
{
    void *own = (void *)(uintptr_t)2;
    void *first = larder_rmm_allocate(MIB(3), own, adapter);
    unsigned long waits = fake()->calls("cuStreamSynchronize");

    (void)state;
    larder_rmm_deallocate(first, MIB(3), own, adapter);
    assert_int_equal(fake()->calls("cuStreamSynchronize"), waits + 1);
}

/* ---- ONNX Runtime ------------------------------------------------------------------ */

static void sessions_have_memory_of_their_own(void **state)
{
    larder_ort_functions one;
    larder_ort_functions two;
    void *first;
    void *second;

    (void)state;
    assert_ok(larder_ort_functions_take(adapter, 0, &one));
    assert_ok(larder_ort_functions_take(adapter, 1, &two));
    first = one.alloc(MIB(3));
    one.free(first);
    second = two.alloc(MIB(3));
    assert_non_null(second);
    assert_ptr_equal(one.alloc(MIB(3)), first);
    one.free(first);
    one.free(NULL);
    one.empty_cache();
    two.free(second);
    assert_null(one.alloc(GIB(1)));
    assert_ok(larder_ort_functions_release(&one));
    assert_null(one.alloc(512)); /* released */
    one.free(first);
    one.empty_cache();
    assert_int_equal(larder_ort_functions_release(&one), LARDER_ERR_INVALID);
    assert_ok(larder_ort_functions_release(&two));
}

static void as_many_sets_are_given_out_as_there_are(void **state)
{
    larder_ort_functions sets[LARDER_ORT_SETS];
    larder_ort_functions more;

    (void)state;
    for (int i = 0; i < LARDER_ORT_SETS; i++) {
        assert_ok(larder_ort_functions_take(adapter, 0, &sets[i]));
        for (int j = 0; j < i; j++)
            assert_true(sets[i].alloc != sets[j].alloc);
    }
    assert_int_equal(larder_ort_functions_take(adapter, 0, &more),
                     LARDER_ERR_BUSY);
    assert_int_equal(larder_adapter_close(NULL), LARDER_OK);
    assert_ok(larder_ort_functions_release(&sets[7]));
    assert_ok(larder_ort_functions_take(adapter, 0, &more));
    assert_true(more.alloc == sets[7].alloc);
    for (int i = 0; i < LARDER_ORT_SETS; i++)
        assert_ok(larder_ort_functions_release(&sets[i]));
    assert_int_equal(larder_ort_functions_take(adapter, 99, &more),
                     LARDER_ERR_INVALID);
}

#define ADAPTER_TEST(name)                                                     \
    cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ADAPTER_TEST(wrong_options_are_reported_on_opening),
        ADAPTER_TEST(settings_hold_for_every_device),
        ADAPTER_TEST(cupy_memory_belongs_to_a_device_and_the_thread_s_stream),
        ADAPTER_TEST(rmm_memory_is_reused_in_its_stream_s_order),
        ADAPTER_TEST(rmm_memory_given_back_elsewhere_waits_for_that),
        ADAPTER_TEST(the_two_names_of_the_default_stream_are_one),
        ADAPTER_TEST(a_thread_s_own_stream_is_waited_for),
        ADAPTER_TEST(sessions_have_memory_of_their_own),
        ADAPTER_TEST(as_many_sets_are_given_out_as_there_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
