/* report_text.c - the report for people. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "report/report_words.h"
#include "report/report_writing.h"
#include "report/summary_of_run.h"
#include "snapshot/device_list.h"
#include "snapshot/plain_text.h"

enum { TOP_DEFAULT = 10 };

static void heading(const struct report_writing *w, const char *text)
{
    fprintf(w->out, "\n%s\n", text);
}

/* ---- figures ------------------------------------------------------------------ */

static void write_when(const struct report_writing *w, const char *what,
                       uint32_t state, int64_t us)
{
    const struct run_summary *r = w->r;

    fputs(what, w->out);
    if (state == 0)
        fputs("before the first event", w->out);
    else
        fprintf(w->out, "after event %" PRIu32 " of %" PRIu32, state - 1,
                r->lifetimes->event_count);
    if (r->duration_us > 0)
        fprintf(w->out, ", at %s of %s", report_time(us),
                report_time(r->duration_us));
    fputs("\n", w->out);
}

/* Maxima of one moment have one time. */
static void write_peak(const struct report_writing *w)
{
    const struct run_summary *r = w->r;

    fprintf(w->out, "  peak     allocated %s, requested %s, reserved %s\n",
            units_bytes(r->peak_allocated), units_bytes(r->peak_requested),
            units_bytes(r->peak_reserved));
    if (!report_has_history(r))
        return;
    write_when(w, "  when     ", r->peak_state, r->peak_us);
    if (r->requested_state != r->peak_state)
        write_when(w, "           requested ", r->requested_state,
                   r->requested_us);
    if (r->reserved_state != r->peak_state)
        write_when(w, "           reserved ", r->reserved_state,
                   r->reserved_us);
}

static void write_calls(const struct report_writing *w)
{
    const uint64_t *n = w->r->counts;

    fprintf(w->out,
            "  events   %" PRIu64 " allocations, %" PRIu64 " frees, %" PRIu64
            " out of memory\n",
            n[SNAPSHOT_ALLOC], n[SNAPSHOT_FREE_REQUESTED], n[SNAPSHOT_OOM]);
    fprintf(w->out,
            "  driver   %" PRIu64 " segments taken, %" PRIu64 " released, "
            "%" PRIu64 " mapped, %" PRIu64 " unmapped: about %s\n",
            n[SNAPSHOT_SEGMENT_ALLOC], n[SNAPSHOT_SEGMENT_FREE],
            n[SNAPSHOT_SEGMENT_MAP], n[SNAPSHOT_SEGMENT_UNMAP],
            report_time((int64_t)(w->r->driver_ns / 1000)));
}

/* Where memory does not return to the same level what repeats is not reported,
 * unless it is known to be iterations. */
static bool is_regular(const struct run_summary *r)
{
    return r->are_iterations || r->steady;
}

static void write_iterations(const struct report_writing *w)
{
    const struct iterations *it = &w->r->iterations;

    if (it->layers > 0)
        fprintf(w->out,
                "  pattern  %zu times about %" PRIu32
                " events within one pass, most likely its layers\n",
                it->layers, it->events_each);
    if (it->count == 0 || (!is_regular(w->r) && !w->opt->all))
        return;
    if (w->r->are_iterations)
        fprintf(w->out,
                "  repeats  %zu %siterations of about %" PRIu32 " events\n",
                it->count, it->marked ? "marked " : "", it->events_each);
    else
        fprintf(w->out,
                "  %s  %zu times about %" PRIu32
                " similar events: layers or iterations\n",
                w->r->steady ? "repeats" : "pattern", it->count,
                it->events_each);
}

static bool all_alike(const uint64_t *peaks, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (peaks[i] != peaks[0])
            return false;
    }
    return true;
}

/* One line for each iteration; those with the same peak as the previous one are
 * left out, and counted. */
