/* test_cuda_header.c - our declarations of the driver agree with those of a
 * toolkit's cuda.h.  The compiler makes the comparison; without a toolkit the
 * test is skipped. */
#include <stdio.h>

#ifdef HAVE_CUDA_H

#include <cuda.h>

/* The list of calls with the toolkit's types... */
#define LARDER_CUDA_TYPES_ARE_DEFINED
typedef CUresult cud_result;
typedef CUdevice cud_device;
typedef CUdevice_attribute cud_attribute;
typedef CUstreamCaptureMode cud_capture_mode;
typedef CUstreamCaptureStatus cud_capture_status;
typedef CUmemAllocationGranularity_flags cud_granularity;
typedef CUmemAllocationHandleType cud_handle_type;
typedef CUuuid cud_uuid;
typedef CUipcMemHandle cud_ipc_handle;
typedef CUcontext cud_context;
typedef CUstream cud_stream;
typedef CUevent cud_event;
typedef CUdeviceptr cud_addr;
typedef CUmemGenericAllocationHandle cud_page;
typedef CUmemLocation cud_location;
typedef CUmemAllocationProp cud_page_prop;
typedef CUmemAccessDesc cud_access;

#include "device/cuda_driver.h"

/* ... equals the toolkit's own declarations. */
#define X(need, name, cuda, hip, arguments)                                    \
    _Static_assert(__builtin_types_compatible_p(cud_result(*) arguments,       \
                                                __typeof__(&cuda)),            \
                   #cuda " has another signature");
CUD_CALL_MAP(X)
#undef X

#define X(ours, value, theirs)                                                 \
    _Static_assert((int)(theirs) == (value), #ours " has another value");
CUD_CONSTANT_MAP(X)
#undef X

#define X(name, cuda, hip, theirs)                                             \
    _Static_assert((int)(theirs) == (cuda), #theirs " has another number");
CUD_ATTRIBUTE_MAP(X)
#undef X

/* Our own types, as used without a toolkit. */
size_t cuda_types_own(size_t sizes[], int count);

#define SIZES(X)                                                               \
    X(CUresult)                                                                \
    X(CUdevice)                                                                \
    X(CUdevice_attribute)                                                      \
    X(CUstreamCaptureMode)                                                     \
    X(CUstreamCaptureStatus)                                                   \
    X(CUmemAllocationGranularity_flags)                                        \
    X(CUmemAllocationHandleType)                                               \
    X(CUuuid)                                                                  \
    X(CUipcMemHandle)                                                          \
    X(CUcontext)                                                               \
    X(CUstream)                                                                \
    X(CUevent)                                                                 \
    X(CUdeviceptr)                                                             \
    X(CUmemGenericAllocationHandle)                                            \
    X(CUmemLocation)                                                           \
    X(CUmemAllocationProp)                                                     \
    X(CUmemAccessDesc)

int main(void)
{
    static const size_t theirs[] = {
#define X(type) sizeof(type),
        SIZES(X)
#undef X
            offsetof(CUmemAllocationProp, type),
        offsetof(CUmemAllocationProp, requestedHandleTypes),
        offsetof(CUmemAllocationProp, location),
        offsetof(CUmemAllocationProp, win32HandleMetaData),
        offsetof(CUmemAllocationProp, allocFlags),
        offsetof(CUmemAccessDesc, location),
        offsetof(CUmemAccessDesc, flags),
    };
    enum { COUNT = sizeof theirs / sizeof theirs[0] };
    size_t ours[COUNT] = {0};
    int wrong = cuda_types_own(ours, COUNT) != COUNT;

    for (int i = 0; i < COUNT; i++) {
        if (ours[i] != theirs[i]) {
            printf("size or place %d is %zu, the toolkit's %zu\n", i, ours[i],
                   theirs[i]);
            wrong = 1;
        }
    }
    printf("compared with CUDA %d\n", CUDA_VERSION);
    return wrong;
}

#else

int main(void)
{
    puts("no cuda.h here: nothing was compared");
    return 77;
}

#endif
