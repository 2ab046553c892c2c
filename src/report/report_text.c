/* report_text.c - the report for people. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "report/report_words.h"
#include "report/summary_of_run.h"
#include "snapshot/device_list.h"

enum { TOP_DEFAULT = 10, MAP_WIDTH = 48, SEGMENTS_SHOWN = 12 };

struct writing {
    FILE *out;
    const struct run_summary *r;
    const struct snapshot *s;
    const struct report_options *opt;
    size_t top;
};

static void heading(const struct writing *w, const char *text)
{
    fprintf(w->out, "\n%s\n", text);
}

/* ---- figures ------------------------------------------------------------------ */

static void write_peak(const struct writing *w)
{
    const struct run_summary *r = w->r;
    char a[REPORT_WORD];
    char b[REPORT_WORD];
    char c[REPORT_WORD];

    fprintf(w->out, "  peak     allocated %s, requested %s, reserved %s\n",
            report_bytes(r->peak_allocated, a),
            report_bytes(r->peak_requested, b),
            report_bytes(r->peak_reserved, c));
    if (r->lifetimes->event_count == 0)
        return;
    if (r->peak_state == 0)
        fputs("  when     before the first event", w->out);
    else
        fprintf(w->out, "  when     after event %" PRIu32 " of %" PRIu32,
                r->peak_state - 1, r->lifetimes->event_count);
    if (r->duration_us > 0)
        fprintf(w->out, ", %s into %s", report_time(r->peak_us, a),
                report_time(r->duration_us, b));
    fputs("\n", w->out);
}

static void write_calls(const struct writing *w)
{
    const uint64_t *n = w->r->counts;
    char a[REPORT_WORD];

    fprintf(w->out,
            "  events   %" PRIu64 " allocations, %" PRIu64 " frees, %" PRIu64
            " out of memory\n",
            n[SNAPSHOT_ALLOC], n[SNAPSHOT_FREE_REQUESTED], n[SNAPSHOT_OOM]);
    fprintf(w->out,
            "  driver   %" PRIu64 " segments taken, %" PRIu64 " given back, "
            "%" PRIu64 " mapped, %" PRIu64 " unmapped: about %s\n",
            n[SNAPSHOT_SEGMENT_ALLOC], n[SNAPSHOT_SEGMENT_FREE],
            n[SNAPSHOT_SEGMENT_MAP], n[SNAPSHOT_SEGMENT_UNMAP],
            report_time((int64_t)(w->r->driver_ns / 1000), a));
}

static void write_iterations(const struct writing *w)
{
    const struct iterations *it = &w->r->iterations;

    if (it->count == 0)
        return;
    fprintf(w->out, "  repeats  %zu %s of about %" PRIu32 " events\n",
            it->count, it->marked ? "marked iterations" : "times, a pattern",
            (it->begin[it->count - 1] - it->begin[0]) /
                (uint32_t)(it->count - 1));
}

/* A line an iteration; those with the same peak as the one before are left
 * out, and said to be. */
static void write_iteration_peaks(const struct writing *w)
{
    const struct iterations *it = &w->r->iterations;
    const uint64_t *peaks = w->r->iteration_peaks;
    char a[REPORT_WORD];
    size_t shown = 0;
    size_t alike = 0;
    size_t i;

    if (it->count < 2)
        return;
    fprintf(w->out, "\nPeak of each %s\n",
            it->marked ? "iteration" : "repetition");
    for (i = 0; i < it->count && shown < w->top; i++) {
        if (i > 0 && peaks[i] == peaks[i - 1]) {
            alike++;
            continue;
        }
        if (alike > 0)
            fprintf(w->out, "  and the same for %zu more\n", alike);
        alike = 0;
        fprintf(w->out, "  %5zu  from event %9" PRIu32 "  %10s\n", i,
                it->begin[i], report_bytes(peaks[i], a));
        shown++;
    }
    if (alike + (it->count - i) > 0)
        fprintf(w->out,
                i < it->count ? "  and %zu more\n"
                              : "  and the same for %zu more\n",
                alike + (it->count - i));
}

