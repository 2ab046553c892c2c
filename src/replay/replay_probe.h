/* replay_probe.h - answers questions about a trace under some settings, each
 * with passes on new devices and without a full result. */
#pragma once

#include "replay/replay.h"

/* Passes under the options, and the work of them.  Work beyond what is left
 * is not reported to the progress function. */
struct replay_work {
    const struct replay_options *options;
    uint64_t left;   /* operations not yet reported */
    uint64_t probed; /* operations of probes so far */
};

/* Figures of a pass, up to its end or the first failed allocation. */
struct replay_figures {
    bool fits; /* no allocation failed */
    uint64_t peak_allocated_bytes;
    uint64_t peak_reserved_bytes;
    uint64_t context_bytes;
    uint64_t driver_calls;
    uint64_t driver_time_ns;
};

/* On the options' device, with `capacity` bytes if that is not 0. */
bool replay_probe(const struct trace *t, struct replay_work *work,
                  uint64_t capacity, struct replay_figures *out,
                  struct tool_error *error);

/* On the first of some large devices that has at least `low` bytes and fits;
 * the largest if none does. */
bool replay_probe_roomy(const struct trace *t, struct replay_work *work,
                        uint64_t low, struct replay_figures *out,
                        uint64_t *capacity, struct tool_error *error);

/* The smallest device on which every allocation succeeds; 0: none. */
bool replay_capacity_find(const struct trace *t, struct replay_work *work,
                          uint64_t *out, struct tool_error *error);
