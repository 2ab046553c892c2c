/* test_cudart_calls.c - the runtime on the simulated driver: memory, ordering,
 * kernels that do nothing, and errors.  Built for each version of the
 * runtime. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rt_calls.h"

#define MIB(n) ((size_t)(n) << 20)
#define OK(call) assert_int_equal(call, RT_SUCCESS)

static const struct rt_dim3 one = {1, 1, 1};

static void note(void *data)
{
    ++*(int *)data;
}

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

/* Whatever device is the thread's, addresses say whose memory it is. */
static void copies_go_between_devices(void **state)
{
    char out[16] = "";
    char *here;
    char *there;

    (void)state;
    OK(cudaMalloc((void **)&here, MIB(2)));
    OK(cudaSetDevice(1));
    OK(cudaMalloc((void **)&there, MIB(2)));
    OK(cudaMemcpy(there, "to there", 9, RT_HOST_TO_DEVICE));
    OK(cudaMemcpyPeer(here, 0, there, 1, 9));
    OK(cudaMemcpy(out, here, 9, RT_DEVICE_TO_HOST));
    assert_string_equal(out, "to there");
    OK(cudaMemset(here, 'x', 2));
    OK(cudaSetDevice(0));
    OK(cudaMemcpyAsync(there + 3, here, 5, RT_DEVICE_TO_DEVICE, NULL));
    OK(cudaMemcpy(out, there, 9, RT_COPY_DEFAULT));
    assert_string_equal(out, "to xx th");
    OK(cudaMemcpy(there + 9, there, 9, RT_DEVICE_TO_DEVICE));
    OK(cudaMemcpy(out, there + 9, 9, RT_DEVICE_TO_HOST));
    assert_string_equal(out, "to xx th");
    assert_int_equal(cudaMemcpyPeer(there, 1, here + MIB(2) - 1, 0, 2),
                     RT_INVALID_VALUE);
    assert_int_equal(cudaMemcpyPeer(there + MIB(2) - 1, 1, here, 0, 2),
                     RT_INVALID_VALUE);
    OK(cudaFree(here));
    OK(cudaFree(there));
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

static void boxes_are_copied_within_and_between_devices(void **state)
{
    char from[4][4][4];
    char to[2][2][2] = {{{0}}};
    struct rt_copy_3d c = {.srcPtr = {.ptr = from, .pitch = 4, .ysize = 4},
                           .dstPtr = {.pitch = 4, .ysize = 4},
                           .extent = {4, 4, 4},
                           .kind = RT_HOST_TO_DEVICE};
    struct rt_copy_3d_peer p = {.srcDevice = 0,
                                .dstPtr = {.pitch = 2, .ysize = 2},
                                .dstDevice = 1,
                                .srcPos = {1, 2, 1},
                                .extent = {2, 2, 2}};
    void *here;

    (void)state;
    for (int i = 0; i < 64; i++)
        from[i / 16][i / 4 % 4][i % 4] = (char)i;
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&p.dstPtr.ptr, 8));
    OK(cudaSetDevice(0));
    OK(cudaMalloc(&here, sizeof from));
    c.dstPtr.ptr = here;
    OK(cudaMemcpy3D(&c));
    p.srcPtr = c.dstPtr;
    OK(cudaMemcpy3DPeer(&p));
    OK(cudaMemcpy(to, p.dstPtr.ptr, 8, RT_COPY_DEFAULT));
    for (int i = 0; i < 8; i++)
        assert_int_equal(to[i / 4][i / 2 % 2][i % 2],
                         from[1 + i / 4][2 + i / 2 % 2][1 + i % 2]);
    c.kind = RT_HOST_TO_HOST;
    assert_int_equal(cudaMemcpy3D(&c), RT_INVALID_VALUE);
    c.srcArray = here;
    assert_int_equal(cudaMemcpy3DAsync(&c, NULL), RT_NOT_SUPPORTED);
    OK(cudaFree(here));
    OK(cudaFree(p.dstPtr.ptr));
}

