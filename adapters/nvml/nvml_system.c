/* nvml_system.c - what NVML says of the machine, and how devices are found. */
#include <stdio.h>
#include <string.h>

#include "nvml_calls.h"

/* That of a driver for the CUDA version which the simulated one has. */
#define DRIVER_TEXT "610.43.02"
enum { CUDA_VERSION = 13030 };

int nvml_text(const char *text, char *out, unsigned room)
{
    if (out == NULL)
        return NVML_INVALID_ARGUMENT;
    if (strlen(text) >= room)
        return NVML_INSUFFICIENT_SIZE;
    strcpy(out, text);
    return NVML_SUCCESS;
}

static int check_open(const void *out)
{
    if (nvml_count() == 0)
        return NVML_UNINITIALIZED;
    return out == NULL ? NVML_INVALID_ARGUMENT : NVML_SUCCESS;
}

/* ---- beginning and end --------------------------------------------------------- */

int nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    return nvml_open();
}

int nvmlInit_v2(void)
{
    return nvml_open();
}

int nvmlInit(void)
{
    return nvml_open();
}

int nvmlShutdown(void)
{
    return nvml_close();
}

const char *nvmlErrorString(int error)
{
    switch (error) {
    case NVML_SUCCESS:
        return "Success";
    case NVML_UNINITIALIZED:
        return "Uninitialized";
    case NVML_INVALID_ARGUMENT:
        return "Invalid Argument";
    case NVML_NOT_SUPPORTED:
        return "Not Supported";
    case NVML_NOT_FOUND:
        return "Not Found";
    case NVML_INSUFFICIENT_SIZE:
        return "Insufficient Size";
    case NVML_DRIVER_NOT_LOADED:
        return "Driver Not Loaded";
    default:
        return "Unknown Error";
    }
}

/* ---- versions and names ----------------------------------------------------------- */

int nvmlSystemGetDriverVersion(char *out, unsigned room)
{
    int answer = check_open(out);

    return answer != NVML_SUCCESS ? answer : nvml_text(DRIVER_TEXT, out, room);
}

int nvmlSystemGetNVMLVersion(char *out, unsigned room)
{
    int answer = check_open(out);

    return answer != NVML_SUCCESS ? answer
                                  : nvml_text("13." DRIVER_TEXT, out, room);
}

int nvmlSystemGetCudaDriverVersion_v2(int *out)
{
    if (out == NULL)
        return NVML_INVALID_ARGUMENT;
    *out = CUDA_VERSION;
    return NVML_SUCCESS;
}

int nvmlSystemGetCudaDriverVersion(int *out)
{
    return nvmlSystemGetCudaDriverVersion_v2(out);
}

int nvmlSystemGetProcessName(unsigned pid, char *out, unsigned room)
{
    char path[64];
    char name[256] = "";
    int answer = check_open(out);
    FILE *f;

    if (answer != NVML_SUCCESS)
        return answer;
    snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    f = fopen(path, "re");
    if (f == NULL)
        return NVML_NOT_FOUND;
    (void)fread(name, 1, sizeof name - 1, f);
    fclose(f);
    return nvml_text(name, out, room);
}

/* ---- finding devices ---------------------------------------------------------------- */

int nvmlDeviceGetCount_v2(unsigned *out)
{
    int answer = check_open(out);

    if (answer == NVML_SUCCESS)
        *out = nvml_count();
    return answer;
}

int nvmlDeviceGetCount(unsigned *out)
{
    return nvmlDeviceGetCount_v2(out);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct nvml_device **out)
{
    int answer = check_open(out);

    if (answer == NVML_SUCCESS && nvml_get(index) == NULL)
        answer = NVML_INVALID_ARGUMENT;
    if (answer == NVML_SUCCESS)
        *out = nvml_get(index);
    return answer;
}

int nvmlDeviceGetHandleByIndex(unsigned index, struct nvml_device **out)
{
    return nvmlDeviceGetHandleByIndex_v2(index, out);
}

int nvmlDeviceGetHandleByUUID(const char *uuid, struct nvml_device **out)
{
    int answer = check_open(out);
    char own[64];

    for (unsigned i = 0; answer == NVML_SUCCESS && i < nvml_count(); i++) {
        if (nvmlDeviceGetUUID(nvml_get(i), own, sizeof own) == NVML_SUCCESS &&
            strcmp(own, uuid) == 0) {
            *out = nvml_get(i);
            return NVML_SUCCESS;
        }
    }
    return answer != NVML_SUCCESS ? answer : NVML_NOT_FOUND;
}

/* As the driver, each device has its own bus, counted from 1. */
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, struct nvml_device **out)
{
    int answer = check_open(out);
    unsigned domain;
    unsigned bus;

    if (answer != NVML_SUCCESS)
        return answer;
    if (sscanf(id, "%x:%x:", &domain, &bus) != 2)
        return NVML_INVALID_ARGUMENT;
    if (domain != 0 || bus == 0 || nvml_get(bus - 1) == NULL)
        return NVML_NOT_FOUND;
    *out = nvml_get(bus - 1);
    return NVML_SUCCESS;
}

int nvmlDeviceGetHandleByPciBusId(const char *id, struct nvml_device **out)
{
    return nvmlDeviceGetHandleByPciBusId_v2(id, out);
}
