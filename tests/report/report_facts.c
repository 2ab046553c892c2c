/* report_facts.c - what reports are made of, as text. */
#include "report_facts.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "report/call_tree.h"
#include "report/frame_groups.h"
#include "report/frame_kind.h"
#include "report/ranks.h"
#include "report/remedy.h"
#include "report/report_words.h"
#include "report/shortage.h"
#include "report/summary_of_run.h"

struct telling {
    FILE *out;
    const struct snapshot *s;
    struct arena *arena;
    const struct run_summary *r;
};

/* UINT32_MAX stands for many things; a dash is shorter. */
static void put_number(const struct telling *t, const char *name, uint32_t n)
{
    if (n == UINT32_MAX)
        fprintf(t->out, " %s -", name);
    else
        fprintf(t->out, " %s %" PRIu32, name, n);
}

static void put_bytes(const struct telling *t, const char *name, uint64_t n)
{
    fprintf(t->out, " %s %" PRIu64, name, n);
}

static void begin(const struct telling *t, const char *part)
{
    fprintf(t->out, "==== %s %zu\n", part, t->r->lifetimes->device);
}

/* ---- lives ----------------------------------------------------------------- */

static void put_lives(const struct telling *t)
{
    const struct lifetimes *l = t->r->lifetimes;

    begin(t, "lives");
    for (size_t i = 0; i < l->alloc_count; i++) {
        const struct lifetime *a = &l->allocs[i];

        fprintf(t->out, "%" PRIx64, a->address);
        put_bytes(t, "of", a->requested);
        put_bytes(t, "in", a->rounded);
        put_number(t, "from", a->start);
        put_number(t, "to", a->end);
        put_number(t, "done", a->done);
        put_bytes(t, "stream", snapshot_stream(t->s, a->stream));
        put_bytes(t, "pool",
                  t->s->pools[a->pool].a * 10 + t->s->pools[a->pool].b);
        fprintf(
            t->out, " note '%s' line %s category %s\n",
            snapshot_string(t->s, a->user_metadata),
            report_frame(t->s, report_own_frame(t->s, a->stack), true),
            report_category_name((enum report_category)t->r->categories[i]));
    }
    fprintf(t->out,
            "before %zu overwritten %" PRIu64 " unmatched %" PRIu64 "\n",
            l->before_count, l->overwritten, l->unmatched);
}

static int by_span(const void *a, const void *b)
{
    const struct segment_span *x = a;
    const struct segment_span *y = b;

    if (x->address != y->address)
        return (x->address > y->address) - (x->address < y->address);
    if (x->start != y->start)
        return (x->start > y->start) - (x->start < y->start);
    return (x->end > y->end) - (x->end < y->end);
}

/* They are in no order. */
static void put_spans(const struct telling *t)
{
    const struct lifetimes *l = t->r->lifetimes;
    size_t bytes = (l->span_count + 1) * sizeof *l->spans;
    struct segment_span *sorted = malloc(bytes);

    assert_non_null(sorted);
    begin(t, "segments");
    for (size_t i = 0; i < l->span_count; i++)
        sorted[i] = l->spans[i];
    qsort(sorted, l->span_count, sizeof *sorted, by_span);
    for (size_t i = 0; i < l->span_count; i++) {
        fprintf(t->out, "%" PRIx64 " kind %u", sorted[i].address,
                sorted[i].kind);
        put_bytes(t, "of", sorted[i].size);
        put_number(t, "from", sorted[i].start);
        put_number(t, "to", sorted[i].end);
        put_number(t, "stack", sorted[i].stack);
        put_number(t, "stream", sorted[i].stream);
        put_number(t, "pool", sorted[i].pool);
        fputs("\n", t->out);
    }
    free(sorted);
}

static void put_curves(const struct telling *t)
{
    static const char *const names[] = {"requested", "allocated", "reserved"};
    const struct lifetimes *l = t->r->lifetimes;
    uint64_t *values = malloc(((size_t)l->event_count + 1) * sizeof *values);

    assert_non_null(values);
    begin(t, "curves");
    for (unsigned which = 0; which < 3; which++) {
        uint32_t at;
        uint64_t peak =
            lifetimes_peak(t->arena, l, (enum lifetime_curve)which, &at);

        lifetimes_curve(l, (enum lifetime_curve)which, values);
        fprintf(t->out, "%s: peak %" PRIu64 " at %" PRIu32 "\n", names[which],
                peak, at);
        for (uint32_t i = 0; i <= l->event_count; i++)
            fprintf(t->out, "%" PRIu64 "%s", values[i],
                    i % 16 == 15 || i == l->event_count ? "\n" : " ");
    }
    free(values);
}

/* ---- the run --------------------------------------------------------------- */

static void put_columns(const struct telling *t, const uint64_t *columns)
{
    for (size_t i = 0; i < RUN_COLUMNS; i++)
        fprintf(t->out, "%" PRIu64 "%s", columns[i],
                i + 1 < RUN_COLUMNS ? " " : "\n");
}

