/* top_data.c - the devices and their processes for `larder top`, from ledgers
 * and NVML. */
#include "top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/plain_text.h"

/* ---- collecting devices and processes ----------------------------------- */

static struct top_device *device_add(struct top_data *data)
{
    struct top_device *grown =
        realloc(data->devices, (data->count + 1) * sizeof *data->devices);

    if (grown == NULL) {
        data->failed = true;
        return NULL;
    }
    data->devices = grown;
    memset(&grown[data->count], 0, sizeof *grown);
    return &grown[data->count++];
}

struct top_device *top_data_device(struct top_data *data,
                                   const unsigned char uuid[LARDER_UUID_BYTES])
{
    struct top_device *d;

    for (size_t i = 0; i < data->count; i++) {
        if (memcmp(data->devices[i].d.uuid, uuid, LARDER_UUID_BYTES) == 0)
            return &data->devices[i];
    }
    d = device_add(data);
    if (d != NULL) {
        memcpy(d->d.uuid, uuid, LARDER_UUID_BYTES);
        d->d.group = -1;
    }
    return d;
}

struct top_process *top_data_process(struct top_data *data,
                                     struct top_device *device)
{
    struct top_process *grown = realloc(
        device->processes, (device->count + 1) * sizeof *device->processes);

    if (grown == NULL) {
        data->failed = true;
        return NULL;
    }
    device->processes = grown;
    memset(&grown[device->count], 0, sizeof *grown);
    return &grown[device->count++];
}

static uint64_t sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

uint64_t top_held(const struct top_process *p)
{
    return sum(p->p.reserved_bytes, p->p.context_bytes);
}

uint64_t top_cached(const struct top_process *p)
{
    return p->has_ledger ? p->p.reserved_bytes - p->p.in_use_bytes : 0;
}

/* Each ledger is shown as a device, a group's next to the user's. */
static void take_ledger(void *ctx, const larder_ledger_device *device,
                        const larder_ledger_process *processes, size_t count)
{
    struct top_data *data = ctx;
    struct top_device *d = device_add(data);

    if (d == NULL)
        return;
    d->d = *device;
    d->used_bytes = device->others_bytes;
    for (size_t i = 0; i < count; i++) {
        struct top_process *p = top_data_process(data, d);
        uint64_t limit = processes[i].group_limit_bytes;

        if (p == NULL)
            return;
        *p = (struct top_process){.p = processes[i], .has_ledger = true};
        d->used_bytes = sum(d->used_bytes, top_held(p));
        if (limit != 0 &&
            (d->group_limit_bytes == 0 || limit < d->group_limit_bytes))
            d->group_limit_bytes = limit;
    }
}

/* A process chooses its own name: control characters in it are removed. */
static void names_defuse(struct top_data *data)
{
    for (size_t i = 0; i < data->count; i++) {
        struct top_device *d = &data->devices[i];

        plain_text(d->d.name);
        for (size_t k = 0; k < d->count; k++)
            plain_text(d->processes[k].p.name);
    }
}

void top_data_read(struct top_data *out)
{
    memset(out, 0, sizeof *out);
    if (larder_ledger_each(take_ledger, out) != LARDER_OK)
        out->failed = true;
    out->nvml = top_nvml_add(out);
    names_defuse(out);
}

void top_data_free(struct top_data *data)
{
    for (size_t i = 0; i < data->count; i++)
        free(data->devices[i].processes);
    free(data->devices);
    memset(data, 0, sizeof *data);
}

/* ---- order -------------------------------------------------------------- */

static const char *const order_names[TOP_ORDERS + 1] = {
    [TOP_HELD] = "held", [TOP_IN_USE] = "in-use", [TOP_CACHED] = "cached",
    [TOP_PID] = "pid",   [TOP_NAME] = "name",
};

const char *top_order_name(size_t order)
{
    return order < TOP_ORDERS ? order_names[order] : NULL;
}

static enum top_order sorted_by; /* of the sort that is running */

/* The largest figure or the first name comes first, then the lowest number. */
static int compare_processes(const void *a, const void *b)
{
    const struct top_process *p = a, *q = b;
    uint64_t left = 0, right = 0;
    int names = 0;

    switch (sorted_by) {
    case TOP_HELD:
        left = top_held(p);
        right = top_held(q);
        break;
    case TOP_IN_USE:
        left = p->p.in_use_bytes;
        right = q->p.in_use_bytes;
        break;
    case TOP_CACHED:
        left = top_cached(p);
        right = top_cached(q);
        break;
    case TOP_NAME:
        names = strcmp(p->p.name, q->p.name);
        break;
    default:
        break;
    }
    if (left != right)
        return left < right ? 1 : -1;
    return names != 0 ? names : (p->p.pid > q->p.pid) - (p->p.pid < q->p.pid);
}

/* ---- filter ------------------------------------------------------------- */

enum { PID_MAX = 32 };

static const char *pid_words(const struct top_process *p, char out[PID_MAX])
{
    snprintf(out, PID_MAX, "%lld", (long long)p->p.pid);
    return out;
}

static bool is_number_of(const struct top_process *p, const char *filter)
{
    char pid[PID_MAX];

    return strcmp(pid_words(p, pid), filter) == 0;
}

static bool has_words(const struct top_process *p, const char *filter)
{
    char pid[PID_MAX];

    return strstr(p->p.name, filter) != NULL ||
           strstr(pid_words(p, pid), filter) != NULL;
}

/* Whether some process has exactly this number. */
static bool is_a_number(const struct top_data *data, const char *filter)
{
    for (size_t i = 0; i < data->count; i++) {
        const struct top_device *d = &data->devices[i];

        for (size_t k = 0; k < d->count; k++) {
            if (is_number_of(&d->processes[k], filter))
                return true;
        }
    }
    return false;
}

void top_data_arrange(struct top_data *data, enum top_order order,
                      const char *filter)
{
    bool (*is_meant)(const struct top_process *, const char *) =
        is_a_number(data, filter) ? is_number_of : has_words;

    sorted_by = order;
    for (size_t i = 0; i < data->count; i++) {
        struct top_device *d = &data->devices[i];
        size_t kept = 0;

        for (size_t k = 0; k < d->count; k++) {
            if (is_meant(&d->processes[k], filter))
                d->processes[kept++] = d->processes[k];
        }
        d->count = kept;
        if (kept > 0)
            qsort(d->processes, kept, sizeof *d->processes, compare_processes);
    }
}
