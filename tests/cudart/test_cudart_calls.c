/* test_cudart_calls.c - the runtime on the simulated driver: memory, ordering,
 * kernels that do nothing, and errors.  Built for each version of the
 * runtime. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rt_calls.h"

#define MIB(n) ((size_t)(n) << 20)
#define OK(call) assert_int_equal(call, RT_SUCCESS)

static const struct rt_dim3 one = {1, 1, 1};

static size_t free_now(void)
{
    size_t free_bytes = 0;
    size_t total = 0;

    OK(cudaMemGetInfo(&free_bytes, &total));
    assert_int_equal(total, MIB(64));
    return free_bytes;
}

static void a_device_says_what_it_is(void **state)
{
    struct rt_properties p;
    int count = 0;
    int value = 0;

    (void)state;
    OK(cudaGetDeviceCount(&count));
    assert_int_equal(count, 2);
    OK(cudaGetDeviceProperties(&p, 1));
    assert_string_equal(p.name, "simulated GPU");
    assert_int_equal(p.totalGlobalMem, MIB(64));
    assert_int_equal(10 * p.major + p.minor, 80);
    assert_int_equal(p.multiProcessorCount, 108);
    assert_int_equal(p.sharedMemPerBlockOptin, 163 << 10);
    OK(cudaDeviceGetAttribute(&value, 97, 0));
    assert_int_equal(value, 163 << 10);
    assert_int_equal(cudaGetDeviceProperties(&p, 2), RT_INVALID_DEVICE);
    assert_int_equal(cudaGetLastError(), RT_INVALID_DEVICE);
    assert_int_equal(cudaGetLastError(), RT_SUCCESS);
}

static void calls_go_to_the_device_that_was_set(void **state)
{
    size_t before = free_now();
    int device = -1;
    void *there;

    (void)state;
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&there, MIB(2)));
    OK(cudaGetDevice(&device));
    assert_int_equal(device, 1);
    OK(cudaSetDevice(0));
    assert_int_equal(free_now(), before);
    assert_int_equal(cudaSetDevice(2), RT_INVALID_DEVICE);
    OK(cudaSetDevice(1));
    assert_int_equal(free_now(), MIB(62));
    OK(cudaFree(there));
    OK(cudaSetDevice(0));
}

static void memory_is_counted_and_runs_out(void **state)
{
    size_t before = free_now();
    void *a = NULL;
    void *b = &a;

    (void)state;
    OK(cudaMalloc(&a, MIB(40)));
    assert_int_equal(free_now(), before - MIB(40));
    assert_int_equal(cudaMalloc(&b, MIB(40)), RT_OUT_OF_MEMORY);
    assert_ptr_equal(b, &a);
    assert_int_equal(cudaPeekAtLastError(), RT_OUT_OF_MEMORY);
    assert_string_equal(cudaGetErrorName(cudaGetLastError()),
                        "cudaErrorMemoryAllocation");
    OK(cudaFree(a));
    OK(cudaFree(NULL));
    assert_int_equal(free_now(), before);
    OK(cudaMalloc(&a, 0));
    assert_null(a);
}

static void copies_keep_their_bytes(void **state)
{
    char from[4096];
    char to[4096] = "";
    void *a;
    void *b;

    (void)state;
    memset(from, 42, sizeof from);
    OK(cudaMalloc(&a, sizeof from));
    OK(cudaMalloc(&b, sizeof from));
    OK(cudaMemcpy(a, from, sizeof from, RT_HOST_TO_DEVICE));
    OK(cudaMemcpy(b, a, sizeof from, RT_COPY_DEFAULT));
    OK(cudaMemset(b, 7, 8));
    OK(cudaMemcpy2D(to, 64, b, 128, 16, 32, RT_DEVICE_TO_HOST));
    assert_int_equal(to[7], 7);
    assert_int_equal(to[8], 42);
    assert_int_equal(to[31 * 64 + 15], 42);
    assert_int_equal(to[16], 0);
    assert_int_equal(cudaMemcpy2D(to, 8, b, 128, 16, 1, RT_DEVICE_TO_HOST),
                     RT_INVALID_VALUE);
    OK(cudaFree(a));
    OK(cudaFree(b));
}

static void an_address_is_of_device_pinned_or_unknown_memory(void **state)
{
    struct rt_pointer_attributes p;
    char own[64];
    void *pinned;
    void *a;

    (void)state;
    OK(cudaMalloc(&a, MIB(1)));
    OK(cudaPointerGetAttributes(&p, (char *)a + 100));
    assert_int_equal(p.type, RT_ON_DEVICE);
    assert_int_equal(p.device, 0);
    OK(cudaHostAlloc(&pinned, 4096, 0));
    OK(cudaPointerGetAttributes(&p, pinned));
    assert_int_equal(p.type, RT_ON_HOST);
    OK(cudaPointerGetAttributes(&p, own));
    assert_int_equal(p.type, RT_UNREGISTERED);
    OK(cudaHostRegister(own, sizeof own, 0));
    OK(cudaPointerGetAttributes(&p, own + 8));
    assert_int_equal(p.type, RT_ON_HOST);
    OK(cudaHostUnregister(own));
    assert_int_equal(cudaFreeHost(own), RT_INVALID_VALUE);
    OK(cudaFreeHost(pinned));
    OK(cudaFree(a));
}

/* ---- pools -------------------------------------------------------------------- */