static void put_summary(const struct telling *t)
{
    const struct run_summary *r = t->r;

    begin(t, "run");
    put_columns(t, r->requested);
    put_columns(t, r->allocated);
    put_columns(t, r->reserved);
    fprintf(t->out, "states %" PRIu32 " %" PRIu32 " %" PRIu32, r->peak_state,
            r->requested_state, r->reserved_state);
    fprintf(t->out, " times %" PRId64 " %" PRId64 " %" PRId64 " of %" PRId64,
            r->peak_us, r->requested_us, r->reserved_us, r->duration_us);
    put_bytes(t, "savable", r->savable);
    put_bytes(t, "driver", r->driver_ns);
    put_bytes(t, "next", report_next_step(r));
    put_bytes(t, "told", report_told_bytes(r));
    put_number(t, "activations", r->main_activations);
    put_number(t, "temporaries", r->main_temporaries);
    fprintf(t->out, "\ntrains %d steady %d iterations %d layers %d known %d\n",
            r->trains, r->steady, r->are_iterations, r->may_be_layers,
            r->activations_known);
    for (size_t i = 0; i < SNAPSHOT_ACTION_MAX; i++) {
        if (r->counts[i] > 0)
            fprintf(t->out, "action %zu: %" PRIu64 "\n", i, r->counts[i]);
    }
    fprintf(t->out, "marked %d layers %zu of %" PRIu32 "\n",
            r->iterations.marked, r->iterations.layers,
            r->iterations.layers > 0 ? r->iterations.events_each : 0);
    for (size_t i = 0; i < r->iterations.count; i++)
        fprintf(t->out, "iteration from %" PRIu32 " peak %" PRIu64 "\n",
                r->iterations.begin[i], r->iteration_peaks[i]);
}

static void put_remedies(const struct telling *t)
{
    begin(t, "remedies");
    for (int i = 0; i < REMEDIES; i++) {
        struct remedy_worth w = remedy_measure(t->arena, t->r, (enum remedy)i);

        fprintf(t->out, "%s: ", remedy_name((enum remedy)i));
        put_bytes(t, "saves", w.bytes);
        put_bytes(t, "at peak", w.at_peak);
        put_number(t, "largest", w.largest);
        fputs("\n", t->out);
    }
}

/* ---- moments --------------------------------------------------------------- */

static void put_group(const struct telling *t, const struct report_group *g)
{
    put_bytes(t, "bytes", g->bytes);
    put_bytes(t, "requested", g->requested);
    put_bytes(t, "count", g->count);
    put_bytes(t, "older", g->older);
    put_number(t, "largest", g->largest);
    fputs("\n", t->out);
}

static void put_groups(const struct telling *t, const struct moment *m)
{
    static const char *const names[] = {"line", "path", "category"};

    for (unsigned by = 0; by < 3; by++) {
        struct report_groups groups = report_groups_make(
            t->arena, m, (enum group_by)by, t->r->categories);

        for (size_t i = 0; i < groups.count; i++) {
            fprintf(t->out, "%s", names[by]);
            put_number(t, "key", groups.items[i].key);
            put_group(t, &groups.items[i]);
        }
    }
}

static void put_moment(const struct telling *t, const struct moment *m)
{
    uint64_t largest;
    uint64_t gaps = moment_gap_bytes(m, &largest);

    fprintf(t->out, "state %" PRIu32, m->state);
    put_bytes(t, "reserved", m->reserved);
    put_bytes(t, "allocated", m->allocated);
    put_bytes(t, "requested", m->requested);
    put_bytes(t, "pending", m->pending);
    put_bytes(t, "outside", m->outside);
    put_bytes(t, "gaps", gaps);
    put_bytes(t, "largest", largest);
    fputs("\n", t->out);
    for (size_t i = 0; i < m->area_count; i++) {
        const struct moment_area *a = &m->areas[i];

        fprintf(t->out, "area %" PRIx64 " kind %u", a->address, a->kind);
        put_bytes(t, "of", a->size);
        put_bytes(t, "used", a->allocated);
        put_bytes(t, "pending", a->pending);
        put_bytes(t, "free", moment_area_free(a));
        put_bytes(t, "largest", a->largest_gap);
        put_number(t, "stream", a->stream);
        put_number(t, "pool", a->pool);
        put_number(t, "first", a->first);
        put_number(t, "count", a->count);
        fputs("\n", t->out);
    }
    for (size_t i = 0; i < m->gap_count; i++)
        fprintf(t->out, "gap %" PRIx64 " of %" PRIu64 " in %" PRIu32 "\n",
                m->gaps[i].address, m->gaps[i].size, m->gaps[i].area);
    for (size_t i = 0; i < m->live_count; i++)
        fprintf(t->out, "%" PRIu32 "%s", m->live[i],
                i + 1 < m->live_count ? " " : "\n");
}

