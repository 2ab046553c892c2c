/* replay_refused.h - would the request that failed when a snapshot was recorded
 * succeed under other settings, on the card it was recorded on? */
#ifndef LARDER_REPLAY_REPLAY_REFUSED_H
#define LARDER_REPLAY_REPLAY_REFUSED_H

#include "convert/recorded_card.h"
#include "replay/replay_setting.h"
#include "trace/trace.h"

enum { REFUSED_CURES = 16 };

struct replay_refused {
    struct recorded_card card; /* of the last such request; none is found
                                * in most recordings */
    bool on_card;              /* else on a device that was asked for */
    uint64_t device_bytes;     /* of either */
    bool fits;
    /* It failed on memory as it was when the recording began; on an empty
     * device the same settings would not have let it fail, so that a replay
     * there says nothing of others. */
    bool by_beginning;
    uint64_t min_bytes;   /* smallest device without a failure; 0: none */
    uint64_t short_bytes; /* so much more would have done; 0 if it fits */
    struct replay_setting cures[REFUSED_CURES]; /* with these it fits */
    size_t cure_count;
    size_t tried; /* settings */
};

struct replay_options;
struct replay_result;

/* How it went in a replay of t under `options`, which name the device, and
 * what else would have let it fit.  `recorded`: the settings it failed under,
 * for the policy `pytorch`; `is_recorded`: the options' are these.
 * False: no host memory, or a replay that could not begin. */
bool replay_refused_judge(const struct trace *t,
                          const struct replay_options *options,
                          const char *recorded, bool is_recorded,
                          const struct replay_result *result,
                          struct replay_refused *out, struct tool_error *error);

#endif
