/* test_cuda_backend.c - driver devices: opening, refusing, sharing with the
 * rest of the process, and the translation of the driver's results. */
#include "cuda_rig.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static larder_result open_result(const char *spec, int ordinal)
{
    larder_device *dev = NULL;
    larder_result r = larder_device_open(spec, ordinal, &dev);

    if (r == LARDER_OK)
        assert_ok(larder_device_close(dev));
    else
        assert_null(dev);
    return r;
}

static void a_wrong_spec_is_named(void **state)
{
    static const struct {
        const char *spec;
        const char *words;
    } wrong[] = {
        {"cuda:", "'' is not a device: expected a number from 0 to 63"},
        {"cuda:x", "'x' is not a device"},
        {"cuda:64", "'64' is not a device"},
        {"cuda:100", "'100' is not a device"},
        {"cuda:-1", "'-1' is not a device"},
        {"cuda:0,", "'' is not a setting"},
        {"cuda:0,export=disk", "'export=disk' is not a setting"},
        {"cuda:0,vmm=off", "expected export=none, export=fd"},
        {"cuda:0,export=fd,export=fd", "'export' is given twice"},
        {"hip:z", "'z' is not a device"},
        {"cuda", "is unknown"},
        {"gpu:0", "cuda:N or hip:N"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_refused(LARDER_ERR_INVALID, open_result(wrong[i].spec, 0),
                       wrong[i].words);
    assert_refused(LARDER_ERR_INVALID, open_result("cuda:0", -1), "number -1");
}

static void a_driver_that_is_not_there_is_named(void **state)
{
    (void)state;
    assert_refused(LARDER_ERR_UNSUPPORTED, open_result("hip:0", 0),
                   "libamdhip64.so");
}

static void a_machine_without_devices_says_so(void **state)
{
    (void)state;
    assert_refused(LARDER_ERR_UNSUPPORTED, open_result("cuda:0", 0),
                   "CUDA_ERROR_NO_DEVICE (100)");
    fake()->plan("cuInit", 1, 1, CUD_NO_DEVICE);
    assert_refused(LARDER_ERR_UNSUPPORTED, open_result("cuda:0", 0),
                   "CUDA_ERROR_NO_DEVICE (100)");
    fake()->plan("cuInit", 1, 1, CUD_UNKNOWN);
    assert_refused(LARDER_ERR_DEVICE, open_result("cuda:0", 0),
                   "CUDA_ERROR_UNKNOWN (999)");
}

static void devices_are_found_by_their_numbers(void **state)
{
    larder_device *a = cuda_up("sim:64MiB", 0, "");
    larder_device *b = cuda_up("sim:128MiB", 1, "");
    larder_device_props props = {.size = sizeof props};
    larder_device *again = NULL;

    (void)state;
    assert_string_equal(larder_device_name(a), "cuda");
    assert_ok(larder_device_get_props(b, &props));
    assert_int_equal(props.ordinal, 1);
    assert_int_equal(props.total_bytes, MIB(128));
    assert_int_equal(props.granularity_bytes, MIB(2));
    assert_string_equal(props.name, "simulated GPU");
    assert_int_equal(props.is_integrated, 0);
    assert_ok(larder_device_open("cuda:0", 1, &again));
    assert_ok(larder_device_get_props(again, &props));
    assert_int_equal(props.ordinal, 1);
    assert_ok(larder_device_close(again));
    assert_refused(LARDER_ERR_INVALID, open_result("cuda:1", 1),
                   "there is no device 2: the driver has 2");
    cuda_down(b, 1);
    cuda_down(a, 0);
}

static void a_machine_with_one_memory_says_so(void **state)
{
    larder_device_props props = {.size = sizeof props};
    larder_device *dev;

    (void)state;
    fake()->traits(1, 0, 1);
    dev = cuda_up("sim:64MiB", 0, "");
    assert_ok(larder_device_get_props(dev, &props));
    assert_int_equal(props.is_integrated, 1);
    fake()->traits(0, 0, 1);
    cuda_down(dev, 0);
}

/* ---- answers ---------------------------------------------------------------- */

static void errors_have_the_driver_s_name_and_words(void **state)
{
    larder_device *dev = cuda_up("sim:64MiB", 0, "");
    larder_addr addr = 0;

    (void)state;
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder__device_mem_alloc(dev, MIB(80), &addr),
                   "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
    fake()->plan("cuMemAlloc_v2", 1, 1, CUD_ILLEGAL_ADDRESS);
    assert_refused(LARDER_ERR_DEVICE,
                   larder__device_mem_alloc(dev, MIB(2), &addr),
                   "CUDA_ERROR_ILLEGAL_ADDRESS (700)");
    fake()->plan("cuMemAlloc_v2", 1, 1, 12345);
    assert_refused(LARDER_ERR_DEVICE,
                   larder__device_mem_alloc(dev, MIB(2), &addr),
                   "unknown error (12345)");
    fake()->plan("cuMemFree_v2", 1, 1, CUD_CAPTURE_UNSUPPORTED);
    assert_ok(larder__device_mem_alloc(dev, MIB(2), &addr));
    assert_refused(LARDER_ERR_CAPTURING, larder__device_mem_free(dev, addr),
                   "STREAM_CAPTURE_UNSUPPORTED");
    assert_ok(larder__device_mem_free(dev, addr));
    cuda_down(dev, 0);
}

static void running_out_of_host_memory_is_named_as_such(void **state)
{
    larder_device *dev = cuda_up("sim:64MiB", 0, "");
    void *ptr = NULL;

    (void)state;
    fake()->plan("cuMemHostAlloc", 1, 1, CUD_OUT_OF_MEMORY);
    assert_result(LARDER_ERR_NO_HOST_MEMORY,
                  larder_device_host_alloc(dev, 4096, &ptr));
    assert_ok(larder_device_host_alloc(dev, 4096, &ptr));
    memset(ptr, 1, 4096);
    assert_ok(larder_device_host_free(dev, ptr));
    cuda_down(dev, 0);
}

static void an_unknown_stream_is_refused(void **state)
{
    struct rig rig = {.dev = cuda_up("sim:64MiB", 0, "")};
    larder_addr p;

    (void)state;
    assert_ok(larder_create(rig.dev, NULL, &rig.a));
    assert_result(LARDER_ERR_UNKNOWN_STREAM,
                  larder_alloc(rig.a, 512, UINT64_C(1) << 40, &p));
    assert_ok(larder_destroy(rig.a));
    cuda_down(rig.dev, 0);
}

static void a_captured_stream_can_be_recorded(void **state)
{
    enum { NON_BLOCKING = 1, RELAXED = 2 };
    struct rig rig = {.dev = cuda_up("sim:64MiB", 0, "")};
    cud_context context;
    cud_stream stream;
    void *graph = NULL;
    larder_addr p;

    (void)state;
    assert_ok(larder_create(rig.dev, NULL, &rig.a));
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRetain)(&context, 0), 0);
    assert_int_equal(DRIVER(cuCtxSetCurrent)(context), 0);
    assert_int_equal(DRIVER(cuStreamCreate)(&stream, NON_BLOCKING), 0);
    p = rig_alloc(&rig, 512);
    assert_int_equal(DRIVER(cuStreamBeginCapture_v2)(stream, RELAXED), 0);
    assert_ok(larder_record_stream(rig.a, p, (uintptr_t)stream));
    assert_int_equal(DRIVER(cuStreamEndCapture)(stream, &graph), 0);
    assert_int_equal(DRIVER(cuGraphDestroy)(graph), 0);
    rig_free(&rig, p);
    assert_ok(larder_destroy(rig.a));
    assert_int_equal(DRIVER(cuStreamDestroy_v2)(stream), 0);
    assert_int_equal(DRIVER(cuCtxSetCurrent)(NULL), 0);
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRelease_v2)(0), 0);
    cuda_down(rig.dev, 0);
}