static void put_moments(const struct telling *t)
{
    uint32_t events = t->r->lifetimes->event_count;
    const uint32_t states[] = {0, events / 3, t->r->peak_state, events};

    begin(t, "moments");
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        struct moment m;

        moment_make(t->arena, t->r->lifetimes, states[i], &m);
        put_moment(t, &m);
        put_groups(t, &m);
    }
}

static void put_tree(const struct telling *t)
{
    const struct run_summary *r = t->r;
    struct call_tree tree;

    begin(t, "tree");
    call_tree_make(t->arena, t->s, &r->paths, &tree);
    for (size_t i = 0; i < tree.count; i++) {
        const struct call_node *n = &tree.nodes[i];

        put_number(t, "frame", n->frame);
        put_number(t, "child", n->child);
        put_number(t, "next", n->next);
        put_bytes(t, "bytes", n->bytes);
        put_bytes(t, "count", n->count);
        put_bytes(t, "older", n->older);
        fputs("\n", t->out);
    }
}

/* ---- failures -------------------------------------------------------------- */

static void put_failure(const struct telling *t, uint32_t event)
{
    struct shortage s;

    shortage_make(t->arena, t->r->lifetimes, event, &s);
    fprintf(t->out, "%s", shortage_words[s.cause].name);
    put_number(t, "event", s.event);
    put_bytes(t, "asked", s.asked);
    put_bytes(t, "segment", s.segment_bytes);
    put_bytes(t, "driver", s.driver_free);
    put_bytes(t, "free", s.free_bytes);
    put_bytes(t, "whole", s.whole_free);
    put_bytes(t, "own", s.own_free);
    put_bytes(t, "own", s.own_largest);
    put_bytes(t, "streams", s.stream_largest);
    put_bytes(t, "pools", s.pool_largest);
    put_bytes(t, "attainable", s.attainable);
    put_bytes(t, "fits", s.would_fit);
    put_bytes(t, "needed", shortage_needed(&s));
    put_bytes(t, "missing", shortage_missing(&s));
    put_bytes(t, "figure", shortage_figure(&s));
    fprintf(t->out, " small %d expandable %d known %d all %d\n", s.small,
            s.expandable, s.driver_known, shortage_of_all(&s));
}

static void put_failures(const struct telling *t)
{
    uint32_t event = t->r->lifetimes->event_count;

    begin(t, "failures");
    while ((event = lifetimes_failure(t->r->lifetimes, event)) != UINT32_MAX)
        put_failure(t, event);
}

/* ---- all of it ------------------------------------------------------------- */

static void put_frames(const struct telling *t)
{
    begin(t, "frames");
    for (uint32_t i = 0; i < t->s->frame_count; i++) {
        fprintf(t->out, "kind %d:", frame_kind_of(t->s, i));
        for (int by = 0; by < BY_COUNT; by++)
            fprintf(t->out, " '%s'",
                    report_by_label(t->s, i, (enum report_by)by, by % 2 == 0));
        fputs("\n", t->out);
    }
}

static void put_device(struct telling *t, size_t device)
{
    t->r = run_summary_of(t->arena, t->s, device);
    if (device == 0)
        put_frames(t);
    put_lives(t);
    put_spans(t);
    put_curves(t);
    put_summary(t);
    put_remedies(t);
    put_moments(t);
    put_tree(t);
    put_failures(t);
}

static void put_facts(struct telling *t)
{
    for (size_t i = 0; i < lifetimes_device_count(t->s); i++)
        put_device(t, i);
}

static void put_figures(struct telling *t)
{
    for (size_t i = 0; i < lifetimes_device_count(t->s); i++) {
        const struct run_summary *r = run_summary_of(t->arena, t->s, i);

        fprintf(t->out, "device %zu: %" PRIu32 " events, %zu lives, peaks", i,
                r->lifetimes->event_count, r->lifetimes->alloc_count);
        fprintf(t->out,
                " %s %s %s at %" PRIu32 ", %zu iterations, %zu layers\n",
                units_bytes(r->peak_requested), units_bytes(r->peak_allocated),
                units_bytes(r->peak_reserved), r->peak_state,
                r->iterations.count, r->iterations.layers);
    }
}

static char *told_by(void (*put)(struct telling *t), const struct snapshot *s)
{
    struct tool_error error;
    struct arena arena = {.error = &error};
    struct telling t = {.s = s, .arena = &arena};
    struct report_text text;

    if (setjmp(arena.failed) != 0)
        fail_msg("%s", error.text);
    assert_true(report_text_begin(&text));
    t.out = text.out;
    put(&t);
    arena_end(&arena, true);
    return report_text_take(&text);
}

char *report_facts(const struct snapshot *s)
{
    return told_by(put_facts, s);
}

char *report_figures(const struct snapshot *s)
{
    return told_by(put_figures, s);
}
