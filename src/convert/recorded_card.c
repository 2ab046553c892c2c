#include "convert/recorded_card.h"

#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)
#define PAGE_BYTES (2 * MIB)

static uint64_t pages(uint64_t bytes)
{
    uint64_t over = bytes % PAGE_BYTES;

    return over == 0 || bytes > UINT64_MAX - PAGE_BYTES
               ? bytes
               : bytes + PAGE_BYTES - over;
}

/* The size that PyTorch requests from the driver when nothing cached fits. */
static uint64_t segment_for(uint64_t asked)
{
    if (asked <= MIB)
        return PAGE_BYTES;
    return asked < 10 * MIB ? 20 * MIB : pages(asked);
}

static bool last_failure(const struct lifetimes *l, uint32_t *event)
{
    for (uint32_t i = l->event_count; i-- > 0;) {
        if (l->events[i].action == SNAPSHOT_OOM) {
            *event = i;
            return true;
        }
    }
    return false;
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

bool recorded_card_find(const struct lifetimes *l, struct recorded_card *out,
                        struct tool_error *error)
{
    const struct snapshot_event *e;
    uint64_t needed;
    bool limited;

    memset(out, 0, sizeof *out);
    out->found = last_failure(l, &out->event);
    if (!out->found)
        return true;
    if (!reserved_at(l, out->event, &out->reserved))
        return tool_fail(error, "out of host memory");
    e = &l->events[out->event];
    needed = segment_for(e->size);
    out->asked = e->size;
    if ((e->has & SNAPSHOT_HAS_ADDRESS) != 0)
        out->driver_free = e->address;
    limited = out->driver_free >= needed;
    out->bytes =
        out->reserved + (limited ? needed - PAGE_BYTES : out->driver_free);
    out->missing = limited ? PAGE_BYTES : pages(needed - out->driver_free);
    return true;
}