enum { THRESHOLD = 4, RESERVED_NOW = 5, USED_NOW = 7, USED_HIGH = 8 };

static uint64_t pool_counter(void *pool, int which)
{
    uint64_t value = 0;

    OK(cudaMemPoolGetAttribute(pool, which, &value));
    return value;
}

static void a_pool_keeps_memory_up_to_its_threshold(void **state)
{
    size_t before = free_now();
    uint64_t all = UINT64_MAX;
    uint64_t none = 0;
    void *pool;
    void *a;
    void *b;

    (void)state;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaMallocAsync(&a, MIB(8), NULL));
    assert_int_equal(pool_counter(pool, USED_NOW), MIB(8));
    OK(cudaFreeAsync(a, NULL));
    assert_int_equal(pool_counter(pool, USED_NOW), 0);
    assert_int_equal(pool_counter(pool, RESERVED_NOW), MIB(8));
    OK(cudaMallocAsync(&b, MIB(8), NULL));
    assert_ptr_equal(a, b);
    OK(cudaFreeAsync(b, NULL));
    OK(cudaDeviceSynchronize());
    assert_int_equal(free_now(), before);
    OK(cudaMemPoolSetAttribute(pool, THRESHOLD, &all));
    OK(cudaMallocAsync(&a, MIB(8), NULL));
    OK(cudaFreeAsync(a, NULL));
    OK(cudaDeviceSynchronize());
    assert_int_equal(free_now(), before - MIB(8));
    assert_int_equal(pool_counter(pool, USED_HIGH), MIB(8));
    OK(cudaMemPoolTrimTo(pool, 0));
    assert_int_equal(free_now(), before);
    OK(cudaMemPoolSetAttribute(pool, THRESHOLD, &none));
}

static void a_pool_s_piece_waits_for_its_stream(void **state)
{
    cud_stream first;
    cud_stream second;
    void *a;
    void *b;
    void *other;

    (void)state;
    OK(cudaStreamCreateWithFlags(&first, 1));
    OK(cudaStreamCreateWithFlags(&second, 1));
    OK(cudaMallocAsync(&a, MIB(4), first));
    OK(cudaMalloc(&other, 4096));
    OK(cudaMemsetAsync(other, 0, 4096, first)); /* not run yet */
    OK(cudaFreeAsync(a, first));
    OK(cudaMallocAsync(&b, MIB(4), second));
    assert_ptr_not_equal(a, b);
    OK(cudaFreeAsync(b, second));
    OK(cudaStreamSynchronize(first));
    OK(cudaMallocAsync(&a, MIB(4), first));
    OK(cudaFree(a)); /* may be freed this way too */
    OK(cudaFree(other));
    OK(cudaStreamDestroy(first));
    OK(cudaStreamDestroy(second));
    OK(cudaDeviceSynchronize());
}

