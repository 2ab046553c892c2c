/* doctor_driver.c - the drivers: whether and from where they can be loaded, and
 * their GPUs. */
#include "doctor.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <larder/device.h>

#include "environment.h"
#include "snapshot/units.h"

enum { GPUS_MAX = 16 };

struct family {
    const char *name;     /* in a device's spec */
    const char *library;  /* how its file name begins */
    const char *node;     /* device node; exists if the module is loaded */
    const char *module;   /* file with the kernel module's version */
    const char *variable; /* selects the GPUs that a program sees */
};

static const struct family families[] = {
    {"cuda", "libcuda.so", "/dev/nvidiactl", "/proc/driver/nvidia/version",
     "CUDA_VISIBLE_DEVICES"},
    {"hip", "libamdhip64.so", "/dev/kfd", "/sys/module/amdgpu/version",
     "HIP_VISIBLE_DEVICES"},
};

/* The path of a loaded library; it is never unloaded. */
static bool find_loaded(const char *library, char out[PATH_MAX])
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[PATH_MAX + 128];
    bool found = false;

    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
        const char *path = strchr(line, '/');
        const char *name = strrchr(line, '/');

        found =
            name != NULL && strncmp(name + 1, library, strlen(library)) == 0;
        if (found)
            snprintf(out, PATH_MAX, "%.*s", (int)strcspn(path, "\n"), path);
    }
    if (maps != NULL)
        fclose(maps);
    return found;
}

static void add_module(struct doctor *d, const struct family *family)
{
    char version[256];

    if (access(family->module, R_OK) == 0 &&
        doctor_read_line(family->module, version, sizeof version))
        doctor_say(d, DOCTOR_FINE, "kernel module", "%s", version);
}

static void add_gpu(struct doctor *d, const struct family *family, int n,
                    const larder_device_props *props)
{
    const char *total = units_bytes(props->total_bytes);

    if (props->granularity_bytes != 0) {
        doctor_say(d, DOCTOR_FINE, "GPU",
                   "%s:%d is %s, %s; virtual memory in pages of %s",
                   family->name, n, props->name, total,
                   units_bytes(props->granularity_bytes));
        return;
    }
    doctor_say(d, DOCTOR_NOTE, "GPU", "%s:%d is %s, %s; no virtual memory",
               family->name, n, props->name, total);
    doctor_advise(d,
                  "expandable segments and moving pages need it (CUDA 10.2 or "
                  "newer; some virtual GPUs lack it): the policies work "
                  "without it, but hold more memory");
}

/* The number of GPUs that could be opened; larder_last_error() says why there
 * are no more. */
static int add_gpus(struct doctor *d, const struct family *family)
{
    int n = 0;

    for (; n < GPUS_MAX; n++) {
        larder_device_props props = {.size = sizeof props};
        larder_device *dev;
        char spec[32];

        snprintf(spec, sizeof spec, "%s:%d", family->name, n);
        if (larder_device_open(spec, 0, &dev) != LARDER_OK)
            break;
        if (larder_device_get_props(dev, &props) == LARDER_OK)
            add_gpu(d, family, n, &props);
        larder_device_close(dev);
    }
    return n;
}

static void advise_missing(struct doctor *d, const struct family *family,
                           bool has_node)
{
    if (has_node)
        doctor_advise(d,
                      "the kernel module is loaded (%s): install the user-mode "
                      "libraries of the same driver, add their directory to "
                      "LD_LIBRARY_PATH, or start the container with them "
                      "(--gpus all)",
                      family->node);
    else
        doctor_advise(d, "no action is needed without a GPU: the simulated one "
                         "(sim:SIZE) works; with a GPU, install its driver, or "
                         "start the container with it (--gpus all)");
}

/* Report where the loader searched for a missing library. */
static void add_missing(struct doctor *d, const struct family *family,
                        const char *why)
{
    const char *folders = environment_said("LD_LIBRARY_PATH");
    bool has_node = access(family->node, F_OK) == 0;

    doctor_say(
        d, has_node ? DOCTOR_PROBLEM : DOCTOR_NOTE, family->name,
        "not found: %s; searched LD_LIBRARY_PATH (%s), the loader's cache "
        "(/etc/ld.so.cache) and the system's library directories; %s %s",
        why, folders != NULL ? folders : "not set", family->node,
        has_node ? "exists" : "does not exist");
    advise_missing(d, family, has_node);
}

static void add_unusable(struct doctor *d, const struct family *family,
                         const char *path, const char *why)
{
    const char *visible = getenv(family->variable);

    doctor_say(d, DOCTOR_PROBLEM, family->name,
               "%s is loaded, but no GPU can be opened: %s", path, why);
    if (visible != NULL)
        doctor_advise(d, "%s is '%s': it selects which GPUs are visible",
                      family->variable, visible);
    else
        doctor_advise(d,
                      "check that %s can be opened, and that the kernel "
                      "module and the library belong to the same driver",
                      family->node);
}

static void look_at(struct doctor *d, const struct family *family)
{
    char path[PATH_MAX];
    char why[DOCTOR_SAID_MAX / 2];
    int gpus = add_gpus(d, family);

    snprintf(why, sizeof why, "%s", larder_last_error());
    if (!find_loaded(family->library, path))
        add_missing(d, family, why);
    else if (gpus == 0)
        add_unusable(d, family, path, why);
    else
        doctor_say(d, DOCTOR_FINE, family->name, "%.400s, %d GPU%s", path, gpus,
                   gpus == 1 ? "" : "s");
    add_module(d, family);
}

void doctor_driver(struct doctor *d)
{
    d->part = "driver";
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        look_at(d, &families[i]);
}