/* At its exit a program may make calls after the driver has shut down. */
static void a_driver_that_has_shut_down_fails_no_free(void **state)
{
    struct rig rig = {.dev = cuda_up("sim:64MiB", 0, "")};
    larder_addr p;

    (void)state;
    assert_ok(larder_create(rig.dev, NULL, &rig.a));
    p = rig_alloc(&rig, MIB(3));
    fake()->plan(NULL, 1, 0, CUD_DEINITIALIZED);
    rig_free(&rig, p);
    assert_ok(larder_destroy(rig.a));
    assert_result(LARDER_ERR_DEVICE,
                  larder__device_mem_alloc(rig.dev, MIB(2), &p));
    assert_ok(larder_device_close(rig.dev));
    fake()->plan(NULL, 0, 0, 0);
    fake()->remove(0);
}

/* ---- contexts ----------------------------------------------------------------- */

static void the_context_is_taken_when_it_is_needed(void **state)
{
    larder_device *dev = cuda_up("sim:64MiB,context=5MiB", 0, "");
    larder_sim_usage use = {.size = sizeof use};
    larder_addr addr;

    (void)state;
    assert_ok(fake()->get_usage(fake()->device(0), &use));
    assert_int_equal(use.context_bytes, 0);
    assert_ok(larder__device_mem_alloc(dev, MIB(2), &addr));
    assert_ok(fake()->get_usage(fake()->device(0), &use));
    assert_int_equal(use.context_bytes, MIB(5));
    assert_ok(larder__device_mem_free(dev, addr));
    cuda_down(dev, 0);

    dev = cuda_up("sim:4MiB,context=5MiB", 0, "");
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder__device_mem_alloc(dev, MIB(2), &addr));
    cuda_down(dev, 0);
}