static void a_created_pool_is_destroyed_once_it_is_empty(void **state)
{
    const struct {
        int kind;
        int handles;
        cud_location location;
        char rest[80];
    } wanted = {1, 0, {1, 0}, ""};
    void *pool = NULL;
    void *a;

    (void)state;
    OK(cudaMemPoolCreate(&pool, &wanted));
    OK(cudaMallocFromPoolAsync(&a, 1000, pool, NULL));
    assert_int_equal(pool_counter(pool, USED_NOW), 1024);
    assert_int_equal(cudaMemPoolDestroy(pool), RT_INVALID_VALUE);
    OK(cudaFreeAsync(a, NULL));
    OK(cudaMemPoolDestroy(pool));
    assert_int_equal(cudaMemPoolTrimTo(pool, 0), RT_INVALID_VALUE);
}

/* ---- code ------------------------------------------------------------------------ */

static void double_of_a_kernel(void)
{
}

static char double_of_a_variable[64];

/* A host function's address as a data pointer, as in code generated by nvcc. */
static const void *kernel_address(void)
{
    void (*function)(void) = double_of_a_kernel;
    const void *address;

    memcpy(&address, &function, sizeof address);
    return address;
}

static void registered_kernels_can_be_launched(void **state)
{
    struct rt_function_attributes f;
    void **image = __cudaRegisterFatBinary(double_of_a_variable);
    int blocks = 0;

    (void)state;
    assert_non_null(image);
    __cudaRegisterFunction(image, kernel_address(), NULL, "kernel", -1, NULL,
                           NULL, NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(image);
    OK(cudaLaunchKernel(kernel_address(), one, one, NULL, 0, NULL));
    assert_int_equal(cudaLaunchKernel(kernel_address(), one,
                                      (struct rt_dim3){1, 0, 1}, NULL, 0, NULL),
                     RT_INVALID_CONFIGURATION);
    assert_int_equal(cudaLaunchKernel(NULL, one, one, NULL, 0, NULL),
                     RT_INVALID_FUNCTION);
    OK(cudaFuncGetAttributes(&f, kernel_address()));
    assert_int_equal(f.maxThreadsPerBlock, 1024);
    assert_int_equal(f.binaryVersion, 80);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_address(),
                                                     256, 0));
    assert_int_equal(blocks, 8);
}

static void a_pushed_launch_configuration_is_popped_unchanged(void **state)
{
    struct rt_dim3 grid = {2, 3, 4};
    struct rt_dim3 block = {5, 6, 7};
    size_t shared = 0;
    cud_stream stream = NULL;

    (void)state;
    assert_int_equal(__cudaPushCallConfiguration(grid, block, 8, &shared), 0);
    OK(__cudaPopCallConfiguration(&block, &grid, &shared, &stream));
    assert_int_equal(block.y, 3);
    assert_int_equal(grid.z, 7);
    assert_int_equal(shared, 8);
    assert_ptr_equal(stream, &shared);
}

static void a_variable_has_memory_when_it_is_used(void **state)
{
    void **image = __cudaRegisterFatBinary(double_of_a_variable);
    int value = 7;
    int back = 0;
    size_t bytes = 0;
    void *addr = NULL;

    (void)state;
    __cudaRegisterVar(image, double_of_a_variable, NULL, "variable", 0, 64, 0,
                      1);
    OK(cudaMemcpyToSymbol(double_of_a_variable, &value, sizeof value, 60,
                          RT_HOST_TO_DEVICE));
    OK(cudaMemcpyFromSymbol(&back, double_of_a_variable, sizeof back, 60,
                            RT_DEVICE_TO_HOST));
    assert_int_equal(back, 7);
    OK(cudaGetSymbolSize(&bytes, double_of_a_variable));
    assert_int_equal(bytes, 64);
    OK(cudaGetSymbolAddress(&addr, double_of_a_variable));
    assert_int_equal(cudaMemcpyToSymbol(double_of_a_variable, &value,
                                        sizeof value, 61, RT_HOST_TO_DEVICE),
                     RT_INVALID_VALUE);
    assert_int_equal(cudaGetSymbolAddress(&addr, &value), RT_INVALID_SYMBOL);
}

