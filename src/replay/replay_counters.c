/* replay_counters.c - counts of driver calls so far. */
#include "replay/replay_counters.h"

uint64_t replay_counters_calls(const larder_device_counters *n)
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

bool replay_counters_get(larder_device *device, larder_device_counters *out,
                         struct tool_error *error)
{
    *out = (larder_device_counters){.size = sizeof *out};
    return larder_device_get_counters(device, out) == LARDER_OK ||
           tool_fail(error, "%s", larder_last_error());
}
