/* device_front.c - the calls themselves: one function for each entry of the
 * table, and those that are public. */
#include "device/device_call.h"

#include <inttypes.h>

#include "base/fail.h"

#define UNPACKED(...) __VA_ARGS__

/* Define a function that makes this call if `is_fine`; its price depends on `bytes`.
 * What follows says what a failed call was about. */
#define DEVICE_FUNCTION(function, call, is_fine, parameters, bytes, arguments, \
                        ...)                                                   \
    larder_result function(larder_device *dev, UNPACKED parameters)            \
    {                                                                          \
        struct device_call c = {.dev = dev};                                   \
                                                                               \
        if (dev == NULL || !(is_fine))                                         \
            return larder__fail_plain(LARDER_ERR_INVALID);                     \
        if (DEVICE_CALL(&c, call, bytes, UNPACKED arguments))                  \
            return c.result;                                                   \
        return larder__call_fail(&c, __VA_ARGS__);                             \
    }

/* ---- memory ------------------------------------------------------------- */

DEVICE_FUNCTION(larder__device_mem_alloc, mem_alloc, true,
                (uint64_t bytes, larder_addr *out), bytes, (bytes, out),
                "of %" PRIu64 " bytes", bytes)
DEVICE_FUNCTION(larder__device_mem_free, mem_free, true, (larder_addr addr), 0,
                (addr), "of 0x%" PRIx64, addr)
DEVICE_FUNCTION(larder_device_mem_info, mem_info,
                free_bytes != NULL && total_bytes != NULL,
                (uint64_t * free_bytes, uint64_t *total_bytes), 0,
                (free_bytes, total_bytes), "of device '%s'", dev->ops.name)

/* ---- virtual memory ----------------------------------------------------- */

DEVICE_FUNCTION(larder__device_address_reserve, address_reserve, true,
                (uint64_t bytes, larder_addr *out), 0, (bytes, out),
                "of %" PRIu64 " bytes", bytes)
DEVICE_FUNCTION(larder__device_address_free, address_free, true,
                (larder_addr addr, uint64_t bytes), 0, (addr, bytes),
                "of %" PRIu64 " bytes at 0x%" PRIx64, bytes, addr)
DEVICE_FUNCTION(larder__device_page_create, page_create, true,
                (uint64_t bytes, uint64_t *out), bytes, (bytes, out),
                "of %" PRIu64 " bytes", bytes)
DEVICE_FUNCTION(larder__device_page_release, page_release, true,
                (uint64_t page), 0, (page), "of page 0x%" PRIx64, page)

larder_result larder__device_map(larder_device *dev, larder_addr addr,
                                 uint64_t bytes, uint64_t page)
{
    struct device_call c = {.dev = dev};

    if (!DEVICE_CALL(&c, map, 0, addr, bytes, page))
        return larder__call_fail(
            &c, "of page 0x%" PRIx64 " to %" PRIu64 " bytes at 0x%" PRIx64,
            page, bytes, addr);
    larder__call_count(&dev->pages_mapped, 1);
    return LARDER_OK;
}

larder_result larder__device_unmap(larder_device *dev, larder_addr addr,
                                   uint64_t bytes, uint64_t pages)
{
    struct device_call c = {.dev = dev};

    if (!DEVICE_CALL(&c, unmap, 0, addr, bytes))
        return larder__call_fail(&c, "of %" PRIu64 " bytes at 0x%" PRIx64,
                                 bytes, addr);
    larder__call_count(&dev->pages_unmapped, pages);
    return LARDER_OK;
}

DEVICE_FUNCTION(larder__device_set_access, set_access, true,
                (larder_addr addr, uint64_t bytes), 0, (addr, bytes),
                "to %" PRIu64 " bytes at 0x%" PRIx64, bytes, addr)
DEVICE_FUNCTION(larder__device_page_export, page_export, true,
                (uint64_t page, larder_page_handle *out), 0, (page, out),
                "of page 0x%" PRIx64, page)
DEVICE_FUNCTION(larder__device_page_import, page_import, true,
                (const larder_page_handle *handle, uint64_t bytes,
                 uint64_t *out),
                0, (handle, bytes, out), "of %" PRIu64 " bytes", bytes)

/* ---- order -------------------------------------------------------------- */

DEVICE_FUNCTION(larder_device_event_create, event_create, out != NULL,
                (uint64_t * out), 0, (out), "on device '%s'", dev->ops.name)
DEVICE_FUNCTION(larder_device_event_destroy, event_destroy, true,
                (uint64_t event), 0, (event), "of event 0x%" PRIx64, event)
