/* replay_cold.c - the first pass, observed: placements, failures and peaks. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replay/replay_session.h"

struct cold {
    struct replay_session *session;
    const struct replay_options *options;
    struct replay_result *result;
    struct tool_error *error;
    uint64_t *requested; /* by ID: size while live */
    uint64_t live_bytes; /* requested bytes */
    int64_t highest_allocated;
};

/* ---- output ------------------------------------------------------------ */

static bool output_fail(struct cold *c, const char *what)
{
    return tool_fail(c->error, "%s cannot be written: %s", what,
                     strerror(errno));
}

static bool write_placement(struct cold *c, const struct trace_op *op,
                            larder_result r)
{
    FILE *out = c->options->placements;
    larder_addr addr = c->session->addrs[op->id];
    int n;

    if (r != LARDER_OK)
        n = fprintf(out, "p %" PRIu32 " oom\n", op->id);
    else if (addr == 0)
        n = fprintf(out, "p %" PRIu32 " null\n", op->id);
    else
        n = fprintf(out, "p %" PRIu32 " %" PRIu64 "\n", op->id,
                    addr - c->session->base);
    return n > 0 || output_fail(c, "placements");
}

static bool get_stats(struct cold *c, larder_stats *st)
{
    larder_stats_init(st);
    if (larder_stats_get(c->session->allocator, st) != LARDER_OK)
        return tool_fail(c->error, "%s", larder_last_error());
    return true;
}

static bool write_stats(struct cold *c)
{
    larder_stats st;

    if (!get_stats(c, &st))
        return false;
    return replay_stats_write(c->options->stats, c->result->ops, &st) ||
           output_fail(c, "statistics");
}

static bool stats_are_due(const struct cold *c)
{
    uint64_t every = c->options->stats_every;

    return c->options->stats != NULL && every != 0 &&
           c->result->ops % every == 0;
}

/* ---- watching ---------------------------------------------------------- */

static void note_requested(struct cold *c, const struct trace_op *op)
{
    c->requested[op->id] = op->bytes;
    c->live_bytes += op->bytes;
    if (c->live_bytes > c->result->peak_requested_bytes)
        c->result->peak_requested_bytes = c->live_bytes;
}

/* Fragmentation is taken where allocated bytes first reach their peak; they
 * increase only in allocations. */
static bool note_fragmentation(struct cold *c)
{
    larder_stats st;
    int64_t reserved;
    int64_t allocated;

    if (!get_stats(c, &st))
        return false;
    reserved = st.reserved_bytes.all.current;
    allocated = st.allocated_bytes.all.current;
    if (allocated > c->highest_allocated) {
        c->highest_allocated = allocated;
        c->result->peak_fragmentation =
            (double)(reserved - allocated) / (double)reserved;
    }
    return true;
}

static bool note_oom(struct cold *c)
{
    if (c->result->oom_count++ != 0)
        return true;
    c->result->oom_op = c->result->ops;
    c->result->oom_text = strdup(larder_last_error());
    if (c->result->oom_text == NULL)
        return tool_fail(c->error, "out of host memory");
    return replay_history_write(c->session, c->options->oom_snapshot, c->error);
}

static bool note_alloc(struct cold *c, const struct trace_op *op,
                       larder_result r)
{
    const struct trace *t = c->session->trace;

    if (t->has_refused && op->id == t->refused)
        c->result->refused_fits = r == LARDER_OK;
    if (r == LARDER_OK)
        note_requested(c, op);
    else if (!note_oom(c))
        return false;
    if (c->options->placements != NULL && !write_placement(c, op, r))
        return false;
    return note_fragmentation(c);
}

