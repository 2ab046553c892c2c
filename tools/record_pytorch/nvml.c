/* nvml.c - a stand-in for libnvidia-ml.so.1: what PyTorch's allocator asks it,
 * whether memory can leave as fabric handles (no) and which processes use the
 * device (none). */
#define NVML __attribute__((visibility("default")))

enum { NVML_SUCCESS = 0, NVML_NOT_SUPPORTED = 3 };

NVML int nvmlInit_v2(void);
NVML int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **out);
NVML int nvmlDeviceGetGpuFabricInfoV(void *device, void *out);
NVML int nvmlDeviceGetNvLinkRemoteDeviceType(void *device, unsigned link,
                                             int *out);
NVML int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link,
                                             void *out);
NVML int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count,
                                              void *out);
NVML int nvmlSystemGetCudaDriverVersion_v2(int *out);

int nvmlInit_v2(void)
{
    return NVML_SUCCESS;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **out)
{
    static int device;

    (void)id;
    *out = &device;
    return NVML_SUCCESS;
}

/* The caller has filled *out with "not supported". */
int nvmlDeviceGetGpuFabricInfoV(void *device, void *out)
{
    (void)device;
    (void)out;
    return NVML_SUCCESS;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(void *device, unsigned link, int *out)
{
    (void)device;
    (void)link;
    (void)out;
    return NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link, void *out)
{
    (void)device;
    (void)link;
    (void)out;
    return NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count,
                                         void *out)
{
    (void)device;
    (void)out;
    *count = 0;
    return NVML_SUCCESS;
}

int nvmlSystemGetCudaDriverVersion_v2(int *out)
{
    *out = 13000;
    return NVML_SUCCESS;
}
