/* nccl_reason.h - NCCL's results, and why a call failed. */
#pragma once

#pragma GCC visibility push(hidden)

/* ncclResult_t */
enum {
    NCCL_SUCCESS = 0,
    NCCL_CUDA_ERROR = 1,
    NCCL_SYSTEM_ERROR = 2,
    NCCL_INVALID_ARGUMENT = 4,
    NCCL_INVALID_USAGE = 5,
    NCCL_REMOTE_ERROR = 6
};

/* Keep the reason for ncclGetLastError() in this thread, print it, and return
 * `result`. */
__attribute__((format(printf, 2, 3))) int nccl_fail(int result,
                                                    const char *format, ...);

#pragma GCC visibility pop
