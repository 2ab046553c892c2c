/* test_fakecuda_rules.c - the stand-in refuses what the driver refuses, and
 * records the violation. */
#include "cuda_rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static cud_context fork_context; /* of the thread that forks */

static cud_page_prop on_device(int number)
{
    return (cud_page_prop){
        .type = CUD_PAGE_PINNED,
        .requestedHandleTypes = CUD_HANDLE_FD,
        .location = {.type = CUD_ON_DEVICE, .id = number},
    };
}

static const cud_access access_0 = {
    .location = {.type = CUD_ON_DEVICE, .id = 0},
    .flags = CUD_READ_WRITE,
};

static int set_up(void **state)
{
    (void)state;
    context_up("sim:64MiB,events=manual", 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    context_down(1);
    return 0;
}

#define assert_rule(answer, call, words)                                       \
    do {                                                                       \
        assert_int_equal(call, answer);                                        \
        assert_broken(words);                                                  \
    } while (0)

static void a_context_must_be_current(void **state)
{
    cud_context own;
    cud_addr addr;

    (void)state;
    assert_int_equal(DRIVER(cuCtxPopCurrent_v2)(&own), 0);
    assert_rule(CUD_INVALID_CONTEXT, DRIVER(cuMemAlloc_v2)(&addr, 512),
                "no context is current");
    assert_rule(CUD_INVALID_CONTEXT, DRIVER(cuCtxPopCurrent_v2)(&own),
                "has pushed no context");
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRetain)(&own, 0), 0);
    assert_int_equal(DRIVER(cuCtxPushCurrent_v2)(own), 0);
}

static void memory_is_freed_once_and_whole(void **state)
{
    cud_addr addr;

    (void)state;
    assert_rule(CUD_INVALID_VALUE, DRIVER(cuMemAlloc_v2)(&addr, 0), "0 bytes");
    assert_int_equal(DRIVER(cuMemAlloc_v2)(&addr, MIB(2)), 0);
    assert_rule(CUD_INVALID_VALUE, DRIVER(cuMemFree_v2)(addr + 512),
                "cuMemFree_v2:");
    assert_int_equal(DRIVER(cuMemFree_v2)(addr), 0);
    assert_rule(CUD_INVALID_VALUE, DRIVER(cuMemFree_v2)(addr), "cuMemFree_v2:");
    assert_int_equal(DRIVER(cuMemAlloc_v2)(&addr, MIB(65)), CUD_OUT_OF_MEMORY);
    assert_int_equal(fake()->broken(), 0); /* not a broken rule */
}

static void sizes_are_multiples_of_the_granularity(void **state)
{
    cud_page_prop prop = on_device(0);
    cud_page page;
    cud_addr addr;

    (void)state;
    assert_rule(CUD_INVALID_VALUE,
                DRIVER(cuMemAddressReserve)(&addr, MIB(1), 0, 0, 0),
                "not a multiple");
    assert_rule(CUD_INVALID_VALUE,
                DRIVER(cuMemAddressReserve)(&addr, MIB(2), 0, 0, 1),
                "flags are not 0");
    assert_rule(CUD_INVALID_VALUE, DRIVER(cuMemCreate)(&page, 4096, &prop, 0),
                "not a multiple");
    assert_rule(CUD_INVALID_VALUE, DRIVER(cuMemCreate)(&page, MIB(2), &prop, 1),
                "flags are not 0");
    prop.type = 0;
    assert_rule(CUD_INVALID_VALUE, DRIVER(cuMemCreate)(&page, MIB(2), &prop, 0),
                "not pinned memory");
    prop = on_device(9);
    assert_rule(CUD_INVALID_DEVICE,
                DRIVER(cuMemCreate)(&page, MIB(2), &prop, 0), "no device 9");
    prop = on_device(0);
    prop.requestedHandleTypes = CUD_HANDLE_FABRIC;
    assert_rule(CUD_NOT_SUPPORTED, DRIVER(cuMemCreate)(&page, MIB(2), &prop, 0),
                "handle types 0x8");
}