static void write_doubts(const struct writing *w)
{
    const struct lifetimes *l = w->r->lifetimes;

    if (l->before_count > 0 && l->event_count > 0)
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

/* ---- over time ------------------------------------------------------------------- */

static void write_row(const struct writing *w, const char *name,
                      const uint64_t columns[RUN_COLUMNS], uint64_t most)
{
    static const char *const bars[] = {" ", "▁", "▂", "▃", "▄",
                                       "▅", "▆", "▇", "█"};
    static const char *const plain[] = {" ", ".", ":", "-", "=",
                                        "+", "*", "#", "@"};
    size_t i;

    fprintf(w->out, "  %-9s ", name);
    for (i = 0; i < RUN_COLUMNS; i++) {
        /* 128 bits are not needed: most is at least the column. */
        double part = most > 0 ? (double)columns[i] / (double)most : 0;
        size_t step = (size_t)(part * 8 + 0.5);

        if (step == 0 && columns[i] > 0)
            step = 1;
        fputs((w->opt->ascii ? plain : bars)[step], w->out);
    }
    fputs("\n", w->out);
}

static void write_curves(const struct writing *w)
{
    const struct run_summary *r = w->r;
    uint64_t most = r->peak_reserved;
    char a[REPORT_WORD];

    if (r->lifetimes->event_count == 0)
        return;
    /* Where segments are not recorded, or are too few. */
    if (most < r->peak_allocated)
        most = r->peak_allocated;
    if (most < r->peak_requested)
        most = r->peak_requested;
    fprintf(w->out, "\nOver the run (full height is %s)\n",
            report_bytes(most, a));
    write_row(w, "reserved", r->reserved, most);
    write_row(w, "allocated", r->allocated, most);
    write_row(w, "requested", r->requested, most);
}

/* ---- who ------------------------------------------------------------------------------ */

static void write_share(const struct writing *w, const struct report_group *g)
{
    char a[REPORT_WORD];

    fprintf(w->out, "  %10s  %3.0f %%  %6" PRIu64 "  ",
            report_bytes(g->bytes, a),
            w->r->peak.allocated > 0
                ? 100.0 * (double)g->bytes / (double)w->r->peak.allocated
                : 0.0,
            g->count);
}

static void write_kinds(const struct writing *w)
{
    size_t i;

    heading(w, "Alive at the peak, by what it is (bytes, share, allocations)");
    for (i = 0; i < w->r->kind_count; i++) {
        write_share(w, &w->r->kinds[i]);
        fprintf(w->out, "%s\n",
                report_category_name((enum report_category)w->r->kinds[i].key));
    }
}

static void write_lines(const struct writing *w)
{
    char frame[REPORT_FRAME];
    size_t i;

    heading(w, "By line");
    for (i = 0; i < w->r->line_count && i < w->top; i++) {
        write_share(w, &w->r->lines[i]);
        fprintf(w->out, "%s\n",
                report_frame(w->s, w->r->lines[i].key, w->opt->paths, frame));
    }
    if (w->r->line_count > w->top)
        fprintf(w->out, "  and %zu more\n", w->r->line_count - w->top);
}

static void write_path(const struct writing *w, const struct report_group *g)
{
    const struct lifetime *a = &w->r->lifetimes->allocs[g->largest];
    size_t count;
    const uint32_t *frames = snapshot_stack(w->s, g->key, &count);
    char size[REPORT_WORD];
    char frame[REPORT_FRAME];
    size_t i;

    write_share(w, g);
    fprintf(w->out, "largest %s\n", report_bytes(a->requested, size));
    for (i = 0; i < count; i++)
        fprintf(w->out, "                              %s\n",
                report_frame(w->s, frames[i], true, frame));
}

static void write_paths(const struct writing *w)
{
    size_t i;

    if (!w->opt->paths)
        return;
    heading(w, "By call path, innermost first");
    for (i = 0; i < w->r->path_count && i < w->top; i++) {
        if (w->r->paths[i].key != 0)
            write_path(w, &w->r->paths[i]);
    }
}

/* ---- segments --------------------------------------------------------------------------- */

/* A cell is full, partly used or free. */
static void write_cells(const struct writing *w, const struct moment_area *area)
{
    const struct moment *m = &w->r->peak;
    uint64_t used[MAP_WIDTH] = {0};
    uint64_t cell = area->size / MAP_WIDTH + 1;
    uint32_t i;
    size_t c;

    for (i = 0; i < area->count; i++) {
        const struct lifetime *a =
            &m->lifetimes->allocs[m->live[area->first + i]];
        uint64_t from = a->address - area->address;
        uint64_t to = from + a->rounded;

        for (c = (size_t)(from / cell); c < MAP_WIDTH && c * cell < to; c++) {
            uint64_t low = c * cell > from ? c * cell : from;
            uint64_t high = (c + 1) * cell < to ? (c + 1) * cell : to;

            used[c] += high - low;
        }
    }
    for (c = 0; c < MAP_WIDTH && c * cell < area->size; c++) {
        const char *mark = used[c] * 10 >= cell * 9 ? "#"
                           : used[c] > 0            ? "+"
                                                    : ".";

        fputs(mark, w->out);
    }
}

static uint64_t area_free(const struct moment_area *a)
{
    uint64_t used = a->allocated + a->pending;

    return used < a->size ? a->size - used : 0;
}

static int by_free(const void *a, const void *b)
{
    const struct moment_area *const *x = a;
    const struct moment_area *const *y = b;
    uint64_t free_x = area_free(*x);
    uint64_t free_y = area_free(*y);

    if (free_x != free_y)
        return free_x < free_y ? 1 : -1;
    return ((*x)->address > (*y)->address) - ((*x)->address < (*y)->address);
}

static bool write_segments(const struct writing *w, struct tool_error *error)
{
    const struct moment *m = &w->r->peak;
    const struct moment_area **order =
        malloc((m->area_count + 1) * sizeof(const struct moment_area *));
    char a[REPORT_WORD];
    char b[REPORT_WORD];
    size_t i;

    if (order == NULL)
        return tool_fail(error, "not enough host memory for the report");
    for (i = 0; i < m->area_count; i++)
        order[i] = &m->areas[i];
    qsort(order, m->area_count, sizeof(const struct moment_area *), by_free);
    fprintf(w->out, "\nSegments at the peak, those with most free first "
                    "(# in use, + partly, . free)\n");
    for (i = 0; i < m->area_count && i < SEGMENTS_SHOWN; i++) {
        const struct moment_area *area = order[i];

        fprintf(w->out, "  %10s, %10s free  ", report_bytes(area->size, a),
                report_bytes(area_free(area), b));
        write_cells(w, area);
        fputs("\n", w->out);
    }
    if (m->area_count > SEGMENTS_SHOWN)
        fprintf(w->out, "  and %zu more\n", m->area_count - SEGMENTS_SHOWN);
    free(order);
    return true;
}

static void write_fragmentation(const struct writing *w)
{
    const struct moment *m = &w->r->peak;
    uint64_t largest = 0;
    uint64_t unused = 0;
    char a[REPORT_WORD];
    char b[REPORT_WORD];
    size_t i;

    for (i = 0; i < m->gap_count; i++) {
        unused += m->gaps[i].size;
        if (m->gaps[i].size > largest)
            largest = m->gaps[i].size;
    }
    heading(w, "Fragmentation at the peak");
    fprintf(
        w->out,
        "  %s of the reserved memory was free (%.1f %%), in %zu piece%s, "
        "the largest %s\n",
        report_bytes(unused, a),
        m->reserved > 0 ? 100.0 * (double)unused / (double)m->reserved : 0.0,
        m->gap_count, report_plural(m->gap_count), report_bytes(largest, b));
}

/* ---- what went wrong, what stands out --------------------------------------------------- */

enum { TEXT_WIDTH = 88 };

/* How much of a line of `length` fits: up to its last blank that is near
 * enough, or up to the end of the one word that is too long. */
static size_t fitting(const char *line, size_t length, size_t most)
{
    size_t in = strspn(line, " -");
    size_t n = most;

    if (length <= most)
        return length;
    while (n > in && line[n] != ' ')
        n--;
    if (n > in)
        return n;
    for (n = most; n < length && line[n] != ' '; n++)
        ;
    return n;
}

/* Lines, broken where they are too long; what goes on is as far in as the
 * line's own text. */
static void write_indented(FILE *out, int indent, const char *text)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        size_t in = strspn(text, " -");
        size_t most = TEXT_WIDTH - (size_t)indent;
        size_t n = fitting(text, length, most);
        const char *rest = text + n;

        fprintf(out, "%*s%.*s\n", indent, "", (int)n, text);
        for (length -= n; length > 0; length -= n, rest += n) {
            rest++;
            length--;
            n = fitting(rest, length, most - (in < most / 2 ? in : 0));
            fprintf(out, "%*s%.*s\n", indent + (int)in, "", (int)n, rest);
        }
        text = rest + (*rest == '\n');
    }
}