static void the_thread_s_own_context_stays_current(void **state)
{
    larder_device *a = cuda_up("sim:64MiB", 0, "");
    larder_device *b = cuda_up("sim:64MiB", 1, "");
    cud_context own = NULL;
    cud_context now = NULL;
    larder_addr addr;

    (void)state;
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRetain)(&own, 0), 0);
    assert_int_equal(DRIVER(cuCtxSetCurrent)(own), 0);
    assert_ok(larder__device_mem_alloc(b, MIB(2), &addr));
    assert_int_equal(DRIVER(cuCtxGetCurrent)(&now), 0);
    assert_ptr_equal(now, own);
    assert_ok(larder__device_mem_free(b, addr));
    fake()->plan("cuMemAlloc_v2", 1, 1, CUD_OUT_OF_MEMORY);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder__device_mem_alloc(b, MIB(2), &addr));
    assert_int_equal(DRIVER(cuCtxGetCurrent)(&now), 0);
    assert_ptr_equal(now, own);
    assert_int_equal(DRIVER(cuCtxPopCurrent_v2)(&now), 0);
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRelease_v2)(0), 0);
    assert_int_equal(fake()->broken(), 0);
    cuda_down(b, 1);
    cuda_down(a, 0);
}

static void *use_device(void *arg)
{
    larder_addr addr = 0;

    if (larder__device_mem_alloc(arg, MIB(2), &addr) != LARDER_OK ||
        larder__device_mem_free(arg, addr) != LARDER_OK)
        return arg;
    return NULL;
}

static void a_thread_without_a_context_needs_none(void **state)
{
    larder_device *dev = cuda_up("sim:64MiB", 0, "");
    pthread_t threads[4];
    void *failed = NULL;

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_device, dev), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(fake()->calls("cuDevicePrimaryCtxRetain") > 0, 1);
    cuda_down(dev, 0);
}

