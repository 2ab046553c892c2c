/* nccl_reason.c - why a call failed: in the text that a program can ask for,
 * and on the standard error, as many do not ask. */
#include "nccl_reason.h"

#include <stdarg.h>
#include <stdio.h>

#include "standin.h"

static _Thread_local char reason[512];

int nccl_fail(int result, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    fprintf(stderr, "larder: NCCL: %s\n", reason);
    return result;
}

STANDIN_OWN(const char *, ncclGetLastError, (const void *communicator))
{
    (void)communicator;
    return reason;
}

STANDIN_OWN(const char *, ncclGetErrorString, (int result))
{
    switch (result) {
    case NCCL_SUCCESS:
        return "no error";
    case NCCL_CUDA_ERROR:
        return "unhandled cuda error";
    case NCCL_SYSTEM_ERROR:
        return "unhandled system error";
    case NCCL_INVALID_ARGUMENT:
        return "invalid argument";
    case NCCL_INVALID_USAGE:
        return "invalid usage";
    case NCCL_REMOTE_ERROR:
        return "remote process exited or there was a network error";
    default:
        return "unknown result code";
    }
}
