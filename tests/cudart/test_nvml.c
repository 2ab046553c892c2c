/* test_nvml.c - the stand-in for NVIDIA's management library: the same GPUs as
 * the driver's, without initializing CUDA. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nvml_types.h"

static void *nvml;

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);

    if (found == NULL)
        fail_msg("%s is missing", name);
    return found;
}

/* Calls a function of the library, which takes up to three words. */
static int call3(const char *name, uintptr_t a, uintptr_t b, uintptr_t c)
{
    void *found = symbol(nvml, name);
    int (*fn)(uintptr_t, uintptr_t, uintptr_t);

    memcpy(&fn, &found, sizeof fn);
    return fn(a, b, c);
}

#define NVML(name, a, b, c)                                                    \
    call3("nvml" #name, (uintptr_t)(a), (uintptr_t)(b), (uintptr_t)(c))

static int set_up(void **state)
{
    (void)state;
    nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (nvml == NULL)
        fail_msg("%s", dlerror());
    return 0;
}

static void *device(unsigned index)
{
    void *found = NULL;

    assert_int_equal(NVML(DeviceGetHandleByIndex_v2, index, &found, 0), 0);
    return found;
}

static void calls_before_the_first_are_refused(void **state)
{
    unsigned count = 9;

    (void)state;
    assert_int_equal(NVML(DeviceGetCount_v2, &count, 0, 0), NVML_UNINITIALIZED);
    assert_int_equal(NVML(Shutdown, 0, 0, 0), NVML_UNINITIALIZED);
    assert_int_equal(NVML(Init_v2, 0, 0, 0), 0);
    assert_int_equal(NVML(DeviceGetCount_v2, &count, 0, 0), 0);
    assert_int_equal(count, 2);
}

static void a_device_is_the_card_that_was_named(void **state)
{
    char text[96];
    int major = 0;
    int minor = 9;
    struct nvml_memory memory;

    (void)state;
    assert_int_equal(NVML(DeviceGetName, device(1), text, sizeof text), 0);
    assert_string_equal(text, "NVIDIA H100 80GB HBM3");
    assert_int_equal(NVML(DeviceGetName, device(1), text, 8),
                     NVML_INSUFFICIENT_SIZE);
    assert_int_equal(
        NVML(DeviceGetCudaComputeCapability, device(0), &major, &minor), 0);
    assert_int_equal(10 * major + minor, 90);
    assert_int_equal(NVML(DeviceGetMemoryInfo, device(0), &memory, 0), 0);
    assert_int_equal(memory.total, (uint64_t)81080 << 20);
    assert_int_equal(memory.used, 0);
    assert_int_equal(memory.free, memory.total);
}

static void a_device_is_found_by_each_of_its_names(void **state)
{
    void *found = NULL;
    char uuid[96];
    struct nvml_pci pci;

    (void)state;
    assert_int_equal(NVML(DeviceGetPciInfo_v3, device(1), &pci, 0), 0);
    assert_int_equal(NVML(DeviceGetHandleByPciBusId_v2, pci.id, &found, 0), 0);
    assert_ptr_equal(found, device(1));
    assert_int_equal(NVML(DeviceGetHandleByPciBusId_v2, pci.old_id, &found, 0),
                     0);
    assert_ptr_equal(found, device(1));
    assert_int_equal(
        NVML(DeviceGetHandleByPciBusId_v2, "0000:09:00.0", &found, 0),
        NVML_NOT_FOUND);
    assert_int_equal(NVML(DeviceGetUUID, device(0), uuid, sizeof uuid), 0);
    assert_int_equal(strlen(uuid), strlen("GPU-") + 36);
    assert_int_equal(NVML(DeviceGetHandleByUUID, uuid, &found, 0), 0);
    assert_ptr_equal(found, device(0));
    assert_int_equal(NVML(DeviceGetHandleByIndex_v2, 2, &found, 0),
                     NVML_INVALID_ARGUMENT);
    assert_int_equal(NVML(DeviceGetName, &pci, uuid, sizeof uuid),
                     NVML_INVALID_ARGUMENT);
}

static int driver_call(void *driver, const char *name, uintptr_t a, uintptr_t b)
{
    void *found = symbol(driver, name);
    int (*fn)(uintptr_t, uintptr_t);

    memcpy(&fn, &found, sizeof fn);
    return fn(a, b);
}

/* What the driver of the same process holds, with its context. */
static void memory_and_processes_are_the_driver_s(void **state)
{
    enum { BYTES = 1 << 30, CONTEXT = 625 << 20 };
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    uintptr_t context = 0;
    uintptr_t address = 0;
    struct nvml_memory memory;
    struct nvml_process process[2];
    unsigned count = 0;

    (void)state;
    assert_non_null(driver);
    assert_int_equal(driver_call(driver, "cuInit", 0, 0), 0);
    assert_int_equal(
        driver_call(driver, "cuDevicePrimaryCtxRetain", (uintptr_t)&context, 0),
        0);
    assert_int_equal(driver_call(driver, "cuCtxSetCurrent", context, 0), 0);
    assert_int_equal(
        driver_call(driver, "cuMemAlloc_v2", (uintptr_t)&address, BYTES), 0);
    assert_int_equal(NVML(DeviceGetMemoryInfo, device(0), &memory, 0), 0);
    assert_int_equal(memory.used, BYTES + CONTEXT);
    assert_int_equal(NVML(DeviceGetMemoryInfo, device(1), &memory, 0), 0);
    assert_int_equal(memory.used, 0);
    assert_int_equal(
        NVML(DeviceGetComputeRunningProcesses_v3, device(0), &count, NULL),
        NVML_INSUFFICIENT_SIZE);
    assert_int_equal(count, 1);
    assert_int_equal(
        NVML(DeviceGetComputeRunningProcesses_v3, device(0), &count, process),
        0);
    assert_int_equal(process[0].pid, getpid());
    assert_int_equal(process[0].used, BYTES + CONTEXT);
    assert_int_equal(NVML(Shutdown, 0, 0, 0), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_before_the_first_are_refused),
        cmocka_unit_test(a_device_is_the_card_that_was_named),
        cmocka_unit_test(a_device_is_found_by_each_of_its_names),
        cmocka_unit_test(memory_and_processes_are_the_driver_s),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
