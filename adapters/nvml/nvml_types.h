/* nvml_types.h - what NVIDIA's management library (NVML) passes: values and
 * structures of its public interface.  No toolkit is needed. */
#pragma once

/* nvmlReturn_t */
enum {
    NVML_SUCCESS = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9
};

struct nvml_memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};

struct nvml_memory_v2 {
    unsigned version;
    unsigned long long total;
    unsigned long long reserved;
    unsigned long long free;
    unsigned long long used;
};

struct nvml_process_v1 {
    unsigned pid;
    unsigned long long used;
};

struct nvml_process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance;
    unsigned compute_instance;
};

struct nvml_pci {
    char old_id[16]; /* with a domain of four digits */
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned device_id;
    unsigned subsystem_id;
    char id[32];
};

struct nvml_utilization {
    unsigned gpu;
    unsigned memory;
};
