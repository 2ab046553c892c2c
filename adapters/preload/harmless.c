/* harmless.c - the driver calls that do not access memory that can move: all
 * calls up to release 13.5 that are not hooked, with the reasons.  Any other
 * call may queue work, as far as this library knows (unknown.c);
 * tests/lint/driver_calls.sh compares these names with a toolkit's headers. */
#include "unknown.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char *const harmless[] = {
    /* Calls with 32-bit addresses, which current memory does not have. */
    "cuDeviceTotalMem", "cuGLMapBufferObject", "cuGLMapBufferObjectAsync",
    "cuGraphicsResourceGetMappedPointer", "cuMemAlloc", "cuMemAllocPitch",
    "cuMemFree", "cuMemGetAddressRange", "cuMemGetInfo",
    "cuMemHostGetDevicePointer", "cuMemcpy2D", "cuMemcpy2DAsync",
    "cuMemcpy2DUnaligned", "cuMemcpy3D", "cuMemcpy3DAsync", "cuMemcpyAtoA",
    "cuMemcpyAtoD", "cuMemcpyAtoH", "cuMemcpyAtoHAsync", "cuMemcpyDtoA",
    "cuMemcpyDtoD", "cuMemcpyDtoDAsync", "cuMemcpyDtoH", "cuMemcpyDtoHAsync",
    "cuMemcpyHtoA", "cuMemcpyHtoAAsync", "cuMemcpyHtoD", "cuMemcpyHtoDAsync",
    "cuMemsetD16", "cuMemsetD2D16", "cuMemsetD2D32", "cuMemsetD2D8",
    "cuMemsetD32", "cuMemsetD8", "cuModuleGetGlobal", "cuTexRefGetAddress",
    "cuTexRefSetAddress", "cuTexRefSetAddress2D",
    /* The driver itself, devices and their properties. */
    "cuCoredumpDeregisterCompleteCallback", "cuCoredumpDeregisterStartCallback",
    "cuCoredumpGetAttribute", "cuCoredumpGetAttributeGlobal",
    "cuCoredumpRegisterCompleteCallback", "cuCoredumpRegisterStartCallback",
    "cuCoredumpSetAttribute", "cuCoredumpSetAttributeGlobal",
    "cuDeviceCanAccessPeer", "cuDeviceComputeCapability", "cuDeviceGet",
    "cuDeviceGetAttribute", "cuDeviceGetByPCIBusId", "cuDeviceGetCliqueCount",
    "cuDeviceGetCliqueInfo", "cuDeviceGetCount", "cuDeviceGetDefaultMemPool",
    "cuDeviceGetDevResource", "cuDeviceGetExecAffinitySupport",
    "cuDeviceGetFabricClusterUuid", "cuDeviceGetGraphMemAttribute",
    "cuDeviceGetHostAtomicCapabilities", "cuDeviceGetLuid",
    "cuDeviceGetMemPool", "cuDeviceGetName", "cuDeviceGetNvSciSyncAttributes",
    "cuDeviceGetP2PAtomicCapabilities", "cuDeviceGetP2PAttribute",
    "cuDeviceGetPCIBusId", "cuDeviceGetProperties",
    "cuDeviceGetTexture1DLinearMaxWidth", "cuDeviceGetUuid",
    "cuDeviceGetUuid_v2", "cuDeviceRegisterAsyncNotification",
    "cuDeviceUnregisterAsyncNotification", "cuDriverGetVersion",
    "cuGLGetDevices", "cuGLGetDevices_v2", "cuGLInit", "cuGetErrorName",
    "cuGetErrorString", "cuGetExportTable", "cuInit", "cuLogsCurrent",
    "cuLogsDumpToFile", "cuLogsDumpToMemory", "cuLogsRegisterCallback",
    "cuLogsUnregisterCallback", "cuProfilerInitialize", "cuProfilerStart",
    "cuProfilerStop", "cuVDPAUGetDevice",
    /* Contexts, except for their creation and flags. */
    "cuCtxAttach", "cuCtxDestroy", "cuCtxDetach", "cuCtxDisablePeerAccess",
    "cuCtxEnablePeerAccess", "cuCtxFromGreenCtx", "cuCtxGetApiVersion",
    "cuCtxGetCacheConfig", "cuCtxGetCurrent", "cuCtxGetDevResource",
    "cuCtxGetDevice", "cuCtxGetDevice_v2", "cuCtxGetExecAffinity",
    "cuCtxGetFlags", "cuCtxGetId", "cuCtxGetLimit", "cuCtxGetSharedMemConfig",
    "cuCtxGetStreamPriorityRange", "cuCtxPopCurrent", "cuCtxPopCurrent_v2",
    "cuCtxPushCurrent", "cuCtxPushCurrent_v2", "cuCtxRecordEvent",
    "cuCtxResetPersistingL2Cache", "cuCtxSetCacheConfig", "cuCtxSetCurrent",
    "cuCtxSetLimit", "cuCtxSetSharedMemConfig", "cuCtxSynchronize",
    "cuCtxSynchronize_v2", "cuCtxWaitEvent", "cuDevResourceGenerateDesc",
    "cuDevSmResourceSplit", "cuDevSmResourceSplitByCount",
    "cuDevicePrimaryCtxGetState", "cuDevicePrimaryCtxRelease",
    "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxReset",
    "cuDevicePrimaryCtxRetain", "cuGreenCtxDestroy", "cuGreenCtxGetDevResource",
    "cuGreenCtxGetId", "cuGreenCtxRecordEvent", "cuGreenCtxStreamCreate",
    "cuGreenCtxWaitEvent",
    /* Streams and events: order, and no memory; ends of captures. */
    "cuEventCreate", "cuEventCreateFromEGLSync", "cuEventDestroy",
    "cuEventDestroy_v2", "cuEventElapsedTime", "cuEventElapsedTime_v2",
    "cuEventQuery", "cuEventRecord", "cuEventRecordWithFlags",
    "cuEventRecordWithFlags_ptsz", "cuEventRecord_ptsz", "cuEventSynchronize",
    "cuStreamCopyAttributes", "cuStreamCopyAttributes_ptsz", "cuStreamCreate",
    "cuStreamCreateWithPriority", "cuStreamDestroy", "cuStreamEndCaptureToCig",
    "cuStreamEndCaptureToCig_ptsz", "cuStreamGetAttribute",
    "cuStreamGetAttribute_ptsz", "cuStreamGetCaptureInfo",
    "cuStreamGetCaptureInfo_ptsz", "cuStreamGetCaptureInfo_v2",
    "cuStreamGetCaptureInfo_v2_ptsz", "cuStreamGetCaptureInfo_v3",
    "cuStreamGetCaptureInfo_v3_ptsz", "cuStreamGetCtx", "cuStreamGetCtx_ptsz",
    "cuStreamGetCtx_v2", "cuStreamGetCtx_v2_ptsz", "cuStreamGetDevResource",
    "cuStreamGetDevResource_ptsz", "cuStreamGetDevice",
    "cuStreamGetDevice_ptsz", "cuStreamGetFlags", "cuStreamGetFlags_ptsz",
    "cuStreamGetGreenCtx", "cuStreamGetId", "cuStreamGetId_ptsz",
    "cuStreamGetPriority", "cuStreamGetPriority_ptsz", "cuStreamIsCapturing",
    "cuStreamIsCapturing_ptsz", "cuStreamQuery", "cuStreamQuery_ptsz",
    "cuStreamSetAttribute", "cuStreamSetAttribute_ptsz", "cuStreamSynchronize",
    "cuStreamSynchronize_ptsz", "cuStreamUpdateCaptureDependencies",
    "cuStreamUpdateCaptureDependencies_ptsz",
    "cuStreamUpdateCaptureDependencies_v2",
    "cuStreamUpdateCaptureDependencies_v2_ptsz", "cuStreamWaitEvent",
    "cuStreamWaitEvent_ptsz", "cuThreadExchangeStreamCaptureMode",
    /* Code and queries about it; parameters of launches; variables are the
     * driver's memory. */
    "cuFuncGetAttribute", "cuFuncGetModule", "cuFuncGetName",
    "cuFuncGetParamCount", "cuFuncGetParamInfo", "cuFuncIsLoaded", "cuFuncLoad",
    "cuFuncSetAttribute", "cuFuncSetBlockShape", "cuFuncSetCacheConfig",
    "cuFuncSetSharedMemConfig", "cuFuncSetSharedSize", "cuKernelGetAttribute",
    "cuKernelGetFunction", "cuKernelGetLibrary", "cuKernelGetName",
    "cuKernelGetParamCount", "cuKernelGetParamInfo", "cuKernelSetAttribute",
    "cuKernelSetCacheConfig", "cuLibraryEnumerateKernels", "cuLibraryGetGlobal",
    "cuLibraryGetKernel", "cuLibraryGetKernelCount", "cuLibraryGetManaged",
    "cuLibraryGetModule", "cuLibraryGetUnifiedFunction", "cuLibraryLoadData",
    "cuLibraryLoadFromFile", "cuLibraryUnload", "cuLinkAddData",
    "cuLinkAddData_v2", "cuLinkAddFile", "cuLinkAddFile_v2", "cuLinkComplete",
    "cuLinkCreate", "cuLinkCreate_v2", "cuLinkDestroy",
    "cuModuleEnumerateFunctions", "cuModuleGetFunction",
    "cuModuleGetFunctionCount", "cuModuleGetGlobal_v2",
    "cuModuleGetLoadingMode", "cuModuleGetSurfRef", "cuModuleGetTexRef",
    "cuModuleLoad", "cuModuleLoadData", "cuModuleLoadDataEx",
    "cuModuleLoadFatBinary", "cuModuleUnload",
    "cuOccupancyAvailableDynamicSMemPerBlock",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    "cuOccupancyMaxActiveClusters", "cuOccupancyMaxPotentialBlockSize",
    "cuOccupancyMaxPotentialBlockSizeWithFlags",
    "cuOccupancyMaxPotentialClusterSize", "cuParamSetSize", "cuParamSetTexRef",
    "cuParamSetf", "cuParamSeti", "cuParamSetv",
    /* Arrays, textures and surfaces: the driver's own memory. */
    "cuArray3DCreate", "cuArray3DCreate_v2", "cuArray3DGetDescriptor",
    "cuArray3DGetDescriptor_v2", "cuArrayCreate", "cuArrayCreate_v2",
    "cuArrayDestroy", "cuArrayGetDescriptor", "cuArrayGetDescriptor_v2",
    "cuArrayGetMemoryRequirements", "cuArrayGetPlane",
    "cuArrayGetSparseProperties", "cuMipmappedArrayCreate",
    "cuMipmappedArrayDestroy", "cuMipmappedArrayGetLevel",
    "cuMipmappedArrayGetMemoryRequirements",
    "cuMipmappedArrayGetSparseProperties", "cuSurfObjectCreate",
    "cuSurfObjectDestroy", "cuSurfObjectGetResourceDesc", "cuSurfRefGetArray",
    "cuSurfRefSetArray", "cuTexObjectDestroy", "cuTexObjectGetResourceDesc",
    "cuTexObjectGetResourceViewDesc", "cuTexObjectGetTextureDesc",
    "cuTexRefCreate", "cuTexRefDestroy", "cuTexRefGetAddressMode",
    "cuTexRefGetAddress_v2", "cuTexRefGetArray", "cuTexRefGetBorderColor",
    "cuTexRefGetFilterMode", "cuTexRefGetFlags", "cuTexRefGetFormat",
    "cuTexRefGetMaxAnisotropy", "cuTexRefGetMipmapFilterMode",
    "cuTexRefGetMipmapLevelBias", "cuTexRefGetMipmapLevelClamp",
    "cuTexRefGetMipmappedArray", "cuTexRefSetAddressMode", "cuTexRefSetArray",
    "cuTexRefSetBorderColor", "cuTexRefSetFilterMode", "cuTexRefSetFlags",
    "cuTexRefSetFormat", "cuTexRefSetMaxAnisotropy",
    "cuTexRefSetMipmapFilterMode", "cuTexRefSetMipmapLevelBias",
    "cuTexRefSetMipmapLevelClamp", "cuTexRefSetMipmappedArray",
    /* Tensor descriptors, written by the host. */
    "cuTensorMapEncodeIm2col", "cuTensorMapEncodeIm2colWide",
    "cuTensorMapEncodeTiled", "cuTensorMapReplaceAddress",
    "cuTensorMapSetAllocationClass",
    /* Graph nodes that do not refer to memory, or pass their parameters
     * unchanged to a kernel; queries about nodes. */
    "cuGraphAddChildGraphNode", "cuGraphAddDependencies",
    "cuGraphAddDependencies_v2", "cuGraphAddEmptyNode",
    "cuGraphAddEventRecordNode", "cuGraphAddEventWaitNode",
    "cuGraphAddExternalSemaphoresSignalNode",
    "cuGraphAddExternalSemaphoresWaitNode", "cuGraphAddHostNode",
    "cuGraphAddKernelNode", "cuGraphAddKernelNode_v2", "cuGraphAddMemAllocNode",
    "cuGraphAddMemFreeNode", "cuGraphBatchMemOpNodeGetParams",
    "cuGraphChildGraphNodeGetGraph", "cuGraphClone",
    "cuGraphConditionalHandleCreate", "cuGraphCreate", "cuGraphDebugDotPrint",
    "cuGraphDestroy", "cuGraphDestroyNode", "cuGraphEventRecordNodeGetEvent",
    "cuGraphEventRecordNodeSetEvent", "cuGraphEventWaitNodeGetEvent",
    "cuGraphEventWaitNodeSetEvent", "cuGraphExecDestroy",
    "cuGraphExecEventRecordNodeSetEvent", "cuGraphExecEventWaitNodeSetEvent",
    "cuGraphExecExternalSemaphoresSignalNodeSetParams",
    "cuGraphExecExternalSemaphoresWaitNodeSetParams", "cuGraphExecGetFlags",
    "cuGraphExecGetId", "cuGraphExecHostNodeSetParams",
    "cuGraphExecKernelNodeSetParams", "cuGraphExecKernelNodeSetParams_v2",
    "cuGraphExternalSemaphoresSignalNodeGetParams",
    "cuGraphExternalSemaphoresSignalNodeSetParams",
    "cuGraphExternalSemaphoresWaitNodeGetParams",
    "cuGraphExternalSemaphoresWaitNodeSetParams", "cuGraphGetEdges",
    "cuGraphGetEdges_v2", "cuGraphGetId", "cuGraphGetNodes",
    "cuGraphGetRootNodes", "cuGraphHostNodeGetParams",
    "cuGraphHostNodeSetParams", "cuGraphKernelNodeCopyAttributes",
    "cuGraphKernelNodeGetAttribute", "cuGraphKernelNodeGetParams",
    "cuGraphKernelNodeGetParams_v2", "cuGraphKernelNodeSetAttribute",
    "cuGraphKernelNodeSetParams", "cuGraphKernelNodeSetParams_v2",
    "cuGraphMemAllocNodeGetParams", "cuGraphMemFreeNodeGetParams",
    "cuGraphMemcpyNodeGetParams", "cuGraphMemsetNodeGetParams",
    "cuGraphNodeFindInClone", "cuGraphNodeGetContainingGraph",
    "cuGraphNodeGetDependencies", "cuGraphNodeGetDependencies_v2",
    "cuGraphNodeGetDependentNodes", "cuGraphNodeGetDependentNodes_v2",
    "cuGraphNodeGetEnabled", "cuGraphNodeGetLocalId", "cuGraphNodeGetParams",
    "cuGraphNodeGetToolsId", "cuGraphNodeGetType", "cuGraphNodeSetEnabled",
    "cuGraphReleaseUserObject", "cuGraphRemoveDependencies",
    "cuGraphRemoveDependencies_v2", "cuGraphRetainUserObject",
    "cuUserObjectCreate", "cuUserObjectRelease", "cuUserObjectRetain",
    /* Host memory. */
    "cuMemAllocHost", "cuMemAllocHost_v2", "cuMemFreeHost", "cuMemHostAlloc",
    "cuMemHostGetDevicePointer_v2", "cuMemHostGetFlags", "cuMemHostRegister",
    "cuMemHostRegister_v2", "cuMemHostUnregister",
    /* The driver's pools, whose memory never moves. */
    "cuDeviceGraphMemTrim", "cuDeviceSetGraphMemAttribute",
    "cuDeviceSetMemPool", "cuMemGetDefaultMemPool", "cuMemGetMemPool",
    "cuMemPoolCreate", "cuMemPoolDestroy", "cuMemPoolExportPointer",
    "cuMemPoolExportToShareableHandle", "cuMemPoolGetAccess",
    "cuMemPoolGetAttribute", "cuMemPoolImportFromShareableHandle",
    "cuMemPoolImportPointer", "cuMemPoolSetAccess", "cuMemPoolSetAttribute",
    "cuMemPoolTrimTo", "cuMemSetMemPool",
    /* Handles that the program made or imported itself, which stay; it gets
     * no handle of other memory but by cuMemRetainAllocationHandle(), which is
     * hooked. */
    "cuLogicalEndpointAddDevice", "cuLogicalEndpointBindMem",
    "cuLogicalEndpointCreate", "cuLogicalEndpointDestroy",
    "cuLogicalEndpointExport", "cuLogicalEndpointGetLimits",
    "cuLogicalEndpointIdRelease", "cuLogicalEndpointIdReserve",
    "cuLogicalEndpointImport", "cuLogicalEndpointQuery",
    "cuLogicalEndpointUnbind", "cuMemAddressFree", "cuMemAddressReserve",
    "cuMemExportToShareableHandle", "cuMemGetAllocationGranularity",
    "cuMemGetAllocationPropertiesFromHandle", "cuMemImportFromShareableHandle",
    "cuMulticastAddDevice", "cuMulticastBindMem", "cuMulticastBindMem_v2",
    "cuMulticastCreate", "cuMulticastGetGranularity", "cuMulticastUnbind",
    /* Memory of other processes and of graphics, and imported memory, which
     * never moves. */
    "cuDestroyExternalMemory", "cuDestroyExternalSemaphore",
    "cuEGLStreamConsumerAcquireFrame", "cuEGLStreamConsumerConnect",
    "cuEGLStreamConsumerConnectWithFlags", "cuEGLStreamConsumerDisconnect",
    "cuEGLStreamConsumerReleaseFrame", "cuEGLStreamProducerConnect",
    "cuEGLStreamProducerDisconnect", "cuEGLStreamProducerReturnFrame",
    "cuExternalMemoryGetMappedBuffer",
    "cuExternalMemoryGetMappedMipmappedArray", "cuGLMapBufferObjectAsync_v2",
    "cuGLMapBufferObjectAsync_v2_ptsz", "cuGLMapBufferObject_v2",
    "cuGLMapBufferObject_v2_ptds", "cuGLRegisterBufferObject",
    "cuGLSetBufferObjectMapFlags", "cuGLUnmapBufferObject",
    "cuGLUnmapBufferObjectAsync", "cuGLUnregisterBufferObject",
    "cuGraphicsEGLRegisterImage", "cuGraphicsGLRegisterBuffer",
    "cuGraphicsGLRegisterImage", "cuGraphicsResourceGetMappedEglFrame",
    "cuGraphicsResourceGetMappedMipmappedArray",
    "cuGraphicsResourceGetMappedPointer_v2", "cuGraphicsResourceSetMapFlags",
    "cuGraphicsResourceSetMapFlags_v2", "cuGraphicsSubResourceGetMappedArray",
    "cuGraphicsUnregisterResource", "cuGraphicsVDPAURegisterOutputSurface",
    "cuGraphicsVDPAURegisterVideoSurface", "cuImportExternalMemory",
    "cuImportExternalSemaphore", "cuIpcCloseMemHandle", "cuIpcGetEventHandle",
    "cuIpcOpenEventHandle", "cuIpcOpenMemHandle", "cuIpcOpenMemHandle_v2",
    /* Checkpoints of a whole process, which restore the same addresses; writes
     * from the network, to memory shared by another call. */
    "cuCheckpointOperationComplete", "cuCheckpointProcessCheckpoint",
    "cuCheckpointProcessGetRestoreThreadId", "cuCheckpointProcessGetState",
    "cuCheckpointProcessLock", "cuCheckpointProcessRestore",
    "cuCheckpointProcessUnlock", "cuFlushGPUDirectRDMAWrites"};

enum { HARMLESS = sizeof harmless / sizeof harmless[0] };

static const char *sorted[HARMLESS];

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort(void)
{
    memcpy(sorted, harmless, sizeof sorted);
    qsort(sorted, HARMLESS, sizeof sorted[0], compare);
}

bool preload_is_harmless(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, sort);
    return bsearch(&name, sorted, HARMLESS, sizeof sorted[0], compare) != NULL;
}