/* Of rows too. */
static void a_captured_copy_is_one_node(void **state)
{
    enum { NON_BLOCKING = 1 };
    cud_stream stream;
    void *graph = NULL;
    void *memory;
    size_t nodes = 0;

    (void)state;
    OK(cudaMalloc(&memory, 4096));
    OK(cudaStreamCreateWithFlags(&stream, NON_BLOCKING));
    OK(cudaStreamBeginCapture(stream, 0));
    OK(cudaMemset2DAsync(memory, 64, 0, 16, 8, stream));
    OK(cudaMemcpy2DAsync((char *)memory + 2048, 64, memory, 64, 16, 8,
                         RT_DEVICE_TO_DEVICE, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphGetNodes(graph, NULL, &nodes));
    assert_int_equal(nodes, 2);
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(memory));
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

/* ---- what is gone, or never was --------------------------------------------- */

/* Two allocations do not share an address. */
static void assert_two_differ(cud_stream stream)
{
    void *a = NULL;
    void *b = NULL;

    OK(cudaMallocAsync(&a, MIB(1), stream));
    OK(cudaMallocAsync(&b, MIB(1), stream));
    assert_ptr_not_equal(a, b);
    OK(cudaFree(a));
    OK(cudaFree(b));
    OK(cudaMalloc(&a, MIB(1)));
    OK(cudaMalloc(&b, MIB(1)));
    assert_ptr_not_equal(a, b);
    OK(cudaFree(a));
    OK(cudaFree(b));
}

static void memory_is_freed_once_whichever_way(void **state)
{
    cud_stream stream;

    (void)state;
    OK(cudaStreamCreate(&stream));
    for (int way = 0; way < 8; way++) {
        bool is_pool_s = (way & 1) != 0;
        bool first_is_async = (way & 2) != 0;
        bool second_is_async = (way & 4) != 0;
        void *p;

        OK(is_pool_s ? cudaMallocAsync(&p, MIB(1), stream)
                     : cudaMalloc(&p, MIB(1)));
        OK(first_is_async ? cudaFreeAsync(p, stream) : cudaFree(p));
        assert_int_equal(second_is_async ? cudaFreeAsync(p, stream)
                                         : cudaFree(p),
                         RT_INVALID_VALUE);
        assert_two_differ(stream);
    }
    OK(cudaStreamDestroy(stream));
    OK(cudaDeviceSynchronize());
}

static void memory_is_freed_from_any_device(void **state)
{
    size_t before = free_now();
    void *a;
    void *b;

    (void)state;
    OK(cudaMalloc(&a, MIB(2)));
    OK(cudaMallocAsync(&b, MIB(2), NULL));
    OK(cudaSetDevice(1));
    OK(cudaFree(a));
    assert_int_equal(cudaFreeAsync(b, NULL), RT_INVALID_VALUE);
    OK(cudaFree(b));
    OK(cudaSetDevice(0));
    OK(cudaDeviceSynchronize());
    assert_int_equal(free_now(), before);
}

static void copies_refuse_wrong_kinds_and_freed_memory(void **state)
{
    char host[64] = "";
    char other[64] = "x";
    void *a;
    void *gone;

    (void)state;
    OK(cudaMalloc(&a, MIB(1)));
    OK(cudaMalloc(&gone, MIB(4)));
    OK(cudaFree(gone));
    for (int kind = RT_HOST_TO_HOST; kind <= RT_COPY_DEFAULT; kind++) {
        assert_int_equal(cudaMemcpy(a, gone, 64, kind), RT_INVALID_VALUE);
        assert_int_equal(cudaMemcpy(gone, a, 64, kind), RT_INVALID_VALUE);
        assert_int_equal(cudaMemcpy(host, gone, 64, kind), RT_INVALID_VALUE);
        assert_int_equal(cudaMemcpy(gone, host, 64, kind), RT_INVALID_VALUE);
        assert_int_equal(cudaMemcpyAsync(gone, gone, 64, kind, NULL),
                         RT_INVALID_VALUE);
    }
    for (int kind = RT_HOST_TO_HOST; kind <= RT_DEVICE_TO_DEVICE; kind++) {
        if (kind != RT_HOST_TO_DEVICE)
            assert_int_equal(cudaMemcpy(a, host, 64, kind), RT_INVALID_VALUE);
        if (kind != RT_DEVICE_TO_HOST)
            assert_int_equal(cudaMemcpy(host, a, 64, kind), RT_INVALID_VALUE);
        if (kind != RT_DEVICE_TO_DEVICE)
            assert_int_equal(cudaMemcpy(a, a, 64, kind), RT_INVALID_VALUE);
        if (kind != RT_HOST_TO_HOST)
            assert_int_equal(cudaMemcpy(host, other, 64, kind),
                             RT_INVALID_VALUE);
    }
    assert_int_equal(cudaMemcpy(a, host, 64, 5), RT_INVALID_DIRECTION);
    assert_int_equal(cudaMemcpy(a, host, 64, -1), RT_INVALID_DIRECTION);
    assert_int_equal(cudaMemset(gone, 0, 64), RT_INVALID_VALUE);
    OK(cudaMemcpy(host, other, 64, RT_HOST_TO_HOST));
    assert_int_equal(host[0], 'x');
    OK(cudaMemcpyAsync(host, other + 1, 1, RT_COPY_DEFAULT, NULL));
    assert_int_equal(host[0], 0);
    OK(cudaFree(a));
}

static void sizes_that_overflow_are_refused(void **state)
{
    const size_t huge = SIZE_MAX / 4 + 1;
    struct rt_pitched box;
    void *a;
    size_t pitch;

    (void)state;
    assert_int_equal(cudaMallocPitch(&a, &pitch, 512, huge), RT_OUT_OF_MEMORY);
    assert_int_equal(cudaMallocPitch(&a, &pitch, SIZE_MAX, 1),
                     RT_OUT_OF_MEMORY);
    assert_int_equal(cudaMalloc3D(&box, (struct rt_extent){512, huge, 8}),
                     RT_OUT_OF_MEMORY);
    OK(cudaMalloc(&a, 512));
    OK(cudaMemset2D(a, 512, 0, 0, SIZE_MAX));
    OK(cudaMemcpy2D(a, 512, a, 512, 0, SIZE_MAX, RT_DEVICE_TO_DEVICE));
    assert_int_equal(cudaMemset2D(a, 8, 0, 16, 1), RT_INVALID_VALUE);
    OK(cudaFree(a));
}

static void managed_memory_is_the_host_s_and_the_device_s(void **state)
{
    char host[64] = "";
    struct rt_properties p;
    void *m;
    void *a;

    (void)state;
    OK(cudaGetDeviceProperties(&p, 0));
    OK(cudaMalloc(&a, 64));
    OK(cudaMallocManaged(&m, 64, 1));
    OK(cudaMemcpy(a, m, 64, RT_HOST_TO_DEVICE));
    OK(cudaMemcpy(m, host, 64, RT_HOST_TO_HOST));
    OK(cudaFree(m));
    assert_int_equal(cudaMemcpy(a, m, 64, RT_HOST_TO_DEVICE), RT_INVALID_VALUE);
    OK(cudaFree(a));
}

/* Every call on a handle that no longer is one, or is one of another kind. */
static void assert_no_stream(cud_stream s)
{
    struct rt_function_attributes words;
    unsigned long long id;
    void *graph;
    void *p;
    unsigned flags;
    int n;

    OK(cudaMalloc(&p, 512));
    assert_int_equal(cudaStreamSynchronize(s), RT_INVALID_HANDLE);
    assert_int_equal(cudaStreamQuery(s), RT_INVALID_HANDLE);
    assert_int_equal(cudaStreamGetFlags(s, &flags), RT_INVALID_HANDLE);
    assert_int_equal(cudaStreamGetPriority(s, &n), RT_INVALID_HANDLE);
    assert_int_equal(cudaStreamGetId(s, &id), RT_INVALID_HANDLE);
    assert_int_equal(cudaStreamGetDevice(s, &n), RT_INVALID_HANDLE);
    assert_int_equal(cudaStreamGetAttribute(s, 1, &words), RT_INVALID_HANDLE);
    assert_int_equal(cudaStreamBeginCapture(s, 0), RT_INVALID_HANDLE);
    assert_int_equal(cudaStreamIsCapturing(s, &n), RT_INVALID_HANDLE);
    assert_int_equal(cudaStreamEndCapture(s, &graph), RT_INVALID_HANDLE);
    assert_int_equal(cudaMemsetAsync(p, 0, 512, s), RT_INVALID_HANDLE);
    assert_int_equal(cudaMemcpyAsync(p, p, 512, RT_DEVICE_TO_DEVICE, s),
                     RT_INVALID_HANDLE);
    assert_int_equal(cudaFreeAsync(p, s), RT_INVALID_HANDLE);
    OK(cudaFree(p));
    assert_int_equal(cudaMallocAsync(&p, 512, s), RT_INVALID_HANDLE);
    assert_int_equal(cudaStreamDestroy(s), RT_INVALID_HANDLE);
}

static void assert_no_event(cud_event e)
{
    float ms;

    assert_int_equal(cudaEventRecord(e, NULL), RT_INVALID_HANDLE);
    assert_int_equal(cudaEventQuery(e), RT_INVALID_HANDLE);
    assert_int_equal(cudaEventSynchronize(e), RT_INVALID_HANDLE);
    assert_int_equal(cudaStreamWaitEvent(NULL, e, 0), RT_INVALID_HANDLE);
    assert_int_equal(cudaEventElapsedTime(&ms, e, e), RT_INVALID_HANDLE);
    assert_int_equal(cudaEventDestroy(e), RT_INVALID_HANDLE);
}

static void assert_no_graph(void *graph)
{
    void *exec = NULL;
    void *object = NULL;
    size_t count = 0;
    int destroyed = 0;

    OK(cudaUserObjectCreate(&object, &destroyed, note, 1, 1));
    assert_int_equal(cudaGraphInstantiate(&exec, graph, 0), RT_INVALID_VALUE);
    assert_int_equal(cudaGraphGetNodes(graph, NULL, &count), RT_INVALID_VALUE);
    assert_int_equal(cudaGraphRetainUserObject(graph, object, 1, 1),
                     RT_INVALID_VALUE);
    assert_int_equal(cudaGraphDestroy(graph), RT_INVALID_VALUE);
    OK(cudaUserObjectRelease(object, 1));
    assert_int_equal(destroyed, 1);
    assert_int_equal(cudaUserObjectRetain(object, 1), RT_INVALID_VALUE);
    assert_int_equal(cudaUserObjectRelease(object, 1), RT_INVALID_VALUE);
}

static void assert_no_exec(void *exec)
{
    void *graph = NULL;

    OK(cudaGraphCreate(&graph, 0));
    assert_int_equal(cudaGraphLaunch(exec, NULL), RT_INVALID_VALUE);
    assert_int_equal(cudaGraphUpload(exec, NULL), RT_INVALID_VALUE);
    assert_int_equal(cudaGraphExecUpdate(exec, graph, NULL), RT_INVALID_VALUE);
    assert_int_equal(cudaGraphExecDestroy(exec), RT_INVALID_VALUE);
    OK(cudaGraphDestroy(graph));
}

static void assert_no_pool(void *pool)
{
    uint64_t value = 0;
    void *p;

    assert_int_equal(cudaMallocFromPoolAsync(&p, 512, pool, NULL),
                     RT_INVALID_VALUE);
    assert_int_equal(cudaMemPoolTrimTo(pool, 0), RT_INVALID_VALUE);
    assert_int_equal(cudaMemPoolGetAttribute(pool, USED_NOW, &value),
                     RT_INVALID_VALUE);
    assert_int_equal(cudaDeviceSetMemPool(0, pool), RT_INVALID_VALUE);
    assert_int_equal(cudaMemPoolDestroy(pool), RT_INVALID_VALUE);
}

static void assert_no_kernel(void *kernel)
{
    struct rt_function_attributes f;
    int blocks;

    assert_int_equal(cudaLaunchKernel(kernel, one, one, NULL, 0, NULL),
                     RT_INVALID_FUNCTION);
    assert_int_equal(cudaFuncGetAttributes(&f, kernel), RT_INVALID_FUNCTION);
    assert_int_equal(cudaFuncSetCacheConfig(kernel, 0), RT_INVALID_FUNCTION);
    assert_int_equal(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, 0),
        RT_INVALID_FUNCTION);
}

