/* device.h - the interface through which the library calls a device.  Private.
 *
 * There is one function for each driver call: it counts the call, charges it to
 * the price table, lets an injected fault replace it, then calls the table's
 * function.  On failure the thread's last error names the call and, if the
 * device has a message, the reason. */
#pragma once

#include <stdbool.h>

#include <larder/device.h>

/* Whether the device has the virtual memory calls. */
bool larder__device_has_vmm(const larder_device *dev);

/* Whether it can import pages of other processes. */
bool larder__device_can_import(const larder_device *dev);

/* The context that the functions of a table with this name receive; NULL if
 * `dev` has another table. */
void *larder__device_self(const larder_device *dev, const char *name);

/* ERR_INVALID for NULL, ERR_FORKED for a device of the parent process.  Calls
 * to the device detect the latter themselves. */
larder_result larder__device_check(const larder_device *dev);

/* An allocator or an import begins and ends its use of the device: in between
 * larder_device_close() fails. */
void larder__device_hold(larder_device *dev);
void larder__device_drop(larder_device *dev);

/* Allocators on the device hold `bytes` more, or less.  Pinned memory counts
 * for the device that it is pinned for. */
void larder__device_holds(larder_device *dev, uint64_t bytes);
void larder__device_lacks(larder_device *dev, uint64_t bytes);

/* The bytes that all of them hold, and the pinned host memory. */
uint64_t larder__device_held(const larder_device *dev);
uint64_t larder__device_pinned(const larder_device *dev);

larder_result larder__device_mem_alloc(larder_device *dev, uint64_t bytes,
                                       larder_addr *out);
larder_result larder__device_mem_free(larder_device *dev, larder_addr addr);
larder_result larder__device_address_reserve(larder_device *dev, uint64_t bytes,
                                             larder_addr *out);
larder_result larder__device_address_free(larder_device *dev, larder_addr addr,
                                          uint64_t bytes);
larder_result larder__device_page_create(larder_device *dev, uint64_t bytes,
                                         uint64_t *out);
larder_result larder__device_page_release(larder_device *dev, uint64_t page);
larder_result larder__device_map(larder_device *dev, larder_addr addr,
                                 uint64_t bytes, uint64_t page);
/* `pages` is the number of handles in the range, for the counters. */
larder_result larder__device_unmap(larder_device *dev, larder_addr addr,
                                   uint64_t bytes, uint64_t pages);
larder_result larder__device_set_access(larder_device *dev, larder_addr addr,
                                        uint64_t bytes);
larder_result larder__device_page_export(larder_device *dev, uint64_t page,
                                         larder_page_handle *out);
larder_result larder__device_page_import(larder_device *dev,
                                         const larder_page_handle *handle,
                                         uint64_t bytes, uint64_t *out);
larder_result larder__device_stream_check(larder_device *dev,
                                          larder_stream stream);
/* ERR_NOT_READY is a result here too; LARDER_OK if the device does not know.
 * This is no driver call, so it is not counted. */
larder_result larder__device_unordered_use(larder_device *dev, larder_addr addr,
                                           uint64_t bytes,
                                           const larder_stream *streams,
                                           size_t count, larder_stream *out);
larder_result larder__device_processes(larder_device *dev,
                                       larder_process_fn *fn, void *ctx);

/* ---- pinned host memory as a device (pinned_device.c) -------------------- */

/* Time that pinning took, over all calls that succeeded. */
struct pinned_duration {
    uint64_t count;
    uint64_t total_ns;
    uint64_t min_ns; /* 0: there was no call */
    uint64_t max_ns;
};

struct pinned_times {
    struct pinned_duration alloc;
    struct pinned_duration free;
};

/* Create a device whose memory is host memory, page-locked for `over`: its
 * mem_alloc() is the other's host_alloc(), an address is a pointer, and streams
 * and events are the other's.  Faults planned for `over` take effect here.
 * `over` is in use until *out is closed.  ERR_UNSUPPORTED if it has no pinned
 * memory. */
larder_result larder__pinned_device_create(larder_device *over,
                                           larder_device **out);

/* The times of such a device; no call of it may run meanwhile. */
struct pinned_times *larder__pinned_device_times(const larder_device *dev);
