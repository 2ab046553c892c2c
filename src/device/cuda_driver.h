/* cuda_driver.h - the part of the CUDA driver API that a device needs: types,
 * constants, and the list of calls.  Private to the device layer.
 *
 * They are declared here so that building needs no toolkit; tests/unit compares
 * them with a toolkit's cuda.h where there is one.  The same list serves HIP,
 * whose handles, addresses and enumerations are passed like CUDA's: pointers or
 * 64-bit numbers in the same registers, results with the same values.  That was
 * not tested on hardware. */
#pragma once

#include <stddef.h>

/* ---- types -------------------------------------------------------------- */

/* A test substitutes the toolkit's own types for these names. */
#ifndef LARDER_CUDA_TYPES_ARE_DEFINED

typedef int cud_result;
typedef int cud_device;
typedef int cud_attribute;
typedef int cud_capture_mode;
typedef int cud_capture_status;
typedef int cud_granularity;
typedef int cud_handle_type;
typedef void *cud_context;
typedef void *cud_stream;
typedef void *cud_event;
typedef unsigned long long cud_addr;
typedef unsigned long long cud_page;

typedef struct cud_uuid {
    char bytes[16];
} cud_uuid;

typedef struct cud_ipc_handle {
    char reserved[64];
} cud_ipc_handle;

typedef struct cud_location {
    int type;
    int id;
} cud_location;

typedef struct cud_page_prop {
    int type;
    int requestedHandleTypes;
    cud_location location;
    void *win32HandleMetaData;
    struct {
        unsigned char compressionType;
        unsigned char gpuDirectRDMACapable;
        unsigned short usage;
        unsigned char reserved[4];
    } allocFlags;
} cud_page_prop;

typedef struct cud_access {
    cud_location location;
    int flags;
} cud_access;

#endif

/* ---- constants ---------------------------------------------------------- */

/* X(our name, value, the toolkit's name).  HIP has the same values. */
#define CUD_CONSTANT_MAP(X)                                                    \
    X(CUD_SUCCESS, 0, CUDA_SUCCESS)                                            \
    X(CUD_INVALID_VALUE, 1, CUDA_ERROR_INVALID_VALUE)                          \
    X(CUD_OUT_OF_MEMORY, 2, CUDA_ERROR_OUT_OF_MEMORY)                          \
    X(CUD_NOT_INITIALIZED, 3, CUDA_ERROR_NOT_INITIALIZED)                      \
    X(CUD_DEINITIALIZED, 4, CUDA_ERROR_DEINITIALIZED)                          \
    X(CUD_NO_DEVICE, 100, CUDA_ERROR_NO_DEVICE)                                \
    X(CUD_INVALID_DEVICE, 101, CUDA_ERROR_INVALID_DEVICE)                      \
    X(CUD_INVALID_CONTEXT, 201, CUDA_ERROR_INVALID_CONTEXT)                    \
    X(CUD_INVALID_HANDLE, 400, CUDA_ERROR_INVALID_HANDLE)                      \
    X(CUD_NOT_FOUND, 500, CUDA_ERROR_NOT_FOUND)                                \
    X(CUD_NOT_READY, 600, CUDA_ERROR_NOT_READY)                                \
    X(CUD_ILLEGAL_ADDRESS, 700, CUDA_ERROR_ILLEGAL_ADDRESS)                    \
    X(CUD_CONTEXT_IS_DESTROYED, 709, CUDA_ERROR_CONTEXT_IS_DESTROYED)          \
    X(CUD_NOT_PERMITTED, 800, CUDA_ERROR_NOT_PERMITTED)                        \
    X(CUD_NOT_SUPPORTED, 801, CUDA_ERROR_NOT_SUPPORTED)                        \
    X(CUD_CAPTURE_UNSUPPORTED, 900, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)     \
    X(CUD_CAPTURE_INVALIDATED, 901, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)     \
    X(CUD_CAPTURE_IMPLICIT, 906, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)           \
    X(CUD_CAPTURE_WRONG_THREAD, 908, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)   \
    X(CUD_UNKNOWN, 999, CUDA_ERROR_UNKNOWN)                                    \
    X(CUD_PAGE_PINNED, 1, CU_MEM_ALLOCATION_TYPE_PINNED)                       \
    X(CUD_ON_DEVICE, 1, CU_MEM_LOCATION_TYPE_DEVICE)                           \
    X(CUD_HANDLE_NONE, 0, CU_MEM_HANDLE_TYPE_NONE)                             \
    X(CUD_HANDLE_FD, 1, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)              \
    X(CUD_HANDLE_FABRIC, 8, CU_MEM_HANDLE_TYPE_FABRIC)                         \
    X(CUD_READ_WRITE, 3, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)                   \
    X(CUD_GRANULARITY_MINIMUM, 0, CU_MEM_ALLOC_GRANULARITY_MINIMUM)            \
    X(CUD_EVENT_NO_TIMING, 2, CU_EVENT_DISABLE_TIMING)                         \
    X(CUD_EVENT_INTERPROCESS, 4, CU_EVENT_INTERPROCESS)                        \
    X(CUD_HOST_PORTABLE, 1, CU_MEMHOSTALLOC_PORTABLE)                          \
    X(CUD_CAPTURE_NONE, 0, CU_STREAM_CAPTURE_STATUS_NONE)                      \
    X(CUD_CAPTURE_RELAXED, 2, CU_STREAM_CAPTURE_MODE_RELAXED)

