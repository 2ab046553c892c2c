// pytorch.cpp - the allocator of a PyTorch wheel; `name` is
// PYTORCH_CUDA_ALLOC_CONF.
#include <cstdlib>

#include <c10/cuda/CUDACachingAllocator.h>

#if TORCH_MINOR >= 11
#include <c10/cuda/PeerToPeerAccess.h>
#endif

#include "rivals/rival.h"

namespace caching = c10::cuda::CUDACachingAllocator;

// In libc10_cuda.so, and in no header: libtorch_cuda.so sets it.
namespace c10::cuda::_internal
{
void setHasPrimaryContext(bool (*)(c10::DeviceIndex));
}

void rival_begin(const char *name)
{
    setenv("PYTORCH_CUDA_ALLOC_CONF", name, 1);
#if TORCH_MINOR >= 11
    c10::cuda::detail::init_p2p_access_cache(1);
#endif
    c10::cuda::_internal::setHasPrimaryContext(
        [](c10::DeviceIndex) { return true; });
    caching::init(1);
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
