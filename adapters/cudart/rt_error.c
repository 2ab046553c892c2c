/* rt_error.c - errors, versions, and lookup of calls by name. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "rt_state.h"

static _Thread_local int last_error;

int rt_end(int answer)
{
    if (answer != RT_SUCCESS)
        last_error = answer;
    return answer;
}

int rt_refuse(const char *symbol)
{
    static atomic_flag is_told = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set(&is_told))
        fprintf(stderr,
                "larder: %s is not simulated; it and similar functions return "
                "cudaErrorNotSupported\n",
                symbol);
    return rt_end(RT_NOT_SUPPORTED);
}

int cudaGetLastError(void)
{
    int answer = last_error;

    last_error = RT_SUCCESS;
    return answer;
}

int cudaPeekAtLastError(void)
{
    return last_error;
}

/* X(number, name, text) */
#define ERROR_MAP(X)                                                           \
    X(0, "cudaSuccess", "no error")                                            \
    X(1, "cudaErrorInvalidValue", "invalid argument")                          \
    X(2, "cudaErrorMemoryAllocation", "out of memory")                         \
    X(3, "cudaErrorInitializationError", "initialization error")               \
    X(4, "cudaErrorCudartUnloading", "driver shutting down")                   \
    X(9, "cudaErrorInvalidConfiguration", "invalid configuration argument")    \
    X(13, "cudaErrorInvalidSymbol", "invalid device symbol")                   \
    X(21, "cudaErrorInvalidMemcpyDirection", "invalid copy direction")         \
    X(35, "cudaErrorInsufficientDriver",                                       \
      "CUDA driver version is insufficient for CUDA runtime version")          \
    X(98, "cudaErrorInvalidDeviceFunction", "invalid device function")         \
    X(100, "cudaErrorNoDevice", "no CUDA-capable device is detected")          \
    X(101, "cudaErrorInvalidDevice", "invalid device ordinal")                 \
    X(201, "cudaErrorDeviceUninitialized", "invalid device context")           \
    X(400, "cudaErrorInvalidResourceHandle", "invalid resource handle")        \
    X(500, "cudaErrorSymbolNotFound", "named symbol not found")                \
    X(600, "cudaErrorNotReady", "device not ready")                            \
    X(700, "cudaErrorIllegalAddress",                                          \
      "an illegal memory access was encountered")                              \
    X(712, "cudaErrorHostMemoryAlreadyRegistered",                             \
      "part or all of the requested memory range is already mapped")           \
    X(800, "cudaErrorNotPermitted", "operation not permitted")                 \
    X(801, "cudaErrorNotSupported", "operation not supported")                 \
    X(900, "cudaErrorStreamCaptureUnsupported",                                \
      "operation not permitted when stream is capturing")                      \
    X(901, "cudaErrorStreamCaptureInvalidated",                                \
      "operation failed due to a previous error during capture")               \
    X(902, "cudaErrorStreamCaptureMerge",                                      \
      "operation would cause a merge of separate capture sequences")           \
    X(903, "cudaErrorStreamCaptureUnmatched",                                  \
      "capture was not ended in the same stream as it began")                  \
    X(904, "cudaErrorStreamCaptureUnjoined",                                   \
      "capturing stream has unjoined work")                                    \
    X(905, "cudaErrorStreamCaptureIsolation",                                  \
      "dependency created on uncaptured work in another stream")               \
    X(906, "cudaErrorStreamCaptureImplicit",                                   \
      "operation would make the legacy stream depend on a capturing blocking " \
      "stream")                                                                \
    X(907, "cudaErrorCapturedEvent",                                           \
      "operation not permitted on an event last recorded in a capturing "      \
      "stream")                                                                \
    X(908, "cudaErrorStreamCaptureWrongThread",                                \
      "attempt to terminate a thread-local capture sequence from another "     \
      "thread")                                                                \
    X(999, "cudaErrorUnknown", "unknown error")

const char *cudaGetErrorName(int error)
{
    switch (error) {
#define X(number, name, words)                                                 \
    case number:                                                               \
        return name;
        ERROR_MAP(X)
#undef X
    default:
        return "unrecognized error code";
    }
}

const char *cudaGetErrorString(int error)
{
    switch (error) {
#define X(number, name, words)                                                 \
    case number:                                                               \
        return words;
        ERROR_MAP(X)
#undef X
    default:
        return "unrecognized error code";
    }
}

/* ---- versions and names ----------------------------------------------------- */

int cudaDriverGetVersion(int *out)
{
    return rt_end(cuDriverGetVersion(out));
}

/* The newest known version of the series, because programs compare it. */
int cudaRuntimeGetVersion(int *out)
{
    *out = RT_MAJOR >= 13 ? 13030 : 12090;
    return RT_SUCCESS;
}

int cudaGetDriverEntryPointByVersion(const char *symbol, void **out,
                                     unsigned version, unsigned long long flags,
                                     int *status)
{
    int found = 0;
    int answer = cuGetProcAddress_v2(symbol, out, (int)version, flags, &found);

    if (status != NULL)
        *status = found;
    return rt_end(answer);
}

int cudaGetDriverEntryPoint(const char *symbol, void **out,
                            unsigned long long flags, int *status)
{
    return cudaGetDriverEntryPointByVersion(symbol, out, RT_MAJOR * 1000, flags,
                                            status);
}

int cudaProfilerStart(void)
{
    return RT_SUCCESS;
}

int cudaProfilerStop(void)
{
    return RT_SUCCESS;
}
