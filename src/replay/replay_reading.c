/* replay_reading.c - what an allocator and its device have done so far. */
#include "replay/replay_session.h"

/* Calls for memory, and waits. */
static uint64_t count_calls(const larder_device_counters *n)
{
    static const larder_call memory_or_wait[] = {
        LARDER_CALL_mem_alloc,
        LARDER_CALL_mem_free,
        LARDER_CALL_address_reserve,
        LARDER_CALL_address_free,
        LARDER_CALL_page_create,
        LARDER_CALL_page_release,
        LARDER_CALL_map,
        LARDER_CALL_unmap,
        LARDER_CALL_set_access,
        LARDER_CALL_event_sync,
        LARDER_CALL_stream_sync,
    };
    uint64_t sum = 0;

    /* Failed calls were made too, and are part of the driver's time. */
    for (size_t i = 0; i < sizeof memory_or_wait / sizeof *memory_or_wait; i++)
        sum += n->calls[memory_or_wait[i]] + n->failed[memory_or_wait[i]];
    return sum;
}

bool replay_read(const struct replay_session *s, struct replay_reading *out,
                 struct tool_error *error)
{
    out->counters = (larder_device_counters){.size = sizeof out->counters};
    out->props = (larder_device_props){.size = sizeof out->props};
    larder_stats_init(&out->stats);
    if (larder_stats_get(s->allocator, &out->stats) != LARDER_OK ||
        larder_device_get_counters(s->device, &out->counters) != LARDER_OK ||
        larder_device_get_props(s->device, &out->props) != LARDER_OK)
        return tool_fail(error, "%s", larder_last_error());
    out->driver_calls = count_calls(&out->counters);
    return true;
}
