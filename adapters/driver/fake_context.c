/* fake_context.c - devices as the driver's callers see them, and contexts, of
 * which each thread has a stack. */
#include "driver/fake_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The newest driver's version: programs refuse a driver that is older than they
 * are. */
enum { VERSION = 13030 };

int fake_trait_integrated;
int fake_trait_fabric;
int fake_trait_peers = 1;

/* ---- devices ------------------------------------------------------------ */

cud_result cuInit(unsigned flags)
{
    cud_result answer;

    if (fake_is_child())
        return CUD_NOT_INITIALIZED;
    fake_lock();
    answer = fake_planned(__func__);
    if (answer == CUD_SUCCESS && flags != 0)
        answer = fake_broken(__func__, CUD_INVALID_VALUE, "flags are not 0");
    if (answer == CUD_SUCCESS)
        answer = fake_init();
    return fake_end(answer);
}

cud_result cuDriverGetVersion(int *out)
{
    *out = VERSION;
    return CUD_SUCCESS;
}

/* Devices that a test added are included. */
cud_result cuDeviceGetCount(int *out)
{
    cud_result answer = fake_begin_bare(__func__);

    if (answer != CUD_SUCCESS)
        return answer;
    *out = 0;
    for (int i = 0; i < FAKE_DEVICES; i++) {
        if (fake_devices[i].dev != NULL)
            *out = i + 1;
    }
    return fake_end(CUD_SUCCESS);
}