static void write_iteration_peaks(const struct report_writing *w)
{
    const struct iterations *it = &w->r->iterations;
    const uint64_t *peaks = w->r->iteration_peaks;
    size_t shown = 0;
    size_t alike = 0;
    size_t i;

    if (it->count == 0 ||
        (!w->opt->all && (!is_regular(w->r) || all_alike(peaks, it->count))))
        return;
    fprintf(w->out, "\nPeak of each %s\n",
            w->r->are_iterations ? "iteration" : "repeat");
    for (i = 0; i < it->count && (shown < w->top || w->opt->all); i++) {
        if (!w->opt->all && i > 0 && peaks[i] == peaks[i - 1]) {
            alike++;
            continue;
        }
        if (alike > 0)
            fprintf(w->out, "  and the same for %zu more\n", alike);
        alike = 0;
        fprintf(w->out, "  %5zu  from event %9" PRIu32 "  %10s\n", i,
                it->begin[i], units_bytes(peaks[i]));
        shown++;
    }
    if (alike + (it->count - i) > 0)
        fprintf(w->out,
                i < it->count ? "  and %zu more\n"
                              : "  and the same for %zu more\n",
                alike + (it->count - i));
}

static void write_doubts(const struct report_writing *w)
{
    const struct lifetimes *l = w->r->lifetimes;

    if (l->before_count > 0 && report_has_history(w->r))
        fprintf(w->out,
                "  before   %zu allocations are older than the recording\n",
                l->before_count);
    if (l->snapshot->lost_events > 0)
        fprintf(w->out,
                "  lost     %" PRIu64 " earlier events: the history was full\n",
                l->snapshot->lost_events);
    if (l->overwritten + l->unmatched > 0)
        fprintf(w->out,
                "  doubt    %" PRIu64 " events do not fit the others: the "
                "recording lost some\n",
                l->overwritten + l->unmatched);
}

/* ---- curves over time ------------------------------------------------------------ */

static void write_row(const struct report_writing *w, const char *name,
                      const uint64_t columns[RUN_COLUMNS], uint64_t max)
{
    static const char *const bars[] = {" ", "▁", "▂", "▃", "▄",
                                       "▅", "▆", "▇", "█"};
    static const char *const plain[] = {" ", ".", ":", "-", "=",
                                        "+", "*", "#", "@"};

    fprintf(w->out, "  %-9s ", name);
    for (size_t i = 0; i < RUN_COLUMNS; i++) {
        /* A ratio avoids 128-bit arithmetic; most is not less than the
         * column. */
        double part = max > 0 ? (double)columns[i] / (double)max : 0;
        size_t step = (size_t)(part * 8 + 0.5);

        if (step == 0 && columns[i] > 0)
            step = 1;
        fputs((w->opt->ascii ? plain : bars)[step], w->out);
    }
    fputs("\n", w->out);
}

static void write_curves(const struct report_writing *w)
{
    const struct run_summary *r = w->r;
    uint64_t max = r->peak_reserved;

    if (!report_has_history(r))
        return;
    /* Segments may not be recorded, or only some. */
    if (max < r->peak_allocated)
        max = r->peak_allocated;
    if (max < r->peak_requested)
        max = r->peak_requested;
    fprintf(w->out, "\nOver the run (full height is %s)\n", units_bytes(max));
    write_row(w, "reserved", r->reserved, max);
    write_row(w, "allocated", r->allocated, max);
    write_row(w, "requested", r->requested, max);
}

/* ---- failures and findings -------------------------------------------------------------- */

enum { TEXT_WIDTH = 88 };

/* How much of a line of `length` fits: up to the last blank, or to the end of a
 * single word that is too long. */
static size_t fitting(const char *line, size_t length, size_t max)
{
    size_t in = strspn(line, " -");
    size_t n = max;

    if (length <= max)
        return length;
    while (n > in && line[n] != ' ')
        n--;
    if (n > in)
        return n;
    for (n = max; n < length && line[n] != ' '; n++)
        ;
    return n;
}

/* Where a line is broken at the two blanks between sentences one is left. */
static void write_trimmed(FILE *out, int indent, const char *label,
                          const char *text, size_t n)
{
    while (n > 0 && text[n - 1] == ' ')
        n--;
    fprintf(out, "%-*s%.*s\n", indent, label, (int)n, text);
}

