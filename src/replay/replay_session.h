/* replay_session.h - a trace, a device and an allocator on it, and the single
 * step that all kinds of passes use.  Private to the replay. */
#pragma once

#include <larder/larder.h>
#include <larder/sim.h>

#include "replay/replay_probe.h"
#include "trace/arena.h"

struct replay_session {
    const struct trace *trace;
    struct replay_work *work;
    larder_device *device;
    larder_allocator *allocator;
    larder_addr base;   /* offsets are relative to this */
    larder_addr *addrs; /* by ID; 0: failed, or 0 bytes */
    bool *is_long;      /* by ID: its hint (larder/hint.h); NULL: no hints */
};

/* What the allocator and its device have done so far. */
struct replay_reading {
    larder_stats stats;
    larder_device_props props;
    larder_device_counters counters;
    uint64_t driver_calls; /* for memory, and waits; failed too */
};

bool replay_read(const struct replay_session *s, struct replay_reading *out,
                 struct tool_error *error);

/* Passes report progress after this many operations. */
enum { REPLAY_CHUNK_OPS = 65536 };

/* Open the device and create the allocator; `capacity` as for
 * replay_spec_make(). */
bool replay_session_open(const struct trace *t, struct replay_work *work,
                         uint64_t capacity, struct replay_session *out,
                         struct tool_error *error);

/* Accepts a zeroed session that was not opened. */
void replay_session_close(struct replay_session *s);

/* The cold pass: fills in all of *out except ns_per_op and
 * min_capacity_bytes. */
bool replay_pass_cold(struct replay_session *s, struct replay_result *out,
                      struct tool_error *error);

/* The warm and timed passes, after a cold one: fills in ns_per_op and the
 * driver calls of the last pass. */
bool replay_pass_timed(struct replay_session *s, struct replay_result *out,
                       struct tool_error *error);

/* Write the line `s OPS name=current/peak/allocated/freed ...`.  False: writing
 * failed. */
bool replay_stats_write(FILE *out, uint64_t ops, const larder_stats *st);

/* Report a failure other than a lack of device memory. */
bool replay_op_fail(const struct replay_session *s, size_t index,
                    struct tool_error *error);

/* Allocate in the operation's private pool, which is begun only for this
 * call. */
larder_result replay_alloc_in_pool(struct replay_session *s,
                                   const struct trace_op *op);

/* Compute the hints of the session's trace; `after` is the number of allocations
 * outlived by a long one, 0 for no hints.  False: no host memory. */
bool replay_make_hints(struct replay_session *s, uint64_t after);

/* Allocate with the operation's hint; there must be hints. */
larder_result replay_alloc_hinted(struct replay_session *s,
                                  const struct trace_op *op);

/* Report `ops` more done to the progress function, if there is one. */
void replay_work_done(struct replay_work *work, uint64_t ops);

/* Run one operation.  A failed allocation leaves address 0, and later
 * operations on that ID do nothing.  Defined here so that the timed loop can
 * inline it. */
static inline larder_result replay_step(struct replay_session *s,
                                        const struct trace_op *op)
{
    larder_addr *addr = &s->addrs[op->id];
    larder_result r;

    switch ((enum trace_kind)op->kind) {
    case TRACE_ALLOC:
        if (op->pool != 0)
            r = replay_alloc_in_pool(s, op);
        else if (s->is_long != NULL)
            r = replay_alloc_hinted(s, op);
        else
            r = larder_alloc(s->allocator, op->bytes, op->stream, addr);
        if (r != LARDER_OK)
            *addr = 0;
        return r;
    case TRACE_FREE:
        return *addr == 0 ? LARDER_OK : larder_free(s->allocator, *addr);
    case TRACE_RECORD:
        return *addr == 0
                   ? LARDER_OK
                   : larder_record_stream(s->allocator, *addr, op->stream);
    case TRACE_COMPLETE:
        return larder_sim_complete(s->device, op->stream);
    case TRACE_EMPTY_CACHE:
        return larder_empty_cache(s->allocator);
    case TRACE_MARK:
        break;
    }
    return LARDER_OK;
}
