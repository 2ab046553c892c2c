/* sim_capture.c - stream captures, and the calls that they forbid. */
#include "device/sim_device.h"

#include "device/sim_fail.h"

larder_result larder__sim_capture_forbids(const struct sim *sim)
{
    if (sim->captured == 0)
        return LARDER_OK;
    return larder__sim_fail_plain(LARDER_ERR_CAPTURING);
}

larder_result larder__sim_capture_set(struct sim *sim, larder_stream stream,
                                      bool begin)
{
    struct sim_stream *s;
    larder_result r = larder__sim_stream_get(sim, stream, &s);

    if (r != LARDER_OK)
        return r;
    if (s->is_captured == begin)
        return larder__sim_fail(LARDER_ERR_INVALID,
                                begin ? "the stream is captured already"
                                      : "the stream is not captured");
    s->is_captured = begin;
    sim->captured += begin ? 1 : -1;
    return LARDER_OK;
}