/* Write lines, broken if they are too long, the first one beside a label;
 * continuation lines are indented like the line's text. */
static void write_indented(FILE *out, int indent, const char *label,
                           const char *text)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        size_t max = TEXT_WIDTH - (size_t)indent;
        size_t n = fitting(text, length, max);
        size_t in = strspn(text, " -");
        const char *rest = text + n;

        write_trimmed(out, indent, label, text, n);
        label = "";
        if (in > max / 2)
            in = 0; /* a file whose name begins so */
        for (length -= n; length > 0; length -= n, rest += n) {
            size_t blanks = strspn(rest, " ");

            rest += blanks;
            length -= blanks;
            n = fitting(rest, length, max - in);
            write_trimmed(out, indent + (int)in, "", rest, n);
        }
        text = rest + (*rest == '\n');
    }
}

static void write_failures(const struct report_writing *w)
{
    size_t count;
    const struct report_failure *failures =
        report_failures(w->arena, w->r, false, &count);
    size_t i;

    for (i = 0; i < count && failures[i].text != NULL; i++) {
        fprintf(w->out, "\nOut of memory, event %" PRIu32 "\n",
                failures[i].event);
        write_indented(w->out, 2, "", failures[i].text);
    }
    if (i < count)
        fprintf(w->out, "\nand memory ran out %zu time%s more\n", count - i,
                report_plural(count - i));
}

static void write_findings(const struct report_writing *w)
{
    size_t count;
    const struct report_finding *found =
        report_findings(w->arena, w->r, &count);

    if (count > 0)
        heading(w, "What stands out");
    for (size_t i = 0; i < count; i++) {
        fprintf(w->out, "  * %s\n", found[i].title);
        write_indented(w->out, 4, "", found[i].text);
    }
}

/* ---- the verdict ------------------------------------------------------- */

enum { VERDICT_INDENT = 15 };

static void write_verdict(const struct report_writing *w)
{
    struct report_verdict v =
        report_verdict_make(w->arena, w->r, &w->opt->cure);

    write_indented(w->out, VERDICT_INDENT, "What happened", v.what);
    write_indented(w->out, VERDICT_INDENT, "Who holds it",
                   v.who + strspn(v.who, " "));
    write_indented(w->out, VERDICT_INDENT, "What to do", v.advice);
}

bool report_write_verdict(FILE *out, const struct snapshot *s, size_t device,
                          const struct report_options *opt,
                          struct tool_error *error)
{
    struct arena arena = {.error = error, .words = REPORT_NO_MEMORY};

    if (setjmp(arena.failed) != 0)
        return arena_end(&arena, false);
    write_verdict(&(struct report_writing){
        &arena, out, run_summary_of(&arena, s, device), s, opt, 0});
    return arena_end(&arena, true);
}

static bool report_text_is_empty(const struct run_summary *r)
{
    return r->peak_allocated == 0 && r->peak_reserved == 0 &&
           r->counts[SNAPSHOT_OOM] == 0;
}

/* Write everything after the verdict. */
static void write_rest(const struct report_writing *w)
{
    write_failures(w);
    write_curves(w);
    write_iteration_peaks(w);
    write_findings(w);
    report_write_lists(w);
}

/* Of an empty device, only that it has no history, unless another says so. */
static bool has_verdict(const struct run_summary *r, bool whole)
{
    return !report_text_is_empty(r) || (whole && !report_has_history(r));
}

/* `whole`: with all lists. */
static void write_device(const struct report_writing *w, bool whole)
{
    if (has_verdict(w->r, whole)) {
        write_verdict(w);
        fputs("\n", w->out);
    }
    write_peak(w);
    if (report_has_history(w->r) || report_text_is_empty(w->r))
        write_calls(w);
    /* Everything that follows would be empty. */
    if (report_text_is_empty(w->r))
        return;
    write_iterations(w);
    write_doubts(w);
    if (whole)
        write_rest(w);
}

