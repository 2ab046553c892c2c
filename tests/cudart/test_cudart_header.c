/* test_cudart_header.c - our declarations of the runtime have the layout of a
 * toolkit's headers.  The compiler makes the comparison; without a toolkit the
 * test is skipped. */
#include <stdio.h>

#ifdef HAVE_CUDA_RUNTIME_H

#include <cuda_runtime_api.h>

#define RT_MAJOR (CUDART_VERSION / 1000)
#include "rt_types.h"

#define SAME_SIZE(ours, theirs)                                                \
    _Static_assert(sizeof(struct ours) == sizeof(struct theirs),               \
                   #theirs " has another size")
#define SAME_PLACE(ours, theirs, field)                                        \
    _Static_assert(offsetof(struct ours, field) ==                             \
                       offsetof(struct theirs, field),                         \
                   #theirs "." #field " stands elsewhere")

SAME_SIZE(rt_properties, cudaDeviceProp);
SAME_PLACE(rt_properties, cudaDeviceProp, uuid);
SAME_PLACE(rt_properties, cudaDeviceProp, totalGlobalMem);
SAME_PLACE(rt_properties, cudaDeviceProp, maxGridSize);
SAME_PLACE(rt_properties, cudaDeviceProp, totalConstMem);
SAME_PLACE(rt_properties, cudaDeviceProp, major);
SAME_PLACE(rt_properties, cudaDeviceProp, multiProcessorCount);
SAME_PLACE(rt_properties, cudaDeviceProp, canMapHostMemory);
SAME_PLACE(rt_properties, cudaDeviceProp, surfaceAlignment);
SAME_PLACE(rt_properties, cudaDeviceProp, memoryBusWidth);
SAME_PLACE(rt_properties, cudaDeviceProp, sharedMemPerMultiprocessor);
SAME_PLACE(rt_properties, cudaDeviceProp, regsPerMultiprocessor);
SAME_PLACE(rt_properties, cudaDeviceProp, pageableMemoryAccess);
SAME_PLACE(rt_properties, cudaDeviceProp, cooperativeLaunch);
SAME_PLACE(rt_properties, cudaDeviceProp, sharedMemPerBlockOptin);
SAME_PLACE(rt_properties, cudaDeviceProp, reservedSharedMemPerBlock);
SAME_PLACE(rt_properties, cudaDeviceProp, memoryPoolsSupported);
SAME_SIZE(rt_function_attributes, cudaFuncAttributes);
SAME_PLACE(rt_function_attributes, cudaFuncAttributes, binaryVersion);
SAME_PLACE(rt_function_attributes, cudaFuncAttributes, preferredShmemCarveout);
SAME_SIZE(rt_pointer_attributes, cudaPointerAttributes);
SAME_PLACE(rt_pointer_attributes, cudaPointerAttributes, hostPointer);
SAME_SIZE(rt_extent, cudaExtent);
SAME_SIZE(rt_pitched, cudaPitchedPtr);
SAME_PLACE(rt_pitched, cudaPitchedPtr, ysize);
SAME_SIZE(rt_copy_3d, cudaMemcpy3DParms);
SAME_PLACE(rt_copy_3d, cudaMemcpy3DParms, srcPtr);
SAME_PLACE(rt_copy_3d, cudaMemcpy3DParms, kind);
SAME_SIZE(rt_copy_3d_peer, cudaMemcpy3DPeerParms);
SAME_PLACE(rt_copy_3d_peer, cudaMemcpy3DPeerParms, srcDevice);
SAME_PLACE(rt_copy_3d_peer, cudaMemcpy3DPeerParms, extent);

_Static_assert(sizeof(struct rt_launch_config) == sizeof(cudaLaunchConfig_t),
               "cudaLaunchConfig_t has another size");
_Static_assert((int)cudaErrorMemoryAllocation == RT_OUT_OF_MEMORY &&
                   (int)cudaErrorInvalidConfiguration ==
                       RT_INVALID_CONFIGURATION &&
                   (int)cudaErrorInvalidSymbol == RT_INVALID_SYMBOL &&
                   (int)cudaErrorInvalidDeviceFunction == RT_INVALID_FUNCTION &&
                   (int)cudaErrorNotSupported == RT_NOT_SUPPORTED,
               "errors have other numbers");
_Static_assert((int)cudaMemcpyDeviceToHost == RT_DEVICE_TO_HOST &&
                   (int)cudaMemcpyDefault == RT_COPY_DEFAULT,
               "directions have other numbers");

int main(void)
{
    printf("the runtime is laid out as in the toolkit's headers %d\n",
           CUDART_VERSION);
    return 0;
}

#else

int main(void)
{
    puts("no toolkit: nothing to compare with");
    return 77;
}

#endif
