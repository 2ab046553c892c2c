// within.cu - a program that has NVIDIA's CUDA runtime within it, for `larder
// exec`: what programs ask of the runtime, and so the runtime of the driver.
// Says "all done" at the end; any other end is wrong.
#include "within.h"

#include <thread>
#include <vector>

#include <cuda_profiler_api.h>
#ifdef WITH_CUBLAS
#include <cublas_v2.h>
#endif

enum : size_t { MIB = 1 << 20 };

__constant__ float constant[16] = {9};
__managed__ int managed = 5;

__global__ void add(float *to, const float *from, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < count)
        to[i] += from[i] + constant[0] + managed + shared_by_parts[0];
}

static void look_at_devices(void)
{
    cudaDeviceProp properties;
    char bus[32];
    size_t free_bytes;
    size_t total;
    int count = 0;
    int number;

    MUST(cudaGetDeviceCount(&count));
    CHECK(count == 2);
    MUST(cudaGetDeviceProperties(&properties, 1));
    CHECK(properties.major == 8 && properties.minor == 0);
    CHECK(properties.totalGlobalMem == 256 * MIB);
    MUST(cudaDeviceGetPCIBusId(bus, sizeof bus, 1));
    MUST(cudaDeviceGetByPCIBusId(&number, bus));
    CHECK(number == 1);
    MUST(cudaMemGetInfo(&free_bytes, &total));
    CHECK(total == 256 * MIB);
    CHECK(strcmp(cudaGetErrorString(cudaErrorMemoryAllocation),
                 "out of memory") == 0);
}

static void allocate(void)
{
    cudaPointerAttributes what;
    cudaMemPool_t pool;
    void *ptr;
    int on_stack;

    ANSWERS(cudaErrorMemoryAllocation, cudaMalloc(&ptr, 257 * MIB));
    MUST(cudaMalloc(&ptr, MIB));
    MUST(cudaPointerGetAttributes(&what, ptr));
    CHECK(what.type == cudaMemoryTypeDevice && what.device == 0);
    MUST(cudaPointerGetAttributes(&what, &on_stack));
    CHECK(what.type == cudaMemoryTypeUnregistered);
    MUST(cudaFree(ptr));
    ANSWERS(cudaErrorInvalidValue, cudaFree(ptr));

    MUST(cudaMallocManaged(&ptr, MIB));
    memset(ptr, 1, MIB);
    MUST(cudaPointerGetAttributes(&what, ptr));
    CHECK(what.type == cudaMemoryTypeManaged && what.hostPointer == ptr);
    MUST(cudaFree(ptr));

    MUST(cudaMallocAsync(&ptr, MIB, 0));
    MUST(cudaFreeAsync(ptr, 0));
    MUST(cudaDeviceGetDefaultMemPool(&pool, 0));
    MUST(cudaDeviceSynchronize());
    MUST(cudaMemPoolTrimTo(pool, 0));

    MUST(cudaHostAlloc(&ptr, MIB, cudaHostAllocMapped));
    MUST(cudaFreeHost(ptr));
}

static void copy(void)
{
    const size_t row = 100;
    const size_t rows = 50;
    std::vector<char> from(row * rows, 7);
    std::vector<char> to(row * rows, 0);
    cudaMemcpy3DParms box = {};
    size_t pitch;
    void *ptr;

    MUST(cudaMallocPitch(&ptr, &pitch, row, rows));
    MUST(cudaMemset2D(ptr, pitch, 1, row, rows));
    MUST(cudaMemcpy2D(ptr, pitch, from.data(), row, row, rows / 2,
                      cudaMemcpyHostToDevice));
    MUST(cudaMemcpy2DAsync(to.data(), row, ptr, pitch, row, rows,
                           cudaMemcpyDefault, 0));
    MUST(cudaDeviceSynchronize());
    CHECK(to.front() == 7 && to[row * rows / 2] == 1 && to.back() == 1);

    box.srcPtr = make_cudaPitchedPtr(from.data(), row, row, rows / 2);
    box.dstPtr = make_cudaPitchedPtr(ptr, pitch, row, rows / 2);
    box.extent = make_cudaExtent(row, rows / 2, 2);
    box.kind = cudaMemcpyHostToDevice;
    MUST(cudaMemcpy3D(&box));
    MUST(cudaMemcpy2D(to.data(), row, ptr, pitch, row, rows,
                      cudaMemcpyDeviceToHost));
    CHECK(to == from);
    MUST(cudaFree(ptr));
}

static void use_variables(void)
{
    int values[4] = {};
    float first = 0;
    size_t bytes;

    MUST(cudaMemcpyFromSymbol(values, shared_by_parts, sizeof values));
    CHECK(values[0] == 1 && values[3] == 4);
    values[3] = 5;
    MUST(cudaMemcpyToSymbol(shared_by_parts, values, sizeof values));
    values[3] = 0;
    MUST(cudaMemcpyFromSymbol(values, shared_by_parts, sizeof values));
    CHECK(values[3] == 5);
    ANSWERS(cudaErrorInvalidValue,
            cudaMemcpyToSymbol(shared_by_parts, values, 17));
    MUST(cudaMemcpyFromSymbol(&first, constant, sizeof first));
    CHECK(first == 9);
    MUST(cudaGetSymbolSize(&bytes, constant));
    CHECK(bytes == sizeof constant);
    CHECK(managed == 5);
    managed = 6;
}

