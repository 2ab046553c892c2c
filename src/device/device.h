/* device.h (private) - the front through which the library calls a device.
 *
 * One function per driver call: counts it, charges it to the price table,
 * lets an injected fault take its place, then calls the table.  On failure
 * the thread's last error says which call and, if the device has words for it,
 * why. */
#ifndef LARDER_DEVICE_PRIVATE_H
#define LARDER_DEVICE_PRIVATE_H

#include <stdbool.h>

#include <larder/device.h>

/* Whether the device has the virtual memory calls. */
bool larder__device_has_vmm(const larder_device *dev);

/* Whether it can take pages of other processes. */
bool larder__device_can_import(const larder_device *dev);

/* The context a table's functions get, if `dev` is made of a table with this
 * name; else NULL. */
void *larder__device_self(const larder_device *dev, const char *name);

/* ERR_INVALID for NULL, ERR_FORKED for a device of the process that forked.
 * Calls that go to the device find the latter themselves. */
larder_result larder__device_check(const larder_device *dev);

/* An allocator, or imported memory, begins and ends its use: larder_device_close() is refused in
 * between. */
void larder__device_hold(larder_device *dev);
void larder__device_drop(larder_device *dev);

/* Allocators over the device hold so much more, or less: what is pinned counts
 * for the device it is pinned for. */
void larder__device_holds(larder_device *dev, uint64_t bytes);
void larder__device_lacks(larder_device *dev, uint64_t bytes);

/* What they all hold, and of the host what is pinned. */
uint64_t larder__device_held(const larder_device *dev);
uint64_t larder__device_pinned(const larder_device *dev);

larder_result larder__device_mem_alloc(larder_device *dev, uint64_t bytes,
                                       larder_addr *out);
larder_result larder__device_mem_free(larder_device *dev, larder_addr addr);
larder_result larder__device_mem_info(larder_device *dev, uint64_t *free_bytes,
                                      uint64_t *total_bytes);
larder_result larder__device_address_reserve(larder_device *dev, uint64_t bytes,
                                             larder_addr *out);
larder_result larder__device_address_free(larder_device *dev, larder_addr addr,
                                          uint64_t bytes);
larder_result larder__device_page_create(larder_device *dev, uint64_t bytes,
                                         uint64_t *out);
larder_result larder__device_page_release(larder_device *dev, uint64_t page);
larder_result larder__device_map(larder_device *dev, larder_addr addr,
                                 uint64_t bytes, uint64_t page);
/* `pages` handles lie in the range: for the counters. */
larder_result larder__device_unmap(larder_device *dev, larder_addr addr,
                                   uint64_t bytes, uint64_t pages);
larder_result larder__device_set_access(larder_device *dev, larder_addr addr,
                                        uint64_t bytes);
larder_result larder__device_page_export(larder_device *dev, uint64_t page,
                                         larder_page_handle *out);
larder_result larder__device_page_import(larder_device *dev,
                                         const larder_page_handle *handle,
                                         uint64_t bytes, uint64_t *out);
larder_result larder__device_event_create(larder_device *dev, uint64_t *out);
larder_result larder__device_event_destroy(larder_device *dev, uint64_t event);
larder_result larder__device_event_record(larder_device *dev, uint64_t event,
                                          larder_stream stream);
/* LARDER_ERR_NOT_READY is an answer, not a failure: it is counted as a call
 * that succeeded and leaves the last error alone. */
larder_result larder__device_event_query(larder_device *dev, uint64_t event);
larder_result larder__device_event_sync(larder_device *dev, uint64_t event);
larder_result larder__device_stream_sync(larder_device *dev,
                                         larder_stream stream);
larder_result larder__device_stream_check(larder_device *dev,
                                          larder_stream stream);
/* LARDER_ERR_NOT_READY is an answer here too; LARDER_OK where the device does not
 * know.  No call of a driver: it is not counted. */
larder_result larder__device_unordered_use(larder_device *dev, larder_addr addr,
                                           uint64_t bytes,
                                           const larder_stream *streams,
                                           size_t count, larder_stream *out);
larder_result larder__device_processes(larder_device *dev,
                                       larder_process_fn *fn, void *ctx);

/* ---- pinned host memory as a device (pinned_device.c) -------------------- */

/* What pinning took.  All times are of calls that succeeded. */
struct pinned_duration {
    uint64_t count;
    uint64_t total_ns;
    uint64_t min_ns; /* 0 if there was no call */
    uint64_t max_ns;
};

struct pinned_times {
    struct pinned_duration alloc;
    struct pinned_duration free;
};

/* A device whose memory is the host's, page-locked for `over`: mem_alloc() is
 * the other's host_alloc(), an address is a pointer, and streams and events
 * are the other's.  Faults planned there act here.  `over` stays in use until
 * larder_device_close() of *out.  ERR_UNSUPPORTED if it has no pinned
 * memory. */
larder_result larder__pinned_device_create(larder_device *over,
                                           larder_device **out);

/* Of a device made so; calls of it must not run meanwhile. */
struct pinned_times *larder__pinned_device_times(const larder_device *dev);

#endif
