/* fake_accepted.c - calls that are hints to a driver, or that concern features
 * that are not simulated: they are accepted, and have no effect. */
#include "driver/fake_state.h"

#include <string.h>

/* ---- profilers, caches, other devices' writes --------------------------- */

cud_result cuProfilerStart(void)
{
    return CUD_SUCCESS;
}

cud_result cuProfilerStop(void)
{
    return CUD_SUCCESS;
}

cud_result cuCtxResetPersistingL2Cache(void)
{
    return CUD_SUCCESS;
}

cud_result cuCtxGetSharedMemConfig(int *out)
{
    *out = 0;
    return CUD_SUCCESS;
}

cud_result cuCtxSetSharedMemConfig(int config)
{
    (void)config;
    return CUD_SUCCESS;
}

cud_result cuFlushGPUDirectRDMAWrites(int target, int scope)
{
    (void)target;
    (void)scope;
    return CUD_SUCCESS;
}

/* ---- managed memory ----------------------------------------------------- */

static cud_result check_managed(const char *symbol, cud_addr addr, size_t bytes)
{
    cud_result answer = fake_begin_bare(symbol);

    if (answer != CUD_SUCCESS)
        return answer;
    return fake_end(fake_is_managed(addr, bytes) ? CUD_SUCCESS
                                                 : CUD_INVALID_VALUE);
}

cud_result cuMemAdvise_v2(cud_addr addr, size_t bytes, int advice,
                          cud_location location)
{
    (void)advice;
    (void)location;
    return check_managed(__func__, addr, bytes);
}

cud_result cuMemAdvise(cud_addr addr, size_t bytes, int advice,
                       cud_device device)
{
    (void)advice;
    (void)device;
    return check_managed(__func__, addr, bytes);
}

cud_result cuMemPrefetchAsync_v2(cud_addr addr, size_t bytes,
                                 cud_location location, unsigned flags,
                                 cud_stream stream)
{
    (void)location;
    (void)flags;
    (void)stream;
    return check_managed(__func__, addr, bytes);
}

cud_result cuMemPrefetchAsync(cud_addr addr, size_t bytes, cud_device device,
                              cud_stream stream)
{
    (void)device;
    (void)stream;
    return check_managed(__func__, addr, bytes);
}

/* ---- streams ------------------------------------------------------------ */

/* Whether there is such a stream; it may be captured. */
static cud_result check_stream(const char *symbol, cud_stream stream)
{
    struct fake_device *d;
    larder_stream number;
    cud_result answer = fake_begin_stream(symbol, stream, &d, &number);

    return answer != CUD_SUCCESS ? answer : fake_end(CUD_SUCCESS);
}

cud_result cuStreamAttachMemAsync(cud_stream stream, cud_addr addr,
                                  size_t bytes, unsigned flags)
{
    (void)addr;
    (void)bytes;
    (void)flags;
    return check_stream(__func__, stream);
}

cud_result cuStreamGetAttribute(cud_stream stream, int which, void *out)
{
    enum { VALUE_BYTES = 64 };
    cud_result answer = check_stream(__func__, stream);

    (void)which;
    if (answer == CUD_SUCCESS)
        memset(out, 0, VALUE_BYTES);
    return answer;
}

cud_result cuStreamSetAttribute(cud_stream stream, int which, const void *value)
{
    (void)which;
    (void)value;
    return check_stream(__func__, stream);
}

cud_result cuStreamCopyAttributes(cud_stream to, cud_stream from)
{
    cud_result answer = check_stream(__func__, to);

    return answer == CUD_SUCCESS ? check_stream(__func__, from) : answer;
}
