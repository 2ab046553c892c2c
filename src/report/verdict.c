/* verdict.c - a device's run in three lines: what happened, who holds the
 * memory, what to do. */
#include "report/verdict.h"

#include <inttypes.h>

#include "report/advice.h"
#include "report/frame_groups.h"
#include "report/report_words.h"
#include "report/shortage.h"

enum { HOLDERS = 3 };

bool report_has_history(const struct run_summary *r)
{
    return r->counts[SNAPSHOT_ALLOC] + r->counts[SNAPSHOT_FREE_REQUESTED] +
               r->counts[SNAPSHOT_OOM] >
           0;
}

uint64_t report_allocations_after(const struct run_summary *r, uint32_t event)
{
    const struct lifetimes *l = r->lifetimes;
    uint64_t count = 0;

    for (uint32_t i = event + 1; i < l->event_count; i++)
        count += l->events[i].action == SNAPSHOT_ALLOC;
    return count;
}

/* ---- peak, state and cause ---------------------------------------------- */

static void write_failure(const struct run_summary *r, const struct shortage *s,
                          FILE *out)
{
    const struct lifetimes *l = r->lifetimes;
    uint32_t stack = s->request->stack;
    uint64_t after = report_allocations_after(r, s->event);

    fprintf(out, "It ran out of memory on a request for %s",
            units_bytes(s->asked));
    if (stack != 0)
        fprintf(out, " %s", report_requester(l->snapshot, stack));
    if (r->counts[SNAPSHOT_OOM] > 1)
        fprintf(out, " (the last of %" PRIu64 " failures)",
                r->counts[SNAPSHOT_OOM]);
    if (s->cause == SHORTAGE_LIMIT)
        fprintf(out, ": %s was in use", units_bytes(s->moment.allocated));
    else
        fprintf(out, ": %s of the %s available to it was in use",
                units_bytes(s->moment.allocated), units_bytes(s->attainable));
    if (s->cause == SHORTAGE_PIECES)
        fprintf(out, ", and the rest was in fragments of at most %s",
                units_bytes(s->would_fit));
    else if (s->cause == SHORTAGE_LIMIT)
        fprintf(out,
                ", and the driver had %s left: most likely a limit of the "
                "process refused it",
                units_bytes(s->driver_free));
    fputs(".", out);
    if (after > 0)
        fprintf(out,
                "  The program continued: %" PRIu64 " allocation%s followed.",
                after, report_plural(after));
}

static void write_time(const struct run_summary *r, int64_t us, FILE *out)
{
    if (r->duration_us > 0)
        fprintf(out, ", at %s of %s", report_time(us),
                report_time(r->duration_us));
}

static void write_peak(const struct run_summary *r, FILE *out)
{
    uint64_t next = report_next_step(r);
    bool two_times = r->peak_reserved > 0 && r->reserved_state != r->peak_state;

    fprintf(out,
            "It did not run out of memory during the recording: at most %s was "
            "in use",
            units_bytes(r->peak_allocated));
    if (two_times)
        write_time(r, r->peak_us, out);
    if (r->peak_reserved > 0)
        fprintf(out, ", and %s reserved from the driver",
                units_bytes(r->peak_reserved));
    write_time(r, two_times ? r->reserved_us : r->peak_us, out);
    fputs(".", out);
    if (next > 0)
        fprintf(out,
                "  Only the first step was recorded: the next one starts with "
                "another %s of optimizer state.",
                units_bytes(next));
}

static void write_state(const struct run_summary *r, FILE *out)
{
    fprintf(out,
            "No history was recorded, only the state when the snapshot was "
            "taken: %s in use, %s reserved.",
            units_bytes(r->peak_allocated), units_bytes(r->peak_reserved));
}

/* ---- the holders -------------------------------------------------------- */

static void write_main_holders(const struct run_summary *r,
                               const struct report_groups *lines,
                               uint64_t allocated, FILE *out)
{
    const struct snapshot *s = r->lifetimes->snapshot;

    if (lines->count == 0) {
        fputs("Nobody: nothing was in use.", out);
        return;
    }
    for (size_t i = 0; i < lines->count && i < HOLDERS; i++) {
        const struct report_group *g = &lines->items[i];

        fprintf(out, "%s%s %s (%.0f %%)", i > 0 ? "; " : "",
                report_group_label(s, g, BY_LINE, false), units_bytes(g->bytes),
                report_percent(g->bytes, allocated));
    }
    fputs(".", out);
}

/* ---- the whole verdict -------------------------------------------------- */

/* Where the three lines are written. */
struct verdict_texts {
    FILE *what;
    FILE *who;
    FILE *advice;
};

static void write_oom(struct arena *arena, const struct run_summary *r,
                      const struct report_cure *cure, uint32_t event,
                      const struct verdict_texts *t, struct report_verdict *v)
{
    struct report_groups lines;
    struct setting_found setting;
    struct shortage s;
    uint32_t activations;

    shortage_make(arena, r->lifetimes, event, &s);
    lines = report_groups_make(arena, &s.moment, GROUP_BY_LINE, NULL);
    activations =
        report_main_line(arena, &s.moment, r->categories, REPORT_ACTIVATIONS);
    write_failure(r, &s, t->what);
    write_main_holders(r, &lines, s.moment.allocated, t->who);
    setting = advice_find_setting(r, cure, !shortage_of_all(&s));
    if (setting.words != NULL) {
        v->saves = setting.saves;
        v->saves_by = "setting";
        fputs(setting.words, t->advice);
    } else {
        v->saves = advice_for_failure(arena, r, &s, activations,
                                      setting.why_none, t->advice);
    }
}

static void verdict_tell(struct arena *arena, const struct run_summary *r,
                         const struct report_cure *cure,
                         const struct verdict_texts *t,
                         struct report_verdict *v)
{
    const struct lifetimes *l = r->lifetimes;
    uint32_t event = lifetimes_failure(l, l->event_count);

    if (event != UINT32_MAX) {
        write_oom(arena, r, cure, event, t, v);
        return;
    }
    write_main_holders(r, &r->lines, r->peak.allocated, t->who);
    if (report_has_history(r)) {
        write_peak(r, t->what);
        advice_for_peak(arena, r, cure, v, t->advice);
    } else {
        write_state(r, t->what);
        advice_to_record(t->advice);
    }
}

struct report_verdict report_verdict_make(struct arena *arena,
                                          const struct run_summary *r,
                                          const struct report_cure *cure)
{
    struct report_verdict v = {.saves_by = "none"};
    struct report_text *what = report_text_open(arena);
    struct report_text *who = report_text_open(arena);
    struct report_text *advice = report_text_open(arena);
    const struct arena_piece *last = arena->last;

    verdict_tell(arena, r, cure,
                 &(struct verdict_texts){what->out, who->out, advice->out}, &v);
    arena_free_since(arena, last);
    v.what = report_text_close(arena, what);
    v.who = report_text_close(arena, who);
    v.advice = report_text_close(arena, advice);
    return v;
}
