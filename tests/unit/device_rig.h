/* device_rig.h - a device without an allocator on it.  Header only, for cmocka
 * programs. */
#pragma once

#include "support/rig.h"

#include "device/device.h"

static inline larder_device *open_one(const char *spec)
{
    larder_device *dev;

    assert_ok(larder_device_open(spec, 0, &dev));
    return dev;
}

static inline uint64_t free_of(larder_device *dev)
{
    uint64_t free_bytes, total_bytes;

    assert_ok(larder_device_mem_info(dev, &free_bytes, &total_bytes));
    return free_bytes;
}

static inline larder_device_counters counters_of(larder_device *dev)
{
    larder_device_counters n = {.size = sizeof n};

    assert_ok(larder_device_get_counters(dev, &n));
    return n;
}

static inline uint64_t page_of(larder_device *dev, uint64_t bytes)
{
    uint64_t page;

    assert_ok(larder__device_page_create(dev, bytes, &page));
    return page;
}
