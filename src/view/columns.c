/* columns.c - see columns.h.
 *
 * Most of an event's data equals that of the allocation or segment that it
 * created or freed: the page takes it from there, and receives only events that
 * differ. */
#include "view/columns.h"

#include <inttypes.h>
#include <string.h>

#include "json/json_memory.h"
#include "report/explain.h"
#include "report/report_words.h"

/* ---- allocations ------------------------------------------------------------ */

/* An event's number in the page: -1 is before the first. */
static uint64_t moment(uint32_t event)
{
    return event == LIFETIME_BEFORE ? UINT64_MAX : event;
}

BLOB_VALUE(alloc_start, struct lifetimes, moment(d->allocs[i].start))
BLOB_VALUE(alloc_life, struct lifetimes,
           moment(d->allocs[i].end) - moment(d->allocs[i].start))
BLOB_VALUE(alloc_pending, struct lifetimes,
           moment(d->allocs[i].done) - moment(d->allocs[i].end))
BLOB_VALUE(alloc_address, struct lifetimes, d->allocs[i].address)
BLOB_VALUE(alloc_size, struct lifetimes, d->allocs[i].requested)
BLOB_VALUE(alloc_rounded, struct lifetimes, d->allocs[i].rounded)
BLOB_VALUE(alloc_stack, struct lifetimes, d->allocs[i].stack)
BLOB_VALUE(alloc_stream, struct lifetimes, d->allocs[i].stream)
BLOB_VALUE(alloc_note, struct lifetimes, d->allocs[i].user_metadata)
BLOB_VALUE(alloc_category, uint8_t, d[i])

static bool any_note(const struct lifetimes *l)
{
    size_t i;

    for (i = 0; i < l->alloc_count; i++) {
        if (l->allocs[i].user_metadata != 0)
            return true;
    }
    return false;
}