/* ---- order ------------------------------------------------------------------------ */

static void note(void *data)
{
    ++*(int *)data;
}

static void the_host_is_called_in_a_stream_s_order(void **state)
{
    cud_stream stream;
    cud_event event;
    int called = 0;
    float ms = 1;

    (void)state;
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&event));
    OK(cudaLaunchHostFunc(stream, note, &called));
    OK(cudaEventRecord(event, stream));
    OK(cudaStreamWaitEvent(NULL, event, 0));
    OK(cudaEventSynchronize(event));
    assert_int_equal(called, 1);
    OK(cudaEventElapsedTime(&ms, event, event));
    assert_true(ms == 0);
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
    assert_int_not_equal(cudaStreamDestroy(stream), RT_SUCCESS);
}

static void a_graph_keeps_its_objects(void **state)
{
    cud_stream stream;
    void *object;
    void *graph = NULL;
    void *exec = NULL;
    int status = -1;
    int destroyed = 0;

    (void)state;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, 0));
    OK(cudaStreamIsCapturing(stream, &status));
    assert_int_equal(status, 1);
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaUserObjectCreate(&object, &destroyed, note, 1, 1));
    OK(cudaGraphRetainUserObject(graph, object, 1, 1));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphExecDestroy(exec));
    assert_int_equal(destroyed, 0);
    OK(cudaGraphDestroy(graph));
    assert_int_equal(destroyed, 1);
    OK(cudaStreamDestroy(stream));
}

static void calls_that_are_not_simulated_return_not_supported(void **state)
{
    int cudaMallocArray(void **, const void *, size_t, size_t, unsigned);
    void *array;

    (void)state;
    assert_int_equal(cudaMallocArray(&array, NULL, 1, 1, 0), RT_NOT_SUPPORTED);
    assert_int_equal(cudaGetLastError(), RT_NOT_SUPPORTED);
}

static void the_driver_s_calls_are_found(void **state)
{
    void *found = NULL;
    int status = -1;

    (void)state;
    OK(cudaGetDriverEntryPoint("cuMemCreate", &found, 0, &status));
    assert_non_null(found);
    assert_int_equal(status, 0);
    OK(cudaGetDriverEntryPoint("cuNothing", &found, 0, &status));
    assert_null(found);
    assert_int_equal(status, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_says_what_it_is),
        cmocka_unit_test(calls_go_to_the_device_that_was_set),
        cmocka_unit_test(memory_is_counted_and_runs_out),
        cmocka_unit_test(copies_keep_their_bytes),
        cmocka_unit_test(an_address_is_of_device_pinned_or_unknown_memory),
        cmocka_unit_test(a_pool_keeps_memory_up_to_its_threshold),
        cmocka_unit_test(a_pool_s_piece_waits_for_its_stream),
        cmocka_unit_test(a_created_pool_is_destroyed_once_it_is_empty),
        cmocka_unit_test(registered_kernels_can_be_launched),
        cmocka_unit_test(a_pushed_launch_configuration_is_popped_unchanged),
        cmocka_unit_test(a_variable_has_memory_when_it_is_used),
        cmocka_unit_test(the_host_is_called_in_a_stream_s_order),
        cmocka_unit_test(a_graph_keeps_its_objects),
        cmocka_unit_test(calls_that_are_not_simulated_return_not_supported),
        cmocka_unit_test(the_driver_s_calls_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
