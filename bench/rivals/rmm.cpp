// rmm.cpp - RAPIDS RMM: `name` is pool or arena.
#include <cstring>
#include <memory>

#include <rmm/cuda_device.hpp>
#include <rmm/cuda_stream_view.hpp>
#include <rmm/mr/device/arena_memory_resource.hpp>
#include <rmm/mr/device/cuda_memory_resource.hpp>
#include <rmm/mr/device/pool_memory_resource.hpp>

#include "rivals/rival.h"

static rmm::mr::cuda_memory_resource upstream;
static std::unique_ptr<rmm::mr::device_memory_resource> resource;

// The pool grows from nothing, as the others do; without a size it takes half of
// the device at once.  The arena takes what it will ever have at its beginning:
// all, where by itself it would be half.
constexpr size_t first_bytes = size_t{2} << 20;
constexpr size_t alignment = 256;

void rival_begin(const char *name)
{
    if (std::strcmp(name, "pool") == 0)
        resource = std::make_unique<
            rmm::mr::pool_memory_resource<rmm::mr::cuda_memory_resource>>(
            &upstream, first_bytes);
    else
        resource = std::make_unique<
            rmm::mr::arena_memory_resource<rmm::mr::cuda_memory_resource>>(
            &upstream,
            rmm::available_device_memory().first / alignment * alignment);
}

void *rival_allocate(uint64_t bytes, unsigned)
{
    try {
        return resource->allocate(bytes, rmm::cuda_stream_legacy);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

void rival_free(void *address, uint64_t bytes, unsigned)
{
    resource->deallocate(address, bytes, rmm::cuda_stream_legacy);
}