enum {
#define X(name, value, theirs) name = value,
    CUD_CONSTANT_MAP(X)
#undef X
};

/* Attributes of a device; their numbers differ between the drivers.  X(name,
 * CUDA's number, HIP's or -1, the toolkit's name) */
#define CUD_ATTRIBUTE_MAP(X)                                                   \
    X(integrated, 18, 16, CU_DEVICE_ATTRIBUTE_INTEGRATED)                      \
    X(virtual_memory, 102, 89,                                                 \
      CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)                 \
    X(export_fd, 103, -1,                                                      \
      CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED)         \
    X(export_fabric, 128, -1, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED)

/* ---- calls -------------------------------------------------------------- */

/* X(need, name, CUDA's symbol, HIP's symbol, arguments).  Where a call has had
 * several versions the symbol selects one.  NEEDED calls must exist; VIRTUAL
 * calls are used all together or not at all; WANTED calls may be missing. */
#define CUD_CALL_MAP(X)                                                        \
    X(NEEDED, init, cuInit, hipInit, (unsigned))                               \
    X(NEEDED, device_count, cuDeviceGetCount, hipGetDeviceCount, (int *))      \
    X(NEEDED, device_get, cuDeviceGet, hipDeviceGet, (cud_device *, int))      \
    X(NEEDED, device_name, cuDeviceGetName, hipDeviceGetName,                  \
      (char *, int, cud_device))                                               \
    X(NEEDED, device_total, cuDeviceTotalMem_v2, hipDeviceTotalMem,            \
      (size_t *, cud_device))                                                  \
    X(NEEDED, device_attribute, cuDeviceGetAttribute, hipDeviceGetAttribute,   \
      (int *, cud_attribute, cud_device))                                      \
    X(WANTED, device_uuid, cuDeviceGetUuid_v2, hipDeviceGetUuid,               \
      (cud_uuid *, cud_device))                                                \
    X(WANTED, device_reaches, cuDeviceCanAccessPeer, hipDeviceCanAccessPeer,   \
      (int *, cud_device, cud_device))                                         \
    X(NEEDED, primary_retain, cuDevicePrimaryCtxRetain,                        \
      hipDevicePrimaryCtxRetain, (cud_context *, cud_device))                  \
    X(NEEDED, primary_release, cuDevicePrimaryCtxRelease_v2,                   \
      hipDevicePrimaryCtxRelease, (cud_device))                                \
    X(NEEDED, context_get, cuCtxGetCurrent, hipCtxGetCurrent, (cud_context *)) \
    X(NEEDED, context_push, cuCtxPushCurrent_v2, hipCtxPushCurrent,            \
      (cud_context))                                                           \
    X(NEEDED, context_pop, cuCtxPopCurrent_v2, hipCtxPopCurrent,               \
      (cud_context *))                                                         \
    X(NEEDED, error_name, cuGetErrorName, hipDrvGetErrorName,                  \
      (cud_result, const char **))                                             \
    X(NEEDED, error_string, cuGetErrorString, hipDrvGetErrorString,            \
      (cud_result, const char **))                                             \
    X(NEEDED, mem_alloc, cuMemAlloc_v2, hipMalloc, (cud_addr *, size_t))       \
    X(NEEDED, mem_free, cuMemFree_v2, hipFree, (cud_addr))                     \
    X(NEEDED, mem_info, cuMemGetInfo_v2, hipMemGetInfo, (size_t *, size_t *))  \
    X(NEEDED, event_create, cuEventCreate, hipEventCreateWithFlags,            \
      (cud_event *, unsigned))                                                 \
    X(NEEDED, event_destroy, cuEventDestroy_v2, hipEventDestroy, (cud_event))  \
    X(NEEDED, event_record, cuEventRecord, hipEventRecord,                     \
      (cud_event, cud_stream))                                                 \
    X(NEEDED, event_query, cuEventQuery, hipEventQuery, (cud_event))           \
    X(NEEDED, event_sync, cuEventSynchronize, hipEventSynchronize,             \
      (cud_event))                                                             \
    X(NEEDED, stream_sync, cuStreamSynchronize, hipStreamSynchronize,          \
      (cud_stream))                                                            \
    X(WANTED, stream_is_capturing, cuStreamIsCapturing, hipStreamIsCapturing,  \
      (cud_stream, cud_capture_status *))                                      \
    X(WANTED, capture_mode, cuThreadExchangeStreamCaptureMode,                 \
      hipThreadExchangeStreamCaptureMode, (cud_capture_mode *))                \
    X(NEEDED, copy_to_device, cuMemcpyHtoDAsync_v2, hipMemcpyHtoDAsync,        \
      (cud_addr, const void *, size_t, cud_stream))                            \
    X(NEEDED, copy_to_host, cuMemcpyDtoHAsync_v2, hipMemcpyDtoHAsync,          \
      (void *, cud_addr, size_t, cud_stream))                                  \
    X(NEEDED, copy_on_device, cuMemcpyDtoDAsync_v2, hipMemcpyDtoDAsync,        \
      (cud_addr, cud_addr, size_t, cud_stream))                                \
    X(NEEDED, fill, cuMemsetD8Async, hipMemsetD8Async,                         \
      (cud_addr, unsigned char, size_t, cud_stream))                           \
    X(NEEDED, host_alloc, cuMemHostAlloc, hipHostMalloc,                       \
      (void **, size_t, unsigned))                                             \
    X(NEEDED, host_free, cuMemFreeHost, hipHostFree, (void *))                 \
    X(VIRTUAL, granularity, cuMemGetAllocationGranularity,                     \
      hipMemGetAllocationGranularity,                                          \
      (size_t *, const cud_page_prop *, cud_granularity))                      \
    X(VIRTUAL, address_reserve, cuMemAddressReserve, hipMemAddressReserve,     \
      (cud_addr *, size_t, size_t, cud_addr, unsigned long long))              \
    X(VIRTUAL, address_free, cuMemAddressFree, hipMemAddressFree,              \
      (cud_addr, size_t))                                                      \
    X(VIRTUAL, page_create, cuMemCreate, hipMemCreate,                         \
      (cud_page *, size_t, const cud_page_prop *, unsigned long long))         \
    X(VIRTUAL, page_release, cuMemRelease, hipMemRelease, (cud_page))          \
    X(VIRTUAL, map, cuMemMap, hipMemMap,                                       \
      (cud_addr, size_t, size_t, cud_page, unsigned long long))                \
    X(VIRTUAL, unmap, cuMemUnmap, hipMemUnmap, (cud_addr, size_t))             \
    X(VIRTUAL, set_access, cuMemSetAccess, hipMemSetAccess,                    \
      (cud_addr, size_t, const cud_access *, size_t))                          \
    X(WANTED, page_export, cuMemExportToShareableHandle,                       \
      hipMemExportToShareableHandle,                                           \
      (void *, cud_page, cud_handle_type, unsigned long long))                 \
    X(WANTED, page_import, cuMemImportFromShareableHandle,                     \
      hipMemImportFromShareableHandle, (cud_page *, void *, cud_handle_type))

/* Calls that the driver lacks are NULL. */
struct cud_calls {
#define X(need, name, cuda, hip, arguments) cud_result(*name) arguments;
    CUD_CALL_MAP(X)
#undef X
};
