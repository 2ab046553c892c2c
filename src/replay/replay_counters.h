/* replay_counters.h - counts of driver calls so far.  Private to the replay. */
#ifndef LARDER_REPLAY_REPLAY_COUNTERS_H
#define LARDER_REPLAY_REPLAY_COUNTERS_H

#include <larder/device.h>

#include "trace/tool_error.h"

bool replay_counters_get(larder_device *device, larder_device_counters *out,
                         struct tool_error *error);

/* Calls for memory, and waits, including those that failed. */
uint64_t replay_counters_calls(const larder_device_counters *n);

#endif
