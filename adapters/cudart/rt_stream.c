/* rt_stream.c - streams and events. */
#include <string.h>

#include "rt_state.h"

/* ---- streams ------------------------------------------------------------------ */

int cudaStreamCreateWithPriority(cud_stream *out, unsigned flags, int priority)
{
    RT_PASS(cuStreamCreateWithPriority(out, flags, priority));
}

int cudaStreamCreateWithFlags(cud_stream *out, unsigned flags)
{
    return cudaStreamCreateWithPriority(out, flags, 0);
}

int cudaStreamCreate(cud_stream *out)
{
    return cudaStreamCreateWithPriority(out, 0, 0);
}

int cudaStreamDestroy(cud_stream stream)
{
    RT_PASS(cuStreamDestroy_v2(stream));
}

int cudaStreamSynchronize(cud_stream stream)
{
    RT_PASS(cuStreamSynchronize(stream));
}

int cudaStreamQuery(cud_stream stream)
{
    RT_PASS(cuStreamQuery(stream));
}

int cudaStreamWaitEvent(cud_stream stream, cud_event event, unsigned flags)
{
    RT_PASS(cuStreamWaitEvent(stream, event, flags));
}

int cudaStreamGetFlags(cud_stream stream, unsigned *out)
{
    RT_PASS(cuStreamGetFlags(stream, out));
}

int cudaStreamGetPriority(cud_stream stream, int *out)
{
    RT_PASS(cuStreamGetPriority(stream, out));
}

int cudaStreamGetId(cud_stream stream, unsigned long long *out)
{
    RT_PASS(cuStreamGetId(stream, out));
}

/* The device of the context in which the stream was created. */
int cudaStreamGetDevice(cud_stream stream, int *out)
{
    cud_context context = NULL;
    cud_context popped = NULL;
    int answer = rt_begin();

    if (answer == CUD_SUCCESS)
        answer = cuStreamGetCtx(stream, &context);
    if (answer == CUD_SUCCESS)
        answer = cuCtxPushCurrent_v2(context);
    if (answer != CUD_SUCCESS)
        return rt_end(answer);
    answer = cuCtxGetDevice(out);
    (void)cuCtxPopCurrent_v2(&popped);
    return rt_end(answer);
}

int cudaStreamAddCallback(cud_stream stream, rt_callback_fn *fn, void *data,
                          unsigned flags)
{
    RT_PASS(cuStreamAddCallback(stream, fn, data, flags));
}

int cudaLaunchHostFunc(cud_stream stream, rt_host_fn *fn, void *data)
{
    RT_PASS(cuLaunchHostFunc(stream, fn, data));
}

/* For calls that need a stream and do nothing with it. */
static int check_stream(cud_stream stream)
{
    unsigned flags;

    RT_PASS(cuStreamGetFlags(stream, &flags));
}

int cudaStreamAttachMemAsync(cud_stream stream, void *ptr, size_t bytes,
                             unsigned flags)
{
    (void)ptr;
    (void)bytes;
    (void)flags;
    return check_stream(stream);
}

/* A stream attribute's value has 64 bytes. */
int cudaStreamGetAttribute(cud_stream stream, int which, void *out)
{
    enum { VALUE_BYTES = 64 };
    int answer = check_stream(stream);

    (void)which;
    if (answer == RT_SUCCESS)
        memset(out, 0, VALUE_BYTES);
    return answer;
}

int cudaStreamSetAttribute(cud_stream stream, int which, const void *value)
{
    (void)which;
    (void)value;
    return check_stream(stream);
}

int cudaStreamCopyAttributes(cud_stream to, cud_stream from)
{
    int answer = check_stream(to);

    return answer == RT_SUCCESS ? check_stream(from) : answer;
}

/* ---- events -------------------------------------------------------------------- */

int cudaEventCreateWithFlags(cud_event *out, unsigned flags)
{
    RT_PASS(cuEventCreate(out, flags));
}

int cudaEventCreate(cud_event *out)
{
    return cudaEventCreateWithFlags(out, 0);
}

int cudaIpcGetEventHandle(void *out, cud_event event)
{
    RT_PASS(cuIpcGetEventHandle(out, event));
}

int cudaIpcOpenEventHandle(cud_event *out, cud_ipc_handle handle)
{
    RT_PASS(cuIpcOpenEventHandle(out, handle));
}

int cudaEventDestroy(cud_event event)
{
    RT_PASS(cuEventDestroy_v2(event));
}

int cudaEventRecord(cud_event event, cud_stream stream)
{
    RT_PASS(cuEventRecord(event, stream));
}

int cudaEventRecordWithFlags(cud_event event, cud_stream stream, unsigned flags)
{
    RT_PASS(cuEventRecordWithFlags(event, stream, flags));
}

int cudaEventQuery(cud_event event)
{
    RT_PASS(cuEventQuery(event));
}

int cudaEventSynchronize(cud_event event)
{
    RT_PASS(cuEventSynchronize(event));
}

int cudaEventElapsedTime(float *out, cud_event from, cud_event to)
{
    RT_PASS(cuEventElapsedTime(out, from, to));
}

#if RT_MAJOR < 13
int cudaEventElapsedTime_v2(float *out, cud_event from, cud_event to)
{
    return cudaEventElapsedTime(out, from, to);
}
#endif