DEVICE_FUNCTION(larder_device_event_record, event_record, true,
                (uint64_t event, larder_stream stream), 0, (event, stream),
                "of event 0x%" PRIx64 " on stream %" PRIu64, event, stream)
DEVICE_FUNCTION(larder_device_event_query, event_query, true, (uint64_t event),
                0, (event), "of event 0x%" PRIx64, event)
DEVICE_FUNCTION(larder_device_event_sync, event_sync, true, (uint64_t event), 0,
                (event), "with event 0x%" PRIx64, event)
DEVICE_FUNCTION(larder_device_stream_sync, stream_sync, true,
                (larder_stream stream), 0, (stream), "with stream %" PRIu64,
                stream)

/* A query about a stream is no call that is counted. */
static larder_result stream_fail(const larder_device *dev, larder_stream stream,
                                 larder_result r)
{
    const char *why = dev == NULL || r == LARDER_ERR_UNKNOWN_STREAM
                          ? larder_result_text(r)
                          : larder__device_reason(dev, r);

    return larder__fail(r, "stream %" PRIu64 ": %s", stream, why);
}

larder_result larder__device_stream_check(larder_device *dev,
                                          larder_stream stream)
{
    larder_result r = larder__device_check(dev);

    if (r == LARDER_OK && dev->ops.stream_check != NULL)
        r = dev->ops.stream_check(dev->self, stream);
    return r == LARDER_OK ? r : stream_fail(dev, stream, r);
}

larder_result larder__device_unordered_use(larder_device *dev, larder_addr addr,
                                           uint64_t bytes,
                                           const larder_stream *streams,
                                           size_t count, larder_stream *out)
{
    larder_result r = larder__device_check(dev);

    if (r != LARDER_OK || dev->ops.unordered_use == NULL)
        return r;
    return dev->ops.unordered_use(dev->self, addr, bytes, streams, count, out);
}

larder_result larder__device_processes(larder_device *dev,
                                       larder_process_fn *fn, void *ctx)
{
    larder_result r = larder__device_check(dev);

    if (r != LARDER_OK)
        return r;
    r = LARDER_ERR_UNSUPPORTED;
    if (dev->ops.processes != NULL)
        r = dev->ops.processes(dev->self, fn, ctx);
    return r == LARDER_OK ? LARDER_OK : larder__fail_plain(r);
}

larder_result larder_device_stream_is_capturing(larder_device *dev,
                                                larder_stream stream, int *out)
{
    larder_result r = larder__device_check(dev);
    int capturing = 0;

    if (r != LARDER_OK)
        return r;
    if (out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    if (dev->ops.stream_is_capturing != NULL)
        r = dev->ops.stream_is_capturing(dev->self, stream, &capturing);
    if (r != LARDER_OK)
        return stream_fail(dev, stream, r);
    *out = capturing;
    return LARDER_OK;
}

/* ---- data and host memory ----------------------------------------------- */

larder_result larder_device_copy(larder_device *dev, uint64_t dst, uint64_t src,
                                 uint64_t bytes, larder_copy_kind kind,
                                 larder_stream stream)
{
    struct device_call c = {
        .dev = dev,
        .is_by_host = kind != LARDER_COPY_ON_DEVICE,
    };

    if (dev == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    if (DEVICE_CALL(&c, copy, bytes, dst, src, bytes, kind, stream))
        return LARDER_OK;
    return larder__call_fail(&c,
                             "of %" PRIu64 " bytes from 0x%" PRIx64
                             " to 0x%" PRIx64 " on stream %" PRIu64,
                             bytes, src, dst, stream);
}

DEVICE_FUNCTION(larder_device_fill, fill, true,
                (larder_addr dst, unsigned char value, uint64_t bytes,
                 larder_stream stream),
                0, (dst, value, bytes, stream),
                "of %" PRIu64 " bytes at 0x%" PRIx64 " on stream %" PRIu64,
                bytes, dst, stream)
DEVICE_FUNCTION(larder_device_host_alloc, host_alloc, out != NULL,
                (uint64_t bytes, void **out), 0, (bytes, out),
                "of %" PRIu64 " bytes", bytes)

larder_result larder_device_host_free(larder_device *dev, void *ptr)
{
    struct device_call c = {.dev = dev};

    if (dev == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    if (ptr == NULL || DEVICE_CALL(&c, host_free, 0, ptr))
        return LARDER_OK;
    return larder__call_fail(&c, "of %p", ptr);
}
