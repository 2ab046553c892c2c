/* rt_device.c - devices, and each thread's current one. */
#include <pthread.h>
#include <string.h>

#include "rt_state.h"

static pthread_once_t opened = PTHREAD_ONCE_INIT;
static int open_answer;
static _Thread_local int chosen;

static void open_driver(void)
{
    open_answer = cuInit(0);
}

int rt_begin_bare(void)
{
    pthread_once(&opened, open_driver);
    return open_answer;
}

/* A primary context is kept once it was used. */
static int make_current(int device)
{
    cud_context context = NULL;
    int answer = cuDevicePrimaryCtxRetain(&context, device);

    return answer == CUD_SUCCESS ? cuCtxSetCurrent(context) : answer;
}

int rt_begin(void)
{
    cud_context context = NULL;
    int answer = rt_begin_bare();

    if (answer == CUD_SUCCESS)
        answer = cuCtxGetCurrent(&context);
    if (answer != CUD_SUCCESS || context != NULL)
        return answer;
    return make_current(chosen);
}

int rt_device(void)
{
    cud_context context = NULL;
    cud_device device;

    if (cuCtxGetCurrent(&context) == CUD_SUCCESS && context != NULL &&
        cuCtxGetDevice(&device) == CUD_SUCCESS)
        return device;
    return chosen;
}

/* ---- choosing a device --------------------------------------------------------- */

int cudaGetDeviceCount(int *out)
{
    int answer = rt_begin_bare();

    *out = 0;
    if (answer == CUD_SUCCESS)
        answer = cuDeviceGetCount(out);
    return rt_end(answer == CUD_SUCCESS && *out == 0 ? RT_NO_DEVICE : answer);
}

int cudaGetDevice(int *out)
{
    int answer = rt_begin_bare();

    if (answer == CUD_SUCCESS)
        *out = rt_device();
    return rt_end(answer);
}

int cudaSetDevice(int device)
{
    int count = 0;
    int answer = cudaGetDeviceCount(&count);

    if (answer != RT_SUCCESS)
        return answer;
    if (device < 0 || device >= count)
        return rt_end(RT_INVALID_DEVICE);
    chosen = device;
    return rt_end(make_current(device));
}

int cudaInitDevice(int device, unsigned flags, unsigned more)
{
    cud_context context = NULL;
    int answer = rt_begin_bare();

    (void)flags;
    (void)more;
    if (answer == CUD_SUCCESS)
        answer = cuDevicePrimaryCtxRetain(&context, device);
    return rt_end(answer);
}

int cudaSetValidDevices(int *devices, int count)
{
    (void)devices;
    (void)count;
    return RT_SUCCESS;
}

int cudaSetDeviceFlags(unsigned flags)
{
    (void)flags;
    return RT_SUCCESS;
}

int cudaGetDeviceFlags(unsigned *out)
{
    *out = 0;
    return RT_SUCCESS;
}

int cudaDeviceSynchronize(void)
{
    RT_PASS(cuCtxSynchronize());
}

int cudaDeviceReset(void)
{
    int answer = rt_begin();

    if (answer == CUD_SUCCESS)
        answer = cuDevicePrimaryCtxReset_v2(rt_device());
    if (answer == CUD_SUCCESS)
        rt_symbols_forget();
    return rt_end(answer);
}

/* ---- properties ----------------------------------------------------------------- */

int cudaDeviceGetAttribute(int *out, int which, int device)
{
    RT_PASS_BARE(cuDeviceGetAttribute(out, which, device));
}

/* Fields with the numbers of their attributes; sizes are size_t. */
#define SIZE_MAP(X)                                                            \
    X(sharedMemPerBlock, 8)                                                    \
    X(memPitch, 11)                                                            \
    X(totalConstMem, 9)                                                        \
    X(textureAlignment, 14)                                                    \
    X(texturePitchAlignment, 51)                                               \
    X(surfaceAlignment, 30)                                                    \
    X(sharedMemPerMultiprocessor, 81)                                          \
    X(sharedMemPerBlockOptin, 97)                                              \
    X(reservedSharedMemPerBlock, 111)

#define NUMBER_MAP(X)                                                          \
    X(regsPerBlock, 12)                                                        \
    X(warpSize, 10)                                                            \
    X(maxThreadsPerBlock, 1)                                                   \
    X(maxThreadsDim[0], 2)                                                     \
    X(maxThreadsDim[1], 3)                                                     \
    X(maxThreadsDim[2], 4)                                                     \
    X(maxGridSize[0], 5)                                                       \
    X(maxGridSize[1], 6)                                                       \
    X(maxGridSize[2], 7)                                                       \
    X(major, 75)                                                               \
    X(minor, 76)                                                               \
    X(multiProcessorCount, 16)                                                 \
    X(integrated, 18)                                                          \
    X(canMapHostMemory, 19)                                                    \
    X(concurrentKernels, 31)                                                   \
    X(ECCEnabled, 32)                                                          \
    X(pciBusID, 33)                                                            \
    X(pciDeviceID, 34)                                                         \
    X(pciDomainID, 50)                                                         \
    X(asyncEngineCount, 40)                                                    \
    X(unifiedAddressing, 41)                                                   \
    X(memoryBusWidth, 37)                                                      \
    X(l2CacheSize, 38)                                                         \
    X(maxThreadsPerMultiProcessor, 39)                                         \
    X(streamPrioritiesSupported, 78)                                           \
    X(globalL1CacheSupported, 79)                                              \
    X(localL1CacheSupported, 80)                                               \
    X(regsPerMultiprocessor, 82)                                               \
    X(managedMemory, 83)                                                       \
    X(computePreemptionSupported, 90)                                          \
    X(canUseHostPointerForRegisteredMem, 91)                                   \
    X(cooperativeLaunch, 95)                                                   \
    X(maxBlocksPerMultiProcessor, 106)                                         \
    X(hostRegisterSupported, 99)                                               \
    X(memoryPoolsSupported, 115)

