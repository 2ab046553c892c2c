// pytorch.cpp - the allocator of a PyTorch wheel; `name` is
// PYTORCH_CUDA_ALLOC_CONF.
#include <cstdlib>

#include <c10/cuda/CUDACachingAllocator.h>

#include "record_pytorch/allocator_begin.h"
#include "rivals/rival.h"

namespace caching = c10::cuda::CUDACachingAllocator;

void rival_begin(const char *name)
{
    setenv("PYTORCH_CUDA_ALLOC_CONF", name, 1);
    allocator_begin();
}

void *rival_allocate(uint64_t bytes, unsigned)
{
    try {
        return caching::raw_alloc(bytes);
    } catch (const c10::Error &) {
        return nullptr;
    }
}

void rival_free(void *address, uint64_t, unsigned)
{
    caching::raw_delete(address);
}
