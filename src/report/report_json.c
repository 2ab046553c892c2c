/* report_json.c - the report for programs. */
#include <jansson.h>

#include "report/frame_groups.h"
#include "json/json_memory.h"
#include "report/report.h"
#include "report/report_words.h"
#include "report/summary_of_run.h"
#include "snapshot/device_list.h"

enum { TOP_JSON = 50 };

static json_t *frame_json(const struct snapshot *s, uint32_t frame)
{
    return json_string(report_frame(s, frame, true));
}

static json_t *stack_json(const struct snapshot *s, uint32_t stack)
{
    size_t count;
    const uint32_t *frames = snapshot_stack(s, stack, &count);
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, frame_json(s, frames[i]));
    return list;
}

/* {bytes, requested_bytes, count, and NAME: value} */
static json_t *group_json(const struct report_group *g, const char *name,
                          json_t *value)
{
    return json_pack("{s:I, s:I, s:I, s:o}", "bytes", json_whole(g->bytes),
                     "requested_bytes", json_whole(g->requested), "count",
                     json_whole(g->count), name, value);
}

static json_t *category_json(const struct snapshot *s, uint32_t category)
{
    (void)s;
    return json_string(report_category_name((enum report_category)category));
}

/* A list of groups, whose keys are values of that name. */
static json_t *keyed_json(const struct snapshot *s,
                          const struct report_groups *groups, size_t top,
                          const char *name,
                          json_t *(*value)(const struct snapshot *, uint32_t))
{
    json_t *list = json_array();

    for (size_t i = 0; i < groups->count && i < top; i++) {
        const struct report_group *g = &groups->items[i];

        json_array_append_new(list, group_json(g, name, value(s, g->key)));
    }
    return list;
}

static json_t *column_json(const uint64_t columns[RUN_COLUMNS])
{
    json_t *list = json_array();

    for (size_t i = 0; i < RUN_COLUMNS; i++)
        json_array_append_new(list, json_integer(json_whole(columns[i])));
    return list;
}

static json_t *fragmentation_json(const struct moment *m)
{
    uint64_t largest;
    uint64_t unused = moment_gap_bytes(m, &largest);

    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "reserved_bytes",
                     json_whole(m->reserved), "allocated_bytes",
                     json_whole(m->allocated), "pending_bytes",
                     json_whole(m->pending), "free_bytes", json_whole(unused),
                     "largest_free_bytes", json_whole(largest), "free_pieces",
                     json_whole(m->gap_count));
}

static json_t *ooms_json(const struct run_summary *r,
                         const struct report_failure *failures, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        const struct report_failure *f = &failures[i];
        const struct snapshot_event *e = &r->lifetimes->events[f->event];

        json_array_append_new(
            list,
            json_pack("{s:I, s:I, s:I, s:s?}", "event", json_whole(f->event),
                      "asked_bytes", json_whole(e->size), "device_free_bytes",
                      json_whole(e->address), "explanation", f->text));
    }
    return list;
}

static json_t *actions_json(const struct run_summary *r)
{
    json_t *made = json_object();

    for (int i = 0; i < SNAPSHOT_OTHER; i++)
        json_object_set_new(made, snapshot_action_name((enum snapshot_action)i),
                            json_integer(json_whole(r->counts[i])));
    return made;
}

/* What repeats, as far as it is known. */
static const char *repeats_name(const struct run_summary *r)
{
    if (r->iterations.layers > 0)
        return "layers";
    if (r->iterations.count == 0)
        return "nothing";
    return r->are_iterations ? "iterations" : "iterations or layers";
}

/* {begin_event, peak_allocated_bytes} of each iteration. */
static json_t *iterations_json(const struct run_summary *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->iterations.count; i++)
        json_array_append_new(list,
                              json_pack("{s:I, s:I}", "begin_event",
                                        json_whole(r->iterations.begin[i]),
                                        "peak_allocated_bytes",
                                        json_whole(r->iteration_peaks[i])));
    return list;
}

static size_t segments_of(const struct snapshot *s, size_t device)
{
    size_t count = 0;

    for (size_t i = 0; i < s->segment_count; i++)
        count += s->segments[i].device == device;
    return count;
}

json_t *report_findings_json(const struct report_finding *found, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:s}", "title", found[i].title,
                                        "text", found[i].text));
    return list;
}

static json_t *verdict_json(const struct run_summary *r,
                            const struct report_verdict *v)
{
    json_t *o = json_pack("{s:s, s:s, s:s, s:I, s:{s:s, s:I}}", "what", v->what,
                          "who", v->who, "do", v->advice, "saves_bytes",
                          json_whole(v->saves), "saving", "by", v->saves_by,
                          "next_step_bytes", json_whole(report_next_step(r)));

    return o != NULL ? o : json_null();
}

/* The lines, grouped as requested. */
static json_t *groups_json(const struct snapshot *s, enum report_by by,
                           const struct report_groups *groups, size_t top)
{
    json_t *list = json_array();

    for (size_t i = 0; i < groups->count && i < top; i++) {
        const struct report_group *g = &groups->items[i];
        const char *label = report_group_label(s, g, by, true);

        json_array_append_new(
            list, group_json(g, report_by_name(by), json_string(label)));
    }
    return list;
}