static void add_allocations(struct blob *b, json_t *table,
                            const struct lifetimes *l)
{
    static const struct {
        const char *name;
        const char *type;
        blob_value *value;
        enum blob_coding coding;
    } columns[] = {
        {"start", "i32", alloc_start, BLOB_DELTA},
        {"life", "i32", alloc_life, BLOB_SIGNED},
        {"pending", "i32", alloc_pending, BLOB_SIGNED},
        {"address", "f64", alloc_address, BLOB_TABLE},
        {"size", "f64", alloc_size, BLOB_TABLE},
        {"rounded", "f64", alloc_rounded, BLOB_TABLE},
        {"stack", "u32", alloc_stack, BLOB_PLAIN},
        {"stream", "u32", alloc_stream, BLOB_PLAIN},
    };
    size_t i;

    for (i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        blob_column(b, table, columns[i].name, columns[i].type,
                    columns[i].coding, l->alloc_count, columns[i].value, l);
    /* Most snapshots have none. */
    if (any_note(l))
        blob_column(b, table, "note", "u32", BLOB_PLAIN, l->alloc_count,
                    alloc_note, l);
}

/* ---- segments --------------------------------------------------------------- */

BLOB_VALUE(span_address, struct lifetimes, d->spans[i].address)
BLOB_VALUE(span_size, struct lifetimes, d->spans[i].size)
BLOB_VALUE(span_start, struct lifetimes, moment(d->spans[i].start))
BLOB_VALUE(span_end, struct lifetimes, moment(d->spans[i].end))
BLOB_VALUE(span_stream, struct lifetimes, d->spans[i].stream)
BLOB_VALUE(span_kind, struct lifetimes, d->spans[i].kind)

static void add_segments(struct blob *b, json_t *table,
                         const struct lifetimes *l)
{
    size_t count = l->span_count;

    blob_column(b, table, "address", "f64", BLOB_PLAIN, count, span_address, l);
    blob_column(b, table, "size", "f64", BLOB_PLAIN, count, span_size, l);
    blob_column(b, table, "start", "i32", BLOB_SIGNED, count, span_start, l);
    blob_column(b, table, "end", "i32", BLOB_SIGNED, count, span_end, l);
    blob_column(b, table, "stream", "u32", BLOB_PLAIN, count, span_stream, l);
    blob_column(b, table, "kind", "u8", BLOB_PLAIN, count, span_kind, l);
}

/* ---- events ----------------------------------------------------------------- */

/* What the page computes for each event, and what it cannot. */
struct event_words {
    const struct lifetimes *l;
    uint64_t *bytes; /* as the page computes them, and the addresses */
    uint64_t *addresses;
    uint64_t *times; /* microseconds since the first known time */
    uint32_t *odd;   /* events that differ from what the page computes */
    size_t odd_count;
};

static void say(struct event_words *w, uint32_t event, uint64_t bytes,
                uint64_t address)
{
    if (event < w->l->event_count) {
        w->bytes[event] = bytes;
        w->addresses[event] = address;
    }
}

/* In the page's order (decode.js), because the last one counts. */
static void say_all(struct event_words *w)
{
    const struct lifetimes *l = w->l;

    for (size_t i = 0; i < l->span_count; i++) {
        say(w, l->spans[i].start, l->spans[i].size, l->spans[i].address);
        say(w, l->spans[i].end, l->spans[i].size, l->spans[i].address);
    }
    for (size_t i = 0; i < l->alloc_count; i++) {
        const struct lifetime *a = &l->allocs[i];

        say(w, a->start, a->requested, a->address);
        say(w, a->done, a->requested, a->address);
        say(w, a->end, a->requested, a->address);
    }
}

static uint64_t event_address(const struct snapshot_event *e)
{
    return e->action == SNAPSHOT_OOM ? 0 : e->address;
}

static void find_odd(struct event_words *w)
{
    for (uint32_t i = 0; i < w->l->event_count; i++) {
        const struct snapshot_event *e = &w->l->events[i];

        if (w->addresses[i] != event_address(e) || w->bytes[i] != e->size)
            w->odd[w->odd_count++] = i;
    }
}

/* Non-decreasing, although clocks of several threads may step back. */
static void find_times(struct event_words *w)
{
    int64_t first = 0;
    bool begun = false;
    int64_t latest = 0;
    uint32_t i;

    for (i = 0; i < w->l->event_count; i++) {
        const struct snapshot_event *e = &w->l->events[i];

        if (snapshot_event_has_clock(e)) {
            if (!begun)
                first = e->time_us;
            begun = true;
            if (report_elapsed(first, e->time_us) > latest)
                latest = report_elapsed(first, e->time_us);
        }
        w->times[i] = (uint64_t)latest;
    }
}

BLOB_VALUE(event_action, struct event_words,
           d->l->events[i].action < SNAPSHOT_OTHER ? d->l->events[i].action
                                                   : SNAPSHOT_OTHER)
BLOB_VALUE(event_time, struct event_words, d->times[i])
BLOB_VALUE(odd_number, struct event_words, d->odd[i])
BLOB_VALUE(odd_bytes, struct event_words, d->l->events[d->odd[i]].size)
BLOB_VALUE(odd_address, struct event_words,
           event_address(&d->l->events[d->odd[i]]))

static void add_events(struct blob *b, json_t *table, const struct lifetimes *l)
{
    size_t count = l->event_count;
    const struct arena_piece *last = b->arena->last;
    struct event_words w = {
        .l = l,
        .bytes = arena_take(b->arena, count, sizeof(*w.bytes)),
        .addresses = arena_take(b->arena, count, sizeof(*w.addresses)),
        .times = arena_take(b->arena, count, sizeof(*w.times)),
        .odd = arena_take(b->arena, count, sizeof(*w.odd)),
    };

    say_all(&w);
    find_odd(&w);
    find_times(&w);
    blob_column(b, table, "action", "u8", BLOB_PLAIN, count, event_action, &w);
    blob_column(b, table, "time", "f64", BLOB_DELTA, count, event_time, &w);
    blob_column(b, table, "odd", "u32", BLOB_DELTA, w.odd_count, odd_number,
                &w);
    blob_column(b, table, "odd_bytes", "f64", BLOB_PLAIN, w.odd_count,
                odd_bytes, &w);
    blob_column(b, table, "odd_address", "f64", BLOB_PLAIN, w.odd_count,
                odd_address, &w);
    arena_free_since(b->arena, last);
}

/* ---- texts, and the names of streams and categories ---------------------- */

static json_t *stream_names(const struct snapshot *s)
{
    json_t *names = json_array();

    for (size_t i = 0; i < s->stream_count; i++)
        json_array_append_new(
            names, json_sprintf(s->streams[i] < 65536 ? "%llu" : "0x%llx",
                                (unsigned long long)s->streams[i]));
    return names;
}

static json_t *category_names(void)
{
    json_t *names = json_array();
    int i;

    for (i = 0; i < REPORT_CATEGORIES; i++)
        json_array_append_new(
            names, json_string(report_category_name((enum report_category)i)));
    return names;
}

/* The last is what the verdict is about. */
static json_t *failures_json(const struct run_summary *r,
                             const struct report_failure *failures,
                             size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        const struct report_failure *f = &failures[i];

        json_array_append_new(
            list,
            json_pack("{s:I, s:f, s:s}", "event", (json_int_t)f->event, "bytes",
                      (double)r->lifetimes->events[f->event].size, "text",
                      f->text != NULL ? f->text
                                      : "Not explained: one of many."));
    }
    return list;
}

