/* replay.h - run a trace through an allocator and report what it needed.
 *
 * Everything goes through the public API, on a device of the replay's own.
 * Passes over the trace:
 *
 *   cold    the first, on a fresh device: placements, statistics, peaks,
 *           counts and driver time come from it; it is not timed
 *   warm    untimed; the cache stays, what the trace left live was freed
 *   timed   `repeat` times, each as the warm one; their median is ns_per_op
 *   probes  each on a fresh device, stopped at its first failure: the search
 *           for the smallest capacity
 *
 * Different replays may run on different threads at once.
 */
#ifndef LARDER_REPLAY_REPLAY_H
#define LARDER_REPLAY_REPLAY_H

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

/* A trace or a snapshot, as its name or its first bytes say; "-" is the
 * standard input, and pipes will do. */
struct replay_input {
    const char *path;
    struct trace_source *source; /* for whoever reads it, and closes it */
    bool is_snapshot;
};

/* `path` has to stay. */
bool replay_input_open(const char *path, struct replay_input *out,
                       struct tool_error *error);

enum { REPLAY_REPEAT_MAX = 1000000 };

/* Told of work, in operations: how many more there are to do (a guess, with
 * min_capacity) and how many more are done.  Comes from the thread that
 * replays. */
typedef void replay_progress_fn(void *ctx, uint64_t more_to_do,
                                uint64_t more_done);

/* Zeroed, it asks for a plain replay under the default policy. */
struct replay_options {
    larder_policy policy;
    const char *conf; /* NULL: "" */
    /* Of PyTorch: its rules hold, and the policy is PyTorch's.  NULL: those that
     * `conf` names; for recorded settings, of the snapshot's release. */
    const char *release;
    /* NULL: REPLAY_DEVICE_DEFAULT.  A simulated device gets backing=none
     * unless the spec sets it; where its events are auto or not set they
     * become manual for a trace that holds `r` or `c`, else immediate. */
    const char *device;
    unsigned repeat; /* timed passes; 0: no warm pass either */
    bool min_capacity;
    /* Have each allocation say how long it will live: long, if so many others
     * are made before it is freed, or the trace ends; else short.  0: say
     * nothing.  In private pools nobody would listen. */
    uint64_t hints_after;
    bool summary;         /* keep the allocator's summary table */
    FILE *placements;     /* not closed; NULL: none */
    FILE *stats;          /* not closed; NULL: none */
    uint64_t stats_every; /* operations; 0: none but the last line */
    /* Of the cold pass: events to keep (0: the history's default, if a
     * snapshot is asked for), and where the allocator's own snapshot goes: at
     * the pass's end, and at the first failed allocation.  NULL: none. */
    uint64_t history_events;
    const char *snapshot;
    const char *oom_snapshot;
    /* Takes the snapshot at the pass's end, piece by piece, as a pickle; NULL:
     * nobody does. */
    larder_write_fn *take_snapshot;
    void *take_snapshot_ctx;
    replay_progress_fn *progress; /* NULL: none */
    void *progress_ctx;
};

/* Belongs to the caller; strings are freed by replay_result_free(). */
struct replay_result {
    uint64_t ops; /* all but marks */
    uint64_t oom_count;
    uint64_t oom_op; /* from 1, of the first; 0: none */
    char *oom_text;  /* the allocator's explanation of the first; or NULL */
    uint64_t peak_requested_bytes; /* failed allocations not counted */
    uint64_t peak_allocated_bytes;
    uint64_t peak_reserved_bytes;
    /* (reserved - allocated) / reserved after the operation at which allocated
     * first was highest; negative if nothing was ever allocated. */
    double peak_fragmentation;
    uint64_t driver_allocs;
    uint64_t driver_frees;
    uint64_t pages_created;
    uint64_t pages_mapped;
    uint64_t pages_unmapped;
    uint64_t stream_syncs;       /* waits for a stream or an event */
    uint64_t driver_calls;       /* for memory, and waits; failed too */
    uint64_t driver_time_ns;     /* estimated, by the price table */
    uint64_t later_driver_calls; /* of the last timed pass; 0: not timed */
    uint64_t later_driver_time_ns;
    double ns_per_op;            /* negative: not timed */
    uint64_t min_capacity_bytes; /* 0: not asked for, or no size suffices */
    bool refused_fits;           /* the trace's `refused` request succeeded */
    char *summary;               /* or NULL */

    /* Of a snapshot: of which of its devices, and the next one with a
     * history.  All of them are freed with the first. */
    struct replay_snapshot *snapshot;
    struct replay_result *next;
};

/* What a replay of a snapshot has besides. */
struct replay_snapshot {
    size_t device;
    struct snap_trace_notes notes;
    bool recorded_settings; /* it ran under the recorded settings: */
    char *conf;             /* these, and PyTorch's policy; else NULL */
    struct recorded_result recorded;
    struct replay_refused refused;
};

/* Replay a trace.  Allocations that fail for lack of memory are counted; any
 * other failure ends it.  On failure *out is empty. */
bool replay_run(const struct trace *t, const struct replay_options *options,
                struct replay_result *out, struct tool_error *error);

void replay_result_free(struct replay_result *r);

/* Whether policy, conf and device are such that a replay can begin: the
 * device is opened once. */
bool replay_check(const struct replay_options *options,
                  struct tool_error *error);

/* One input of several. */
struct replay_job {
    const char *path;
    bool ok;
    struct replay_result result; /* if ok */
    struct tool_error error;     /* if not */
};

/* Told when a job ended, from its thread. */
typedef void replay_job_fn(void *ctx, size_t index);

/* Read a snapshot, whose source is closed, and replay each of its devices that has events.  Where
 * `options` have neither a policy nor a configuration the recorded settings
 * and PyTorch's policy are taken, and what the allocator does is compared with
 * what was recorded.  Where they have no device and a request had failed, it is
 * the card on which it did.  A snapshot without a history is an error. */
bool replay_run_snapshot(const struct replay_input *in,
                         const struct replay_options *options,
                         struct replay_result *out, struct tool_error *error);

/* What to do about a snapshot that has none. */
#define REPLAY_HOW_TO_RECORD                                                   \
    "call torch.cuda.memory._record_memory_history(max_entries=1000000) "      \
    "before the work and _dump_snapshot(FILE) after it"

/* Read and replay every job's trace or snapshot, on up to `threads` threads, each with a
 * device of its own.  `options` hold for all; with more than one job they
 * must not ask for placements or stats.  Jobs that no thread can be had for
 * run on this one. */
void replay_run_jobs(struct replay_job *jobs, size_t count, unsigned threads,
                     const struct replay_options *options, replay_job_fn *done,
                     void *done_ctx);

/* The result as a line of JSON, without the line's end; NULL if there is no
 * host memory.  The caller frees it.  Bytes of `path` and `conf` that are not
 * UTF-8 become U+FFFD. */
char *replay_result_json(const struct replay_result *r, const char *path,
                         const struct replay_options *options);

#endif