/* What is written of the run is made before any JSON is. */
static json_t *device_json(struct arena *arena, const struct run_summary *r,
                           const struct report_options *opt, size_t top)
{
    const struct lifetimes *l = r->lifetimes;
    const struct snapshot *s = l->snapshot;
    size_t failed, told;
    const struct report_failure *failures =
        report_failures(arena, r, false, &failed);
    const struct report_finding *found = report_findings(arena, r, &told);
    const struct report_verdict verdict =
        report_verdict_make(arena, r, &opt->cure);
    const struct report_groups groups = report_by_groups(arena, r, opt->by);

    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, "
        "s:o, s:o, s:o, s:o, s:o, s:{s:o, s:o, s:o}, s:o, s:o, s:b, s:o, "
        "s:o, s:o, s:b, s:I, s:s}",
        "device", json_whole(l->device), "events", json_whole(l->event_count),
        "segments", json_whole(segments_of(s, l->device)), "oom_events",
        json_whole(r->counts[SNAPSHOT_OOM]), "peak_allocated_bytes",
        json_whole(r->peak_allocated), "peak_requested_bytes",
        json_whole(r->peak_requested), "peak_reserved_bytes",
        json_whole(r->peak_reserved), "peak_event",
        json_whole(r->peak_state) - 1, "duration_us",
        json_whole(r->duration_us), "driver_time_ns", json_whole(r->driver_ns),
        "iterations", json_whole(r->iterations.count), "unexplained_events",
        json_whole(l->overwritten + l->unmatched), "actions", actions_json(r),
        "top", keyed_json(s, &r->lines, top, "frame", frame_json), "paths",
        keyed_json(s, &r->paths, top, "frames", stack_json), "categories",
        keyed_json(s, &r->kinds, SIZE_MAX, "category", category_json),
        "at_peak", fragmentation_json(&r->peak), "ooms",
        ooms_json(r, failures, failed), "over_time", "requested",
        column_json(r->requested), "allocated", column_json(r->allocated),
        "reserved", column_json(r->reserved), "findings",
        report_findings_json(found, told), "before",
        json_integer(json_whole(l->before_count)), "iterations_marked",
        (int)r->iterations.marked, "iteration_peaks", iterations_json(r),
        "verdict", verdict_json(r, &verdict), "by",
        groups_json(s, opt->by, &groups, top), "has_history",
        (int)report_has_history(r), "categories_recorded_bytes",
        json_whole(report_told_bytes(r)), "repeats", repeats_name(r));
}

/* ---- the whole report ------------------------------------------------------------ */

static json_int_t report_json_number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static void add_to(json_t *total, const json_t *device, const char *key)
{
    json_object_set_new(total, key,
                        json_integer(report_json_number(total, key) +
                                     report_json_number(device, key)));
}

static void keep_most(json_t *total, const json_t *device, const char *key)
{
    if (report_json_number(device, key) >= report_json_number(total, key))
        json_object_set_new(total, key,
                            json_integer(report_json_number(device, key)));
}

/* Counts are sums over all devices; peaks and the figures at the peak are those
 * of the device with the highest. */
static void report_json_add_device(json_t *total, json_t *device)
{
    static const char *const counts[] = {"events", "segments", "oom_events"};
    static const char *const peaks[] = {"peak_requested_bytes",
                                        "peak_reserved_bytes"};

    if (json_object_get(total, "top") == NULL ||
        report_json_number(device, "peak_allocated_bytes") >
            report_json_number(total, "peak_allocated_bytes")) {
        json_object_set(total, "top", json_object_get(device, "top"));
        json_object_set(total, "peak_allocated_bytes",
                        json_object_get(device, "peak_allocated_bytes"));
    }
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        add_to(total, device, counts[i]);
    for (size_t i = 0; i < sizeof(peaks) / sizeof(peaks[0]); i++)
        keep_most(total, device, peaks[i]);
    json_array_append_new(json_object_get(total, "devices"), device);
}

static void add_devices(struct arena *arena, json_t *total,
                        const struct snapshot *s,
                        const struct report_options *opt,
                        const struct device_list *devices)
{
    size_t top = opt->top > 0 ? opt->top : TOP_JSON;

    for (size_t i = 0; i < devices->count; i++) {
        const struct run_summary *r =
            run_summary_of(arena, s, devices->numbers[i]);

        report_json_add_device(total, device_json(arena, r, opt, top));
        arena_free_since(arena, NULL);
    }
}

bool report_write_json(FILE *out, const char *name, const struct snapshot *s,
                       const struct report_options *opt,
                       struct tool_error *error)
{
    struct arena arena = {.error = error, .words = REPORT_NO_MEMORY};
    struct device_list devices;
    json_t *total;

    if (!device_list_make(s, NULL, &devices, error))
        return false;
    json_memory_watch();
    total = json_pack("{s:o, s:[], s:I}", "file", utf8_json(name), "devices",
                      "lost_events", json_whole(s->lost_events));
    if (setjmp(arena.failed) != 0) {
        json_decref(total);
        return arena_end(&arena, false);
    }
    add_devices(&arena, total, s, opt, &devices);
    return json_memory_write(total, out, "the report", error);
}