/* Fields that the newer version removed. */
#if RT_MAJOR < 13
#define OLD_MAP(X)                                                             \
    X(clockRate, 13)                                                           \
    X(deviceOverlap, 15)                                                       \
    X(computeMode, 20)                                                         \
    X(memoryClockRate, 36)
#else
#define OLD_MAP(X)
#endif

static int rt_device_attribute(int which, int device)
{
    int value = 0;

    (void)cuDeviceGetAttribute(&value, which, device);
    return value;
}

int cudaGetDeviceProperties(struct rt_properties *out, int device)
{
    int answer = rt_begin_bare();
    cud_uuid uuid;

    if (answer != CUD_SUCCESS)
        return rt_end(answer);
    memset(out, 0, sizeof *out);
    answer = cuDeviceGetName(out->name, sizeof out->name, device);
    if (answer == CUD_SUCCESS)
        answer = cuDeviceTotalMem_v2(&out->totalGlobalMem, device);
    if (answer == CUD_SUCCESS)
        answer = cuDeviceGetUuid_v2(&uuid, device);
    if (answer != CUD_SUCCESS)
        return rt_end(answer);
    memcpy(out->uuid, uuid.bytes, sizeof out->uuid);
#define X(field, which) out->field = (size_t)rt_device_attribute(which, device);
    SIZE_MAP(X)
#undef X
#define X(field, which) out->field = rt_device_attribute(which, device);
    NUMBER_MAP(X)
    OLD_MAP(X)
#undef X
    return RT_SUCCESS;
}

#if RT_MAJOR < 13
int cudaGetDeviceProperties_v2(struct rt_properties *out, int device)
{
    return cudaGetDeviceProperties(out, device);
}
#endif

/* All devices are equal. */
int cudaChooseDevice(int *out, const struct rt_properties *wanted)
{
    (void)wanted;
    *out = 0;
    return RT_SUCCESS;
}

int cudaDeviceGetPCIBusId(char *out, int capacity, int device)
{
    RT_PASS_BARE(cuDeviceGetPCIBusId(out, capacity, device));
}

int cudaDeviceGetByPCIBusId(int *out, const char *id)
{
    RT_PASS_BARE(cuDeviceGetByPCIBusId(out, id));
}

/* ---- settings --------------------------------------------------------------------- */

int cudaDeviceGetLimit(size_t *out, int which)
{
    RT_PASS(cuCtxGetLimit(out, which));
}

int cudaDeviceSetLimit(int which, size_t value)
{
    RT_PASS(cuCtxSetLimit(which, value));
}

int cudaDeviceGetCacheConfig(int *out)
{
    *out = 0;
    return RT_SUCCESS;
}

int cudaDeviceSetCacheConfig(int config)
{
    (void)config;
    return RT_SUCCESS;
}

int cudaDeviceGetSharedMemConfig(int *out)
{
    *out = 0;
    return RT_SUCCESS;
}

int cudaDeviceSetSharedMemConfig(int config)
{
    (void)config;
    return RT_SUCCESS;
}

int cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    RT_PASS(cuCtxGetStreamPriorityRange(least, greatest));
}

int cudaCtxResetPersistingL2Cache(void)
{
    return RT_SUCCESS;
}

int cudaDeviceFlushGPUDirectRDMAWrites(int target, int scope)
{
    (void)target;
    (void)scope;
    return RT_SUCCESS;
}

/* ---- each other's memory ------------------------------------------------------------ */

int cudaDeviceCanAccessPeer(int *out, int device, int peer)
{
    RT_PASS_BARE(cuDeviceCanAccessPeer(out, device, peer));
}

int cudaDeviceGetP2PAttribute(int *out, int which, int from, int to)
{
    (void)which;
    return cudaDeviceCanAccessPeer(out, from, to);
}

static int peer_context(int peer, cud_context *out)
{
    int answer = rt_begin();

    return answer == CUD_SUCCESS ? cuDevicePrimaryCtxRetain(out, peer) : answer;
}

int cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    cud_context context;

    RT_PASS_AFTER(peer_context(peer, &context),
                  cuCtxEnablePeerAccess(context, flags));
}

int cudaDeviceDisablePeerAccess(int peer)
{
    cud_context context;

    RT_PASS_AFTER(peer_context(peer, &context),
                  cuCtxDisablePeerAccess(context));
}
