/* explain_oom.c - explains an out-of-memory event. */
#include <inttypes.h>

#include "report/explain.h"
#include "report/frame_groups.h"
#include "report/report_words.h"
#include "report/shortage.h"
#include "report/summary_of_run.h"

enum { HOLDERS_SHOWN = 5, PINS_SHOWN = 5 };

struct explanation {
    struct arena *arena;
    const struct shortage *s;
    const uint8_t *categories;
    FILE *out;
};

/* Write who made the request, if that was recorded. */
static void write_requester(const struct explanation *t)
{
    const struct shortage *s = t->s;

    if (s->request->stack != 0)
        fprintf(
            t->out, "Requested %s.\n",
            report_requester(s->moment.lifetimes->snapshot, s->request->stack));
}

/* ---- figures ------------------------------------------------------------------- */

static void write_figures(const struct explanation *t)
{
    const struct shortage *s = t->s;
    const struct moment *m = &s->moment;

    fprintf(t->out, "%s was requested on stream %" PRIu64 ".",
            units_bytes(s->asked),
            snapshot_stream(m->lifetimes->snapshot, s->request->stream));
    if (s->driver_known)
        fprintf(t->out, "  The driver had %s left.",
                units_bytes(s->driver_free));
    fputs("\n", t->out);
    write_requester(t);
    fprintf(t->out,
            "Reserved: %s in %zu segment%s: %s in use, %s free in %zu block%s",
            units_bytes(m->reserved), m->area_count,
            report_plural(m->area_count), units_bytes(m->allocated),
            units_bytes(s->free_bytes), m->gap_count,
            report_plural(m->gap_count));
    if (m->pending > 0)
        fprintf(t->out, ", %s freed but still in use by other streams",
                units_bytes(m->pending));
    if (m->outside > 0)
        fprintf(t->out, ".\n%s is in segments that the recording does not show",
                units_bytes(m->outside));
    fprintf(t->out,
            ".\nThe largest free block that this request could use: %s.\n",
            units_bytes(s->own_largest));
}

/* ---- the cause ---------------------------------------------------------------------- */

static void write_too_much(const struct explanation *t)
{
    const struct shortage *s = t->s;
    uint64_t needed = shortage_needed(s);

    fprintf(
        t->out,
        "Why: not enough memory.  In use or requested: %s, available to this "
        "process: %s; %s is missing.",
        units_bytes(needed), units_bytes(s->attainable),
        units_bytes(needed > s->attainable ? needed - s->attainable : 0));
    fputs(shortage_of_all(t->s) ? "  No setting changes that.\n" : "\n",
          t->out);
}

static void write_fragments(const struct explanation *t)
{
    const struct shortage *s = t->s;

    fprintf(t->out,
            "Why: fragmentation.  %s was free%s, which is enough, but not in "
            "one block: %s is in segments that are partly in use",
            units_bytes(s->free_bytes + s->driver_free),
            s->driver_free > 0 ? ", including the driver's free memory" : "",
            units_bytes(s->free_bytes - s->whole_free));
    if (s->whole_free > 0)
        fprintf(t->out,
                ", and %s in segments that are entirely free but were not "
                "released",
                units_bytes(s->whole_free));
    fputs(".\n", t->out);
}

static void write_cause(const struct explanation *t)
{
    const char *why = shortage_words[t->s->cause].why;

    if (t->s->cause == SHORTAGE_TOO_MUCH) {
        write_too_much(t);
    } else if (t->s->cause == SHORTAGE_PIECES) {
        write_fragments(t);
    } else {
        fputs("Why: ", t->out);
        fprintf(t->out, why, units_bytes(shortage_figure(t->s)));
        fputs("\n", t->out);
    }
}

/* ---- pinned memory ---------------------------------------------------------------- */

/* The oldest allocation of an area: the one most likely to stay. */
static const struct lifetime *oldest(const struct moment *m,
                                     const struct moment_area *area)
{
    const struct lifetime *best = NULL;

    for (uint32_t i = 0; i < area->count; i++) {
        const struct lifetime *a =
            &m->lifetimes->allocs[m->live[area->first + i]];

        /* BEFORE + 1 is 0. */
        if (best == NULL ||
            (uint32_t)(a->start + 1) < (uint32_t)(best->start + 1))
            best = a;
    }
    return best;
}

/* The next area after `last`, in order of free bytes.  NULL: there is none. */
static const struct moment_area *next_area(const struct shortage *s,
                                           const struct moment_area *last)
{
    const struct moment_area *best = NULL;

    for (size_t i = 0; i < s->moment.area_count; i++) {
        const struct moment_area *a = &s->moment.areas[i];

        if (moment_area_free(a) == 0)
            continue;
        if (last != NULL &&
            (moment_area_free(a) > moment_area_free(last) ||
             (moment_area_free(a) == moment_area_free(last) && a <= last)))
            continue;
        if (best == NULL || moment_area_free(a) > moment_area_free(best))
            best = a;
    }
    return best;
}

static void write_age(FILE *out, const struct shortage *s,
                      const struct lifetime *a)
{
    const struct snapshot_event *events = s->moment.lifetimes->events;

    if (a->start == LIFETIME_BEFORE) {
        fputs("older than the recording", out);
        return;
    }
    fprintf(out, "%" PRIu32 " event%s old", s->event - a->start,
            report_plural(s->event - a->start));
    if (snapshot_event_has_clock(&events[a->start]) &&
        snapshot_event_has_clock(s->request))
        fprintf(out, " (%s)",
                report_time(report_elapsed(events[a->start].time_us,
                                           s->request->time_us)));
}

