/* replay_spec.h - the spec of the device that a replay runs on, for
 * larder_device_open(). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/trace.h"

/* The spec for a replay of `t`: `device` with backing and events filled in as
 * described in replay.h and, if `capacity` is not 0, with that capacity.  A
 * spec of a device that is not simulated is copied.  The caller frees it; NULL:
 * no host memory. */
char *replay_spec_make(const char *device, const struct trace *t,
                       uint64_t capacity);

/* Whether the spec is of a simulated device. */
bool replay_spec_is_sim(const char *device);

/* Whether the spec sets `key`, to any value. */
bool replay_spec_has(const char *device, const char *key);