static bool write_failures(const struct writing *w, struct tool_error *error)
{
    const struct lifetimes *l = w->r->lifetimes;
    uint64_t count = w->r->counts[SNAPSHOT_OOM];
    uint64_t told = 0;
    uint32_t i;

    for (i = 0; i < l->event_count && told < count; i++) {
        char *text;

        if (l->events[i].action != SNAPSHOT_OOM)
            continue;
        if (told++ == REPORT_OOMS_EXPLAINED) {
            fprintf(w->out, "\nand memory ran out %" PRIu64 " times more\n",
                    count - REPORT_OOMS_EXPLAINED);
            break;
        }
        if (!report_explain_oom(l, w->r->categories, i, &text, error))
            return false;
        fprintf(w->out, "\nOut of memory, event %" PRIu32 "\n", i);
        write_indented(w->out, 2, text);
        free(text);
    }
    return true;
}

static bool write_findings(const struct writing *w, struct tool_error *error)
{
    struct report_finding *found;
    size_t count;
    size_t i;

    if (!report_findings(w->r, &found, &count, error))
        return false;
    if (count > 0)
        heading(w, "What stands out");
    for (i = 0; i < count; i++) {
        fprintf(w->out, "  * %s\n", found[i].title);
        write_indented(w->out, 4, found[i].text);
    }
    report_findings_free(found, count);
    return true;
}