static void assert_no_library(void *library)
{
    void *kernel;
    unsigned count;

    assert_int_equal(cudaLibraryGetKernel(&kernel, library, "k"),
                     RT_INVALID_HANDLE);
    assert_int_equal(cudaLibraryGetKernelCount(&count, library),
                     RT_INVALID_HANDLE);
    assert_int_equal(cudaLibraryUnload(library), RT_INVALID_HANDLE);
}

/* One of each kind; the pool is of device 0. */
struct handles {
    cud_stream stream;
    cud_event event;
    void *graph;
    void *exec;
    void *pool;
    void *library;
    void *kernel;
};

static struct handles handles_make(void)
{
    const struct {
        int words[4];
        char rest[80];
    } wanted = {{1, 0, 1, 0}, ""};
    struct handles h;

    OK(cudaStreamCreate(&h.stream));
    OK(cudaEventCreate(&h.event));
    OK(cudaGraphCreate(&h.graph, 0));
    OK(cudaGraphInstantiate(&h.exec, h.graph, 0));
    OK(cudaGraphExecUpdate(h.exec, h.graph, NULL));
    OK(cudaMemPoolCreate(&h.pool, &wanted));
    OK(cudaLibraryLoadData(&h.library, "image", NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&h.kernel, h.library, "k"));
    OK(cudaLaunchKernel(h.kernel, one, one, NULL, 0, h.stream));
    OK(cudaGraphLaunch(h.exec, h.stream));
    return h;
}

