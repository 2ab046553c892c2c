/* replay_refused.h - would the request that failed when a snapshot was recorded
 * succeed under other settings, on the same card? */
#pragma once

#include "convert/recorded_card.h"
#include "replay/replay_setting.h"
#include "trace/trace.h"

enum { REFUSED_CURES = 16 };

struct replay_refused {
    struct recorded_card card; /* of the last such request, if any */
    bool on_card;              /* otherwise on a requested device */
    uint64_t device_bytes;     /* size of that card or device */
    bool fits;
    /* The request failed because of memory that was in use when the recording
     * began; on an empty device the same settings do not fail, so a replay
     * cannot judge other settings. */
    bool by_beginning;
    uint64_t min_bytes;   /* smallest device without a failure; 0: none */
    uint64_t short_bytes; /* bytes missing; 0: it fits */
    struct replay_setting cures[REFUSED_CURES]; /* with these it fits */
    size_t cure_count;
    size_t tried; /* number of settings tried */
};

struct replay_options;
struct replay_result;

/* The settings under which it failed. */
struct replay_recorded {
    larder_policy policy;
    const char *conf;
    bool is_used; /* the options are these */
};

/* Judge how the request fared in a replay of t under `options`, which name the
 * device, and find settings with which it fits.  False: no host memory, or a
 * replay that could not begin. */
bool replay_refused_judge(const struct trace *t,
                          const struct replay_options *options,
                          const struct replay_recorded *recorded,
                          const struct replay_result *result,
                          struct replay_refused *out, struct tool_error *error);
