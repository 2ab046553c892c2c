/* cudart.c - a stand-in for libcudart.so: the calls that PyTorch's allocator
 * makes, carried over to the driver's, which the stand-in of adapters/driver
 * answers.
 *
 * Nothing of a toolkit's headers is used, so that one source serves every
 * version: handles are pointers, errors and enumerations are ints, and of the
 * device's properties only those are set that the allocator reads, which lie at
 * the same place in all versions.  What it links to and never calls while
 * recording (copies, asynchronous memory, other processes) answers "not
 * supported". */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record_pytorch/capture_graph.h"
#include "record_pytorch/stream_number.h"

#define CUDART __attribute__((visibility("default")))

enum {
    CUDART_SUCCESS = 0,
    CUDART_NOT_SUPPORTED = 801,
    CAPTURE_ACTIVE = 1,
    DRIVER_VERSION = 13000
};

/* ---- the driver ----------------------------------------------------------- */

typedef int driver_call();

/* Every driver call here takes pointers and sizes alone. */
static driver_call *driver_find(const char *name)
{
    static void *driver;
    driver_call *call;
    void *found;

    if (driver == NULL)
        driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    found = driver == NULL ? NULL : dlsym(driver, name);
    if (found == NULL) {
        fprintf(stderr, "stand-in for libcudart: no %s: %s\n", name, dlerror());
        exit(2);
    }
    memcpy(&call, &found, sizeof call);
    return call;
}

/* Make device 0's context the thread's. */
static void context_enter(void)
{
    static __thread int is_entered;
    void *context;

    if (is_entered)
        return;
    is_entered = 1;
    if (driver_find("cuInit")(0) != CUDART_SUCCESS ||
        driver_find("cuDevicePrimaryCtxRetain")(&context, 0) !=
            CUDART_SUCCESS ||
        driver_find("cuCtxSetCurrent")(context) != CUDART_SUCCESS) {
        fprintf(stderr, "stand-in for libcudart: no device\n");
        exit(2);
    }
}

static int last_error;

static int remember(int answer)
{
    if (answer != CUDART_SUCCESS)
        last_error = answer;
    return answer;
}

#define DRIVER(symbol, ...)                                                    \
    do {                                                                       \
        static driver_call *call;                                              \
        context_enter();                                                       \
        if (call == NULL)                                                      \
            call = driver_find(#symbol);                                       \
        return remember(call(__VA_ARGS__));                                    \
    } while (0)

static void *stream_handle(void *stream)
{
    return (void *)(uintptr_t)stream_number(stream);
}

/* ---- errors ---------------------------------------------------------------- */

CUDART int cudaGetLastError(void)
{
    int answer = last_error;

    last_error = CUDART_SUCCESS;
    return answer;
}

CUDART int cudaPeekAtLastError(void)
{
    return last_error;
}

CUDART const char *cudaGetErrorString(int error)
{
    return error == 2 ? "out of memory" : "refused by the stand-in";
}

CUDART const char *cudaGetErrorName(int error)
{
    return error == 2 ? "cudaErrorMemoryAllocation" : "cudaErrorUnknown";
}

/* ---- devices ---------------------------------------------------------------- */

CUDART int cudaGetDeviceCount(int *out)
{
    *out = 1;
    return CUDART_SUCCESS;
}

CUDART int cudaGetDevice(int *out)
{
    *out = 0;
    return CUDART_SUCCESS;
}

CUDART int cudaSetDevice(int device)
{
    context_enter();
    return device == 0 ? CUDART_SUCCESS : remember(101);
}

CUDART int cudaDeviceSynchronize(void)
{
    return CUDART_SUCCESS;
}

CUDART int cudaDriverGetVersion(int *out)
{
    *out = DRIVER_VERSION;
    return CUDART_SUCCESS;
}

CUDART int cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return CUDART_SUCCESS;
}

CUDART int cudaDeviceCanAccessPeer(int *out, int device, int peer)
{
    (void)device;
    (void)peer;
    *out = 0;
    return CUDART_SUCCESS;
}

CUDART int cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    DRIVER(cuMemGetInfo_v2, free_bytes, total_bytes);
}