static void write_pin(const struct explanation *t,
                      const struct moment_area *area)
{
    const struct moment *m = &t->s->moment;
    const struct snapshot *snapshot = m->lifetimes->snapshot;
    const struct lifetime *pin = oldest(m, area);

    fprintf(t->out, "  %10s of %10s free, the largest block %s",
            units_bytes(moment_area_free(area)), units_bytes(area->size),
            units_bytes(area->largest_gap));
    if (!shortage_may_use(t->s, area))
        fprintf(t->out, " (of stream %" PRIu64 ", another pool or both)",
                snapshot_stream(snapshot, area->stream));
    if (pin == NULL) {
        fputs("; nothing in it is in use\n", t->out);
        return;
    }
    fprintf(
        t->out, ";\n%6s pinned by %" PRIu32 "%s: %s%s %s, ", "", area->count,
        area->count == 1 ? " allocation" : ", the oldest",
        units_bytes(pin->rounded), pin->stack != 0 ? " from" : ",",
        report_frame(snapshot, report_own_frame(snapshot, pin->stack), false));
    write_age(t->out, t->s, pin);
    fputs("\n", t->out);
}

static void write_pins(const struct explanation *t)
{
    const struct moment_area *area = NULL;

    if (t->s->free_bytes == 0)
        return;
    fputs("Where the free memory was:\n", t->out);
    for (int shown = 0; shown < PINS_SHOWN; shown++) {
        area = next_area(t->s, area);
        if (area == NULL)
            break;
        write_pin(t, area);
    }
}

/* ---- the holders --------------------------------------------------------------------- */

static void write_holders(const struct explanation *t)
{
    const struct snapshot *snapshot = t->s->moment.lifetimes->snapshot;
    struct report_groups groups =
        report_groups_make(t->arena, &t->s->moment, GROUP_BY_LINE, NULL);

    fputs("Who held the most:\n", t->out);
    for (size_t i = 0; i < groups.count && i < HOLDERS_SHOWN; i++) {
        const struct report_group *g = &groups.items[i];

        fprintf(t->out, "  %10s  %3.0f %%  in %5" PRIu64 "  %s\n",
                units_bytes(g->bytes),
                report_percent(g->bytes, t->s->moment.allocated), g->count,
                report_group_label(snapshot, g, BY_LINE, false));
    }
}

/* ---- remedies -------------------------------------------------------------------------- */

static void suggest_less(const struct explanation *t)
{
    const struct shortage *s = t->s;
    uint64_t missing = shortage_missing(s);
    uint64_t passing = shortage_passing(s, t->categories);

    fprintf(t->out, "  - %s less in use at that moment.\n",
            units_bytes(missing));
    if (missing < passing)
        fprintf(
            t->out,
            "  - Activations, temporaries and this request take %s: a "
            "batch or sequence smaller by a little more than %.0f %% would be "
            "enough if they scale with it; so would recomputing them "
            "(activation checkpointing).\n",
            units_bytes(passing), report_percent(missing, passing));
}

static void suggest_for_fragments(const struct explanation *t)
{
    const struct shortage *s = t->s;

    if (s->whole_free > 0 && s->whole_free + s->driver_free >= s->asked)
        fprintf(t->out,
                "  - Releasing entirely free segments (empty_cache) before "
                "this request: %s.\n",
                units_bytes(s->whole_free));
    if (!s->expandable)
        fprintf(t->out,
                "  - expandable_segments:True: free pages could have been used "
                "wherever they are; %s of %s would have been needed.\n",
                units_bytes(shortage_needed(s)), units_bytes(s->attainable));
    else
        fputs("  - Segments were expandable already "
              "(expandable_segments:True), but "
              "pages in the middle of one are released only when the blocks "
              "around them are entirely free:\n    free the allocations named "
              "above earlier, or allocate them first.\n",
              t->out);
    fprintf(t->out,
            "  - A request of at most %s, or several of that size instead of "
            "one.\n",
            units_bytes(s->would_fit));
}

static void write_remedies(const struct explanation *t)
{
    enum shortage_cause cause = t->s->cause;

    fprintf(t->out,
            "What would have fitted: up to %s.\nWhat would have helped:\n",
            units_bytes(t->s->would_fit));
    if (shortage_words[cause].remedy != NULL)
        fprintf(t->out, "  - %s\n", shortage_words[cause].remedy);
    if (cause == SHORTAGE_TOO_MUCH)
        suggest_less(t);
    if (cause == SHORTAGE_PIECES ||
        (cause == SHORTAGE_STREAMS && !t->s->expandable))
        suggest_for_fragments(t);
}

static const char *explain(struct arena *arena, const struct run_summary *r,
                           uint32_t event)
{
    struct report_text *text = report_text_open(arena);
    const struct arena_piece *last = arena->last;
    struct shortage s;
    const struct explanation t = {arena, &s, r->categories, text->out};

    shortage_make(arena, r->lifetimes, event, &s);
    write_figures(&t);
    write_cause(&t);
    write_holders(&t);
    write_pins(&t);
    write_remedies(&t);
    arena_free_since(arena, last);
    return report_text_close(arena, text);
}

const struct report_failure *report_failures(struct arena *arena,
                                             const struct run_summary *r,
                                             bool and_last, size_t *count)
{
    const struct lifetimes *l = r->lifetimes;
    size_t all = r->counts[SNAPSHOT_OOM];
    struct report_failure *failures = arena_take(arena, all, sizeof *failures);

    *count = 0;
    for (uint32_t i = 0; *count < all; i++) {
        struct report_failure *f = &failures[*count];

        if (l->events[i].action != SNAPSHOT_OOM)
            continue;
        ++*count;
        f->event = i;
        if (*count <= REPORT_OOMS_EXPLAINED || (and_last && *count == all))
            f->text = explain(arena, r, i);
    }
    return failures;
}
