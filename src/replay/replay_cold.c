/* replay_cold.c - the first pass, observed: placements, failures and peaks. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <larder/history.h>

#include "replay/replay_session.h"

struct cold {
    struct arena arena;
    struct replay_session *session;
    const struct replay_options *options;
    struct replay_result *result;
    uint64_t *requested; /* by ID: size while live */
    uint64_t live_bytes; /* requested bytes */
    int64_t highest_allocated;
};

/* ---- the allocator's own history, as snapshots --------------------------- */

static bool is_wanted(const struct replay_options *o)
{
    return o->history_events != 0 || o->snapshot != NULL ||
           o->oom_snapshot != NULL || o->take_snapshot != NULL;
}

/* Go on if a call of the library worked. */
static void call(struct cold *c, const char *what, larder_result r)
{
    arena_check(&c->arena,
                r == LARDER_OK || tool_fail(c->arena.error, "%s%s", what,
                                            larder_last_error()));
}

static void history_begin(struct cold *c)
{
    larder_history_options opt;

    if (!is_wanted(c->options))
        return;
    larder_history_options_init(&opt);
    opt.max_events = c->options->history_events;
    opt.counted = true; /* a trace has no times */
    call(c, "history: ", larder_history_start(c->session->allocator, &opt));
}

/* The label becomes a mark, and the annotation of the events that follow. */
static void history_mark(struct replay_session *s, const struct trace_op *op)
{
    const char *label = trace_label(s->trace, op);

    if (!is_wanted(s->work->options))
        return;
    larder_annotate(label);
    /* Cannot fail: the text is not NULL. */
    (void)larder_history_mark(s->allocator, label);
}

/* A path may be NULL: nothing is written. */
static void history_write(struct cold *c, const char *path)
{
    if (path != NULL)
        call(c, "snapshot: ",
             larder_snapshot_write(c->session->allocator, path, NULL));
}

static void history_hand_over(struct cold *c)
{
    const struct replay_options *o = c->options;

    if (o->take_snapshot != NULL)
        call(c, "snapshot: ",
             larder_snapshot_write_to(c->session->allocator, o->take_snapshot,
                                      o->take_snapshot_ctx, NULL));
}

/* The timed passes run without a history. */
static void history_end(struct replay_session *s)
{
    if (!is_wanted(s->work->options))
        return;
    larder_annotate(NULL);
    (void)larder_history_stop(s->allocator); /* fails only without a history */
}

/* ---- output ------------------------------------------------------------ */

static void write_stat(FILE *out, const char *name, const char *pool,
                       const larder_stat *st)
{
    fprintf(out, " %s%s=%" PRId64 "/%" PRId64 "/%" PRId64 "/%" PRId64, name,
            pool, st->current, st->peak, st->allocated, st->freed);
}

static void write_split(FILE *out, const char *name,
                        const larder_stat_split *st)
{
    write_stat(out, name, ".all", &st->all);
    write_stat(out, name, ".small_pool", &st->small_pool);
    write_stat(out, name, ".large_pool", &st->large_pool);
}

bool replay_stats_write(FILE *out, uint64_t ops, const larder_stats *st)
{
    fprintf(out, "s %" PRIu64, ops);
#define X(name, text) write_split(out, #name, &st->name);
    LARDER_METRIC_MAP(X)
#undef X
    write_stat(out, "oversize_allocations", "", &st->oversize_allocations);
    write_stat(out, "oversize_segments", "", &st->oversize_segments);
#define X(name, text) fprintf(out, " " #name "=%" PRId64, st->name);
    LARDER_COUNTER_MAP(X)
#undef X
    return fputc('\n', out) != EOF && ferror(out) == 0;
}

/* Go on if output was written. */
static void written(struct cold *c, const char *what, bool ok)
{
    arena_check(&c->arena,
                ok || tool_fail(c->arena.error, "%s cannot be written: %s",
                                what, strerror(errno)));
}

static void write_placement(struct cold *c, const struct trace_op *op,
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
    written(c, "placements", n > 0);
}

static void get_stats(struct cold *c, larder_stats *st)
{
    larder_stats_init(st);
    call(c, "", larder_stats_get(c->session->allocator, st));
}