/* How cudaDeviceProp begins, from CUDA 11 to 13. */
struct properties {
    char name[256];
    char uuid[16];
    char luid[8];
    unsigned luid_mask;
    size_t total_bytes;
};

static int properties_set(struct properties *out)
{
    size_t free_bytes;
    int answer;

    memset(out, 0, sizeof *out);
    strcpy(out->name, "simulated");
    answer = cudaMemGetInfo(&free_bytes, &out->total_bytes);
    return answer;
}

CUDART int cudaGetDeviceProperties(struct properties *out, int device)
{
    (void)device;
    return properties_set(out);
}

CUDART int cudaGetDeviceProperties_v2(struct properties *out, int device)
{
    (void)device;
    return properties_set(out);
}

CUDART int cudaDeviceGetAttribute(int *out, int attribute, int device)
{
    DRIVER(cuDeviceGetAttribute, out, attribute, device);
}

/* ---- the driver's calls by name --------------------------------------------- */

/* For calls that the driver's stand-in has not: linked to, never made. */
static int not_supported(void)
{
    return CUDART_NOT_SUPPORTED;
}

static int entry_point(const char *name, void **out, int *status)
{
    int (*refusal)(void) = not_supported;
    int found;

    context_enter();
    if (driver_find("cuGetProcAddress_v2")(
            name, out, DRIVER_VERSION, (uint64_t)0, &found) != CUDART_SUCCESS ||
        *out == NULL)
        memcpy(out, &refusal, sizeof refusal);
    if (status != NULL)
        *status = 0;
    return CUDART_SUCCESS;
}

CUDART int cudaGetDriverEntryPoint(const char *name, void **out,
                                   unsigned long long flags, int *status)
{
    (void)flags;
    return entry_point(name, out, status);
}

CUDART int cudaGetDriverEntryPointByVersion(const char *name, void **out,
                                            unsigned version,
                                            unsigned long long flags,
                                            int *status)
{
    (void)version;
    (void)flags;
    return entry_point(name, out, status);
}

/* ---- memory ------------------------------------------------------------------ */

CUDART int cudaMalloc(void **out, size_t bytes)
{
    DRIVER(cuMemAlloc_v2, out, bytes);
}

CUDART int cudaFree(void *address)
{
    if (address == NULL) {
        context_enter();
        return CUDART_SUCCESS;
    }
    DRIVER(cuMemFree_v2, address);
}

/* ---- events and streams ------------------------------------------------------ */

CUDART int cudaEventCreateWithFlags(void **out, unsigned flags)
{
    DRIVER(cuEventCreate, out, flags);
}

CUDART int cudaEventDestroy(void *event)
{
    DRIVER(cuEventDestroy_v2, event);
}

CUDART int cudaEventRecord(void *event, void *stream)
{
    DRIVER(cuEventRecord, event, stream_handle(stream));
}

CUDART int cudaEventSynchronize(void *event)
{
    DRIVER(cuEventSynchronize, event);
}

/* "Not ready" is no error to be remembered. */
CUDART int cudaEventQuery(void *event)
{
    static driver_call *call;

    context_enter();
    if (call == NULL)
        call = driver_find("cuEventQuery");
    return call(event);
}

CUDART int cudaStreamSynchronize(void *stream)
{
    DRIVER(cuStreamSynchronize, stream_handle(stream));
}

CUDART int cudaStreamQuery(void *stream)
{
    (void)stream;
    return CUDART_SUCCESS;
}

CUDART int cudaStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    (void)stream;
    (void)event;
    (void)flags;
    return CUDART_SUCCESS;
}

CUDART int cudaThreadExchangeStreamCaptureMode(int *mode)
{
    DRIVER(cuThreadExchangeStreamCaptureMode, mode);
}

/* ---- captures ------------------------------------------------------------------ */

CUDART int cudaStreamIsCapturing(void *stream, int *status)
{
    *status =
        capture_graph_of(stream_number(stream)) == NULL ? 0 : CAPTURE_ACTIVE;
    return CUDART_SUCCESS;
}

