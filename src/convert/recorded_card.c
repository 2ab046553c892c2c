/* recorded_card.c - how much of its card a process could use when a request
 * failed: what it had reserved, and what the driver had left. */
#include "convert/recorded_card.h"

#include <stdlib.h>
#include <string.h>

#include <larder/larder.h>

#include "snapshot/snapshot_conf.h"

#define PAGE_BYTES ((uint64_t)2 << 20)
#define DEVICE_BYTES_MAX ((uint64_t)16 << 40) /* the largest simulated GPU */

static uint64_t pages(uint64_t bytes)
{
    uint64_t over = bytes % PAGE_BYTES;

    return over == 0 || bytes > UINT64_MAX - PAGE_BYTES
               ? bytes
               : bytes + PAGE_BYTES - over;
}

/* Memory in use in segments that were never recorded counts too. */
static bool reserved_at(const struct lifetimes *l, uint32_t state,
                        uint64_t *out)
{
    uint64_t *values = calloc((size_t)l->event_count + 1, sizeof *values);
    uint64_t allocated;

    if (values == NULL)
        return false;
    lifetimes_curve(l, CURVE_ALLOCATED, values);
    allocated = values[state];
    lifetimes_curve(l, CURVE_RESERVED, values);
    *out = values[state] > allocated ? values[state] : allocated;
    free(values);
    return true;
}

/* 1: none is set. */
static double fraction_of(const char *conf)
{
    size_t length;
    const char *value =
        snapshot_conf_value(conf, "per_process_memory_fraction", &length);
    double fraction = value != NULL ? strtod(value, NULL) : 1;

    return fraction > 0 && fraction < 1 ? fraction : 1;
}

static void find_device(const struct lifetimes *l, double fraction,
                        bool limited, struct recorded_card *out)
{
    uint64_t total = l->snapshot->own.total_bytes;

    out->device_bytes = out->bytes;
    if (fraction >= 1 || out->bytes > DEVICE_BYTES_MAX)
        return;
    out->device_bytes = (uint64_t)((double)out->bytes / fraction) + 1;
    if (limited && total != 0 && total < out->device_bytes) {
        out->device_bytes = total;
        out->bytes = (uint64_t)(fraction * (double)total);
    }
}

bool recorded_card_find(const struct lifetimes *l, const char *conf,
                        struct recorded_card *out, struct tool_error *error)
{
    const struct snapshot_event *e;
    uint64_t needed;
    bool limited;

    memset(out, 0, sizeof *out);
    out->event = lifetimes_failure(l, l->event_count);
    out->found = out->event != UINT32_MAX;
    if (!out->found)
        return true;
    if (!reserved_at(l, out->event, &out->reserved))
        return tool_fail(error, "out of host memory");
    e = &l->events[out->event];
    if (larder_conf_segment(conf, e->size, &needed, NULL) != LARDER_OK)
        return tool_fail(error, "%s", larder_last_error());
    out->asked = e->size;
    if ((e->has & SNAPSHOT_HAS_ADDRESS) != 0)
        out->driver_free = e->address;
    limited = out->driver_free >= needed;
    out->bytes =
        out->reserved + (limited ? needed - PAGE_BYTES : out->driver_free);
    find_device(l, fraction_of(conf), limited, out);
    out->missing = limited ? PAGE_BYTES : pages(needed - out->driver_free);
    return true;
}
