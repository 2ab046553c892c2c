/* snap_trace.h - converts one device of a snapshot to a trace that can be
 * replayed. */
#pragma once

#include "convert/story.h"
#include "trace/trace.h"

/* The basis of a trace made from a snapshot, and what it cannot express. */
struct snap_trace_notes {
    uint64_t rolled_back;     /* allocations from before the recording */
    uint64_t unmatched_frees; /* left out: the address was free */
    uint64_t overwritten;     /* allocations at live addresses, freed first */
    uint64_t zero_sizes;      /* allocations of 0 bytes */
    uint64_t deferred;        /* frees that waited for a stream */
    uint64_t empty_caches;
    uint64_t pools;         /* number of private pools */
    uint64_t pool_allocs;   /* allocations in them */
    uint64_t unpooled;      /* of those, in pools beyond TRACE_POOLS */
    uint64_t recorded_ooms; /* failed requests, repeated here */
};

/* Allocations from before the recording come first, by address.  Streams are
 * numbered in order of occurrence, the default stream being 0.  Frees that
 * waited are recorded on streams above all others.  A failed request is
 * repeated, after a mark that says so, and freed at once if it succeeds;
 * out->refused is the last of them.  Annotations and changes of user metadata
 * become marks.
 *
 * False: no host memory, or more streams than a trace can have. */
bool snap_trace_make(const struct story *story, struct trace *out,
                     struct snap_trace_notes *notes, struct tool_error *error);