static void pages_are_mapped_whole_where_nothing_is(void **state)
{
    cud_page_prop prop = on_device(0);
    cud_page page;
    cud_addr addr;

    (void)state;
    assert_int_equal(DRIVER(cuMemAddressReserve)(&addr, MIB(8), 0, 0, 0), 0);
    assert_int_equal(DRIVER(cuMemCreate)(&page, MIB(4), &prop, 0), 0);
    assert_rule(CUD_INVALID_VALUE,
                DRIVER(cuMemMap)(addr, MIB(4), MIB(2), page, 0), "must be 0");
    assert_rule(CUD_INVALID_VALUE, DRIVER(cuMemMap)(addr, MIB(2), 0, page, 0),
                "only whole pages");
    assert_rule(CUD_INVALID_VALUE,
                DRIVER(cuMemMap)(addr + 512, MIB(4), 0, page, 0),
                "not a multiple");
    assert_rule(CUD_INVALID_VALUE,
                DRIVER(cuMemMap)(addr + MIB(8), MIB(4), 0, page, 0),
                "cuMemMap:");
    assert_rule(CUD_INVALID_VALUE, DRIVER(cuMemMap)(addr, MIB(4), 0, 77, 0),
                "no page 0x4d");
    assert_int_equal(DRIVER(cuMemMap)(addr, MIB(4), 0, page, 0), 0);
    assert_rule(CUD_INVALID_VALUE, DRIVER(cuMemMap)(addr, MIB(4), 0, page, 0),
                "cuMemMap:");
    assert_rule(CUD_INVALID_VALUE, DRIVER(cuMemUnmap)(addr, MIB(2)),
                "cuMemUnmap:");
    assert_rule(CUD_INVALID_VALUE, DRIVER(cuMemAddressFree)(addr, MIB(8)),
                "cuMemAddressFree:");
    /* A mapped page may be released, as in the driver, but only once. */
    assert_int_equal(DRIVER(cuMemRelease)(page), 0);
    assert_rule(CUD_INVALID_VALUE, DRIVER(cuMemRelease)(page), "no page");
    assert_int_equal(DRIVER(cuMemUnmap)(addr, MIB(4)), 0);
    assert_rule(CUD_INVALID_VALUE, DRIVER(cuMemUnmap)(addr, MIB(4)),
                "cuMemUnmap:");
    assert_rule(CUD_INVALID_VALUE, DRIVER(cuMemAddressFree)(addr, MIB(2)),
                "cuMemAddressFree:");
    assert_int_equal(DRIVER(cuMemAddressFree)(addr, MIB(8)), 0);
}

/* A mapped page of 2 MiB. */
static cud_addr map_one(cud_page *page)
{
    cud_page_prop prop = on_device(0);
    cud_addr addr;

    assert_int_equal(DRIVER(cuMemAddressReserve)(&addr, MIB(2), 0, 0, 0), 0);
    assert_int_equal(DRIVER(cuMemCreate)(page, MIB(2), &prop, 0), 0);
    assert_int_equal(DRIVER(cuMemMap)(addr, MIB(2), 0, *page, 0), 0);
    return addr;
}

static void access_is_set_before_use(void **state)
{
    cud_access wrong = access_0;
    cud_page page;
    cud_addr addr = map_one(&page);

    (void)state;
    assert_rule(CUD_INVALID_VALUE,
                DRIVER(cuMemsetD8Async)(addr, 1, MIB(2), NULL),
                "not all memory of this device");
    assert_rule(CUD_INVALID_VALUE,
                DRIVER(cuMemSetAccess)(addr, MIB(2), &access_0, 0),
                "for no device");
    wrong.location.id = 5;
    assert_rule(CUD_INVALID_VALUE,
                DRIVER(cuMemSetAccess)(addr, MIB(2), &wrong, 1), "no device 5");
    assert_int_equal(DRIVER(cuMemSetAccess)(addr, MIB(2), &access_0, 1), 0);
    assert_int_equal(DRIVER(cuMemsetD8Async)(addr, 1, MIB(2), NULL), 0);
    assert_int_equal(DRIVER(cuStreamSynchronize)(NULL), 0);
    assert_int_equal(DRIVER(cuMemUnmap)(addr, MIB(2)), 0);
}

static void nothing_is_unmapped_under_queued_work(void **state)
{
    cud_stream stream = (cud_stream)(uintptr_t)7;
    cud_page page;
    cud_addr addr = map_one(&page);

    (void)state;
    assert_int_equal(DRIVER(cuMemSetAccess)(addr, MIB(2), &access_0, 1), 0);
    assert_int_equal(DRIVER(cuMemsetD8Async)(addr, 1, 512, stream), 0);
    assert_rule(CUD_INVALID_VALUE, DRIVER(cuMemUnmap)(addr, MIB(2)),
                "was not waited for");
    assert_int_equal(DRIVER(cuStreamSynchronize)(stream), 0);
    assert_int_equal(DRIVER(cuMemUnmap)(addr, MIB(2)), 0);
    assert_int_equal(fake()->broken(), 0);
}

static void do_nothing(void *ctx)
{
    (void)ctx;
}

