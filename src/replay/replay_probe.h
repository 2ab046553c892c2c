/* replay_probe.h - questions about a trace under some settings, without its
 * figures. */
#ifndef LARDER_REPLAY_REPLAY_PROBE_H
#define LARDER_REPLAY_REPLAY_PROBE_H

#include "replay/replay.h"

/* Whether no allocation fails on the options' device, with `capacity` bytes
 * if that is not 0. */
bool replay_fits(const struct trace *t, const struct replay_options *options,
                 uint64_t capacity, bool *fits, struct tool_error *error);

/* What min_capacity of the options finds; 0: no size will do. */
bool replay_min_capacity(const struct trace *t,
                         const struct replay_options *options, uint64_t *out,
                         struct tool_error *error);

/* Bytes that the options' device has for its programs. */
bool replay_device_bytes(const struct trace *t,
                         const struct replay_options *options, uint64_t *out,
                         struct tool_error *error);

#endif
