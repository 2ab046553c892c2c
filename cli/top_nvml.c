/* top_nvml.c - NVML.  The library is loaded on first use, and is not needed for
 * building.  Names and layouts are those of nvml.h in CUDA 12. */
#include "top.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { NVML_SUCCESS = 0, NVML_UUID_BYTES = 96, NVML_PROCESSES = 256 };

struct nvml_memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};

struct nvml_process {
    unsigned pid;
    unsigned long long used; /* all ones: unknown */
    unsigned instances[2];
};

/* X(name, symbol, arguments) */
#define NVML_CALL_MAP(X)                                                       \
    X(init, nvmlInit_v2, (void))                                               \
    X(count, nvmlDeviceGetCount_v2, (unsigned *))                              \
    X(device, nvmlDeviceGetHandleByIndex_v2, (unsigned, void **))              \
    X(name, nvmlDeviceGetName, (void *, char *, unsigned))                     \
    X(uuid, nvmlDeviceGetUUID, (void *, char *, unsigned))                     \
    X(memory, nvmlDeviceGetMemoryInfo, (void *, struct nvml_memory *))         \
    X(processes, nvmlDeviceGetComputeRunningProcesses_v3,                      \
      (void *, unsigned *, struct nvml_process *))

struct nvml {
#define X(name, symbol, arguments) int(*name) arguments;
    NVML_CALL_MAP(X)
#undef X
};

static bool call_find(void *library, const char *symbol, void *out)
{
    void *found = dlsym(library, symbol);

    memcpy(out, &found, sizeof found);
    return found != NULL;
}

/* Load it once.  Returns why it is missing, or NULL. */
static const char *nvml_open(struct nvml *out)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        return "there is no NVIDIA driver here (no libnvidia-ml.so.1)";
#define X(name, symbol, arguments)                                             \
    if (!call_find(library, #symbol, &out->name)) {                            \
        return "libnvidia-ml.so.1 lacks " #symbol;                             \
    }
    NVML_CALL_MAP(X)
#undef X
    return out->init() == NVML_SUCCESS ? NULL : "NVML cannot be initialized";
}

/* "GPU-12345678-...": 32 lower-case digits with dashes between. */
static bool uuid_read(const char *text, unsigned char out[LARDER_UUID_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    int count = 0;

    if (strncmp(text, "GPU-", 4) != 0)
        return false;
    for (text += 4; *text != '\0'; text++) {
        const char *digit = strchr(digits, *text);

        if (*text == '-')
            continue;
        if (digit == NULL || count == 2 * LARDER_UUID_BYTES)
            return false;
        out[count / 2] =
            (unsigned char)(out[count / 2] << 4 | (digit - digits));
        count++;
    }
    return count == 2 * LARDER_UUID_BYTES;
}

static void name_read(int64_t pid, char *out, size_t room)
{
    char path[64];
    FILE *f;

    snprintf(path, sizeof path, "/proc/%lld/comm", (long long)pid);
    f = fopen(path, "re");
    if (f == NULL || fgets(out, (int)room, f) == NULL)
        snprintf(out, room, "?");
    out[strcspn(out, "\n")] = '\0';
    if (f != NULL)
        fclose(f);
}

/* A process with a ledger is known in more detail from there, except for its
 * context. */
static void add_process(struct top_data *data, struct top_device *d,
                        const struct nvml_process *one)
{
    uint64_t used = one->used == ~0ULL ? 0 : one->used;
    struct top_process *p;

    for (size_t i = 0; i < d->count; i++) {
        larder_ledger_process *known = &d->processes[i].p;

        if (known->pid != one->pid)
            continue;
        if (used > known->reserved_bytes)
            known->context_bytes = used - known->reserved_bytes;
        return;
    }
    p = top_data_process(data, d);
    if (p == NULL)
        return;
    p->p.pid = one->pid;
    p->p.reserved_bytes = used;
    name_read(one->pid, p->p.name, sizeof p->p.name);
}

static void add_device(const struct nvml *nvml, struct top_data *data,
                       void *handle)
{
    struct nvml_process found[NVML_PROCESSES];
    unsigned count = NVML_PROCESSES;
    struct nvml_memory memory;
    char text[NVML_UUID_BYTES] = "";
    unsigned char uuid[LARDER_UUID_BYTES] = {0};
    struct top_device *d;

    if (nvml->uuid(handle, text, sizeof text) != NVML_SUCCESS ||
        !uuid_read(text, uuid) || nvml->memory(handle, &memory) != NVML_SUCCESS)
        return;
    d = top_data_device(data, uuid);
    if (d == NULL)
        return;
    if (nvml->name(handle, d->d.name, sizeof d->d.name) != NVML_SUCCESS)
        d->d.name[0] = '\0';
    d->d.total_bytes = memory.total;
    d->used_bytes = memory.used;
    if (nvml->processes(handle, &count, found) != NVML_SUCCESS)
        return;
    for (unsigned i = 0; i < count; i++)
        add_process(data, d, &found[i]);
}

const char *top_nvml_add(struct top_data *data)
{
    static struct nvml nvml;
    static const char *why = "";
    unsigned count = 0;

    if (why != NULL && why[0] == '\0')
        why = nvml_open(&nvml);
    if (why != NULL)
        return why;
    if (nvml.count(&count) != NVML_SUCCESS)
        return "NVML does not report the number of GPUs";
    for (unsigned i = 0; i < count; i++) {
        void *handle;

        if (nvml.device(i, &handle) == NVML_SUCCESS)
            add_device(&nvml, data, handle);
    }
    return NULL;
}