static bool write_device(const struct writing *w, struct tool_error *error)
{
    const struct run_summary *r = w->r;

    write_peak(w);
    write_calls(w);
    /* All that follows would be empty. */
    if (r->peak_allocated + r->peak_reserved + r->counts[SNAPSHOT_OOM] == 0)
        return true;
    write_iterations(w);
    write_doubts(w);
    write_curves(w);
    write_iteration_peaks(w);
    write_kinds(w);
    write_lines(w);
    write_paths(w);
    write_fragmentation(w);
    return write_segments(w, error) && write_failures(w, error) &&
           write_findings(w, error);
}

/* What a device used, for comparing them. */
struct share {
    size_t device;
    uint64_t peak;
};

/* Devices that do the same work should hold about as much: one that holds far
 * more than any other is where a run ends. */
static void write_balance(FILE *out, const struct share *shares, size_t count)
{
    struct share first = {0, 0};
    struct share second = {0, 0};
    char a[REPORT_WORD];
    char b[REPORT_WORD];
    size_t i;

    for (i = 0; i < count; i++) {
        if (shares[i].peak > first.peak) {
            second = first;
            first = shares[i];
        } else if (shares[i].peak > second.peak) {
            second = shares[i];
        }
    }
    if (second.peak == 0 || first.peak / 2 < second.peak)
        return;
    fprintf(out,
            "\nAcross devices\n  * Device %zu held up to %s, and no other more "
            "than %s (device %zu).\n    If they share one piece of work, it is "
            "not divided evenly.\n",
            first.device, report_bytes(first.peak, a),
            report_bytes(second.peak, b), second.device);
}

static bool write_number(FILE *out, const char *name, const struct snapshot *s,
                         const struct report_options *opt, struct share *share,
                         struct tool_error *error)
{
    struct lifetimes l;
    struct run_summary r;
    bool ok;

    if (!lifetimes_make(s, share->device, &l, error))
        return false;
    ok = run_summary_make(&l, &r, error);
    if (ok) {
        share->peak = r.peak_allocated;
        fprintf(out, "%s, device %zu\n", name, share->device);
        ok = write_device(
            &(struct writing){out, &r, s, opt,
                              opt->top > 0 ? opt->top : TOP_DEFAULT},
            error);
        run_summary_free(&r);
    }
    lifetimes_free(&l);
    return ok;
}

bool report_write_text(FILE *out, const char *name, const struct snapshot *s,
                       const struct report_options *opt,
                       struct tool_error *error)
{
    struct share shares[DEVICE_LIST_MOST];
    struct device_list devices;
    size_t i;

    if (!device_list_make(s, NULL, &devices, error))
        return false;
    for (i = 0; i < devices.count; i++) {
        shares[i] = (struct share){devices.numbers[i], 0};
        if (i > 0)
            fputs("\n", out);
        if (!write_number(out, name, s, opt, &shares[i], error))
            return false;
    }
    write_balance(out, shares, devices.count);
    return true;
}