static void handles_destroy(const struct handles *h)
{
    OK(cudaStreamDestroy(h->stream));
    OK(cudaEventDestroy(h->event));
    OK(cudaGraphDestroy(h->graph));
    OK(cudaGraphExecDestroy(h->exec));
    OK(cudaMemPoolDestroy(h->pool));
    OK(cudaLibraryUnload(h->library));
}

static void assert_none_of(const struct handles *h)
{
    assert_no_stream(h->stream);
    assert_no_event(h->event);
    assert_no_graph(h->graph);
    assert_no_exec(h->exec);
    assert_no_pool(h->pool);
    assert_no_kernel(h->kernel);
    assert_no_library(h->library);
}

/* Not even if others were made since. */
static void destroyed_handles_stay_invalid(void **state)
{
    struct handles old = handles_make();
    struct handles new;

    (void)state;
    handles_destroy(&old);
    assert_none_of(&old);
    new = handles_make();
    assert_none_of(&old);
    handles_destroy(&new);
}

static void made_up_handles_are_refused(void **state)
{
    static char own[64];
    const uintptr_t values[] = {8, 4096, (uintptr_t)own, UINTPTR_MAX - 7};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        void *value = (void *)values[i];
        struct handles h = {value, value, value, value, value, value, value};

        assert_none_of(&h);
    }
}

