/* columns.c - see columns.h.
 *
 * Most of an event's data equals that of the allocation or segment that it
 * created or freed: the page takes it from there, and receives only events that
 * differ. */
#include "view/columns.h"

#include <stdlib.h>

#include "report/report_words.h"
#include "view/device_texts.h"
#include "view/frame_words.h"

/* ---- shared columns ------------------------------------------------------- */

static json_t *string_list(const struct snapshot *s)
{
    json_t *list = json_array();
    size_t i;

    for (i = 0; list != NULL && i < s->string_count; i++) {
        json_t *text = json_stringn(snapshot_string(s, (uint32_t)i),
                                    snapshot_string_length(s, (uint32_t)i));

        /* Text that is not UTF-8 cannot be shown. */
        if (text == NULL)
            text = json_string("?");
        if (json_array_append_new(list, text) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* File, line and function of each frame. */
static uint64_t frame_number(const void *data, size_t i)
{
    const struct snapshot_frame *f =
        &((const struct snapshot *)data)->frames[i / 3];

    return i % 3 == 0 ? f->filename : i % 3 == 1 ? f->line : f->name;
}

static uint64_t stack_begin(const void *data, size_t i)
{
    return ((const struct snapshot *)data)->stack_begins[i];
}

static uint64_t stack_frame(const void *data, size_t i)
{
    return ((const struct snapshot *)data)->stack_frames[i];
}

bool columns_add_stacks(struct blob *b, json_t *run, const struct snapshot *s)
{
    if (json_object_set_new(run, "strings", string_list(s)) != 0)
        return false;
    blob_column(b, run, "frame", "u32", BLOB_PLAIN, s->frame_count * 3,
                frame_number, s);
    blob_column(b, run, "stack_begin", "u32", BLOB_DELTA, s->stack_count + 1,
                stack_begin, s);
    blob_column(b, run, "stack_frame", "u32", BLOB_DELTA,
                (size_t)s->stack_begins[s->stack_count], stack_frame, s);
    return frame_words_add(b, run, s) && !b->failed;
}

/* ---- allocations ------------------------------------------------------------ */

/* An event's number in the page: -1 is before the first. */
static uint64_t moment(uint32_t event)
{
    return event == LIFETIME_BEFORE ? UINT64_MAX : event;
}

/* Define value_NAME(lifetimes, i), the value of EXPRESSION for allocation i,
 * `a`. */
#define ALLOC_VALUE(name, expression)                                          \
    static uint64_t value_##name(const void *data, size_t i)                   \
    {                                                                          \
        const struct lifetime *a =                                             \
            &((const struct lifetimes *)data)->allocs[i];                      \
                                                                               \
        return (expression);                                                   \
    }

ALLOC_VALUE(start, moment(a->start))
ALLOC_VALUE(life, moment(a->end) - moment(a->start))
ALLOC_VALUE(pending, moment(a->done) - moment(a->end))
ALLOC_VALUE(address, a->address)
ALLOC_VALUE(size, a->requested)
ALLOC_VALUE(rounded, a->rounded)
ALLOC_VALUE(stack, a->stack)
ALLOC_VALUE(stream, a->stream)
ALLOC_VALUE(note, a->user_metadata)

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
        {"start", "i32", value_start, BLOB_DELTA},
        {"life", "i32", value_life, BLOB_SIGNED},
        {"pending", "i32", value_pending, BLOB_SIGNED},
        {"address", "f64", value_address, BLOB_TABLE},
        {"size", "f64", value_size, BLOB_TABLE},
        {"rounded", "f64", value_rounded, BLOB_TABLE},
        {"stack", "u32", value_stack, BLOB_PLAIN},
        {"stream", "u32", value_stream, BLOB_PLAIN},
    };
    size_t i;

    for (i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        blob_column(b, table, columns[i].name, columns[i].type,
                    columns[i].coding, l->alloc_count, columns[i].value, l);
    /* Most snapshots have none. */
    if (any_note(l))
        blob_column(b, table, "note", "u32", BLOB_PLAIN, l->alloc_count,
                    value_note, l);
}

static uint64_t value_category(const void *data, size_t i)
{
    return ((const uint8_t *)data)[i];
}

/* ---- segments --------------------------------------------------------------- */

#define SPAN_VALUE(name, expression)                                           \
    static uint64_t span_##name(const void *data, size_t i)                    \
    {                                                                          \
        const struct segment_span *s =                                         \
            &((const struct lifetimes *)data)->spans[i];                       \
                                                                               \
        return (expression);                                                   \
    }

SPAN_VALUE(address, s->address)
SPAN_VALUE(size, s->size)
SPAN_VALUE(start, moment(s->start))
SPAN_VALUE(end, moment(s->end))
SPAN_VALUE(stream, s->stream)
SPAN_VALUE(kind, s->kind)

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
    uint32_t *owner; /* of an event: 0 none, an allocation + 1, or a span +
                      * alloc_count + 1 */
    uint64_t *times; /* microseconds since the first known time */
    uint32_t *odd;   /* events that differ from their owner */
    size_t odd_count;
};

static void own(struct event_words *w, uint32_t event, size_t owner)
{
    if (event < w->l->event_count)
        w->owner[event] = (uint32_t)owner;
}

/* In the page's order (decode.js), because the last owner counts. */
static void find_owners(struct event_words *w)
{
    const struct lifetimes *l = w->l;
    size_t i;

    for (i = 0; i < l->span_count; i++) {
        own(w, l->spans[i].start, l->alloc_count + i + 1);
        own(w, l->spans[i].end, l->alloc_count + i + 1);
    }
    for (i = 0; i < l->alloc_count; i++) {
        own(w, l->allocs[i].start, i + 1);
        own(w, l->allocs[i].done, i + 1);
        own(w, l->allocs[i].end, i + 1);
    }
}

static uint64_t event_address(const struct snapshot_event *e)
{
    return e->action == SNAPSHOT_OOM ? 0 : e->address;
}

static bool is_odd(const struct event_words *w, uint32_t event)
{
    const struct lifetimes *l = w->l;
    uint32_t owner = w->owner[event];
    uint64_t address = 0;
    uint64_t size = 0;

    if (owner > l->alloc_count) {
        address = l->spans[owner - l->alloc_count - 1].address;
        size = l->spans[owner - l->alloc_count - 1].size;
    } else if (owner > 0) {
        address = l->allocs[owner - 1].address;
        size = l->allocs[owner - 1].requested;
    }
    return address != event_address(&l->events[event]) ||
           size != l->events[event].size;
}

static void find_odd(struct event_words *w)
{
    uint32_t i;

    for (i = 0; i < w->l->event_count; i++) {
        if (is_odd(w, i))
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

        if ((e->has & SNAPSHOT_HAS_TIME) != 0) {
            if (!begun)
                first = e->time_us;
            begun = true;
            if (report_elapsed(first, e->time_us) > latest)
                latest = report_elapsed(first, e->time_us);
        }
        w->times[i] = (uint64_t)latest;
    }
}

static uint64_t value_action(const void *data, size_t i)
{
    uint8_t action = ((const struct event_words *)data)->l->events[i].action;

    return action < SNAPSHOT_OTHER ? action : SNAPSHOT_OTHER;
}

static uint64_t value_time(const void *data, size_t i)
{
    return ((const struct event_words *)data)->times[i];
}

static uint64_t value_odd(const void *data, size_t i)
{
    return ((const struct event_words *)data)->odd[i];
}

static uint64_t odd_bytes(const void *data, size_t i)
{
    const struct event_words *w = data;

    return w->l->events[w->odd[i]].size;
}

static uint64_t odd_address(const void *data, size_t i)
{
    const struct event_words *w = data;

    return event_address(&w->l->events[w->odd[i]]);
}

static void add_events(struct blob *b, json_t *table, const struct lifetimes *l)
{
    size_t count = l->event_count;
    struct event_words w = {
        .l = l,
        .owner = calloc(count + 1, sizeof(*w.owner)),
        .times = calloc(count + 1, sizeof(*w.times)),
        .odd = calloc(count + 1, sizeof(*w.odd)),
    };

    if (w.owner != NULL && w.times != NULL && w.odd != NULL) {
        find_owners(&w);
        find_odd(&w);
        find_times(&w);
        blob_column(b, table, "action", "u8", BLOB_PLAIN, count, value_action,
                    &w);
        blob_column(b, table, "time", "f64", BLOB_DELTA, count, value_time, &w);
        blob_column(b, table, "odd", "u32", BLOB_DELTA, w.odd_count, value_odd,
                    &w);
        blob_column(b, table, "odd_bytes", "f64", BLOB_PLAIN, w.odd_count,
                    odd_bytes, &w);
        blob_column(b, table, "odd_address", "f64", BLOB_PLAIN, w.odd_count,
                    odd_address, &w);
    } else {
        b->failed = true;
    }
    free(w.owner);
    free(w.times);
    free(w.odd);
}

json_t *columns_of_device(struct blob *b, const struct lifetimes *l,
                          const struct report_cure *cure,
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
    add_events(b, json_object_get(device, "event"), l);
    add_allocations(b, allocs, l);
    add_segments(b, json_object_get(device, "segment"), l);
    blob_column(b, allocs, "category", "u8", BLOB_PLAIN, l->alloc_count,
                value_category, r.categories);
    ok = device_texts_add(device, &r, cure, error);
    run_summary_free(&r);
    if (ok)
        return device;
    json_decref(device);
    return NULL;
}
