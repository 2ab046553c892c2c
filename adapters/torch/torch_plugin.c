/* torch_plugin.c - the functions that PyTorch calls on a pluggable
 * allocator. */
#include "torch_devices.h"
#include "torch_failure.h"
#include "torch_fork.h"
#include "torch_stacks.h"

static larder_stream as_number(void *stream)
{
    return (larder_stream)(uintptr_t)stream;
}

/* ---- memory -------------------------------------------------------------------- */

static larder_result allocate(struct torch_device *d, size_t bytes,
                              larder_stream stream, const void *caller,
                              larder_addr *out)
{
    struct torch_stack stack;
    bool is_aimed = false;
    bool has_stack;
    larder_result r = larder__torch_pools_aim(d, stream, &is_aimed);

    if (r != LARDER_OK)
        return r;
    has_stack = larder__torch_stack_enter(&stack, caller);
    r = larder_alloc(atomic_load_explicit(&d->allocator, memory_order_relaxed),
                     bytes, stream, out);
    if (has_stack)
        larder__torch_stack_leave();
    if (is_aimed)
        larder__torch_pools_leave();
    return larder__torch_noted(r);
}

/* Unlike for its own allocator, PyTorch passes on requests of 0 bytes. */
static larder_result request(size_t bytes, int device, void *stream,
                             const void *caller, void **out)
{
    struct torch_device *d;
    larder_addr addr = 0;
    larder_result r = LARDER_OK;

    if (bytes > 0)
        r = larder__torch_device_get(device, &d);
    if (bytes > 0 && r == LARDER_OK)
        r = allocate(d, bytes, as_number(stream), caller, &addr);
    *out = (void *)(uintptr_t)addr;
    return r;
}

void *larder_torch_alloc(size_t bytes, int device, void *stream)
{
    void *memory;
    larder_result r =
        request(bytes, device, stream, __builtin_return_address(0), &memory);

    larder__torch_raise(r);
    return memory;
}

void *larder_torch_pool_alloc(size_t bytes, int device, void *stream)
{
    void *memory;

    (void)request(bytes, device, stream, __builtin_return_address(0), &memory);
    return memory;
}

void larder_torch_free(void *ptr, size_t bytes, int device, void *stream)
{
    struct torch_device *d;
    struct torch_stack stack;
    bool has_stack;

    (void)bytes;
    (void)stream;
    if (ptr == NULL || larder__torch_is_forked() ||
        larder__torch_device_get(device, &d) != LARDER_OK)
        return;
    has_stack =
        larder__torch_stack_enter_free(&stack, __builtin_return_address(0));
    (void)larder__torch_noted(
        larder_free(atomic_load_explicit(&d->allocator, memory_order_relaxed),
                    (larder_addr)(uintptr_t)ptr));
    if (has_stack)
        larder__torch_stack_leave();
}

/* ---- calls that name no device ------------------------------------------------- */

/* A query to each device until one knows the address. */
struct question {
    larder_addr addr;
    larder_stream stream;
    larder_addr base;
    uint64_t bytes;
    larder_result answer;
};

static int ask_record(void *ctx, struct torch_device *d)
{
    struct question *q = ctx;

    q->answer =
        larder_record_stream(atomic_load(&d->allocator), q->addr, q->stream);
    return q->answer != LARDER_ERR_UNKNOWN_ADDRESS;
}

static int ask_base(void *ctx, struct torch_device *d)
{
    struct question *q = ctx;

    q->answer = larder_base_allocation(atomic_load(&d->allocator), q->addr,
                                       &q->base, &q->bytes);
    return q->answer != LARDER_ERR_UNKNOWN_ADDRESS;
}

void larder_torch_record_stream(void *ptr, void *stream)
{
    struct question q = {.addr = (larder_addr)(uintptr_t)ptr,
                         .stream = as_number(stream)};

    if (ptr == NULL)
        return;
    larder__torch_device_each(ask_record, &q);
    if (q.answer != LARDER_ERR_UNKNOWN_ADDRESS)
        larder__torch_raise(larder__torch_noted(q.answer));
}

void *larder_torch_base(void *ptr, size_t *bytes)
{
    struct question q = {.addr = (larder_addr)(uintptr_t)ptr,
                         .answer = LARDER_ERR_UNKNOWN_ADDRESS};

    larder__torch_device_each(ask_base, &q);
    larder__torch_raise(larder__torch_noted(q.answer));
    if (q.answer != LARDER_OK)
        return NULL;
    if (bytes != NULL)
        *bytes = (size_t)q.bytes;
    return (void *)(uintptr_t)q.base;
}

static int reset(void *ctx, struct torch_device *d)
{
    larder_result r = larder_empty_cache(atomic_load(&d->allocator));

    (void)ctx;
    if (r != LARDER_ERR_CAPTURING)
        (void)larder__torch_noted(r);
    return 0;
}

void larder_torch_reset(void)
{
    larder__torch_device_each(reset, NULL);
}

/* ---- settings ------------------------------------------------------------------ */

void larder_torch_init(int device_count)
{
    (void)device_count;
}

void larder_torch_fraction(double fraction, int device)
{
    struct torch_device *d;
    larder_result r = larder__torch_device_get(device, &d);

    if (r == LARDER_OK)
        r = larder__torch_noted(
            larder_set_memory_fraction(atomic_load(&d->allocator), fraction));
    larder__torch_raise(r);
}