static void a_handle_of_another_kind_is_refused(void **state)
{
    struct handles h = handles_make();
    struct handles mixed = {.stream = h.exec,
                            .event = (cud_event)h.stream,
                            .graph = h.exec,
                            .exec = h.graph,
                            .pool = h.stream,
                            .library = h.kernel,
                            .kernel = h.library};

    (void)state;
    assert_none_of(&mixed);
    handles_destroy(&h);
}

/* The graph that a capture showed belongs to the program. */
static void a_captured_graph_may_be_destroyed_early(void **state)
{
    cud_stream stream;
    void *graph = NULL;
    void *ended = NULL;
    unsigned long long id;
    int status = 0;

    (void)state;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, 0));
#if RT_MAJOR >= 13
    OK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, NULL, NULL,
                                NULL));
#else
    OK(cudaStreamGetCaptureInfo_v2(stream, &status, &id, &graph, NULL, NULL));
#endif
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamEndCapture(stream, &ended));
    assert_ptr_not_equal(ended, graph);
    OK(cudaGraphDestroy(ended));
    OK(cudaStreamBeginCapture(stream, 0));
    OK(cudaStreamDestroy(stream)); /* ends it: memory can be allocated */
    OK(cudaMalloc(&graph, 512));
    OK(cudaFree(graph));
}

static void the_default_stream_stands_apart_from_a_non_blocking_capture(
    void **state)
{
    enum { RELAXED = 2, NON_BLOCKING = 1, IMPLICIT = 906, INVALIDATED = 901 };
    cud_stream stream;
    void *graph = NULL;
    void *memory;
    size_t nodes = 0;
    int status = 9;

    (void)state;
    OK(cudaMalloc(&memory, 4096));
    OK(cudaStreamCreateWithFlags(&stream, NON_BLOCKING));
    OK(cudaStreamBeginCapture(stream, 0));
    OK(cudaStreamIsCapturing(NULL, &status));
    assert_int_equal(status, 0);
    OK(cudaMemsetAsync(memory, 0, 64, NULL));
    OK(cudaMemsetAsync(memory, 0, 64, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphGetNodes(graph, NULL, &nodes));
    assert_int_equal(nodes, 1);
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));

    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, RELAXED));
    assert_int_equal(cudaStreamIsCapturing(NULL, &status), IMPLICIT);
    OK(cudaStreamIsCapturing(stream, &status));
    assert_int_equal(status, 1);
    assert_int_equal(cudaMemsetAsync(memory, 0, 64, NULL), IMPLICIT);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), INVALIDATED);
    assert_null(graph);
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(memory));
}

