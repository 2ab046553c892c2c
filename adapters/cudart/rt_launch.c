/* rt_launch.c - kernels: their attributes, and launching them. */
#include <string.h>

#include "rt_state.h"

/* ---- functions ------------------------------------------------------------------ */

static int begin_kernel(const void *function, void **out)
{
    int answer = rt_begin();

    return answer == CUD_SUCCESS ? rt_kernel_of(function, out) : answer;
}

/* CUfunction_attribute, in the order of the structure's fields. */
enum {
    FUNCTION_THREADS,
    FUNCTION_SHARED,
    FUNCTION_CONSTANT,
    FUNCTION_LOCAL,
    FUNCTION_REGISTERS,
    FUNCTION_PTX,
    FUNCTION_BINARY,
    FUNCTION_CACHE,
    FUNCTION_DYNAMIC_SHARED
};

static int rt_launch_attribute(void *kernel, int which)
{
    int value = 0;

    (void)cuKernelGetAttribute(&value, which, kernel, rt_device());
    return value;
}

int cudaFuncGetAttributes(struct rt_function_attributes *out,
                          const void *function)
{
    void *kernel = NULL;
    int answer = begin_kernel(function, &kernel);

    if (answer != CUD_SUCCESS)
        return rt_end(answer);
    memset(out, 0, sizeof *out);
    out->sharedSizeBytes = (size_t)rt_launch_attribute(kernel, FUNCTION_SHARED);
    out->constSizeBytes =
        (size_t)rt_launch_attribute(kernel, FUNCTION_CONSTANT);
    out->localSizeBytes = (size_t)rt_launch_attribute(kernel, FUNCTION_LOCAL);
    out->maxThreadsPerBlock = rt_launch_attribute(kernel, FUNCTION_THREADS);
    out->numRegs = rt_launch_attribute(kernel, FUNCTION_REGISTERS);
    out->ptxVersion = rt_launch_attribute(kernel, FUNCTION_PTX);
    out->binaryVersion = rt_launch_attribute(kernel, FUNCTION_BINARY);
    out->maxDynamicSharedSizeBytes =
        rt_launch_attribute(kernel, FUNCTION_DYNAMIC_SHARED);
    return RT_SUCCESS;
}

int cudaFuncSetAttribute(const void *function, int which, int value)
{
    void *kernel = NULL;

    RT_PASS_AFTER(begin_kernel(function, &kernel),
                  cuKernelSetAttribute(which, value, kernel, rt_device()));
}

int cudaFuncSetCacheConfig(const void *function, int config)
{
    void *kernel = NULL;

    (void)config;
    return rt_end(begin_kernel(function, &kernel));
}

int cudaFuncSetSharedMemConfig(const void *function, int config)
{
    return cudaFuncSetCacheConfig(function, config);
}

int cudaFuncGetName(const char **out, const void *function)
{
    void *kernel = NULL;

    RT_PASS_AFTER(begin_kernel(function, &kernel), cuFuncGetName(out, kernel));
}

int cudaKernelSetAttributeForDevice(void *kernel, int which, int value,
                                    int device)
{
    return rt_end(cuKernelSetAttribute(which, value, kernel, device));
}

int cudaGetFuncBySymbol(void **out, const void *function)
{
    void *kernel = NULL;

    RT_PASS_AFTER(begin_kernel(function, &kernel),
                  cuKernelGetFunction(out, kernel));
}

int cudaGetKernel(void **out, const void *function)
{
    return rt_end(begin_kernel(function, out));
}

int __cudaGetKernel(void **out, const void *function)
{
    return cudaGetKernel(out, function);
}

/* ---- occupancy -------------------------------------------------------------------- */

int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *out, const void *function, int threads, size_t shared, unsigned flags)
{
    void *kernel = NULL;

    RT_PASS_AFTER(begin_kernel(function, &kernel),
                  cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                      out, kernel, threads, shared, flags));
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *out,
                                                  const void *function,
                                                  int threads, size_t shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        out, function, threads, shared, 0);
}

/* The shared memory of a multiprocessor, divided among the blocks. */
int cudaOccupancyAvailableDynamicSMemPerBlock(size_t *out, const void *function,
                                              int blocks, int threads)
{
    enum { SHARED_OF_PROCESSOR = 81 };
    int bytes = 0;
    int answer = cudaDeviceGetAttribute(&bytes, SHARED_OF_PROCESSOR, 0);

    (void)function;
    (void)threads;
    if (blocks <= 0)
        return rt_end(RT_INVALID_VALUE);
    *out = (size_t)(bytes / blocks);
    return answer;
}

/* ---- launching --------------------------------------------------------------------- */

/* The driver's rule for empty sizes, with the runtime's error. */
static bool rt_launch_is_empty(struct rt_dim3 d)
{
    return d.x == 0 || d.y == 0 || d.z == 0;
}

static int launch(const void *function, struct rt_dim3 grid,
                  struct rt_dim3 block, void **arguments, size_t shared,
                  cud_stream stream)
{
    void *kernel = NULL;
    int answer = begin_kernel(function, &kernel);

    if (answer == CUD_SUCCESS &&
        (rt_launch_is_empty(grid) || rt_launch_is_empty(block)))
        answer = RT_INVALID_CONFIGURATION;
    if (answer == CUD_SUCCESS)
        answer =
            cuLaunchKernel(kernel, grid.x, grid.y, grid.z, block.x, block.y,
                           block.z, (unsigned)shared, stream, arguments, NULL);
    return rt_end(answer);
}

int cudaLaunchKernel(const void *function, struct rt_dim3 grid,
                     struct rt_dim3 block, void **arguments, size_t shared,
                     cud_stream stream)
{
    return launch(function, grid, block, arguments, shared, stream);
}

int __cudaLaunchKernel(void *kernel, struct rt_dim3 grid, struct rt_dim3 block,
                       void **arguments, size_t shared, cud_stream stream)
{
    return launch(kernel, grid, block, arguments, shared, stream);
}

int cudaLaunchCooperativeKernel(const void *function, struct rt_dim3 grid,
                                struct rt_dim3 block, void **arguments,
                                size_t shared, cud_stream stream)
{
    return launch(function, grid, block, arguments, shared, stream);
}

int cudaLaunchKernelExC(const struct rt_launch_config *config,
                        const void *function, void **arguments)
{
    return launch(function, config->grid, config->block, arguments,
                  config->shared, config->stream);
}

/* The configuration between <<< and >>>, until the call that uses it. */
static _Thread_local struct rt_launch_config pushed;

unsigned __cudaPushCallConfiguration(struct rt_dim3 grid, struct rt_dim3 block,
                                     size_t shared, void *stream)
{
    pushed = (struct rt_launch_config){
        .grid = grid, .block = block, .shared = shared, .stream = stream};
    return 0;
}

int __cudaPopCallConfiguration(struct rt_dim3 *grid, struct rt_dim3 *block,
                               size_t *shared, void *stream)
{
    *grid = pushed.grid;
    *block = pushed.block;
    *shared = pushed.shared;
    memcpy(stream, &pushed.stream, sizeof pushed.stream);
    return RT_SUCCESS;
}