cud_result cuDeviceGet(cud_device *out, int ordinal)
{
    struct fake_device *d;
    cud_result answer = fake_begin_device(__func__, ordinal, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    *out = ordinal;
    return fake_end(CUD_SUCCESS);
}

cud_result cuDeviceGetName(char *out, int capacity, cud_device device)
{
    struct fake_device *d;
    cud_result answer = fake_begin_device(__func__, device, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    snprintf(out, (size_t)capacity, "%s",
             d->sim->spec.card != NULL ? d->sim->spec.card->name
                                       : "simulated GPU");
    return fake_end(CUD_SUCCESS);
}

cud_result cuDeviceGetUuid_v2(cud_uuid *out, cud_device device)
{
    struct fake_device *d;
    cud_result answer = fake_begin_device(__func__, device, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    memcpy(out->bytes, d->sim->uuid, sizeof out->bytes);
    return fake_end(CUD_SUCCESS);
}

cud_result cuDeviceTotalMem_v2(size_t *out, cud_device device)
{
    struct fake_device *d;
    cud_result answer = fake_begin_device(__func__, device, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    *out = d->sim->budget.capacity_bytes;
    return fake_end(CUD_SUCCESS);
}

/* Each device has its own bus. */
cud_result cuDeviceGetPCIBusId(char *out, int capacity, cud_device device)
{
    struct fake_device *d;
    cud_result answer = fake_begin_device(__func__, device, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    snprintf(out, (size_t)capacity, "0000:%02X:00.0", d->ordinal + 1);
    return fake_end(CUD_SUCCESS);
}

cud_result cuDeviceGetByPCIBusId(cud_device *out, const char *id)
{
    unsigned domain;
    unsigned bus;
    int number = 0;

    if (sscanf(id, "%x:%x:", &domain, &bus) != 2)
        return CUD_INVALID_VALUE;
    while (number < FAKE_DEVICES &&
           (fake_devices[number].dev == NULL ||
            fake_devices[number].ordinal + 1 != (int)bus))
        number++;
    return cuDeviceGet(out, number);
}

cud_result cuDeviceComputeCapability(int *major, int *minor, cud_device device)
{
    (void)device;
    *major = fake_capability / 100;
    *minor = fake_capability % 100;
    return CUD_SUCCESS;
}

cud_result cuDeviceCanAccessPeer(int *out, cud_device device, cud_device peer)
{
    struct fake_device *d;
    cud_result answer = fake_begin_device(__func__, device, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    *out = fake_trait_peers && device != peer && fake_device_get(peer) != NULL;
    return fake_end(CUD_SUCCESS);
}

cud_result cuDeviceGetP2PAttribute(int *out, int which, cud_device device,
                                   cud_device peer)
{
    (void)which;
    return cuDeviceCanAccessPeer(out, device, peer);
}

/* ---- contexts ----------------------------------------------------------- */

/* A thread's contexts, the current one last; NULL may be pushed. */
static _Thread_local cud_context stack[FAKE_STACK];
static _Thread_local int depth;

/* The device whose primary context it is; NULL: none.  The address of a primary
 * context is its handle. */
static struct fake_device *primary_of(cud_context handle)
{
    for (int i = 0; i < FAKE_DEVICES; i++) {
        if (handle == &fake_devices[i].primary)
            return &fake_devices[i];
    }
    return NULL;
}

/* NULL: it was destroyed or released, or is not a context. */
static const struct fake_context *context_find(cud_context handle)
{
    const struct fake_device *d = primary_of(handle);

    if (d == NULL)
        return fake_handle_find(FAKE_CONTEXT, handle);
    return d->primary.uses > 0 ? &d->primary : NULL;
}

bool fake_context_is_live(cud_context context)
{
    const struct fake_context *c = context_find(context);

    return c != NULL && fake_device_get(c->device) != NULL;
}

struct fake_device *fake_current(void)
{
    const struct fake_context *c = context_find(fake_current_context());

    return c == NULL ? NULL : fake_device_get(c->device);
}

cud_context fake_current_context(void)
{
    return depth == 0 ? NULL : stack[depth - 1];
}

cud_result fake_no_context(const char *symbol)
{
    return fake_broken(symbol, CUD_INVALID_CONTEXT,
                       "no context is current in this thread");
}

/* The first use of the device allocates the context's memory. */
static larder_result charge(struct fake_device *d)
{
    larder_result r = larder__sim_enter(d->sim);

    return r == LARDER_OK ? larder__sim_leave(d->sim, r) : r;
}

static larder_result retain(struct fake_device *d)
{
    larder_result r = charge(d);

    if (r == LARDER_OK)
        d->primary.uses++;
    return r;
}

cud_result cuDevicePrimaryCtxRetain(cud_context *out, cud_device device)
{
    struct fake_device *d;
    cud_result answer = fake_begin_device(__func__, device, &d);
    larder_result r;

    if (answer != CUD_SUCCESS)
        return answer;
    r = retain(d);
    if (r == LARDER_OK)
        *out = &d->primary;
    return fake_end_sim(__func__, d, r);
}

cud_result cuDevicePrimaryCtxRelease_v2(cud_device device)
{
    struct fake_device *d;
    cud_result answer = fake_begin_device(__func__, device, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    if (d->primary.uses == 0)
        return fake_end(fake_broken(__func__, CUD_INVALID_CONTEXT,
                                    "released more often than retained"));
    d->primary.uses--;
    return fake_end(CUD_SUCCESS);
}

/* As documented, the context stays valid, and so do the memory of pools, and
 * pages, which belong to no context. */
cud_result cuDevicePrimaryCtxReset_v2(cud_device device)
{
    struct fake_device *d;
    cud_result answer = fake_begin_device(__func__, device, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    answer = fake_end_sim(__func__, d, fake_device_reset(d));
    if (answer == CUD_SUCCESS)
        fake_locals_end(&d->primary);
    return answer;
}

cud_result cuDevicePrimaryCtxSetFlags_v2(cud_device device, unsigned flags)
{
    struct fake_device *d;
    cud_result answer = fake_begin_device(__func__, device, &d);

    (void)flags;
    return answer != CUD_SUCCESS ? answer : fake_end(CUD_SUCCESS);
}

cud_result cuDevicePrimaryCtxGetState(cud_device device, unsigned *flags,
                                      int *is_active)
{
    struct fake_device *d;
    cud_result answer = fake_begin_device(__func__, device, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    *flags = 0;
    *is_active = d->primary.uses > 0;
    return fake_end(CUD_SUCCESS);
}

/* Once a primary context whose handle a runtime obtained is current, the
 * runtime counts as using it, until it releases it at exit. */
static larder_result lent_use(cud_context c)
{
    struct fake_device *d = primary_of(c);
    larder_result r;

    if (d == NULL || d->primary.lent_uses == d->primary.lent)
        return LARDER_OK;
    r = retain(d);
    if (r == LARDER_OK)
        d->primary.lent_uses++;
    return r;
}

/* Make it current, as the context of this number in the thread's stack. */
static cud_result make_current(const char *symbol, int at, cud_context c)
{
    if (at == FAKE_STACK)
        return fake_broken(symbol, CUD_INVALID_CONTEXT,
                           "%d contexts are pushed and not popped", at);
    if (lent_use(c) != LARDER_OK)
        return CUD_OUT_OF_MEMORY;
    if (c != NULL && !fake_context_is_live(c))
        return fake_broken(symbol, CUD_INVALID_CONTEXT,
                           "the context no longer exists");
    stack[at] = c;
    depth = at + 1;
    return CUD_SUCCESS;
}

static void context_drop(struct fake_context *gone)
{
    fake_handle_drop(&gone->handle);
    free(gone);
}

cud_result cuCtxCreate_v2(cud_context *out, unsigned flags, cud_device device)
{
    struct fake_device *d;
    cud_result answer = fake_begin_device(__func__, device, &d);
    struct fake_context *c;
    larder_result r;

    (void)flags;
    if (answer != CUD_SUCCESS)
        return answer;
    c = calloc(1, sizeof *c);
    r = c == NULL ? LARDER_ERR_NO_HOST_MEMORY : charge(d);
    if (r != LARDER_OK) {
        free(c);
        return fake_end_sim(__func__, d, r);
    }
    c->device = device;
    *out = fake_handle_make(&c->handle, FAKE_CONTEXT);
    answer = make_current(__func__, depth, *out);
    if (answer != CUD_SUCCESS)
        context_drop(c);
    return fake_end(answer);
}

cud_result cuCtxDestroy_v2(cud_context context)
{
    struct fake_context *gone;
    cud_result answer =
        fake_begin_handle(__func__, FAKE_CONTEXT, context, &gone);

    if (answer != CUD_SUCCESS)
        return answer;
    context_drop(gone);
    if (depth > 0 && stack[depth - 1] == context)
        depth--;
    fake_unlock();
    fake_locals_end(context);
    return CUD_SUCCESS;
}

cud_result cuCtxGetCurrent(cud_context *out)
{
    cud_result answer = fake_begin_bare(__func__);

    if (answer != CUD_SUCCESS)
        return answer;
    *out = depth == 0 ? NULL : stack[depth - 1];
    return fake_end(CUD_SUCCESS);
}

cud_result cuCtxSetCurrent(cud_context context)
{
    cud_result answer = fake_begin_bare(__func__);

    if (answer != CUD_SUCCESS)
        return answer;
    return fake_end(make_current(__func__, depth > 0 ? depth - 1 : 0, context));
}

cud_result cuCtxPushCurrent_v2(cud_context context)
{
    cud_result answer = fake_begin_bare(__func__);

    return answer != CUD_SUCCESS
               ? answer
               : fake_end(make_current(__func__, depth, context));
}

cud_result cuCtxPopCurrent_v2(cud_context *out)
{
    cud_result answer = fake_begin_bare(__func__);

    if (answer != CUD_SUCCESS)
        return answer;
    if (depth == 0)
        return fake_end(fake_broken(__func__, CUD_INVALID_CONTEXT,
                                    "this thread has pushed no context"));
    depth--;
    if (out != NULL)
        *out = stack[depth];
    return fake_end(CUD_SUCCESS);
}

/* Runtimes call this to find out whether there is one, so no rule is broken. */
cud_result cuCtxGetDevice(cud_device *out)
{
    cud_result answer = fake_begin_bare(__func__);
    const struct fake_device *d;

    if (answer != CUD_SUCCESS)
        return answer;
    d = fake_current();
    if (d == NULL)
        return fake_end(CUD_INVALID_CONTEXT);
    *out = fake_number(d);
    return fake_end(CUD_SUCCESS);
}

/* Begin a call about a context; NULL is refused too. */
static cud_result begin_context(const char *symbol, cud_context context)
{
    cud_result answer = fake_begin_bare(symbol);

    if (answer != CUD_SUCCESS || fake_context_is_live(context))
        return answer;
    return fake_end(fake_broken(symbol, CUD_INVALID_CONTEXT,
                                "the context no longer exists"));
}

cud_result cuCtxGetApiVersion(cud_context context, unsigned *out)
{
    cud_result answer = begin_context(
        __func__, context == NULL ? fake_current_context() : context);

    if (answer != CUD_SUCCESS)
        return answer;
    *out = VERSION;
    return fake_end(CUD_SUCCESS);
}

cud_result cuCtxGetFlags(unsigned *out)
{
    *out = 0;
    return CUD_SUCCESS;
}

/* Limits that have no effect here, as no kernel runs: a value that was set can
 * be read. */
enum { LIMITS = 16 };

static size_t limits[LIMITS] = {1024, 1 << 20, 8 << 20};

cud_result cuCtxGetLimit(size_t *out, int which)
{
    if (which < 0 || which >= LIMITS)
        return CUD_INVALID_VALUE;
    *out = limits[which];
    return CUD_SUCCESS;
}

cud_result cuCtxSetLimit(int which, size_t value)
{
    if (which < 0 || which >= LIMITS)
        return CUD_INVALID_VALUE;
    limits[which] = value;
    return CUD_SUCCESS;
}

cud_result cuCtxGetCacheConfig(int *out)
{
    *out = 0;
    return CUD_SUCCESS;
}

cud_result cuCtxSetCacheConfig(int config)
{
    (void)config;
    return CUD_SUCCESS;
}

cud_result cuCtxDisablePeerAccess(cud_context context)
{
    cud_result answer = begin_context(__func__, context);

    return answer != CUD_SUCCESS ? answer : fake_end(CUD_SUCCESS);
}

cud_result cuCtxEnablePeerAccess(cud_context context, unsigned flags)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    if (flags != 0 || !fake_context_is_live(context))
        return fake_end(fake_broken(__func__, CUD_INVALID_CONTEXT,
                                    "not a context, or flags are not 0"));
    return fake_end(CUD_SUCCESS);
}
