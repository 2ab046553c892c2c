/* tune_input.h - what is to be fitted: each trace, and each device of a
 * snapshot that has a history. */
#ifndef LARDER_TUNE_TUNE_INPUT_H
#define LARDER_TUNE_TUNE_INPUT_H

#include <larder/larder.h>

#include "convert/recorded_card.h"
#include "trace/trace.h"

struct tune_input {
    char *name; /* the path, with ":N" where others of it have a history too */
    const char *path; /* not owned */
    bool is_snapshot;
    size_t device;
    struct trace trace;
    larder_policy policy; /* what it runs under now */
    char *conf;
    uint64_t content[2];       /* a hash of the trace */
    struct recorded_card card; /* found: it ran out of memory on this */
};

struct tune_inputs {
    struct tune_input *items;
    size_t count;
    size_t capacity;
};

/* What a job runs under when nobody says: PyTorch's policy, with the settings
 * recorded in a snapshot. */
struct tune_base {
    larder_policy policy; /* LARDER_POLICY_DEFAULT: PyTorch's */
    const char *conf;     /* NULL: the recorded ones, or the defaults */
};

/* Read a trace or snapshot, whose path has to stay, and add what is in it.
 * *out begins zeroed. */
bool tune_inputs_add(struct tune_inputs *out, const char *path,
                     const struct tune_base *base, struct tool_error *error);

/* Add one device of a snapshot that was read from `path`; the snapshot need not
 * stay. */
bool tune_inputs_add_device(struct tune_inputs *out, const struct snapshot *s,
                            size_t device, const char *path,
                            const struct tune_base *base,
                            struct tool_error *error);

void tune_inputs_free(struct tune_inputs *in);

#endif
