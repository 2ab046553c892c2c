/* report_diff.c - compares two runs, figure by figure and line by line. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "report/frame_groups.h"
#include "json/json_memory.h"
#include "report/report.h"
#include "report/summary_of_run.h"
#include "snapshot/device_list.h"
#include "snapshot/plain_text.h"

enum { TOP_DIFF = 10, FIGURES = 10 };

static const struct figure {
    const char *name; /* for people */
    const char *key;  /* in the JSON */
    bool bytes;
    bool counts; /* decides whether the runs differ */
} figures[FIGURES] = {
    {"peak allocated", "peak_allocated_bytes", true, true},
    {"peak requested", "peak_requested_bytes", true, true},
    {"peak reserved", "peak_reserved_bytes", true, true},
    {"unused at the peak", "unused_bytes", true, false},
    {"events", "events", false, false},
    {"allocations", "allocations", false, true},
    {"out of memory", "oom_events", false, true},
    {"calls of the driver", "driver_calls", false, false},
    {"driver time, ns", "driver_time_ns", false, false},
    {"repeats", "iterations", false, false},
};

/* A line of the program, with its bytes at each run's peak. */
struct held {
    const char *frame;
    uint64_t bytes[2];
};

struct difference {
    struct arena *arena;
    size_t device;
    uint64_t values[FIGURES][2];
    struct held *held;
    size_t held_count;
};

/* ---- figures --------------------------------------------------------------------- */

static uint64_t segment_calls(const struct run_summary *r)
{
    return r->counts[SNAPSHOT_SEGMENT_ALLOC] +
           r->counts[SNAPSHOT_SEGMENT_FREE] + r->counts[SNAPSHOT_SEGMENT_MAP] +
           r->counts[SNAPSHOT_SEGMENT_UNMAP];
}

static void gather_figures(struct difference *d, const struct run_summary *r,
                           int side)
{
    const uint64_t values[FIGURES] = {
        r->peak_allocated,
        r->peak_requested,
        r->peak_reserved,
        moment_unused(&r->peak),
        r->lifetimes->event_count,
        r->counts[SNAPSHOT_ALLOC],
        r->counts[SNAPSHOT_OOM],
        segment_calls(r),
        r->driver_ns,
        r->iterations.count,
    };

    for (size_t i = 0; i < FIGURES; i++)
        d->values[i][side] = values[i];
}

/* ---- lines ------------------------------------------------------------------------ */

/* Lines are matched by their text: frame numbers differ between files. */
static struct held *find_held(struct difference *d, const char *frame)
{
    for (size_t i = 0; i < d->held_count; i++) {
        if (strcmp(d->held[i].frame, frame) == 0)
            return &d->held[i];
    }
    d->held[d->held_count].frame =
        strcpy(arena_take(d->arena, strlen(frame) + 1, 1), frame);
    return &d->held[d->held_count++];
}

static void gather_side(struct difference *d, const struct run_summary *r,
                        int side)
{
    /* The rest is small and not worth listing. */
    size_t max = 500;

    gather_figures(d, r, side);
    for (size_t i = 0; i < r->lines.count && i < max; i++) {
        const struct report_group *g = &r->lines.items[i];
        struct held *held = find_held(
            d, report_group_label(r->lifetimes->snapshot, g, BY_LINE, false));

        held->bytes[side] += g->bytes;
    }
}

static uint64_t apart(const struct held *h)
{
    return h->bytes[0] > h->bytes[1] ? h->bytes[0] - h->bytes[1]
                                     : h->bytes[1] - h->bytes[0];
}

static int by_apart(const void *a, const void *b)
{
    uint64_t x = apart(a);
    uint64_t y = apart(b);

    if (x != y)
        return x < y ? 1 : -1;
    return strcmp(((const struct held *)a)->frame,
                  ((const struct held *)b)->frame);
}

static void report_diff_gather(struct difference *d,
                               const struct snapshot *const runs[2])
{
    const struct run_summary *a = run_summary_of(d->arena, runs[0], d->device);
    const struct run_summary *b = run_summary_of(d->arena, runs[1], d->device);

    d->held =
        arena_take(d->arena, a->lines.count + b->lines.count, sizeof(*d->held));
    gather_side(d, a, 0);
    gather_side(d, b, 1);
    qsort(d->held, d->held_count, sizeof(*d->held), by_apart);
}

static bool report_diff_is_same(const struct difference *d)
{
    for (size_t i = 0; i < FIGURES; i++) {
        if (figures[i].counts && d->values[i][0] != d->values[i][1])
            return false;
    }
    return true;
}

/* ---- text --------------------------------------------------------------------------- */

