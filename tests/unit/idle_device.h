/* idle_device.h - a device that does nothing but answer: for a table to which a
 * test adds calls, or from which it takes some.  Header only, for cmocka
 * programs. */
#pragma once

#include "support/rig.h"

#include "device/device.h"

struct idle_device {
    int closed; /* how often */
    int calls;
    larder_result answer; /* to each call */
    const char *text;     /* of the error */
};

static inline void idle_close(void *self)
{
    ((struct idle_device *)self)->closed++;
}

static inline larder_result idle_answer(struct idle_device *d)
{
    d->calls++;
    return d->answer;
}

static inline larder_result idle_props(void *self, larder_device_props *out)
{
    out->total_bytes = MIB(64);
    return idle_answer(self);
}

static inline larder_result idle_mem_alloc(void *self, uint64_t bytes,
                                           larder_addr *out)
{
    *out = bytes;
    return idle_answer(self);
}

static inline larder_result idle_mem_free(void *self, larder_addr addr)
{
    (void)addr;
    return idle_answer(self);
}

static inline larder_result idle_mem_info(void *self, uint64_t *free_bytes,
                                          uint64_t *total_bytes)
{
    *free_bytes = *total_bytes = MIB(64);
    return idle_answer(self);
}

static inline larder_result idle_create(void *self, uint64_t *out)
{
    *out = 1;
    return idle_answer(self);
}

static inline larder_result idle_handle(void *self, uint64_t handle)
{
    (void)handle;
    return idle_answer(self);
}

static inline larder_result idle_record(void *self, uint64_t event,
                                        larder_stream stream)
{
    (void)event;
    (void)stream;
    return idle_answer(self);
}

static inline const char *idle_text(void *self)
{
    return ((struct idle_device *)self)->text;
}

static const larder_device_ops idle_ops = {
    .size = sizeof idle_ops,
    .name = "idle",
    .close = idle_close,
    .props = idle_props,
    .mem_alloc = idle_mem_alloc,
    .mem_free = idle_mem_free,
    .mem_info = idle_mem_info,
    .event_create = idle_create,
    .event_destroy = idle_handle,
    .event_record = idle_record,
    .event_query = idle_handle,
    .event_sync = idle_handle,
    .stream_sync = idle_handle,
    .error_text = idle_text,
};
