/* replay.h - runs a trace through an allocator and reports what it needed.
 *
 * Everything uses the public API, on a device of the replay's own.  Passes over
 * the trace:
 *
 *   cold    the first, on a new device: yields placements, statistics, peaks,
 *           counts and driver time; not timed
 *   warm    untimed; the cache stays, and what the trace left live is freed
 *   timed   `repeat` passes like the warm one; their median is ns_per_op
 *   probes  each on a new device, stopped at its first failure: the search
 *           for the smallest capacity
 *
 * Different replays may run on different threads at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <larder/history.h>
#include <larder/larder.h>

#include "convert/recorded.h"
#include "convert/snap_trace.h"
#include "replay/replay_refused.h"
#include "trace/tool_error.h"
#include "trace/trace.h"

#define REPLAY_DEVICE_DEFAULT "sim:80GiB"

/* A trace or a snapshot, recognised by its name or its first bytes; "-" is the
 * standard input, and pipes work too. */
struct replay_input {
    const char *path;
    struct trace_source *source; /* closed by its reader */
    bool is_snapshot;
};

/* `path` must stay valid. */
bool replay_input_open(const char *path, struct replay_input *out,
                       struct tool_error *error);

enum { REPLAY_REPEAT_MAX = 1000000 };

/* Reports work, in operations: how many more there are to do (an estimate, with
 * min_capacity) and how many more are done.  Called on the replaying thread. */
typedef void replay_progress_fn(void *ctx, uint64_t more_to_do,
                                uint64_t more_done);

/* All zeros ask for a plain replay under the default policy. */
struct replay_options {
    larder_policy policy;
    const char *conf; /* NULL: "" */
    /* A PyTorch release, whose rules apply, with PyTorch's policy.  NULL: the
     * one that `conf` names; with recorded settings, the snapshot's release. */
    const char *release;
    /* NULL: REPLAY_DEVICE_DEFAULT.  A simulated device gets backing=none unless
     * the spec sets it.  If its events are auto or not set, they are manual for
     * a trace that contains `r` or `c`, otherwise immediate. */
    const char *device;
    unsigned repeat; /* timed passes; 0: no warm pass either */
    bool min_capacity;
    /* Give each allocation a lifetime hint: long if at least this many others
     * are made before it is freed or the trace ends, otherwise short.  0: no
     * hints.  Private pools ignore hints. */
    uint64_t hints_after;
    bool summary;         /* keep the allocator's summary table */
    FILE *placements;     /* not closed; NULL: none */
    FILE *stats;          /* not closed; NULL: none */
    uint64_t stats_every; /* in operations; 0: only the last line */
    /* For the cold pass: events to keep (0: the history's default, if a
     * snapshot is requested), and where the allocator's own snapshot is
     * written: at the end of the pass, and at the first failed allocation.
     * NULL: none. */
    uint64_t history_events;
    const char *snapshot;
    const char *oom_snapshot;
    /* Receives the snapshot at the end of the pass, in parts, as a pickle.
     * NULL: none. */
    larder_write_fn *take_snapshot;
    void *take_snapshot_ctx;
    replay_progress_fn *progress; /* NULL: none */
    void *progress_ctx;
};

/* Belongs to the caller; replay_result_free() frees the strings. */
struct replay_result {
    uint64_t ops; /* all except marks */
    uint64_t oom_count;
    uint64_t oom_op; /* number of the first one that failed, from 1; 0: none */
    char *oom_text;  /* the allocator's message for it; or NULL */
    uint64_t peak_requested_bytes; /* without failed allocations */
    uint64_t peak_allocated_bytes;
    uint64_t peak_reserved_bytes;
    /* (reserved - allocated) / reserved after the operation at which allocated
     * first reached its peak; negative if nothing was ever allocated. */
    double peak_fragmentation;
    uint64_t driver_allocs;
    uint64_t driver_frees;
    uint64_t pages_created;
    uint64_t pages_mapped;
    uint64_t pages_unmapped;
    uint64_t stream_syncs;       /* waits for a stream or event */
    uint64_t driver_calls;       /* for memory, and waits; failed too */
    uint64_t driver_time_ns;     /* estimated from the price table */
    uint64_t later_driver_calls; /* in the last timed pass; 0: not timed */
    uint64_t later_driver_time_ns;
    double ns_per_op;            /* negative: not timed */
    uint64_t min_capacity_bytes; /* 0: not requested, or no size is enough */
    bool refused_fits;           /* the trace's `refused` request succeeded */
    char *summary;               /* or NULL */

    /* For a snapshot: the details of one of its devices, and the result of the
     * next device with a history.  Freeing the first frees all. */
    struct replay_snapshot *snapshot;
    struct replay_result *next;
};

/* Additional results for a snapshot. */
struct replay_snapshot {
    size_t device;
    struct snap_trace_notes notes;
    char *conf;             /* the recorded settings */
    bool recorded_settings; /* it was replayed under these */
    struct recorded_result recorded;
    struct replay_refused refused;
};

/* Replay a trace.  Allocations that fail for lack of memory are counted; any
 * other failure ends the replay.  On failure *out is empty. */
bool replay_run(const struct trace *t, const struct replay_options *options,
                struct replay_result *out, struct tool_error *error);

void replay_result_free(struct replay_result *r);

/* Whether a replay can begin with this policy, conf and device: opens the
 * device once. */
bool replay_check(const struct replay_options *options,
                  struct tool_error *error);

/* One input of several. */
struct replay_job {
    const char *path;
    bool ok;
    struct replay_result result; /* valid if ok */
    struct tool_error error;     /* valid if not ok */
};

/* Called when a job has ended, on its thread. */
typedef void replay_job_fn(void *ctx, size_t index);

/* Read a snapshot, close its source, and replay each of its devices that has
 * events.  If `options` have neither a policy nor a configuration, the recorded
 * settings and PyTorch's policy are used, and the allocator's placements are
 * compared with those recorded.  If `options` have no device and a recorded
 * request had failed, the device is the card on which it failed.  A snapshot
 * without a history is an error. */
bool replay_run_snapshot(const struct replay_input *in,
                         const struct replay_options *options,
                         struct replay_result *out, struct tool_error *error);

/* The recorded settings, which are usable; `instead`, which may be NULL, if they
 * are not.  NULL: no host memory, or there is nothing to replay it under, and the
 * error names the key.  The caller frees it. */
char *replay_recorded_conf(const struct snapshot *s, const char *release,
                           const char *instead, struct tool_error *error);

/* Advice for a snapshot without a history. */
#define REPLAY_HOW_TO_RECORD                                                   \
    "call torch.cuda.memory._record_memory_history(max_entries=1000000) "      \
    "before the work and _dump_snapshot(FILE) after it"

/* Read and replay the trace or snapshot of every job, on up to `threads`
 * threads, each with its own device. `options` apply to all jobs; with more
 * than one job they must not request placements or statistics.  If threads
 * cannot be created, jobs run on this one. */
void replay_run_jobs(struct replay_job *jobs, size_t count, unsigned threads,
                     const struct replay_options *options, replay_job_fn *done,
                     void *done_ctx);

/* The result as one line of JSON without a line end; NULL: no host memory.  The
 * caller frees it.  Bytes of `path` and `conf` that are not UTF-8 become
 * U+FFFD. */
char *replay_result_json(const struct replay_result *r, const char *path,
                         const struct replay_options *options);