static int capture_info(void *stream, int *status, unsigned long long *id,
                        void **graph, const void *const **nodes, size_t *count)
{
    const struct capture_graph *g = capture_graph_of(stream_number(stream));

    *status = g == NULL ? 0 : CAPTURE_ACTIVE;
    if (g == NULL)
        return CUDART_SUCCESS;
    if (id != NULL)
        *id = g->id;
    if (graph != NULL)
        *graph = (void *)(uintptr_t)g->id;
    if (nodes != NULL)
        *nodes = capture_graph_ends(stream_number(stream), count);
    return CUDART_SUCCESS;
}

CUDART int cudaStreamGetCaptureInfo_v2(void *stream, int *status,
                                       unsigned long long *id, void **graph,
                                       const void *const **nodes, size_t *count)
{
    return capture_info(stream, status, id, graph, nodes, count);
}

CUDART int cudaStreamGetCaptureInfo_v3(void *stream, int *status,
                                       unsigned long long *id, void **graph,
                                       const void *const **nodes,
                                       const void **edges, size_t *count)
{
    if (edges != NULL)
        *edges = NULL;
    return capture_info(stream, status, id, graph, nodes, count);
}

/* CUDA 13's: with data of edges. */
CUDART int cudaStreamGetCaptureInfo(void *stream, int *status,
                                    unsigned long long *id, void **graph,
                                    const void *const **nodes,
                                    const void **edges, size_t *count)
{
    return cudaStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, edges,
                                       count);
}

CUDART int cudaGraphNodeGetDependencies_v2(const void *node, const void **out,
                                           void *edges, size_t *count)
{
    (void)edges;
    capture_graph_parents(node, out, count);
    return CUDART_SUCCESS;
}

/* CUDA 12's has no data of edges, CUDA 13's has. */
#if CUDART_MAJOR >= 13
CUDART int cudaGraphNodeGetDependencies(const void *node, const void **out,
                                        void *edges, size_t *count)
{
    return cudaGraphNodeGetDependencies_v2(node, out, edges, count);
}
#else
CUDART int cudaGraphNodeGetDependencies(const void *node, const void **out,
                                        size_t *count)
{
    return cudaGraphNodeGetDependencies_v2(node, out, NULL, count);
}
#endif

CUDART int cudaGraphAddEmptyNode(const void **out, void *graph,
                                 const void *const *parents, size_t count)
{
    *out = capture_graph_add((uintptr_t)graph, parents, count);
    return CUDART_SUCCESS;
}

CUDART int cudaStreamUpdateCaptureDependencies(void *stream,
                                               const void *const *nodes,
                                               size_t count, unsigned flags)
{
    (void)flags;
    capture_graph_set_ends(stream_number(stream), nodes, count);
    return CUDART_SUCCESS;
}

/* ---- what is linked to and not called ----------------------------------------- */

#define NOT_SUPPORTED(name)                                                    \
    CUDART int name(void);                                                     \
    int name(void)                                                             \
    {                                                                          \
        return remember(CUDART_NOT_SUPPORTED);                                 \
    }

NOT_SUPPORTED(cudaDeviceEnablePeerAccess)
NOT_SUPPORTED(cudaDeviceGetDefaultMemPool)
NOT_SUPPORTED(cudaDeviceGetGraphMemAttribute)
NOT_SUPPORTED(cudaDeviceSetGraphMemAttribute)
NOT_SUPPORTED(cudaEventElapsedTime)
NOT_SUPPORTED(cudaFreeAsync)
NOT_SUPPORTED(cudaIpcCloseMemHandle)
NOT_SUPPORTED(cudaIpcGetMemHandle)
NOT_SUPPORTED(cudaIpcOpenMemHandle)
NOT_SUPPORTED(cudaMallocAsync)
NOT_SUPPORTED(cudaMemPoolGetAttribute)
NOT_SUPPORTED(cudaMemPoolSetAccess)
NOT_SUPPORTED(cudaMemPoolSetAttribute)
NOT_SUPPORTED(cudaMemPoolTrimTo)
NOT_SUPPORTED(cudaMemcpy)
NOT_SUPPORTED(cudaMemcpyAsync)
NOT_SUPPORTED(cudaMemcpyPeerAsync)
NOT_SUPPORTED(cudaStreamCreateWithPriority)