/* Past the driver, as a test does it. */
static void *work_many_times(void *is_over)
{
    larder_device *dev = fake()->device(0);
    bool is_fine = true;

    for (int round = 0; round < 300 && is_fine; round++) {
        for (int i = 0; i < 2000; i++)
            is_fine &= fake()->launch(dev, 7, do_nothing, NULL) == LARDER_OK;
        is_fine &= fake()->complete(dev, 7) == LARDER_OK;
    }
    atomic_store((atomic_bool *)is_over, true);
    return is_fine ? NULL : is_over;
}

static void pages_are_unmapped_while_other_work_runs(void **state)
{
    atomic_bool is_over = false;
    pthread_t thread;
    cud_page page;
    cud_addr addr = map_one(&page);
    void *failed;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, work_many_times, &is_over),
                     0);
    while (!atomic_load(&is_over)) {
        assert_int_equal(DRIVER(cuMemUnmap)(addr, MIB(2)), 0);
        assert_int_equal(DRIVER(cuMemMap)(addr, MIB(2), 0, page, 0), 0);
    }
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
}

static void destroyed_objects_are_refused(void **state)
{
    cud_stream stream;
    cud_event event;
    unsigned flags = 9;

    (void)state;
    assert_int_equal(DRIVER(cuStreamCreate)(&stream, 1), 0);
    assert_int_equal(DRIVER(cuEventCreate)(&event, CUD_EVENT_NO_TIMING), 0);
    assert_int_equal(DRIVER(cuEventRecord)(event, stream), 0);
    assert_int_equal(DRIVER(cuStreamGetFlags)(stream, &flags), 0);
    assert_int_equal(flags, 1);
    assert_int_equal(DRIVER(cuStreamDestroy_v2)(stream), 0);
    assert_rule(CUD_INVALID_HANDLE, DRIVER(cuStreamSynchronize)(stream),
                "there is no stream");
    assert_rule(CUD_INVALID_HANDLE, DRIVER(cuStreamDestroy_v2)(stream),
                "there is no stream");
    assert_int_equal(DRIVER(cuEventDestroy_v2)(event), 0);
    assert_rule(CUD_INVALID_HANDLE, DRIVER(cuEventQuery)(event),
                "there is no event");
    assert_rule(CUD_INVALID_HANDLE, DRIVER(cuEventDestroy_v2)(event),
                "there is no event");
}

static void assert_no_context(cud_context context)
{
    unsigned version = 0;

    assert_rule(CUD_INVALID_CONTEXT, DRIVER(cuCtxPushCurrent_v2)(context),
                "no longer exists");
    assert_rule(CUD_INVALID_CONTEXT,
                DRIVER(cuCtxGetApiVersion)(context, &version),
                "no longer exists");
    assert_rule(CUD_INVALID_CONTEXT, DRIVER(cuCtxEnablePeerAccess)(context, 0),
                "not a context");
    assert_rule(CUD_INVALID_CONTEXT, DRIVER(cuCtxDisablePeerAccess)(context),
                "no longer exists");
    assert_rule(CUD_INVALID_CONTEXT,
                DRIVER(cuMemcpyPeerAsync)(1, context, 1, context, 1, NULL),
                "no longer exists");
    assert_rule(CUD_INVALID_CONTEXT, DRIVER(cuCtxDestroy_v2)(context),
                "no context");
}

static void a_context_that_is_gone_is_refused(void **state)
{
    cud_context old;
    cud_context new;
    cud_context current = NULL;
    cud_addr addr;

    (void)state;
    assert_int_equal(DRIVER(cuCtxCreate_v2)(&old, 0, 0), 0);
    assert_int_equal(DRIVER(cuCtxPushCurrent_v2)(old), 0);
    assert_int_equal(DRIVER(cuCtxDestroy_v2)(old), 0); /* pops one of two */
    assert_int_equal(DRIVER(cuCtxCreate_v2)(&new, 0, 0), 0);
    assert_no_context(old);
    assert_no_context((cud_context)(uintptr_t)4096);
    /* What was current stays. */
    assert_rule(CUD_INVALID_CONTEXT, DRIVER(cuCtxSetCurrent)(old),
                "no longer exists");
    assert_int_equal(DRIVER(cuCtxGetCurrent)(&current), 0);
    assert_ptr_equal(current, new);
    assert_int_equal(DRIVER(cuCtxDestroy_v2)(new), 0);
    assert_rule(CUD_INVALID_CONTEXT, DRIVER(cuMemAlloc_v2)(&addr, 512),
                "no context is current");
    assert_int_equal(DRIVER(cuCtxPopCurrent_v2)(&new), 0);
}

