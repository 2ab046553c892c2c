/* tune_cell.c - measures one input under one setting. */
#include "tune/tune_cell.h"

#include <inttypes.h>
#include <stdio.h>

#include "replay/replay_probe.h"

bool tune_cell_measure(const struct tune_question *q, struct tune_cell *out,
                       uint64_t *ops, struct tool_error *error)
{
    char device[64];
    struct replay_options o = {
        .policy = q->policy, .conf = q->conf, .device = device};
    const struct trace *t = &q->input->trace;
    struct replay_figures f = {0};
    struct replay_work work = {.options = &o};
    uint64_t roomy;

    snprintf(device, sizeof device, "%s,context=%" PRIu64,
             REPLAY_DEVICE_DEFAULT, q->context_bytes);
    if (q->capacity != 0 && !replay_probe(t, &work, q->capacity, &f, error))
        return false;
    out->fits = f.fits;
    /* Figures up to a failure are of no use. */
    if (!f.fits && !replay_probe_roomy(t, &work, 0, &f, &roomy, error))
        return false;
    if (q->capacity == 0)
        out->fits = f.fits;
    out->peak_allocated_bytes = f.peak_allocated_bytes;
    out->peak_reserved_bytes = f.peak_reserved_bytes;
    out->driver_calls = f.driver_calls;
    out->driver_time_ns = f.driver_time_ns;
    if (!replay_capacity_find(t, &work, &out->min_capacity_bytes, error))
        return false;
    *ops = work.probed;
    return true;
}
