/* by_stream.c - functions for CuPy and RMM, whose memory has a stream. */
#include "adapter.h"

#include <larder/device.h>

enum { STREAM_LEGACY = 1, STREAM_PER_THREAD = 2 };

static void *by_stream_as_pointer(larder_addr addr)
{
    return (void *)(uintptr_t)addr;
}

static larder_addr as_address(const void *ptr)
{
    return (uintptr_t)ptr;
}

/* The default stream has two handles. */
static larder_stream stream_of(larder_stream stream)
{
    return stream == STREAM_LEGACY ? 0 : stream;
}

/* Memory on per-thread default streams belongs to the legacy default stream,
 * which synchronizes with each of them; two threads' streams do not synchronize
 * with each other. */
static larder_stream owner_of(larder_stream stream)
{
    stream = stream_of(stream);
    return stream == STREAM_PER_THREAD ? 0 : stream;
}

static void *allocate(larder_adapter *ad, size_t bytes, int device,
                      larder_stream stream)
{
    larder_allocator *a;
    larder_addr addr = 0;

    if (larder_adapter_allocator(ad, device, &a) != LARDER_OK ||
        larder_alloc(a, bytes, owner_of(stream), &addr) != LARDER_OK)
        return NULL;
    return by_stream_as_pointer(addr);
}

/* ---- CuPy ------------------------------------------------------------------- */

static _Thread_local larder_stream current_stream;

void larder_cupy_set_stream(larder_stream stream)
{
    current_stream = stream;
}

void *larder_cupy_malloc(void *adapter, size_t bytes, int device)
{
    /* CuPy would not report when it is done with the memory. */
    if (current_stream == STREAM_PER_THREAD)
        return NULL;
    return allocate(adapter, bytes, device, current_stream);
}

void larder_cupy_free(void *adapter, void *ptr, int device)
{
    larder_allocator *a;

    if (ptr != NULL &&
        larder_adapter_allocator(adapter, device, &a) == LARDER_OK)
        (void)larder_free(a, as_address(ptr));
}

/* ---- RMM ---------------------------------------------------------------------- */

void *larder_rmm_allocate(size_t bytes, void *stream, void *adapter)
{
    return allocate(adapter, bytes, 0, as_address(stream));
}

/* Wait for a stream that cannot be recorded. */
static void free_after(larder_adapter *ad, larder_allocator *a,
                       larder_addr addr, larder_stream stream)
{
    if (stream == STREAM_PER_THREAD ||
        larder_record_stream(a, addr, stream) != LARDER_OK)
        (void)larder_device_stream_sync(ad->devices[0].device, stream);
    (void)larder_free(a, addr);
}

void larder_rmm_deallocate(void *ptr, size_t bytes, void *stream, void *adapter)
{
    larder_allocator *a;

    (void)bytes;
    if (ptr != NULL && larder_adapter_allocator(adapter, 0, &a) == LARDER_OK)
        free_after(adapter, a, as_address(ptr), stream_of(as_address(stream)));
}
