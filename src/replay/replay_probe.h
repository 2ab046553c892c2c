/* replay_probe.h - answers questions about a trace under some settings, without
 * a full result. */
#ifndef LARDER_REPLAY_REPLAY_PROBE_H
#define LARDER_REPLAY_REPLAY_PROBE_H

#include "replay/replay.h"

/* Whether no allocation fails on the options' device, with `capacity` bytes if
 * that is not 0. */
bool replay_fits(const struct trace *t, const struct replay_options *options,
                 uint64_t capacity, bool *fits, struct tool_error *error);

/* The smallest capacity; 0: no size is enough. `ops` is the number of
 * operations that it took; may be NULL. */
bool replay_min_capacity(const struct trace *t,
                         const struct replay_options *options, uint64_t *out,
                         uint64_t *ops, struct tool_error *error);

/* Figures of a pass, up to its end or the first failed allocation. */
struct replay_figures {
    bool fits;
    uint64_t peak_allocated_bytes;
    uint64_t peak_reserved_bytes;
    uint64_t driver_calls;
    uint64_t driver_time_ns;
    uint64_t ops;
};

/* On the options' device, with `capacity` bytes if that is not 0. */
bool replay_get_figures(const struct trace *t,
                        const struct replay_options *options, uint64_t capacity,
                        struct replay_figures *out, struct tool_error *error);

/* The memory that the options' device has for programs. */
bool replay_device_bytes(const struct trace *t,
                         const struct replay_options *options, uint64_t *out,
                         struct tool_error *error);

#endif