static json_t *marks(const struct lifetimes *l)
{
    const struct snapshot *s = l->snapshot;
    json_t *list = json_array();
    size_t i;

    for (i = 0; i < s->annotation_count; i++) {
        const struct snapshot_annotation *a = &s->annotations[i];

        if (a->device != l->device ||
            strcmp(snapshot_string(s, a->stage), "END") == 0)
            continue;
        json_array_append_new(
            list, json_pack("{s:I, s:o}", "event",
                            (json_int_t)lifetimes_event_at(l, a->time_us),
                            "label", utf8_json(snapshot_string(s, a->name))));
    }
    return list;
}

static json_t *note(const struct lifetimes *l)
{
    uint64_t odd = l->overwritten + l->unmatched;

    if (l->event_count == 0)
        return json_string("no events were recorded: the last state only");
    return odd > 0
               ? json_sprintf("%" PRIu64 " events do not fit the others", odd)
               : json_string("");
}

/* Add `verdict`, `ooms`, `findings`, `marks`, `streams`, `categories` and
 * `note`. */
static void add_texts(struct arena *arena, json_t *device,
                      const struct run_summary *r,
                      const struct report_cure *cure)
{
    const struct lifetimes *l = r->lifetimes;
    /* The report's first three lines. */
    const struct report_verdict v = report_verdict_make(arena, r, cure);
    size_t failed, told;
    const struct report_failure *failures =
        report_failures(arena, r, true, &failed);
    const struct report_finding *found = report_findings(arena, r, &told);

    json_object_set_new(device, "verdict",
                        json_pack("[s, s, s]", v.what, v.who, v.advice));
    json_object_set_new(device, "ooms", failures_json(r, failures, failed));
    json_object_set_new(device, "findings", report_findings_json(found, told));
    json_object_set_new(device, "marks", marks(l));
    json_object_set_new(device, "streams", stream_names(l->snapshot));
    json_object_set_new(device, "categories", category_names());
    json_object_set_new(device, "note", note(l));
}

/* ---- the device ---------------------------------------------------------- */

void columns_of_device(struct blob *b, json_t *devices,
                       const struct run_summary *r,
                       const struct report_cure *cure)
{
    const struct lifetimes *l = r->lifetimes;
    json_t *device =
        json_pack("{s:I, s:{}, s:{}, s:{}}", "device", (json_int_t)l->device,
                  "event", "alloc", "segment");
    json_t *allocs = json_object_get(device, "alloc");

    json_array_append_new(devices, device);
    /* Otherwise it may be freed already. */
    arena_need(b->arena, !json_memory_failed());
    add_events(b, json_object_get(device, "event"), l);
    add_allocations(b, allocs, l);
    add_segments(b, json_object_get(device, "segment"), l);
    blob_column(b, allocs, "category", "u8", BLOB_PLAIN, l->alloc_count,
                alloc_category, r->categories);
    add_texts(b->arena, device, r, cure);
}