static void launch(void)
{
    cudaFuncAttributes about;
    cudaStreamCaptureStatus status;
    cudaGraphExec_t exec;
    cudaStream_t stream;
    cudaEvent_t begin;
    cudaEvent_t end;
    cudaGraph_t graph;
    float elapsed = 0;
    float *ptr;
    int grid;
    int block;

    MUST(cudaMalloc(&ptr, MIB));
    MUST(cudaStreamCreate(&stream));
    MUST(cudaEventCreate(&begin));
    MUST(cudaEventCreate(&end));
    MUST(cudaEventRecord(begin, stream));
    add<<<64, 256, 0, stream>>>(ptr, ptr, 1);
    MUST(cudaGetLastError());
    MUST(cudaEventRecord(end, stream));
    launch_other_part(ptr, stream);
    MUST(cudaEventSynchronize(end));
    MUST(cudaEventElapsedTime(&elapsed, begin, end));
    CHECK(elapsed > 0);
    MUST(cudaFuncGetAttributes(&about, add));
    CHECK(about.maxThreadsPerBlock == 1024);
    MUST(cudaFuncSetAttribute(add, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              65536));
    MUST(cudaFuncSetCacheConfig(add, cudaFuncCachePreferL1));
    MUST(cudaOccupancyMaxPotentialBlockSize(&grid, &block, add));
    CHECK(block == 1024);

    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    add<<<1, 1, 0, stream>>>(ptr, ptr, 1);
    MUST(cudaStreamGetCaptureInfo(stream, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    ANSWERS(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
    ANSWERS(cudaErrorStreamCaptureInvalidated,
            cudaStreamEndCapture(stream, &graph));
    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    add<<<1, 1, 0, stream>>>(ptr, ptr, 1);
    MUST(cudaStreamEndCapture(stream, &graph));
    MUST(cudaGraphInstantiate(&exec, graph, 0));
    MUST(cudaGraphLaunch(exec, stream));
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaStreamDestroy(stream));
    MUST(cudaFree(ptr));
}

static void use_many_threads(void)
{
    std::vector<std::thread> threads;

    for (int t = 0; t < 4; t++)
        threads.emplace_back([t] {
            cudaStream_t stream;
            float *ptr;

            MUST(cudaSetDevice(t % 2));
            MUST(cudaStreamCreate(&stream));
            for (int i = 0; i < 50; i++) {
                MUST(cudaMalloc(&ptr, MIB / 16));
                add<<<1, 32, 0, stream>>>(ptr, ptr, 1);
                MUST(cudaGetLastError());
                MUST(cudaStreamSynchronize(stream));
                MUST(cudaFree(ptr));
            }
            MUST(cudaStreamDestroy(stream));
        });
    for (auto &thread : threads)
        thread.join();
}

static void use_two_devices(void)
{
    int value = 8;
    int got = 0;
    void *here;
    void *there;

    MUST(cudaMalloc(&here, MIB));
    MUST(cudaMemcpy(here, &value, sizeof value, cudaMemcpyHostToDevice));
    MUST(cudaSetDevice(1));
    MUST(cudaMalloc(&there, MIB));
    MUST(cudaDeviceEnablePeerAccess(0, 0));
    MUST(cudaMemcpyPeer(there, 1, here, 0, sizeof value));
    MUST(cudaMemcpy(&got, there, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(got == 8);
    // Each device has its own variables.
    MUST(cudaMemcpyFromSymbol(&got, shared_by_parts, sizeof got,
                              3 * sizeof got));
    CHECK(got == 4);
    MUST(cudaFree(there));
    MUST(cudaSetDevice(0));
    MUST(cudaFree(here));
}

static void use_a_library(void)
{
#ifdef WITH_CUBLAS
    cublasHandle_t handle;
    const float one = 1;
    float *ptr;

    MUST(cudaMalloc(&ptr, MIB));
    CHECK(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
    CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, ptr, 8,
                      ptr, 8, &one, ptr, 8) == CUBLAS_STATUS_SUCCESS);
    CHECK(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
    MUST(cudaFree(ptr));
#endif
}

int main(void)
{
    float *ptr;

    look_at_devices();
    allocate();
    copy();
    use_variables();
    launch();
    use_many_threads();
    use_two_devices();
    use_a_library();
    MUST(cudaProfilerStop());
    MUST(cudaDeviceReset());
    MUST(cudaMalloc(&ptr, MIB));
    launch_other_part(ptr, 0);
    MUST(cudaFree(ptr));
    puts("all done");
    return 0;
}