static void a_linker_is_destroyed_once(void **state)
{
    void *linker = NULL;
    const void *image = NULL;
    size_t bytes = 0;

    (void)state;
    assert_int_equal(DRIVER(cuLinkCreate_v2)(0, NULL, NULL, &linker), 0);
    assert_int_equal(DRIVER(cuLinkComplete)(linker, &image, &bytes), 0);
    assert_int_equal(DRIVER(cuLinkDestroy)(linker), 0);
    assert_rule(CUD_INVALID_HANDLE,
                DRIVER(cuLinkComplete)(linker, &image, &bytes), "no linker");
    assert_rule(CUD_INVALID_HANDLE, DRIVER(cuLinkDestroy)(linker), "no linker");
}

static void a_function_goes_with_its_module(void **state)
{
    void *module = NULL;
    void *function = NULL;
    const char *name = NULL;
    int value = 0;

    (void)state;
    assert_int_equal(DRIVER(cuModuleLoadData)(&module, "image"), 0);
    assert_int_equal(DRIVER(cuModuleGetFunction)(&function, module, "k"), 0);
    assert_int_equal(DRIVER(cuFuncGetName)(&name, function), 0);
    assert_string_equal(name, "k");
    assert_int_equal(DRIVER(cuModuleUnload)(module), 0);
    assert_rule(CUD_INVALID_HANDLE, DRIVER(cuFuncGetName)(&name, function),
                "no function");
    assert_rule(CUD_INVALID_HANDLE, DRIVER(cuFuncGetModule)(&module, function),
                "no function");
    assert_rule(CUD_INVALID_HANDLE,
                DRIVER(cuFuncGetAttribute)(&value, 0, function), "no function");
    assert_rule(
        CUD_INVALID_HANDLE,
        DRIVER(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
        "no function");
    assert_rule(CUD_INVALID_HANDLE, DRIVER(cuModuleUnload)(module),
                "no module");
}

static void assert_status(cud_stream stream, int expected)
{
    cud_capture_status status = 9;

    assert_int_equal(DRIVER(cuStreamIsCapturing)(stream, &status), 0);
    assert_int_equal(status, expected);
}

static void end_capture(cud_stream stream, cud_result expected)
{
    void *graph = &graph;

    assert_int_equal(DRIVER(cuStreamEndCapture)(stream, &graph), expected);
    if (expected == 0)
        assert_int_equal(DRIVER(cuGraphDestroy)(graph), 0);
    else
        assert_null(graph);
    assert_status(stream, 0);
}

enum { GLOBAL, THREAD_LOCAL, RELAXED, NON_BLOCKING = 1 };

static void a_capture_refuses_memory_unless_the_thread_is_relaxed(void **state)
{
    cud_stream stream;
    cud_capture_mode mode = CUD_CAPTURE_RELAXED;
    cud_addr addr;

    (void)state;
    assert_int_equal(DRIVER(cuStreamCreate)(&stream, 0), 0);
    assert_int_equal(DRIVER(cuStreamBeginCapture_v2)(stream, GLOBAL), 0);
    assert_status(stream, 1);
    assert_int_equal(DRIVER(cuThreadExchangeStreamCaptureMode)(&mode), 0);
    assert_int_equal(DRIVER(cuMemAlloc_v2)(&addr, 512), 0);
    assert_int_equal(DRIVER(cuMemFree_v2)(addr), 0);
    assert_int_equal(DRIVER(cuThreadExchangeStreamCaptureMode)(&mode), 0);
    assert_rule(CUD_CAPTURE_UNSUPPORTED, DRIVER(cuMemAlloc_v2)(&addr, 512),
                "not relaxed");
    assert_status(stream, 2);
    end_capture(stream, CUD_CAPTURE_INVALIDATED);
    assert_int_equal(DRIVER(cuStreamDestroy_v2)(stream), 0);
}

static void a_capture_takes_copies_of_the_host_s_own(void **state)
{
    enum { BYTES = 8 };
    char from[BYTES] = "queued";
    char to[BYTES] = "before";
    cud_stream stream;
    void *locked = NULL;
    void *graph = NULL;
    size_t nodes = 0;

    (void)state;
    assert_int_equal(DRIVER(cuMemHostAlloc)(&locked, BYTES, 0), 0);
    assert_int_equal(DRIVER(cuStreamCreate)(&stream, NON_BLOCKING), 0);
    assert_int_equal(DRIVER(cuStreamBeginCapture_v2)(stream, GLOBAL), 0);
    assert_int_equal(
        DRIVER(cuMemcpyAsync)((uintptr_t)to, (uintptr_t)from, BYTES, stream),
        0);
    assert_int_equal(
        DRIVER(cuMemcpyHtoDAsync_v2)((uintptr_t)locked, from, BYTES, stream),
        0);
    assert_int_equal(
        DRIVER(cuMemsetD2D8Async)((uintptr_t)locked, 4, 0, 4, 2, stream), 0);
    assert_status(stream, 1);
    assert_string_equal(to, "before");
    assert_int_equal(DRIVER(cuStreamEndCapture)(stream, &graph), 0);
    assert_int_equal(DRIVER(cuGraphGetNodes)(graph, NULL, &nodes), 0);
    assert_int_equal(nodes, 3);
    assert_int_equal(
        DRIVER(cuMemcpyAsync)((uintptr_t)to, (uintptr_t)from, BYTES, stream),
        0);
    assert_string_equal(to, "queued");
    assert_int_equal(DRIVER(cuGraphDestroy)(graph), 0);
    assert_int_equal(DRIVER(cuStreamDestroy_v2)(stream), 0);
    assert_int_equal(DRIVER(cuMemFreeHost)(locked), 0);
}

/* Seen on an H200: asking a captured stream for its flags ends the capture with
 * an error; asking whether it is captured does not. */
static void the_flags_of_a_captured_stream_are_not_told(void **state)
{
    cud_stream stream;
    cud_stream other;
    unsigned flags;

    (void)state;
    assert_int_equal(DRIVER(cuStreamCreate)(&stream, NON_BLOCKING), 0);
    assert_int_equal(DRIVER(cuStreamCreate)(&other, NON_BLOCKING), 0);
    assert_int_equal(DRIVER(cuStreamBeginCapture_v2)(stream, RELAXED), 0);
    assert_int_equal(DRIVER(cuStreamGetFlags)(other, &flags), 0);
    /* Other properties are. */
    assert_int_equal(DRIVER(cuStreamSetAttribute)(stream, 1, &flags), 0);
    assert_status(stream, 1);
    assert_rule(CUD_CAPTURE_UNSUPPORTED,
                DRIVER(cuStreamGetFlags)(stream, &flags),
                "the stream is captured");
    assert_status(stream, 2);
    end_capture(stream, CUD_CAPTURE_INVALIDATED);
    assert_int_equal(DRIVER(cuStreamGetFlags)(stream, &flags), 0);
    assert_int_equal(DRIVER(cuStreamDestroy_v2)(stream), 0);
    assert_int_equal(DRIVER(cuStreamDestroy_v2)(other), 0);
}

static void *allocates(void *out)
{
    cud_context context;
    cud_addr addr = 0;
    cud_result *answer = out;

    if (DRIVER(cuDevicePrimaryCtxRetain)(&context, 0) == 0 &&
        DRIVER(cuCtxSetCurrent)(context) == 0)
        *answer = DRIVER(cuMemAlloc_v2)(&addr, 512);
    if (*answer == 0)
        (void)DRIVER(cuMemFree_v2)(addr);
    return NULL;
}

/* By a capture of another thread. */
static cud_result allocation_elsewhere(cud_capture_mode mode)
{
    cud_stream stream;
    cud_result answer = CUD_INVALID_VALUE;
    pthread_t thread;

    assert_int_equal(DRIVER(cuStreamCreate)(&stream, NON_BLOCKING), 0);
    assert_int_equal(DRIVER(cuStreamBeginCapture_v2)(stream, mode), 0);
    assert_int_equal(pthread_create(&thread, NULL, allocates, &answer), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    end_capture(stream, answer == 0 ? 0 : CUD_CAPTURE_INVALIDATED);
    assert_int_equal(DRIVER(cuStreamDestroy_v2)(stream), 0);
    return answer;
}

static void only_a_global_capture_disturbs_other_threads(void **state)
{
    (void)state;
    assert_rule(CUD_CAPTURE_UNSUPPORTED, allocation_elsewhere(GLOBAL),
                "not relaxed");
    fake()->forget();
    assert_int_equal(allocation_elsewhere(THREAD_LOCAL), 0);
    assert_int_equal(allocation_elsewhere(RELAXED), 0);
}

static void a_captured_stream_takes_those_along_that_wait_for_it(void **state)
{
    enum { UNMATCHED = 903, UNJOINED = 904, ISOLATION = 905, CAPTURED = 907 };
    cud_stream stream;
    cud_stream side;
    cud_event event;
    cud_addr buffer;

    (void)state;
    assert_int_equal(DRIVER(cuMemAlloc_v2)(&buffer, MIB(2)), 0);
    assert_int_equal(DRIVER(cuStreamCreate)(&stream, NON_BLOCKING), 0);
    assert_int_equal(DRIVER(cuStreamCreate)(&side, NON_BLOCKING), 0);
    assert_int_equal(DRIVER(cuEventCreate)(&event, 0), 0);
    for (int joins = 1; joins >= 0; joins--) {
        assert_int_equal(DRIVER(cuStreamBeginCapture_v2)(stream, GLOBAL), 0);
        assert_int_equal(DRIVER(cuEventRecord)(event, stream), 0);
        assert_int_equal(DRIVER(cuStreamWaitEvent)(side, event, 0), 0);
        assert_status(side, 1);
        assert_int_equal(DRIVER(cuMemsetD8Async)(buffer, 1, 64, side), 0);
        assert_int_equal(DRIVER(cuEventRecord)(event, side), 0);
        if (joins)
            assert_int_equal(DRIVER(cuStreamWaitEvent)(stream, event, 0), 0);
        end_capture(stream, joins ? 0 : UNJOINED);
        assert_status(side, 0);
    }
    assert_int_equal(DRIVER(cuStreamBeginCapture_v2)(stream, GLOBAL), 0);
    assert_int_equal(DRIVER(cuEventRecord)(event, stream), 0);
    assert_rule(CAPTURED, DRIVER(cuEventQuery)(event), "in a capture");
    end_capture(stream, CUD_CAPTURE_INVALIDATED);
    fake()->forget();
    assert_int_equal(DRIVER(cuEventRecord)(event, side), 0);
    assert_int_equal(DRIVER(cuStreamBeginCapture_v2)(stream, GLOBAL), 0);
    assert_rule(ISOLATION, DRIVER(cuStreamWaitEvent)(stream, event, 0),
                "outside its capture");
    end_capture(stream, CUD_CAPTURE_INVALIDATED);
    assert_int_equal(DRIVER(cuEventDestroy_v2)(event), 0);
    assert_int_equal(DRIVER(cuStreamDestroy_v2)(side), 0);
    assert_int_equal(DRIVER(cuStreamDestroy_v2)(stream), 0);
}

static void *ends(void *stream)
{
    cud_context context;
    void *graph = NULL;

    if (DRIVER(cuDevicePrimaryCtxRetain)(&context, 0) != 0 ||
        DRIVER(cuCtxSetCurrent)(context) != 0)
        return NULL;
    return (void *)(intptr_t)DRIVER(cuStreamEndCapture)(stream, &graph);
}

static void a_thread_ends_its_own_captures(void **state)
{
    cud_stream stream;
    pthread_t thread;
    void *answer = NULL;

    (void)state;
    assert_int_equal(DRIVER(cuStreamCreate)(&stream, NON_BLOCKING), 0);
    assert_int_equal(DRIVER(cuStreamBeginCapture_v2)(stream, THREAD_LOCAL), 0);
    assert_int_equal(pthread_create(&thread, NULL, ends, stream), 0);
    assert_int_equal(pthread_join(thread, &answer), 0);
    assert_int_equal((intptr_t)answer, CUD_CAPTURE_WRONG_THREAD);
    end_capture(stream, 0);
    assert_int_equal(DRIVER(cuStreamDestroy_v2)(stream), 0);
}

/* Milliseconds. */
static float between(cud_event from, cud_event to)
{
    float ms = -1;

    assert_int_equal(DRIVER(cuEventElapsedTime)(&ms, from, to), 0);
    return ms;
}

static void time_passes_with_what_is_launched(void **state)
{
    enum { KERNELS = 10 };
    cud_event event[3];
    cud_stream stream;
    void *module = NULL;
    void *function = NULL;
    float ms;

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(DRIVER(cuEventCreate)(&event[i], 0), 0);
    assert_rule(CUD_INVALID_HANDLE,
                DRIVER(cuEventElapsedTime)(&ms, event[0], event[1]),
                "not recorded");
    assert_int_equal(DRIVER(cuStreamCreate)(&stream, NON_BLOCKING), 0);
    assert_int_equal(DRIVER(cuModuleLoadData)(&module, "image"), 0);
    assert_int_equal(DRIVER(cuModuleGetFunction)(&function, module, "k"), 0);
    assert_int_equal(DRIVER(cuEventRecord)(event[0], stream), 0);
    assert_int_equal(DRIVER(cuEventRecord)(event[1], stream), 0);
    for (int i = 0; i < KERNELS; i++)
        assert_int_equal(DRIVER(cuLaunchKernel)(function, 1 << 16, 1, 1, 256, 1,
                                                1, 0, stream, NULL, NULL),
                         0);
    assert_int_equal(DRIVER(cuEventRecord)(event[2], stream), 0);
    assert_true(between(event[0], event[1]) > 0);
    assert_true(between(event[1], event[2]) >
                KERNELS * between(event[0], event[1]));
    assert_true(between(event[2], event[1]) < 0);
    assert_int_equal(DRIVER(cuModuleUnload)(module), 0);
    assert_int_equal(DRIVER(cuStreamDestroy_v2)(stream), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(DRIVER(cuEventDestroy_v2)(event[i]), 0);
}

static void what_a_thread_reads_is_zeros_while_it_says_so(void **state)
{
    char text[8] = "written";
    cud_addr addr;

    (void)state;
    assert_int_equal(DRIVER(cuMemAlloc_v2)(&addr, 512), 0);
    assert_int_equal(DRIVER(cuMemcpyHtoD_v2)(addr, text, sizeof text), 0);
    DRIVER(fakecuda_blank)(1);
    assert_int_equal(DRIVER(cuMemcpyDtoH_v2)(text, addr, sizeof text), 0);
    assert_memory_equal(text, "\0\0\0\0\0\0\0", sizeof text);
    DRIVER(fakecuda_blank)(0);
    assert_int_equal(DRIVER(cuMemcpyDtoH_v2)(text, addr, sizeof text), 0);
    assert_string_equal(text, "written");
    assert_int_equal(DRIVER(cuMemFree_v2)(addr), 0);
}

static void calls_are_found_by_name(void **state)
{
    void *found = NULL;
    int status = 9;

    (void)state;
    assert_int_equal(
        DRIVER(cuGetProcAddress_v2)("cuMemAlloc", &found, 12000, 0, &status),
        0);
    assert_int_equal(status, 0);
    assert_ptr_equal(found, fake_symbol("cuMemAlloc_v2"));
    assert_int_equal(DRIVER(cuGetProcAddress_v2)("cuStreamSynchronize_ptsz",
                                                 &found, 12000, 0, &status),
                     0);
    assert_ptr_equal(found, fake_symbol("cuStreamSynchronize"));
    assert_int_equal(
        DRIVER(cuGetProcAddress_v2)("cuNothing", &found, 12000, 0, &status), 0);
    assert_int_equal(status, 1);
    assert_null(found);
    assert_int_equal(DRIVER(cuGetProcAddress)("cuNothing", &found, 12000, 0),
                     CUD_NOT_FOUND);
}

/* Whatever in it is asked about, from a context of another device too. */
static void an_address_knows_its_allocation(void **state)
{
    enum { RANGE_START = 11, RANGE_SIZE = 12 };
    cud_context other = NULL;
    cud_context popped;
    cud_addr addr;
    cud_addr base = 0;
    size_t bytes = 0;
    cud_page page;
    cud_addr mapped = map_one(&page);
    int number;

    (void)state;
    assert_int_equal(DRIVER(cuMemAlloc_v2)(&addr, MIB(4)), 0);
    assert_ok(fake()->add("sim:64MiB,count=2", 1, &number));
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRetain)(&other, 1), 0);
    assert_int_equal(DRIVER(cuCtxPushCurrent_v2)(other), 0);
    assert_int_equal(
        DRIVER(cuPointerGetAttribute)(&base, RANGE_START, addr + MIB(2)), 0);
    assert_int_equal(
        DRIVER(cuPointerGetAttribute)(&bytes, RANGE_SIZE, addr + MIB(2)), 0);
    assert_int_equal(base, addr);
    assert_int_equal(bytes, MIB(4));
    base = 0;
    assert_int_equal(DRIVER(cuMemGetAddressRange_v2)(&base, &bytes, addr + 7),
                     0);
    assert_int_equal(base, addr);
    assert_int_equal(DRIVER(cuCtxPopCurrent_v2)(&popped), 0);
    assert_int_equal(DRIVER(cuMemSetAccess)(mapped, MIB(2), &access_0, 1), 0);
    assert_int_equal(DRIVER(cuPointerGetAttribute)(&base, RANGE_START, mapped),
                     CUD_NOT_SUPPORTED);
    fake()->remove(1);
    assert_int_equal(DRIVER(cuMemFree_v2)(addr), 0);
    assert_int_equal(
        DRIVER(cuPointerGetAttribute)(&base, RANGE_START, addr + MIB(2)),
        CUD_INVALID_VALUE);
    assert_int_equal(DRIVER(cuMemUnmap)(mapped, MIB(2)), 0);
    assert_int_equal(DRIVER(cuMemRelease)(page), 0);
}

static void pages_come_back_through_files(void **state)
{
    cud_page page;
    cud_page again = 0;
    cud_addr addr = map_one(&page);
    int fd = -1;

    (void)state;
    assert_int_equal(
        DRIVER(cuMemExportToShareableHandle)(&fd, page, CUD_HANDLE_FD, 0), 0);
    assert_int_equal(DRIVER(cuMemImportFromShareableHandle)(
                         &again, (void *)(intptr_t)fd, CUD_HANDLE_FD),
                     0);
    close(fd);
    assert_int_equal(DRIVER(cuMemRelease)(page), 0);
    assert_int_equal(DRIVER(cuMemRelease)(again), 0);
    assert_rule(CUD_INVALID_VALUE, DRIVER(cuMemRelease)(again), "no page");
    assert_rule(CUD_INVALID_VALUE,
                DRIVER(cuMemImportFromShareableHandle)(
                    &again, (void *)(intptr_t)-1, CUD_HANDLE_FD),
                "not a file of");
    assert_int_equal(DRIVER(cuMemUnmap)(addr, MIB(2)), 0);
}

static void calls_fail_as_planned(void **state)
{
    cud_addr addr;

    (void)state;
    fake()->plan("cuMemAlloc_v2", 2, 2, CUD_UNKNOWN);
    assert_int_equal(DRIVER(cuMemAlloc_v2)(&addr, 512), 0);
    assert_int_equal(DRIVER(cuMemAlloc_v2)(&addr, 512), CUD_UNKNOWN);
    assert_int_equal(DRIVER(cuMemAlloc_v2)(&addr, 512), CUD_UNKNOWN);
    assert_int_equal(DRIVER(cuMemAlloc_v2)(&addr, 512), 0);
    fake()->plan("cuMemAlloc_v2", 1, 0, CUD_UNKNOWN);
    for (int i = 0; i < 5; i++)
        assert_int_equal(DRIVER(cuMemAlloc_v2)(&addr, 512), CUD_UNKNOWN);
    fake()->plan(NULL, 0, 0, 0);
    assert_int_equal(DRIVER(cuMemAlloc_v2)(&addr, 512), 0);
}

static void *allocate_until_told(void *ends)
{
    while (!atomic_load((atomic_bool *)ends)) {
        cud_addr addr;

        if (DRIVER(cuCtxSetCurrent)(fork_context) != 0 ||
            DRIVER(cuMemAlloc_v2)(&addr, 512) != 0 ||
            DRIVER(cuMemFree_v2)(addr) != 0)
            return ends;
    }
    return NULL;
}

/* Neither do its locks: another thread holds them nearly all the time. */
static void the_driver_does_not_survive_a_fork(void **state)
{
    /* Looked up before the fork: the loader's locks do not survive it
     * either. */
    __typeof__(&cuMemAlloc_v2) alloc = DRIVER(cuMemAlloc_v2);
    __typeof__(&cuInit) init = DRIVER(cuInit);
    atomic_bool ends = false;
    pthread_t thread;
    void *failed;

    (void)state;
    assert_int_equal(DRIVER(cuCtxGetCurrent)(&fork_context), 0);
    assert_int_equal(pthread_create(&thread, NULL, allocate_until_told, &ends),
                     0);
    for (int i = 0; i < 40; i++) {
        int status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
            cud_addr addr;

            alarm(20);
            _exit(alloc(&addr, 512) == CUD_NOT_INITIALIZED &&
                          init(0) == CUD_NOT_INITIALIZED
                      ? 0
                      : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    atomic_store(&ends, true);
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
}

#define RULE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RULE(a_context_must_be_current),
        RULE(memory_is_freed_once_and_whole),
        RULE(sizes_are_multiples_of_the_granularity),
        RULE(pages_are_mapped_whole_where_nothing_is),
        RULE(access_is_set_before_use),
        RULE(nothing_is_unmapped_under_queued_work),
        RULE(pages_are_unmapped_while_other_work_runs),
        RULE(destroyed_objects_are_refused),
        RULE(a_context_that_is_gone_is_refused),
        RULE(a_linker_is_destroyed_once),
        RULE(a_function_goes_with_its_module),
        RULE(a_capture_refuses_memory_unless_the_thread_is_relaxed),
        RULE(a_capture_takes_copies_of_the_host_s_own),
        RULE(the_flags_of_a_captured_stream_are_not_told),
        RULE(only_a_global_capture_disturbs_other_threads),
        RULE(a_captured_stream_takes_those_along_that_wait_for_it),
        RULE(a_thread_ends_its_own_captures),
        RULE(time_passes_with_what_is_launched),
        RULE(what_a_thread_reads_is_zeros_while_it_says_so),
        RULE(calls_are_found_by_name),
        RULE(an_address_knows_its_allocation),
        RULE(pages_come_back_through_files),
        RULE(calls_fail_as_planned),
        RULE(the_driver_does_not_survive_a_fork),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