static bool cold_step(struct cold *c, size_t index)
{
    const struct trace_op *op = &c->session->trace->ops[index];
    bool allocates = op->kind == TRACE_ALLOC;
    larder_result r;

    if (op->kind == TRACE_MARK) {
        replay_history_mark(c->session, op);
        return true;
    }
    r = replay_step(c->session, op);
    if (r != LARDER_OK && !(allocates && r == LARDER_ERR_OUT_OF_MEMORY))
        return replay_op_fail(c->session, index, c->error);
    c->result->ops++;
    if (allocates && !note_alloc(c, op, r))
        return false;
    if (op->kind == TRACE_FREE) {
        c->live_bytes -= c->requested[op->id];
        c->requested[op->id] = 0;
    }
    return !stats_are_due(c) || write_stats(c);
}

/* ---- finishing --------------------------------------------------------- */

static bool take_figures(struct cold *c)
{
    struct replay_result *r = c->result;
    struct replay_reading now;
    const larder_device_counters *n = &now.counters;

    if (!replay_read(c->session, &now, c->error))
        return false;
    r->peak_allocated_bytes = (uint64_t)now.stats.allocated_bytes.all.peak;
    r->peak_reserved_bytes = (uint64_t)now.stats.reserved_bytes.all.peak;
    r->driver_allocs = n->calls[LARDER_CALL_mem_alloc];
    r->driver_frees = n->calls[LARDER_CALL_mem_free];
    r->pages_created = n->calls[LARDER_CALL_page_create];
    r->pages_mapped = n->pages_mapped;
    r->pages_unmapped = n->pages_unmapped;
    r->stream_syncs =
        n->calls[LARDER_CALL_stream_sync] + n->calls[LARDER_CALL_event_sync];
    r->driver_calls = now.driver_calls;
    r->driver_time_ns = n->time_ns;
    return true;
}

static bool take_summary(struct cold *c)
{
    larder_allocator *a = c->session->allocator;
    size_t needed;

    if (!c->options->summary)
        return true;
    if (larder_memory_summary(a, 0, NULL, 0, &needed) != LARDER_OK)
        return tool_fail(c->error, "%s", larder_last_error());
    c->result->summary = malloc(needed + 1);
    if (c->result->summary == NULL)
        return tool_fail(c->error, "out of host memory");
    if (larder_memory_summary(a, 0, c->result->summary, needed + 1, NULL) !=
        LARDER_OK)
        return tool_fail(c->error, "%s", larder_last_error());
    return true;
}

/* The statistics end with a line for the last operation. */
static bool finish_output(struct cold *c)
{
    const struct replay_options *o = c->options;

    if (o->stats != NULL && !stats_are_due(c) && !write_stats(c))
        return false;
    if (o->stats != NULL && fflush(o->stats) != 0)
        return output_fail(c, "statistics");
    if (o->placements != NULL && fflush(o->placements) != 0)
        return output_fail(c, "placements");
    return true;
}

/* What the allocator recorded is written before anything else happens. */
static bool cold_steps(struct cold *c)
{
    struct replay_session *s = c->session;
    bool ok = replay_history_begin(s, c->error);

    for (size_t i = 0; ok && i < s->trace->op_count; i++) {
        ok = cold_step(c, i);
        if ((i + 1) % REPLAY_CHUNK_OPS == 0)
            replay_work_done(s->work, REPLAY_CHUNK_OPS);
    }
    ok = ok && replay_history_write(s, c->options->snapshot, c->error) &&
         replay_history_hand_over(s, c->error);
    replay_history_end(s);
    return ok;
}

bool replay_pass_cold(struct replay_session *s, struct replay_result *out,
                      struct tool_error *error)
{
    struct cold c = {.session = s,
                     .options = s->work->options,
                     .result = out,
                     .error = error};
    bool ok;

    c.requested = calloc(s->trace->id_count + 1, sizeof *c.requested);
    if (c.requested == NULL)
        return tool_fail(error, "out of host memory");
    out->peak_fragmentation = -1;
    ok = cold_steps(&c);
    free(c.requested);
    return ok && take_figures(&c) && take_summary(&c) && finish_output(&c);
}
