/* snap_trace.h - one device of a snapshot as a trace that can be replayed. */
#ifndef LARDER_CONVERT_SNAP_TRACE_H
#define LARDER_CONVERT_SNAP_TRACE_H

#include "convert/story.h"
#include "trace/trace.h"

/* What a trace made of a snapshot rests on, and what it cannot say. */
struct snap_trace_notes {
    uint64_t rolled_back;     /* allocations from before the recording */
    uint64_t unmatched_frees; /* of what was freed already: left out */
    uint64_t overwritten;     /* allocated where one was live: that was freed */
    uint64_t zero_sizes;      /* allocations of 0 bytes */
    uint64_t deferred;        /* frees that waited for a stream */
    uint64_t empty_caches;
    uint64_t pools;         /* private ones */
    uint64_t pool_allocs;   /* allocations in them */
    uint64_t unpooled;      /* of those, in pools beyond TRACE_POOLS: default */
    uint64_t recorded_ooms; /* requests that failed, and are made here */
};

/* Allocations from before the recording come first, by address.  Streams are
 * numbered in the order in which they come, the default stream being 0;
 * frees that waited are recorded on streams above all others.  A request that
 * failed is made, after a mark that says so, and released at once if it
 * succeeds here; out->refused is the last of them.  Annotations and changes of
 * user metadata become marks.
 *
 * False: no host memory, or more streams than a trace can have. */
bool snap_trace_make(const struct story *story, struct trace *out,
                     struct snap_trace_notes *notes, struct tool_error *error);

#endif
