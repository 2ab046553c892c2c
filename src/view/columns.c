/* columns.c - see columns.h.
 *
 * The page draws the allocations that matter most when it cannot draw all:
 * `order` has them by bytes times lifetime, so that it need not sort a million
 * of them before anything is seen. */
#include "view/columns.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/report_words.h"
#include "report/summary_of_run.h"

/* Of the page: no stack. */
#define STACK_NONE UINT32_MAX

/* ---- what a run shares ---------------------------------------------------- */

static json_t *string_list(const struct snapshot *s)
{
    json_t *list = json_array();
    size_t i;

    for (i = 0; list != NULL && i < s->string_count; i++) {
        json_t *text = json_stringn(snapshot_string(s, (uint32_t)i),
                                    snapshot_string_length(s, (uint32_t)i));

        /* What is no UTF-8 cannot be shown. */
        if (text == NULL)
            text = json_string("?");
        if (json_array_append_new(list, text) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

bool columns_add_stacks(struct blob *b, json_t *run, const struct snapshot *s)
{
    uint32_t *column;
    size_t frames;
    size_t i;

    if (json_object_set_new(run, "strings", string_list(s)) != 0)
        return false;
    column = blob_column(b, run, "frame", "u32", s->frame_count * 3);
    for (i = 0; column != NULL && i < s->frame_count; i++) {
        column[i * 3] = s->frames[i].filename;
        column[i * 3 + 1] = s->frames[i].line;
        column[i * 3 + 2] = s->frames[i].name;
    }
    column = blob_column(b, run, "stack_begin", "u32", s->stack_count + 1);
    for (i = 0; column != NULL && i <= s->stack_count; i++)
        column[i] = (uint32_t)s->stack_begins[i];
    frames = (size_t)s->stack_begins[s->stack_count];
    column = blob_column(b, run, "stack_frame", "u32", frames);
    if (column != NULL && frames > 0)
        memcpy(column, s->stack_frames, frames * sizeof(*column));
    return !b->failed;
}

/* ---- events ----------------------------------------------------------------- */

static void add_event_numbers(struct blob *b, json_t *table,
                              const struct lifetimes *l)
{
    uint8_t *action;
    double *numbers;
    uint32_t i;

    action = blob_column(b, table, "action", "u8", l->event_count);
    for (i = 0; action != NULL && i < l->event_count; i++)
        action[i] = l->events[i].action < SNAPSHOT_OTHER ? l->events[i].action
                                                         : SNAPSHOT_OTHER;
    numbers = blob_column(b, table, "bytes", "f64", l->event_count);
    for (i = 0; numbers != NULL && i < l->event_count; i++)
        numbers[i] = (double)l->events[i].size;
    numbers = blob_column(b, table, "address", "f64", l->event_count);
    for (i = 0; numbers != NULL && i < l->event_count; i++) {
        if (l->events[i].action != SNAPSHOT_OOM)
            numbers[i] = (double)l->events[i].address;
    }
}

/* Microseconds since the first event that has a time; never going back, which
 * clocks of several threads may. */
static void add_times(struct blob *b, json_t *table, const struct lifetimes *l)
{
    double *time = blob_column(b, table, "time", "f64", l->event_count);
    int64_t first = 0;
    bool begun = false;
    int64_t latest = 0;
    uint32_t i;

    for (i = 0; time != NULL && i < l->event_count; i++) {
        const struct snapshot_event *e = &l->events[i];

        if ((e->has & SNAPSHOT_HAS_TIME) != 0) {
            if (!begun)
                first = e->time_us;
            begun = true;
            if (report_elapsed(first, e->time_us) > latest)
                latest = report_elapsed(first, e->time_us);
        }
        time[i] = (double)latest;
    }
}

/* ---- allocations ------------------------------------------------------------ */

struct ranked {
    double weight;
    uint32_t number;
};

static int by_weight(const void *a, const void *b)
{
    const struct ranked *x = a;
    const struct ranked *y = b;

    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

static double weight_of(const struct lifetime *a)
{
    int64_t start = a->start == LIFETIME_BEFORE ? -1 : (int64_t)a->start;
    int64_t end = a->end == LIFETIME_BEFORE ? -1 : (int64_t)a->end;

    return (double)a->rounded * (double)(end - start);
}

static void add_order(struct blob *b, json_t *table, const struct lifetimes *l)
{
    uint32_t *order = blob_column(b, table, "order", "u32", l->alloc_count);
    struct ranked *all = malloc((l->alloc_count + 1) * sizeof(*all));
    size_t i;

    if (order == NULL || all == NULL) {
        b->failed = true;
        free(all);
        return;
    }
    for (i = 0; i < l->alloc_count; i++) {
        all[i].weight = weight_of(&l->allocs[i]);
        all[i].number = (uint32_t)i;
    }
    qsort(all, l->alloc_count, sizeof(*all), by_weight);
    for (i = 0; i < l->alloc_count; i++)
        order[i] = all[i].number;
    free(all);
}

/* An event's number for the page: -1 is before the first. */
static int32_t moment(uint32_t event)
{
    return event == LIFETIME_BEFORE ? -1 : (int32_t)event;
}

static void add_lives(struct blob *b, json_t *table, const struct lifetimes *l)
{
    int32_t *column;
    size_t i;

    column = blob_column(b, table, "start", "i32", l->alloc_count);
    for (i = 0; column != NULL && i < l->alloc_count; i++)
        column[i] = moment(l->allocs[i].start);
    column = blob_column(b, table, "end", "i32", l->alloc_count);
    for (i = 0; column != NULL && i < l->alloc_count; i++)
        column[i] = moment(l->allocs[i].end);
    column = blob_column(b, table, "done", "i32", l->alloc_count);
    for (i = 0; column != NULL && i < l->alloc_count; i++)
        column[i] = moment(l->allocs[i].done);
}

static void add_sizes(struct blob *b, json_t *table, const struct lifetimes *l)
{
    double *column;
    size_t i;

    column = blob_column(b, table, "address", "f64", l->alloc_count);
    for (i = 0; column != NULL && i < l->alloc_count; i++)
        column[i] = (double)l->allocs[i].address;
    column = blob_column(b, table, "size", "f64", l->alloc_count);
    for (i = 0; column != NULL && i < l->alloc_count; i++)
        column[i] = (double)l->allocs[i].requested;
    column = blob_column(b, table, "rounded", "f64", l->alloc_count);
    for (i = 0; column != NULL && i < l->alloc_count; i++)
        column[i] = (double)l->allocs[i].rounded;
}

static void add_origins(struct blob *b, json_t *table,
                        const struct lifetimes *l)
{
    uint32_t *column;
    size_t i;

    column = blob_column(b, table, "stack", "u32", l->alloc_count);
    for (i = 0; column != NULL && i < l->alloc_count; i++)
        column[i] = l->allocs[i].stack == 0 ? STACK_NONE : l->allocs[i].stack;
    column = blob_column(b, table, "stream", "u32", l->alloc_count);
    for (i = 0; column != NULL && i < l->alloc_count; i++)
        column[i] = l->allocs[i].stream;
}

/* The program's own text for each allocation; no column where there is none,
 * as in most snapshots. */
static void add_notes(struct blob *b, json_t *table, const struct lifetimes *l)
{
    uint32_t *column;
    size_t noted = 0;
    size_t i;

    for (i = 0; i < l->alloc_count; i++)
        noted += l->allocs[i].user_metadata != 0;
    if (noted == 0)
        return;
    column = blob_column(b, table, "note", "u32", l->alloc_count);
    for (i = 0; column != NULL && i < l->alloc_count; i++)
        column[i] = l->allocs[i].user_metadata;
}

static void add_categories(struct blob *b, json_t *table,
                           const struct run_summary *r)
{
    size_t count = r->lifetimes->alloc_count;
    uint8_t *column = blob_column(b, table, "category", "u8", count);

    if (column != NULL && count > 0)
        memcpy(column, r->categories, count);
}

/* ---- segments ----------------------------------------------------------------- */

static void add_segments(struct blob *b, json_t *table,
                         const struct lifetimes *l)
{
    double *wide;
    int32_t *when;
    uint32_t *stream;
    uint8_t *kind;
    size_t i;

    wide = blob_column(b, table, "address", "f64", l->span_count);
    for (i = 0; wide != NULL && i < l->span_count; i++)
        wide[i] = (double)l->spans[i].address;
    wide = blob_column(b, table, "size", "f64", l->span_count);
    for (i = 0; wide != NULL && i < l->span_count; i++)
        wide[i] = (double)l->spans[i].size;
    when = blob_column(b, table, "start", "i32", l->span_count);
    for (i = 0; when != NULL && i < l->span_count; i++)
        when[i] = moment(l->spans[i].start);
    when = blob_column(b, table, "end", "i32", l->span_count);
    for (i = 0; when != NULL && i < l->span_count; i++)
        when[i] = moment(l->spans[i].end);
    stream = blob_column(b, table, "stream", "u32", l->span_count);
    for (i = 0; stream != NULL && i < l->span_count; i++)
        stream[i] = l->spans[i].stream;
    kind = blob_column(b, table, "kind", "u8", l->span_count);
    for (i = 0; kind != NULL && i < l->span_count; i++)
        kind[i] = l->spans[i].kind;
}

/* ---- texts -------------------------------------------------------------------- */

static json_t *stream_names(const struct snapshot *s)
{
    json_t *names = json_array();
    size_t i;

    for (i = 0; names != NULL && i < s->stream_count; i++) {
        char text[32];

        snprintf(text, sizeof(text), s->streams[i] < 65536 ? "%llu" : "0x%llx",
                 (unsigned long long)s->streams[i]);
        json_array_append_new(names, json_string(text));
    }
    return names;
}

static json_t *category_names(void)
{
    json_t *names = json_array();
    int i;

    for (i = 0; names != NULL && i < REPORT_CATEGORIES; i++)
        json_array_append_new(
            names, json_string(report_category_name((enum report_category)i)));
    return names;
}

static json_t *failure(const struct run_summary *r, uint32_t event,
                       bool explain, struct tool_error *error)
{
    const struct lifetimes *l = r->lifetimes;
    json_t *made;
    char *text = NULL;

    if (explain && !report_explain_oom(l, r->categories, event, &text, error))
        return NULL;
    made = json_pack("{s:I, s:I, s:s}", "event", (json_int_t)event, "bytes",
                     (json_int_t)l->events[event].size, "text",
                     text != NULL ? text : "Not explained: one of many.");
    free(text);
    if (made == NULL)
        tool_set_error(error, "not enough host memory for the page");
    return made;
}

static json_t *failures(const struct run_summary *r, struct tool_error *error)
{
    const struct lifetimes *l = r->lifetimes;
    json_t *list = json_array();
    uint32_t told = 0;
    uint32_t i;

    for (i = 0; list != NULL && i < l->event_count; i++) {
        json_t *made;

        if (l->events[i].action != SNAPSHOT_OOM)
            continue;
        made = failure(r, i, told++ < REPORT_OOMS_EXPLAINED, error);
        if (made == NULL) {
            json_decref(list);
            return NULL;
        }
        json_array_append_new(list, made);
    }
    return list;
}

static json_t *findings(const struct run_summary *r, struct tool_error *error)
{
    struct report_finding *found;
    json_t *list;
    size_t count;
    size_t i;

    if (!report_findings(r, &found, &count, error))
        return NULL;
    list = json_array();
    for (i = 0; list != NULL && i < count; i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:s}", "title", found[i].title,
                                        "text", found[i].text));
    report_findings_free(found, count);
    return list;
}

static json_t *marks(const struct lifetimes *l)
{
    const struct snapshot *s = l->snapshot;
    json_t *list = json_array();
    size_t i;

    for (i = 0; list != NULL && i < s->annotation_count; i++) {
        const struct snapshot_annotation *a = &s->annotations[i];

        if (a->device != l->device ||
            strcmp(snapshot_string(s, a->stage), "END") == 0)
            continue;
        json_array_append_new(
            list, json_pack("{s:I, s:s}", "event",
                            (json_int_t)lifetimes_event_at(l, a->time_us),
                            "label", snapshot_string(s, a->name)));
    }
    return list;
}

static char *note_text(const struct lifetimes *l, char *text, size_t cap)
{
    uint64_t odd = l->overwritten + l->unmatched;

    text[0] = '\0';
    if (l->event_count == 0)
        snprintf(text, cap, "no events were recorded: the last state only");
    else if (odd > 0)
        snprintf(text, cap, "%" PRIu64 " events do not fit the others", odd);
    return text;
}

static bool add_texts(json_t *device, const struct lifetimes *l,
                      const struct run_summary *r, struct tool_error *error)
{
    char note[80];
    json_t *ooms = failures(r, error);
    json_t *found = ooms != NULL ? findings(r, error) : NULL;

    if (found == NULL) {
        json_decref(ooms);
        return false;
    }
    json_object_set_new(device, "ooms", ooms);
    json_object_set_new(device, "findings", found);
    json_object_set_new(device, "marks", marks(l));
    json_object_set_new(device, "streams", stream_names(l->snapshot));
    json_object_set_new(device, "categories", category_names());
    json_object_set_new(device, "note",
                        json_string(note_text(l, note, sizeof(note))));
    return true;
}

json_t *columns_of_device(struct blob *b, const struct lifetimes *l,
                          struct tool_error *error)
{
    json_t *device =
        json_pack("{s:I, s:{}, s:{}, s:{}}", "device", (json_int_t)l->device,
                  "event", "alloc", "segment");
    json_t *allocs = json_object_get(device, "alloc");
    struct run_summary r;
    bool ok;

    if (device == NULL || !run_summary_make(l, &r, error)) {
        json_decref(device);
        return NULL;
    }
    add_event_numbers(b, json_object_get(device, "event"), l);
    add_times(b, json_object_get(device, "event"), l);
    add_order(b, allocs, l);
    add_lives(b, allocs, l);
    add_sizes(b, allocs, l);
    add_origins(b, allocs, l);
    add_notes(b, allocs, l);
    add_segments(b, json_object_get(device, "segment"), l);
    add_categories(b, allocs, &r);
    ok = add_texts(device, l, &r, error);
    run_summary_free(&r);
    if (ok)
        return device;
    json_decref(device);
    return NULL;
}
