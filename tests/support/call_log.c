/* call_log.c - a device that prints the calls made to it (call_log.h). */
#include "support/call_log.h"

#include <inttypes.h>

#include "device/device_object.h"

/* The device below the log.  Its `self` stays the device's, so that what else
 * knows the device still finds it. */
static struct {
    larder_device_ops ops;
    larder_addr base;
    FILE *out;
} under;

static larder_result print_end(larder_result r)
{
    fputs(r == LARDER_OK ? "\n" : " failed\n", under.out);
    return r;
}

static larder_result log_one(const char *call, uint64_t number, larder_result r)
{
    fprintf(under.out, "d %s %" PRIu64, call, number);
    return print_end(r);
}

static larder_result log_two(const char *call, uint64_t first, uint64_t second,
                             larder_result r)
{
    fprintf(under.out, "d %s %" PRIu64 " %" PRIu64, call, first, second);
    return print_end(r);
}

/* `addr` is where a call that succeeded put it. */
static larder_result log_placed(const char *call, uint64_t bytes,
                                const larder_addr *addr, larder_result r)
{
    return r == LARDER_OK ? log_two(call, bytes, *addr - under.base, r)
                          : log_one(call, bytes, r);
}

static larder_result log_mem_alloc(void *self, uint64_t bytes, larder_addr *out)
{
    return log_placed("mem_alloc", bytes, out,
                      under.ops.mem_alloc(self, bytes, out));
}

static larder_result log_mem_free(void *self, larder_addr addr)
{
    return log_one("mem_free", addr - under.base,
                   under.ops.mem_free(self, addr));
}

static larder_result log_address_reserve(void *self, uint64_t bytes,
                                         larder_addr *out)
{
    return log_placed("address_reserve", bytes, out,
                      under.ops.address_reserve(self, bytes, out));
}

static larder_result log_address_free(void *self, larder_addr addr,
                                      uint64_t bytes)
{
    return log_two("address_free", addr - under.base, bytes,
                   under.ops.address_free(self, addr, bytes));
}

static larder_result log_page_create(void *self, uint64_t bytes, uint64_t *out)
{
    return log_one("page_create", bytes,
                   under.ops.page_create(self, bytes, out));
}

static larder_result log_page_release(void *self, uint64_t page)
{
    fputs("d page_release", under.out);
    return print_end(under.ops.page_release(self, page));
}

static larder_result log_map(void *self, larder_addr addr, uint64_t bytes,
                             uint64_t page)
{
    return log_two("map", addr - under.base, bytes,
                   under.ops.map(self, addr, bytes, page));
}

static larder_result log_unmap(void *self, larder_addr addr, uint64_t bytes)
{
    return log_two("unmap", addr - under.base, bytes,
                   under.ops.unmap(self, addr, bytes));
}

static larder_result log_set_access(void *self, larder_addr addr,
                                    uint64_t bytes)
{
    return log_two("set_access", addr - under.base, bytes,
                   under.ops.set_access(self, addr, bytes));
}

static larder_result log_event_record(void *self, uint64_t event,
                                      larder_stream stream)
{
    return log_one("event_record", stream,
                   under.ops.event_record(self, event, stream));
}

static larder_result log_event_sync(void *self, uint64_t event)
{
    fputs("d event_sync", under.out);
    return print_end(under.ops.event_sync(self, event));
}

static larder_result log_stream_sync(void *self, larder_stream stream)
{
    return log_one("stream_sync", stream, under.ops.stream_sync(self, stream));
}

void call_log_begin(larder_device *dev, larder_addr base, FILE *out)
{
    under.ops = dev->ops;
    under.base = base;
    under.out = out;
    dev->ops.mem_alloc = log_mem_alloc;
    dev->ops.mem_free = log_mem_free;
    dev->ops.address_reserve = log_address_reserve;
    dev->ops.address_free = log_address_free;
    dev->ops.page_create = log_page_create;
    dev->ops.page_release = log_page_release;
    dev->ops.map = log_map;
    dev->ops.unmap = log_unmap;
    dev->ops.set_access = log_set_access;
    dev->ops.event_record = log_event_record;
    dev->ops.event_sync = log_event_sync;
    dev->ops.stream_sync = log_stream_sync;
}

void call_log_end(larder_device *dev)
{
    dev->ops = under.ops;
}
