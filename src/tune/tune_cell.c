/* tune_cell.c - measures one input under one setting. */
#include "tune/tune_cell.h"

#include <inttypes.h>
#include <stdio.h>

#include "replay/replay_probe.h"

/* Large devices, from the first that may be enough to the largest that can be
 * simulated. */
#define ROOMY_BYTES ((uint64_t)80 << 30)
#define ROOMY_MAX_BYTES ((uint64_t)16 << 40)

/* Measure on a device that is large enough; the largest one tried if none
 * is. */
static bool measure_roomy(const struct tune_question *q,
                          const struct replay_options *o,
                          struct replay_figures *f, uint64_t *ops,
                          struct tool_error *error)
{
    uint64_t size = 0;

    while (!f->fits && size < ROOMY_MAX_BYTES) {
        size = size == 0 ? ROOMY_BYTES : size * 2;
        if (size > ROOMY_MAX_BYTES)
            size = ROOMY_MAX_BYTES;
        if (!replay_get_figures(&q->input->trace, o, size, f, error))
            return false;
        *ops += f->ops;
    }
    return true;
}

bool tune_cell_measure(const struct tune_question *q, struct tune_cell *out,
                       uint64_t *ops, struct tool_error *error)
{
    char device[64];
    struct replay_options o = {
        .policy = q->policy, .conf = q->conf, .device = device};
    const struct trace *t = &q->input->trace;
    struct replay_figures f = {0};
    uint64_t searched;

    snprintf(device, sizeof device, "%s,context=%" PRIu64,
             REPLAY_DEVICE_DEFAULT, q->context_bytes);
    *ops = 0;
    if (q->capacity != 0) {
        if (!replay_get_figures(t, &o, q->capacity, &f, error))
            return false;
        *ops = f.ops;
    }
    out->fits = f.fits;
    /* Figures up to a failure are of no use. */
    if (!f.fits && !measure_roomy(q, &o, &f, ops, error))
        return false;
    if (q->capacity == 0)
        out->fits = f.fits;
    out->peak_allocated_bytes = f.peak_allocated_bytes;
    out->peak_reserved_bytes = f.peak_reserved_bytes;
    out->driver_calls = f.driver_calls;
    out->driver_time_ns = f.driver_time_ns;
    if (!replay_min_capacity(t, &o, &out->min_capacity_bytes, &searched, error))
        return false;
    *ops += searched;
    return true;
}