static void write_stats(struct cold *c)
{
    larder_stats st;

    get_stats(c, &st);
    written(c, "statistics",
            replay_stats_write(c->options->stats, c->result->ops, &st));
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
static void note_fragmentation(struct cold *c)
{
    larder_stats st;
    int64_t reserved;
    int64_t allocated;

    get_stats(c, &st);
    reserved = st.reserved_bytes.all.current;
    allocated = st.allocated_bytes.all.current;
    if (allocated > c->highest_allocated) {
        c->highest_allocated = allocated;
        c->result->peak_fragmentation =
            (double)(reserved - allocated) / (double)reserved;
    }
}

static void note_oom(struct cold *c)
{
    if (c->result->oom_count++ != 0)
        return;
    c->result->oom_op = c->result->ops;
    c->result->oom_text = strdup(larder_last_error());
    arena_need(&c->arena, c->result->oom_text != NULL);
    history_write(c, c->options->oom_snapshot);
}

static void note_alloc(struct cold *c, const struct trace_op *op,
                       larder_result r)
{
    const struct trace *t = c->session->trace;

    if (t->has_refused && op->id == t->refused)
        c->result->refused_fits = r == LARDER_OK;
    if (r == LARDER_OK)
        note_requested(c, op);
    else
        note_oom(c);
    if (c->options->placements != NULL)
        write_placement(c, op, r);
    note_fragmentation(c);
}

static void cold_step(struct cold *c, size_t index)
{
    const struct trace_op *op = &c->session->trace->ops[index];
    bool allocates = op->kind == TRACE_ALLOC;
    larder_result r;

    if (op->kind == TRACE_MARK) {
        history_mark(c->session, op);
        return;
    }
    r = replay_step(c->session, op);
    arena_check(&c->arena,
                r == LARDER_OK ||
                    (allocates && r == LARDER_ERR_OUT_OF_MEMORY) ||
                    replay_op_fail(c->session, index, c->arena.error));
    c->result->ops++;
    if (allocates)
        note_alloc(c, op, r);
    if (op->kind == TRACE_FREE) {
        c->live_bytes -= c->requested[op->id];
        c->requested[op->id] = 0;
    }
    if (stats_are_due(c))
        write_stats(c);
}

/* ---- finishing --------------------------------------------------------- */

static void take_figures(struct cold *c)
{
    struct replay_result *r = c->result;
    struct replay_reading now;
    const larder_device_counters *n = &now.counters;

    arena_check(&c->arena, replay_read(c->session, &now, c->arena.error));
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
}

static void take_summary(struct cold *c)
{
    larder_allocator *a = c->session->allocator;
    size_t needed;

    if (!c->options->summary)
        return;
    call(c, "", larder_memory_summary(a, 0, NULL, 0, &needed));
    c->result->summary = malloc(needed + 1);
    arena_need(&c->arena, c->result->summary != NULL);
    call(c, "",
         larder_memory_summary(a, 0, c->result->summary, needed + 1, NULL));
}

/* The statistics end with a line for the last operation. */
static void finish_output(struct cold *c)
{
    const struct replay_options *o = c->options;

    if (o->stats != NULL && !stats_are_due(c))
        write_stats(c);
    written(c, "statistics", o->stats == NULL || fflush(o->stats) == 0);
    written(c, "placements",
            o->placements == NULL || fflush(o->placements) == 0);
}

/* What the allocator recorded is written before anything else happens. */
static void cold_steps(struct cold *c)
{
    struct replay_session *s = c->session;

    history_begin(c);
    for (size_t i = 0; i < s->trace->op_count; i++) {
        cold_step(c, i);
        if ((i + 1) % REPLAY_CHUNK_OPS == 0)
            replay_work_done(s->work, REPLAY_CHUNK_OPS);
    }
    history_write(c, c->options->snapshot);
    history_hand_over(c);
    history_end(s);
}

bool replay_pass_cold(struct replay_session *s, struct replay_result *out,
                      struct tool_error *error)
{
    struct cold c = {.arena = {.error = error},
                     .session = s,
                     .options = s->work->options,
                     .result = out};

    out->peak_fragmentation = -1;
    if (setjmp(c.arena.failed) != 0) {
        history_end(s);
        return arena_end(&c.arena, false);
    }
    c.requested =
        arena_take(&c.arena, s->trace->id_count + 1, sizeof *c.requested);
    cold_steps(&c);
    take_figures(&c);
    take_summary(&c);
    finish_output(&c);
    return arena_end(&c.arena, true);
}
