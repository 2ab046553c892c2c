/* allocator_begin.h - starts the allocator of a PyTorch wheel without the rest
 * of PyTorch, for one device. */
#pragma once

#include <c10/cuda/CUDACachingAllocator.h>

#if TORCH_MINOR >= 11
#include <c10/cuda/PeerToPeerAccess.h>
#endif

// In libc10_cuda.so, and in no header: libtorch_cuda.so sets it.
namespace c10::cuda::_internal
{
void setHasPrimaryContext(bool (*)(c10::DeviceIndex));
}

inline void allocator_begin()
{
#if TORCH_MINOR >= 11
    c10::cuda::detail::init_p2p_access_cache(1);
#endif
    c10::cuda::_internal::setHasPrimaryContext(
        [](c10::DeviceIndex) { return true; });
    c10::cuda::CUDACachingAllocator::init(1);
}
