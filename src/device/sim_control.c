/* sim_control.c - the public calls that control and inspect a simulated GPU. */
#include "device/sim_device.h"

#include "base/fail.h"
#include "device/device.h"
#include "device/sim_fail.h"
#include "base/sized.h"

static larder_result control_get(const larder_device *dev, struct sim **out)
{
    larder_result r = larder__device_check(dev);

    if (r != LARDER_OK)
        return r;
    *out = larder__sim_of(dev);
    if (*out != NULL)
        return LARDER_OK;
    return larder__fail(LARDER_ERR_UNSUPPORTED,
                        "the device is not a simulated one");
}

/* A failure's message becomes the thread's last error. */
static larder_result control_result(larder_result r, const char *call)
{
    return r == LARDER_OK ? r
                          : larder__fail(r, "%s failed: %s", call,
                                         larder__sim_fail_text());
}

static larder_result control_leave(struct sim *sim, larder_result r,
                                   const char *call)
{
    return control_result(larder__sim_leave(sim, r), call);
}

static larder_result control_enter(const larder_device *dev, struct sim **out,
                                   const char *call)
{
    larder_result r = control_get(dev, out);

    if (r != LARDER_OK)
        return r;
    return control_result(larder__sim_enter(*out), call);
}

/* ---- streams ------------------------------------------------------------ */

static larder_result stream_complete(struct sim *sim, larder_stream stream)
{
    larder_result r = larder__sim_stream_check(stream);
    struct sim_stream *s;

    if (r != LARDER_OK)
        return r;
    s = larder__sim_stream_find(sim, stream);
    return s == NULL ? LARDER_OK : larder__sim_stream_run(sim, s, s->queued);
}

larder_result larder_sim_complete(larder_device *dev, larder_stream stream)
{
    struct sim *sim;
    larder_result r = control_get(dev, &sim);

    if (r != LARDER_OK)
        return r;
    sim_lock(sim);
    return control_leave(sim, stream_complete(sim, stream), "sim_complete");
}

larder_result larder_sim_launch(larder_device *dev, larder_stream stream,
                                larder_sim_kernel *fn, void *ctx)
{
    struct sim_work work = {
        .kind = SIM_WORK_LAUNCH,
        .as.launch = {.fn = fn, .ctx = ctx},
    };
    struct sim *sim;
    larder_result r;

    if (fn == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    r = control_enter(dev, &sim, "sim_launch");
    if (r != LARDER_OK)
        return r;
    return control_leave(sim, larder__sim_stream_queue(sim, stream, &work),
                         "sim_launch");
}

larder_result larder_sim_wait_event(larder_device *dev, larder_stream stream,
                                    uint64_t event)
{
    struct sim *sim;
    larder_result r = control_enter(dev, &sim, "sim_wait_event");

    if (r != LARDER_OK)
        return r;
    return control_leave(sim, larder__sim_event_wait(sim, stream, event),
                         "sim_wait_event");
}

static larder_result capture_set(larder_device *dev, larder_stream stream,
                                 bool begin, const char *call)
{
    struct sim *sim;
    larder_result r = control_enter(dev, &sim, call);

    if (r != LARDER_OK)
        return r;
    return control_leave(sim, larder__sim_capture_set(sim, stream, begin),
                         call);
}

larder_result larder_sim_capture_begin(larder_device *dev, larder_stream stream)
{
    return capture_set(dev, stream, true, "sim_capture_begin");
}

larder_result larder_sim_capture_end(larder_device *dev, larder_stream stream)
{
    return capture_set(dev, stream, false, "sim_capture_end");
}

/* ---- inspection --------------------------------------------------------- */

larder_result larder_sim_regions(larder_device *dev, larder_addr *first,
                                 larder_addr *second)
{
    struct sim *sim;
    larder_result r = control_get(dev, &sim);

    if (r != LARDER_OK)
        return r;
    if (first == NULL || second == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    *first = sim->backing.first;
    *second = sim->backing.first + sim->backing.region_bytes;
    return LARDER_OK;
}

larder_result larder_sim_get_usage(larder_device *dev, larder_sim_usage *out)
{
    larder_sim_usage usage = {.size = sizeof usage};
    struct sim_budget_use use;
    struct sim *sim;
    larder_result r = control_get(dev, &sim);

    if (r != LARDER_OK)
        return r;
    sim_lock(sim);
    larder__sim_lend_sweep(sim);
    use = larder__sim_budget_use(&sim->budget);
    usage.capacity_bytes = sim->budget.capacity_bytes;
    usage.used_bytes = use.all_bytes;
    usage.self_bytes = use.self_bytes;
    usage.context_bytes = use.context_bytes;
    usage.allocations = sim->allocations;
    usage.pages = sim->pages.taken;
    usage.mappings = sim->mappings;
    usage.reservations = sim->reservations;
    usage.events = sim->events.taken;
    sim_unlock(sim);
    return sized_write(out, &usage, sizeof usage);
}