/* A device, and what determines its place in the report: failures first, then
 * activity. */
struct place {
    size_t device;
    uint64_t failures;
    uint64_t events;
    uint64_t segments;
    uint64_t peak; /* for comparison */
};

/* Devices that do the same work should hold about as much: one that holds far
 * more than the others runs out of memory first. */
static void write_balance(FILE *out, const struct place *places, size_t count)
{
    struct place first = {.peak = 0};
    struct place second = {.peak = 0};

    for (size_t i = 0; i < count; i++) {
        if (places[i].peak > first.peak) {
            second = first;
            first = places[i];
        } else if (places[i].peak > second.peak) {
            second = places[i];
        }
    }
    if (second.peak == 0 || first.peak / 2 < second.peak)
        return;
    fprintf(out,
            "\nAcross devices\n  * Device %zu held up to %s, and no other more "
            "than %s (device %zu).\n    If they share one job, it is not "
            "divided evenly.\n",
            first.device, units_bytes(first.peak), units_bytes(second.peak),
            second.device);
}

static void write_number(struct arena *arena, FILE *out, const char *name,
                         const struct snapshot *s,
                         const struct report_options *opt, bool whole,
                         struct place *place)
{
    const struct run_summary *r = run_summary_of(arena, s, place->device);

    place->peak = r->peak_allocated;
    plain_text_put(out, name);
    fprintf(out, ", device %zu\n", place->device);
    write_device(
        &(struct report_writing){arena, out, r, s, opt,
                                 opt->top > 0 ? opt->top : TOP_DEFAULT},
        whole);
    arena_free_since(arena, NULL);
}

static int by_place(const void *a, const void *b)
{
    const struct place *x = a;
    const struct place *y = b;

    if ((x->failures > 0) != (y->failures > 0))
        return x->failures > 0 ? -1 : 1;
    if (x->segments != y->segments)
        return x->segments < y->segments ? 1 : -1;
    if (x->events != y->events)
        return x->events < y->events ? 1 : -1;
    return (x->device > y->device) - (x->device < y->device);
}

/* Bytes of segments approximate what a device holds: computing its peak would
 * cost as much as its report. */
static void find_places(const struct snapshot *s,
                        const struct device_list *devices, struct place *out)
{
    for (size_t i = 0; i < devices->count; i++) {
        size_t device = devices->numbers[i];

        out[i] = (struct place){.device = device};
        if (device < s->device_count)
            out[i].events = s->devices[device].count;
        for (size_t k = 0; k < out[i].events; k++)
            out[i].failures +=
                s->events[s->devices[device].first + k].action == SNAPSHOT_OOM;
        for (size_t k = 0; k < s->segment_count; k++)
            out[i].segments +=
                s->segments[k].device == device ? s->segments[k].total_size : 0;
    }
    qsort(out, devices->count, sizeof *out, by_place);
}

static void write_devices(struct arena *arena, FILE *out, const char *name,
                          const struct snapshot *s,
                          const struct report_options *opt,
                          const struct device_list *devices)
{
    struct place places[DEVICE_LIST_MAX];

    find_places(s, devices, places);
    for (size_t i = 0; i < devices->count; i++) {
        if (i > 0)
            fputs("\n", out);
        write_number(arena, out, name, s, opt, i == 0 || opt->all, &places[i]);
    }
    write_balance(out, places, devices->count);
    if (devices->count > 1 && !opt->all)
        fputs("\n--all prints all lists of every device.\n", out);
}

bool report_write_text(FILE *out, const char *name, const struct snapshot *s,
                       const struct report_options *opt,
                       struct tool_error *error)
{
    struct arena arena = {.error = error, .words = REPORT_NO_MEMORY};
    struct device_list devices;

    if (!device_list_make(s, NULL, &devices, error))
        return false;
    if (setjmp(arena.failed) != 0)
        return arena_end(&arena, false);
    write_devices(&arena, out, name, s, opt, &devices);
    return arena_end(&arena, true);
}
