/* nvml_calls.h - NVML's functions that are answered.  One list declares and
 * exports them; all others are missing, which callers of NVML expect of an older
 * library. */
#pragma once

#include "nvml_device.h"

#define NVML_CALL_MAP(X)                                                       \
    X(nvmlInit, (void))                                                        \
    X(nvmlInit_v2, (void))                                                     \
    X(nvmlInitWithFlags, (unsigned))                                           \
    X(nvmlShutdown, (void))                                                    \
    X(nvmlSystemGetDriverVersion, (char *, unsigned))                          \
    X(nvmlSystemGetNVMLVersion, (char *, unsigned))                            \
    X(nvmlSystemGetCudaDriverVersion, (int *))                                 \
    X(nvmlSystemGetCudaDriverVersion_v2, (int *))                              \
    X(nvmlSystemGetProcessName, (unsigned, char *, unsigned))                  \
    X(nvmlDeviceGetCount, (unsigned *))                                        \
    X(nvmlDeviceGetCount_v2, (unsigned *))                                     \
    X(nvmlDeviceGetHandleByIndex, (unsigned, struct nvml_device **))           \
    X(nvmlDeviceGetHandleByIndex_v2, (unsigned, struct nvml_device **))        \
    X(nvmlDeviceGetHandleByUUID, (const char *, struct nvml_device **))        \
    X(nvmlDeviceGetHandleByPciBusId, (const char *, struct nvml_device **))    \
    X(nvmlDeviceGetHandleByPciBusId_v2, (const char *, struct nvml_device **)) \
    X(nvmlDeviceGetIndex, (struct nvml_device *, unsigned *))                  \
    X(nvmlDeviceGetMinorNumber, (struct nvml_device *, unsigned *))            \
    X(nvmlDeviceGetName, (struct nvml_device *, char *, unsigned))             \
    X(nvmlDeviceGetUUID, (struct nvml_device *, char *, unsigned))             \
    X(nvmlDeviceGetPciInfo, (struct nvml_device *, struct nvml_pci *))         \
    X(nvmlDeviceGetPciInfo_v2, (struct nvml_device *, struct nvml_pci *))      \
    X(nvmlDeviceGetPciInfo_v3, (struct nvml_device *, struct nvml_pci *))      \
    X(nvmlDeviceGetCudaComputeCapability,                                      \
      (struct nvml_device *, int *, int *))                                    \
    X(nvmlDeviceGetArchitecture, (struct nvml_device *, unsigned *))           \
    X(nvmlDeviceGetMemoryInfo, (struct nvml_device *, struct nvml_memory *))   \
    X(nvmlDeviceGetMemoryInfo_v2,                                              \
      (struct nvml_device *, struct nvml_memory_v2 *))                         \
    X(nvmlDeviceGetUtilizationRates,                                           \
      (struct nvml_device *, struct nvml_utilization *))                       \
    X(nvmlDeviceGetComputeRunningProcesses,                                    \
      (struct nvml_device *, unsigned *, struct nvml_process_v1 *))            \
    X(nvmlDeviceGetComputeRunningProcesses_v2,                                 \
      (struct nvml_device *, unsigned *, struct nvml_process *))               \
    X(nvmlDeviceGetComputeRunningProcesses_v3,                                 \
      (struct nvml_device *, unsigned *, struct nvml_process *))               \
    X(nvmlDeviceGetGraphicsRunningProcesses,                                   \
      (struct nvml_device *, unsigned *, void *))                              \
    X(nvmlDeviceGetGraphicsRunningProcesses_v2,                                \
      (struct nvml_device *, unsigned *, void *))                              \
    X(nvmlDeviceGetGraphicsRunningProcesses_v3,                                \
      (struct nvml_device *, unsigned *, void *))                              \
    X(nvmlDeviceGetP2PStatus,                                                  \
      (struct nvml_device *, struct nvml_device *, int, int *))                \
    X(nvmlDeviceGetNvLinkState, (struct nvml_device *, unsigned, int *))       \
    X(nvmlDeviceGetNvLinkRemoteDeviceType,                                     \
      (struct nvml_device *, unsigned, int *))                                 \
    X(nvmlDeviceGetNvLinkRemotePciInfo,                                        \
      (struct nvml_device *, unsigned, struct nvml_pci *))                     \
    X(nvmlDeviceGetNvLinkRemotePciInfo_v2,                                     \
      (struct nvml_device *, unsigned, struct nvml_pci *))                     \
    X(nvmlDeviceGetGpuFabricInfoV, (struct nvml_device *, void *))             \
    X(nvmlDeviceIsMigDeviceHandle, (struct nvml_device *, unsigned *))         \
    X(nvmlDeviceGetComputeMode, (struct nvml_device *, int *))                 \
    X(nvmlDeviceGetPersistenceMode, (struct nvml_device *, int *))

#define X(name, arguments)                                                     \
    __attribute__((visibility("default"))) int name arguments;
NVML_CALL_MAP(X)
#undef X

__attribute__((visibility("default"))) const char *nvmlErrorString(int error);

/* Copy a text.  NVML_INSUFFICIENT_SIZE: it does not fit. */
int nvml_text(const char *text, char *out, unsigned room);
