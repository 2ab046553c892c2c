/* nvml_query.c - what NVML says of one device. */
#include <stdio.h>
#include <string.h>

#include "device/device.h"
#include "nvml_calls.h"

/* ---- who it is ------------------------------------------------------------------ */

int nvmlDeviceGetIndex(struct nvml_device *d, unsigned *out)
{
    int answer = nvml_check(d);

    if (answer == NVML_SUCCESS)
        *out = nvml_index(d);
    return answer;
}

int nvmlDeviceGetMinorNumber(struct nvml_device *d, unsigned *out)
{
    return nvmlDeviceGetIndex(d, out);
}

int nvmlDeviceGetName(struct nvml_device *d, char *out, unsigned room)
{
    int answer = nvml_check(d);

    return answer != NVML_SUCCESS ? answer
                                  : nvml_text(d->props.name, out, room);
}

int nvmlDeviceGetUUID(struct nvml_device *d, char *out, unsigned room)
{
    larder_device_props props = {.size = sizeof props};
    char text[48] = "GPU-";
    size_t used = 4;
    int answer = nvml_check(d);

    if (answer != NVML_SUCCESS)
        return answer;
    (void)larder_device_get_props(nvml_counted(d), &props);
    for (int i = 0; i < LARDER_UUID_BYTES; i++)
        used += (size_t)snprintf(
            text + used, sizeof text - used, "%s%02x",
            i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", props.uuid[i]);
    return nvml_text(text, out, room);
}

int nvmlDeviceGetPciInfo_v3(struct nvml_device *d, struct nvml_pci *out)
{
    int answer = nvml_check(d);

    if (answer != NVML_SUCCESS)
        return answer;
    memset(out, 0, sizeof *out);
    out->bus = nvml_index(d) + 1;
    snprintf(out->old_id, sizeof out->old_id, "0000:%02X:00.0", out->bus);
    snprintf(out->id, sizeof out->id, "00000000:%02X:00.0", out->bus);
    return NVML_SUCCESS;
}

int nvmlDeviceGetPciInfo_v2(struct nvml_device *d, struct nvml_pci *out)
{
    return nvmlDeviceGetPciInfo_v3(d, out);
}

int nvmlDeviceGetPciInfo(struct nvml_device *d, struct nvml_pci *out)
{
    return nvmlDeviceGetPciInfo_v3(d, out);
}

int nvmlDeviceGetCudaComputeCapability(struct nvml_device *d, int *major,
                                       int *minor)
{
    int answer = nvml_check(d);

    if (answer == NVML_SUCCESS) {
        *major = d->capability / 100;
        *minor = d->capability % 100;
    }
    return answer;
}

int nvmlDeviceGetArchitecture(struct nvml_device *d, unsigned *out)
{
    enum { VOLTA = 5, TURING, AMPERE, ADA, HOPPER, BLACKWELL };
    int answer = nvml_check(d);

    if (answer == NVML_SUCCESS)
        *out = d->capability >= 1000  ? BLACKWELL
               : d->capability >= 900 ? HOPPER
               : d->capability == 809 ? ADA
               : d->capability >= 800 ? AMPERE
               : d->capability == 705 ? TURING
                                      : VOLTA;
    return answer;
}

/* ---- memory -------------------------------------------------------------------------- */

int nvmlDeviceGetMemoryInfo(struct nvml_device *d, struct nvml_memory *out)
{
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    int answer = nvml_check(d);

    if (answer != NVML_SUCCESS)
        return answer;
    (void)larder_device_mem_info(nvml_counted(d), &free_bytes, &total_bytes);
    out->total = total_bytes;
    out->free = free_bytes;
    out->used = total_bytes - free_bytes;
    return NVML_SUCCESS;
}

int nvmlDeviceGetMemoryInfo_v2(struct nvml_device *d,
                               struct nvml_memory_v2 *out)
{
    struct nvml_memory memory;
    int answer = nvmlDeviceGetMemoryInfo(d, &memory);

    if (answer != NVML_SUCCESS)
        return answer;
    out->total = memory.total;
    out->reserved = 0;
    out->free = memory.free;
    out->used = memory.used;
    return NVML_SUCCESS;
}

/* Nothing computes. */
int nvmlDeviceGetUtilizationRates(struct nvml_device *d,
                                  struct nvml_utilization *out)
{
    int answer = nvml_check(d);

    if (answer == NVML_SUCCESS)
        *out = (struct nvml_utilization){0};
    return answer;
}

/* ---- processes ------------------------------------------------------------------------ */

struct process_list {
    unsigned count;
    unsigned room;
    struct nvml_process_v1 *old;
    struct nvml_process *now;
};

static void process_add(void *ctx, const larder_device_process *p)
{
    struct process_list *list = ctx;
    unsigned i = list->count;

    if (p->bytes == 0)
        return;
    list->count++;
    if (i >= list->room)
        return;
    if (list->old != NULL)
        list->old[i] = (struct nvml_process_v1){(unsigned)p->pid, p->bytes};
    if (list->now != NULL)
        list->now[i] =
            (struct nvml_process){(unsigned)p->pid, p->bytes, ~0U, ~0U};
}

/* *count: the room, then how many there are. */
static int processes(struct nvml_device *d, unsigned *count,
                     struct nvml_process_v1 *old, struct nvml_process *now)
{
    struct process_list list = {.old = old, .now = now};
    int answer = nvml_check(d);

    if (answer != NVML_SUCCESS)
        return answer;
    list.room = old != NULL || now != NULL ? *count : 0;
    (void)larder__device_processes(nvml_counted(d), process_add, &list);
    *count = list.count;
    return list.count > list.room ? NVML_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses(struct nvml_device *d, unsigned *count,
                                         struct nvml_process_v1 *out)
{
    return processes(d, count, out, NULL);
}

int nvmlDeviceGetComputeRunningProcesses_v2(struct nvml_device *d,
                                            unsigned *count,
                                            struct nvml_process *out)
{
    return processes(d, count, NULL, out);
}

int nvmlDeviceGetComputeRunningProcesses_v3(struct nvml_device *d,
                                            unsigned *count,
                                            struct nvml_process *out)
{
    return processes(d, count, NULL, out);
}

/* Nobody draws. */
int nvmlDeviceGetGraphicsRunningProcesses_v3(struct nvml_device *d,
                                             unsigned *count, void *out)
{
    int answer = nvml_check(d);

    (void)out;
    if (answer == NVML_SUCCESS)
        *count = 0;
    return answer;
}

int nvmlDeviceGetGraphicsRunningProcesses_v2(struct nvml_device *d,
                                             unsigned *count, void *out)
{
    return nvmlDeviceGetGraphicsRunningProcesses_v3(d, count, out);
}

int nvmlDeviceGetGraphicsRunningProcesses(struct nvml_device *d,
                                          unsigned *count, void *out)
{
    return nvmlDeviceGetGraphicsRunningProcesses_v3(d, count, out);
}

/* ---- links: PCI Express alone ------------------------------------------------------------ */

int nvmlDeviceGetP2PStatus(struct nvml_device *d, struct nvml_device *peer,
                           int which, int *out)
{
    enum { NVLINK = 2, STATUS_OK = 0, STATUS_NOT_SUPPORTED = 5 };
    int answer = nvml_check(d);

    if (answer == NVML_SUCCESS)
        answer = nvml_check(peer);
    if (answer == NVML_SUCCESS)
        *out = which == NVLINK ? STATUS_NOT_SUPPORTED : STATUS_OK;
    return answer;
}

static int refuse(struct nvml_device *d)
{
    int answer = nvml_check(d);

    return answer == NVML_SUCCESS ? NVML_NOT_SUPPORTED : answer;
}

int nvmlDeviceGetNvLinkState(struct nvml_device *d, unsigned link, int *out)
{
    (void)link;
    (void)out;
    return refuse(d);
}

int nvmlDeviceGetNvLinkRemoteDeviceType(struct nvml_device *d, unsigned link,
                                        int *out)
{
    (void)link;
    (void)out;
    return refuse(d);
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct nvml_device *d, unsigned link,
                                        struct nvml_pci *out)
{
    (void)link;
    (void)out;
    return refuse(d);
}

int nvmlDeviceGetNvLinkRemotePciInfo(struct nvml_device *d, unsigned link,
                                     struct nvml_pci *out)
{
    return nvmlDeviceGetNvLinkRemotePciInfo_v2(d, link, out);
}

int nvmlDeviceGetGpuFabricInfoV(struct nvml_device *d, void *out)
{
    (void)out;
    return refuse(d);
}

/* ---- modes -------------------------------------------------------------------------------- */

static int answer_int(struct nvml_device *d, int *out, int value)
{
    int answer = nvml_check(d);

    if (answer == NVML_SUCCESS)
        *out = value;
    return answer;
}

int nvmlDeviceIsMigDeviceHandle(struct nvml_device *d, unsigned *out)
{
    int answer = nvml_check(d);

    if (answer == NVML_SUCCESS)
        *out = 0;
    return answer;
}

int nvmlDeviceGetComputeMode(struct nvml_device *d, int *out)
{
    return answer_int(d, out, 0);
}

int nvmlDeviceGetPersistenceMode(struct nvml_device *d, int *out)
{
    return answer_int(d, out, 1);
}
