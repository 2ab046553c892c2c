/* replay_spec.h - the device a replay runs on, as a spec for
 * larder_device_open(). */
#ifndef LARDER_REPLAY_REPLAY_SPEC_H
#define LARDER_REPLAY_REPLAY_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/trace.h"

/* The spec as a replay of `t` needs it: `device` with backing and events
 * filled in as replay.h says and, if `capacity` is not 0, with that capacity
 * instead of its own.  A spec that is not a simulated device's is copied.
 * The caller frees it; NULL: no host memory. */
char *replay_spec_make(const char *device, const struct trace *t,
                       uint64_t capacity);

/* Whether the spec is a simulated device's. */
bool replay_spec_is_sim(const char *device);

/* Whether the spec sets `key`, whatever to. */
bool replay_spec_has(const char *device, const char *key);

#endif
