/* nvml_device.c - the simulated GPUs, opened apart from the driver: asking NVML
 * does not initialize CUDA, so that a process may fork afterwards. */
#include "nvml_device.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <larder/larder.h>

#include "device/sim_device.h"
#include "driver/fakecuda.h"

static struct nvml_device devices[NVML_DEVICES];
static unsigned count;
static unsigned opened;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int capability_of(larder_device *dev)
{
    const char *set = getenv("LARDER_FAKECUDA_CAPABILITY");
    const struct sim *sim = larder__sim_of(dev);
    int major;
    int minor;

    if (set != NULL && sscanf(set, "%2d.%2d", &major, &minor) == 2)
        return 100 * major + minor;
    return sim != NULL && sim->spec.card != NULL ? sim->spec.card->capability
                                                 : 800;
}

static bool open_one(struct nvml_device *d, const char *spec, unsigned index)
{
    if (larder_device_open(spec, (int)index, &d->own) != LARDER_OK)
        return false;
    d->props.size = sizeof d->props;
    (void)larder_device_get_props(d->own, &d->props);
    d->capability = capability_of(d->own);
    return true;
}

static int open_all(void)
{
    const char *spec = getenv("LARDER_FAKECUDA");

    if (spec == NULL || strncmp(spec, "sim:", 4) != 0)
        return NVML_DRIVER_NOT_LOADED;
    while (count < NVML_DEVICES && open_one(&devices[count], spec, count))
        count++;
    return count > 0 ? NVML_SUCCESS : NVML_DRIVER_NOT_LOADED;
}

static void close_all(void)
{
    while (count > 0) {
        count--;
        larder_device_close(devices[count].own);
        memset(&devices[count], 0, sizeof devices[count]);
    }
}

int nvml_open(void)
{
    int answer = NVML_SUCCESS;

    pthread_mutex_lock(&lock);
    if (opened == 0)
        answer = open_all();
    opened += answer == NVML_SUCCESS;
    pthread_mutex_unlock(&lock);
    return answer;
}

int nvml_close(void)
{
    int answer = NVML_UNINITIALIZED;

    pthread_mutex_lock(&lock);
    if (opened > 0) {
        opened--;
        answer = NVML_SUCCESS;
    }
    if (opened == 0)
        close_all();
    pthread_mutex_unlock(&lock);
    return answer;
}

unsigned nvml_count(void)
{
    return count;
}

struct nvml_device *nvml_get(unsigned index)
{
    return index < count ? &devices[index] : NULL;
}

unsigned nvml_index(const struct nvml_device *d)
{
    return (unsigned)(d - devices);
}

int nvml_check(const struct nvml_device *d)
{
    if (opened == 0)
        return NVML_UNINITIALIZED;
    for (unsigned i = 0; i < count; i++) {
        if (d == &devices[i])
            return NVML_SUCCESS;
    }
    return NVML_INVALID_ARGUMENT;
}

larder_device *nvml_counted(const struct nvml_device *d)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *found = driver != NULL ? dlsym(driver, FAKECUDA_CONTROL) : NULL;
    fakecuda_control_fn *control = NULL;
    larder_device *theirs = NULL;

    memcpy(&control, &found, sizeof control);
    if (control != NULL)
        theirs = control()->device_of_machine((int)nvml_index(d));
    if (driver != NULL)
        dlclose(driver);
    return theirs != NULL ? theirs : d->own;
}