/* A copy that is queued uses memory until it is freed, which waits. */
static void pinned_memory_outlives_its_copies(void **state)
{
    void *pinned;
    void *a;

    (void)state;
    OK(cudaMalloc(&a, 4096));
    OK(cudaHostAlloc(&pinned, 4096, 0));
    OK(cudaMemcpyAsync(pinned, a, 4096, RT_DEVICE_TO_HOST, NULL));
    OK(cudaFreeHost(pinned));
    assert_int_equal(cudaFreeHost(pinned), RT_INVALID_VALUE);
    assert_int_equal(cudaHostUnregister(pinned), RT_INVALID_VALUE);
    assert_int_equal(cudaHostRegister(a, 4096, 0), RT_INVALID_VALUE);
    OK(cudaDeviceSynchronize());
    OK(cudaFree(a));
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

static void a_reset_frees_memory_and_begins_afresh(void **state)
{
    static char own[1]; /* its double */
    void **image = __cudaRegisterFatBinary(own);
    int value = 7;
    size_t before = 0;
    size_t after = 0;
    size_t all = 0;
    void *memory = NULL;
    cud_stream stream;

    (void)state;
    __cudaRegisterVar(image, own, NULL, "variable", 0, 64, 0, 1);
    OK(cudaDeviceReset());
    OK(cudaMemGetInfo(&before, &all));
    OK(cudaMalloc(&memory, MIB(4)));
    OK(cudaStreamCreate(&stream));
    OK(cudaMemcpyToSymbol(own, &value, sizeof value, 0, RT_HOST_TO_DEVICE));
    OK(cudaDeviceReset());
    OK(cudaMemGetInfo(&after, &all));
    assert_int_equal(after, before);
    assert_no_stream(stream);
    assert_int_equal(cudaFree(memory), RT_INVALID_VALUE);
    OK(cudaMemcpyToSymbol(own, &value, sizeof value, 0, RT_HOST_TO_DEVICE));
}

/* ---- order ------------------------------------------------------------------------ */

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
        cmocka_unit_test(copies_go_between_devices),
        cmocka_unit_test(memory_is_counted_and_runs_out),
        cmocka_unit_test(copies_keep_their_bytes),
        cmocka_unit_test(boxes_are_copied_within_and_between_devices),
        cmocka_unit_test(a_captured_copy_is_one_node),
        cmocka_unit_test(an_address_is_of_device_pinned_or_unknown_memory),
        cmocka_unit_test(a_pool_keeps_memory_up_to_its_threshold),
        cmocka_unit_test(a_pool_s_piece_waits_for_its_stream),
        cmocka_unit_test(a_created_pool_is_destroyed_once_it_is_empty),
        cmocka_unit_test(memory_is_freed_once_whichever_way),
        cmocka_unit_test(memory_is_freed_from_any_device),
        cmocka_unit_test(copies_refuse_wrong_kinds_and_freed_memory),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(managed_memory_is_the_host_s_and_the_device_s),
        cmocka_unit_test(destroyed_handles_stay_invalid),
        cmocka_unit_test(made_up_handles_are_refused),
        cmocka_unit_test(a_handle_of_another_kind_is_refused),
        cmocka_unit_test(
            the_default_stream_stands_apart_from_a_non_blocking_capture),
        cmocka_unit_test(a_captured_graph_may_be_destroyed_early),
        cmocka_unit_test(pinned_memory_outlives_its_copies),
        cmocka_unit_test(registered_kernels_can_be_launched),
        cmocka_unit_test(a_pushed_launch_configuration_is_popped_unchanged),
        cmocka_unit_test(a_variable_has_memory_when_it_is_used),
        cmocka_unit_test(a_reset_frees_memory_and_begins_afresh),
        cmocka_unit_test(the_host_is_called_in_a_stream_s_order),
        cmocka_unit_test(a_graph_keeps_its_objects),
        cmocka_unit_test(calls_that_are_not_simulated_return_not_supported),
        cmocka_unit_test(the_driver_s_calls_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