static void a_child_is_told_that_the_device_is_its_parent_s(void **state)
{
    larder_device *dev = cuda_up("sim:64MiB", 0, "");
    larder_addr addr = 0;
    int status = 0;
    pid_t child;

    (void)state;
    assert_ok(larder__device_mem_alloc(dev, MIB(2), &addr));
    child = fork();
    if (child == 0) {
        larder_result r = larder__device_mem_alloc(dev, MIB(2), &addr);
        int ok = r == LARDER_ERR_FORKED &&
                 strstr(larder_last_error(), "before a fork") != NULL &&
                 larder_device_close(dev) == LARDER_ERR_FORKED;

        _exit(ok ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_ok(larder__device_mem_free(dev, addr));
    cuda_down(dev, 0);
}

/* ---- virtual memory ------------------------------------------------------------- */

static uint64_t mapped_page(larder_device *dev, larder_addr *addr)
{
    uint64_t page = 0;

    assert_ok(larder__device_address_reserve(dev, MIB(4), addr));
    assert_ok(larder__device_page_create(dev, MIB(2), &page));
    assert_ok(larder__device_map(dev, *addr, MIB(2), page));
    assert_ok(larder__device_set_access(dev, *addr, MIB(2)));
    return page;
}

static void unmapped_page(larder_device *dev, larder_addr addr, uint64_t page)
{
    assert_ok(larder__device_page_release(dev, page));
    assert_ok(larder__device_unmap(dev, addr, MIB(2), 1));
    assert_ok(larder__device_address_free(dev, addr, MIB(4)));
}

static void mappings_are_opened_to_every_device_that_reaches_them(void **state)
{
    larder_device *devs[3];
    larder_addr addr;
    uint64_t page;

    (void)state;
    for (int i = 0; i < 3; i++) {
        int got;

        assert_ok(fake()->add("sim:64MiB,count=64", i, &got));
    }
    for (int peers = 0; peers < 2; peers++) {
        fake()->traits(0, 0, peers);
        assert_ok(larder_device_open("cuda:1", 0, &devs[1]));
        page = mapped_page(devs[1], &addr);
        assert_int_equal(fake()->last_access_count(), peers ? 3 : 1);
        unmapped_page(devs[1], addr, page);
        assert_ok(larder_device_close(devs[1]));
    }
    assert_int_equal(fake()->broken(), 0);
    for (int i = 0; i < 3; i++)
        fake()->remove(i);
}

static int exported(larder_device *dev, int type, int *fd)
{
    larder_addr addr;
    uint64_t page = mapped_page(dev, &addr);
    int answer = DRIVER(cuMemExportToShareableHandle)(fd, page, type, 0);

    unmapped_page(dev, addr, page);
    return answer;
}

static void pages_can_be_exported_if_the_spec_says_so(void **state)
{
    larder_device *dev = cuda_up("sim:64MiB", 0, ",export=fd");
    cud_context own = NULL;
    int fd = -1;

    (void)state;
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRetain)(&own, 0), 0);
    assert_int_equal(DRIVER(cuCtxSetCurrent)(own), 0);
    assert_int_equal(exported(dev, CUD_HANDLE_FD, &fd), 0);
    assert_true(fd >= 0);
    close(fd);
    assert_ok(larder_device_close(dev));
    assert_ok(larder_device_open("cuda:0", 0, &dev));
    assert_int_equal(exported(dev, CUD_HANDLE_FD, &fd), CUD_INVALID_VALUE);
    assert_broken("not created for handles of type 1");
    assert_int_equal(DRIVER(cuCtxPopCurrent_v2)(&own), 0);
    assert_refused(LARDER_ERR_UNSUPPORTED,
                   open_result("cuda:0,export=fabric", 0), "cannot export");
    fake()->traits(0, 1, 1);
    assert_ok(open_result("cuda:0,export=fabric", 0));
    fake()->traits(0, 0, 1);
    cuda_down(dev, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_spec_is_named),
        cmocka_unit_test(a_driver_that_is_not_there_is_named),
        cmocka_unit_test(a_machine_without_devices_says_so),
        cmocka_unit_test(devices_are_found_by_their_numbers),
        cmocka_unit_test(a_machine_with_one_memory_says_so),
        cmocka_unit_test(errors_have_the_driver_s_name_and_words),
        cmocka_unit_test(running_out_of_host_memory_is_named_as_such),
        cmocka_unit_test(an_unknown_stream_is_refused),
        cmocka_unit_test(a_captured_stream_can_be_recorded),
        cmocka_unit_test(a_driver_that_has_shut_down_fails_no_free),
        cmocka_unit_test(the_context_is_taken_when_it_is_needed),
        cmocka_unit_test(the_thread_s_own_context_stays_current),
        cmocka_unit_test(a_thread_without_a_context_needs_none),
        cmocka_unit_test(a_child_is_told_that_the_device_is_its_parent_s),
        cmocka_unit_test(mappings_are_opened_to_every_device_that_reaches_them),
        cmocka_unit_test(pages_can_be_exported_if_the_spec_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
