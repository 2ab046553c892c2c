/* tune_input.h - the inputs to be fitted: traces, and the devices of snapshots
 * that have a history. */
#pragma once

#include <larder/larder.h>

#include "convert/recorded_card.h"
#include "trace/trace.h"

/* How far a recording goes; filled in by the caller's `look`. */
struct tune_scope {
    uint64_t steps; /* passes recorded from begin to end; 0: unknown */
    uint64_t grows_bytes_per_step; /* what each begins with beyond the last */
    /* What a next pass begins with, and the recorded one did not: the
     * optimizer's state, made at its end. */
    uint64_t next_bytes;
    uint64_t after; /* allocations after the last request that failed */
};

struct tune_input {
    char *name;       /* the path, with ":N" if it has several devices */
    const char *path; /* not owned */
    bool is_snapshot;
    size_t device;
    struct trace trace;
    larder_policy policy; /* what it uses now */
    char *conf;
    uint64_t content[2];       /* a hash of the trace */
    struct recorded_card card; /* if found: it ran out of memory on this */
    struct tune_scope scope;
};

struct tune_inputs {
    struct tune_input *items;
    size_t count;
    size_t capacity;
};

/* The settings of a job by default: those recorded in a snapshot, with its
 * policy; PyTorch's for a trace. */
struct tune_base {
    larder_policy policy; /* LARDER_POLICY_DEFAULT: as said */
    const char *conf;     /* NULL: the recorded settings, or defaults */
    /* Examines a device of a snapshot, whose scope is 0.  NULL: none is
     * examined. */
    bool (*look)(const struct lifetimes *l, struct tune_scope *out,
                 struct tool_error *error);
};

/* Read a trace or snapshot and add its contents; `path` must stay valid. *out
 * begins zeroed. */
bool tune_inputs_add(struct tune_inputs *out, const char *path,
                     const struct tune_base *base, struct tool_error *error);

/* Add one device of a snapshot that was read from `path`.  The snapshot may be
 * freed afterwards. */
bool tune_inputs_add_device(struct tune_inputs *out, const struct snapshot *s,
                            size_t device, const char *path,
                            const struct tune_base *base,
                            struct tool_error *error);

void tune_inputs_free(struct tune_inputs *in);