static void write_change(FILE *out, uint64_t a, uint64_t b)
{
    if (a == b)
        fputs("  same\n", out);
    else if (a == 0)
        fputs("  new\n", out);
    else
        fprintf(out, "  %+.1f %%\n",
                ((double)b - (double)a) * 100.0 / (double)a);
}

static void write_text(FILE *out, const struct difference *d, size_t top)
{
    for (size_t i = 0; i < FIGURES; i++) {
        const uint64_t *v = d->values[i];

        fprintf(out, "  %-20s %14s %14s", figures[i].name,
                figures[i].bytes ? units_bytes(v[0]) : units_count(v[0]),
                figures[i].bytes ? units_bytes(v[1]) : units_count(v[1]));
        write_change(out, v[0], v[1]);
    }
    if (d->held_count == 0 || apart(&d->held[0]) == 0)
        return;
    fputs("\n  held at the peak, by line, the most different first\n", out);
    for (size_t i = 0; i < d->held_count && i < top && apart(&d->held[i]) > 0;
         i++) {
        fprintf(out, "  %10s -> %10s  %s\n", units_bytes(d->held[i].bytes[0]),
                units_bytes(d->held[i].bytes[1]), d->held[i].frame);
    }
}

/* ---- JSON --------------------------------------------------------------------------- */

static json_t *pair(uint64_t a, uint64_t b)
{
    return json_pack("[II]", json_whole(a), json_whole(b));
}

static json_t *difference_json(const struct difference *d, size_t top)
{
    json_t *made =
        json_pack("{s:I, s:[]}", "device", json_whole(d->device), "lines");

    for (size_t i = 0; i < FIGURES; i++)
        json_object_set_new(made, figures[i].key,
                            pair(d->values[i][0], d->values[i][1]));
    for (size_t i = 0; i < d->held_count && i < top && apart(&d->held[i]) > 0;
         i++)
        json_array_append_new(
            json_object_get(made, "lines"),
            json_pack("{s:s, s:o}", "frame", d->held[i].frame, "bytes",
                      pair(d->held[i].bytes[0], d->held[i].bytes[1])));
    return made;
}

/* ---- devices ------------------------------------------------------------------------- */

static bool report_diff_is_empty(const struct difference *d)
{
    for (size_t i = 0; i < FIGURES; i++) {
        if (d->values[i][0] != 0 || d->values[i][1] != 0)
            return false;
    }
    return true;
}

static void write_device(struct arena *arena, FILE *out, size_t device,
                         json_t *list, const struct snapshot *const runs[2],
                         size_t top, bool *same)
{
    struct difference d = {.arena = arena, .device = device};

    report_diff_gather(&d, runs);
    if (report_diff_is_empty(&d))
        return;
    *same = *same && report_diff_is_same(&d);
    if (list != NULL) {
        json_array_append_new(list, difference_json(&d, top));
    } else {
        fprintf(out, "\ndevice %zu\n", device);
        write_text(out, &d, top);
    }
}

static void write_devices(struct arena *arena, FILE *out, json_t *list,
                          const struct snapshot *const runs[2],
                          const struct device_list *devices, size_t top,
                          bool *same)
{
    *same = true;
    for (size_t i = 0; i < devices->count; i++) {
        write_device(arena, out, devices->numbers[i], list, runs, top, same);
        arena_free_since(arena, NULL);
    }
}

static json_t *begin(FILE *out, const char *const names[2], bool json)
{
    json_memory_watch();
    if (json)
        return json_pack("{s:[oo], s:[]}", "files", utf8_json(names[0]),
                         utf8_json(names[1]), "devices");
    plain_text_put(out, names[0]);
    fputs(" -> ", out);
    plain_text_put(out, names[1]);
    putc('\n', out);
    return NULL;
}

bool report_write_diff(FILE *out, const char *const names[2],
                       const struct snapshot *const runs[2], bool json,
                       const struct report_options *opt, bool *same,
                       struct tool_error *error)
{
    struct arena arena = {.error = error, .words = REPORT_NO_MEMORY};
    struct device_list devices;
    json_t *total;

    if (!device_list_make(runs[0], runs[1], &devices, error))
        return false;
    total = begin(out, names, json);
    if (setjmp(arena.failed) != 0) {
        json_decref(total);
        return arena_end(&arena, false);
    }
    write_devices(&arena, out, json_object_get(total, "devices"), runs,
                  &devices, opt->top > 0 ? opt->top : TOP_DIFF, same);
    if (!json)
        return true;
    json_object_set_new(total, "same", json_boolean(*same));
    return json_memory_write(total, out, "the differences", error);
}
