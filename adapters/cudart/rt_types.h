/* rt_types.h - types exchanged between programs and the runtime, with the
 * layout of the runtime's public headers.  Declared here so that building needs
 * no toolkit; tests/cudart compares them with a toolkit's headers where
 * available.
 *
 * RT_MAJOR is the runtime's major version: 12 or 13. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Errors; most have the driver's number. */
enum {
    RT_SUCCESS = 0,
    RT_INVALID_VALUE = 1,
    RT_OUT_OF_MEMORY = 2,
    RT_INVALID_CONFIGURATION = 9,
    RT_INVALID_SYMBOL = 13,
    RT_INVALID_DIRECTION = 21,
    RT_INVALID_FUNCTION = 98,
    RT_NO_DEVICE = 100,
    RT_INVALID_DEVICE = 101,
    RT_INVALID_HANDLE = 400,
    RT_NOT_SUPPORTED = 801
};

struct rt_dim3 {
    unsigned x;
    unsigned y;
    unsigned z;
};

/* cudaMemcpyKind */
enum {
    RT_HOST_TO_HOST,
    RT_HOST_TO_DEVICE,
    RT_DEVICE_TO_HOST,
    RT_DEVICE_TO_DEVICE,
    RT_COPY_DEFAULT
};

struct rt_properties {
    char name[256];
    char uuid[16];
    char luid[8];
    unsigned luidDeviceNodeMask;
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    int regsPerBlock;
    int warpSize;
    size_t memPitch;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
#if RT_MAJOR < 13
    int clockRate;
#endif
    size_t totalConstMem;
    int major;
    int minor;
    size_t textureAlignment;
    size_t texturePitchAlignment;
#if RT_MAJOR < 13
    int deviceOverlap;
#endif
    int multiProcessorCount;
#if RT_MAJOR < 13
    int kernelExecTimeoutEnabled;
#endif
    int integrated;
    int canMapHostMemory;
#if RT_MAJOR < 13
    int computeMode;
#endif
#if RT_MAJOR < 13
    int textures[40]; /* maximum sizes of textures and surfaces */
#else
    int textures[39];
#endif
    size_t surfaceAlignment;
    int concurrentKernels;
    int ECCEnabled;
    int pciBusID;
    int pciDeviceID;
    int pciDomainID;
    int tccDriver;
    int asyncEngineCount;
    int unifiedAddressing;
#if RT_MAJOR < 13
    int memoryClockRate;
#endif
    int memoryBusWidth;
    int l2CacheSize;
    int persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor;
    int streamPrioritiesSupported;
    int globalL1CacheSupported;
    int localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor;
    int managedMemory;
    int isMultiGpuBoard;
    int multiGpuBoardGroupID;
    int hostNativeAtomicSupported;
#if RT_MAJOR < 13
    int singleToDoublePrecisionPerfRatio;
#endif
    int pageableMemoryAccess;
    int concurrentManagedAccess;
    int computePreemptionSupported;
    int canUseHostPointerForRegisteredMem;
    int cooperativeLaunch;
#if RT_MAJOR < 13
    int cooperativeMultiDeviceLaunch;
#endif
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables;
    int directManagedMemAccessFromHost;
    int maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int hostRegisterSupported;
    int sparseCudaArraySupported;
    int hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported;
    int memoryPoolsSupported;
    int rest[70]; /* nothing that a simulated GPU has */
};

struct rt_function_attributes {
    size_t sharedSizeBytes;
    size_t constSizeBytes;
    size_t localSizeBytes;
    int maxThreadsPerBlock;
    int numRegs;
    int ptxVersion;
    int binaryVersion;
    int cacheModeCA;
    int maxDynamicSharedSizeBytes;
    int preferredShmemCarveout;
    int rest[22];
};

struct rt_pointer_attributes {
    int type;
    int device;
    void *devicePointer;
    void *hostPointer;
#if RT_MAJOR >= 13
    long reserved[8];
#endif
};

/* cudaMemoryType */
enum { RT_UNREGISTERED, RT_ON_HOST, RT_ON_DEVICE, RT_MANAGED };

struct rt_extent {
    size_t width;
    size_t height;
    size_t depth;
};

struct rt_pitched {
    void *ptr;
    size_t pitch;
    size_t xsize;
    size_t ysize;
};

struct rt_pos {
    size_t x; /* bytes */
    size_t y;
    size_t z;
};

/* cudaMemcpy3DParms */
struct rt_copy_3d {
    void *srcArray;
    struct rt_pos srcPos;
    struct rt_pitched srcPtr;
    void *dstArray;
    struct rt_pos dstPos;
    struct rt_pitched dstPtr;
    struct rt_extent extent;
    int kind;
};

/* cudaMemcpy3DPeerParms */
struct rt_copy_3d_peer {
    void *srcArray;
    struct rt_pos srcPos;
    struct rt_pitched srcPtr;
    int srcDevice;
    void *dstArray;
    struct rt_pos dstPos;
    struct rt_pitched dstPtr;
    int dstDevice;
    struct rt_extent extent;
};

struct rt_launch_config {
    struct rt_dim3 grid;
    struct rt_dim3 block;
    size_t shared;
    void *stream;
    void *attributes;
    unsigned attribute_count;
};
