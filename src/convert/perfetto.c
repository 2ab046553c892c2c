/* perfetto.c - a snapshot as a JSON trace of events for ui.perfetto.dev and
 * chrome://tracing. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "convert/viewer_parts.h"

enum { FRAMES_MAX = 24 };

struct slice {
    uint32_t alloc; /* index of lifetimes.allocs */
    uint32_t lane;  /* number in the device, from 0 */
};

struct lane {
    uint32_t stream; /* number in the snapshot */
    uint32_t order;  /* number among the stream's lanes, from 1 */
    uint32_t until;  /* state from which it is free */
};

struct writing {
    struct arena *arena;
    const struct snapshot *s;
    const struct lifetimes *l;
    FILE *out;
    bool *begun;
    int64_t *times;       /* by state: begins at 0, never decreases */
    struct slice *slices; /* by start */
    size_t slice_count;
    struct lane *lanes;
    size_t lane_count;
    size_t lane_capacity;
};

static void begin_event(struct writing *w)
{
    fputs(*w->begun ? ",\n" : "\n", w->out);
    *w->begun = true;
}

/* ---- times -------------------------------------------------------------- */

/* The time at which state k began, with event k - 1.  If a clock steps back the
 * time stays the same. */
static void take_times(struct writing *w)
{
    const struct lifetimes *l = w->l;
    bool timed = l->event_count > 0;

    for (uint32_t i = 0; i < l->event_count; i++)
        timed &= (l->events[i].has & SNAPSHOT_HAS_TIME) != 0;
    w->times =
        arena_take(w->arena, (size_t)l->event_count + 2, sizeof *w->times);
    w->times[0] = timed ? l->events[0].time_us : 0;
    for (uint32_t i = 0; i < l->event_count; i++) {
        int64_t t = timed ? l->events[i].time_us : (int64_t)i + 1;

        w->times[i + 1] = t > w->times[i] ? t : w->times[i];
    }
    w->times[l->event_count + 1] = w->times[l->event_count] + 1;
}

/* ---- lanes -------------------------------------------------------------- */

/* A lane of the stream that is free from `state` on, or a new one. */
static struct lane *find_lane(struct writing *w, uint32_t stream,
                              uint32_t state)
{
    struct lane *lane;
    uint32_t order = 1;

    for (size_t i = 0; i < w->lane_count; i++) {
        if (w->lanes[i].stream != stream)
            continue;
        if (w->lanes[i].until <= state)
            return &w->lanes[i];
        order++;
    }
    ARENA_ROOM(w->arena, w->lanes, w->lane_capacity, w->lane_count + 1);
    lane = &w->lanes[w->lane_count++];
    *lane = (struct lane){.stream = stream, .order = order};
    return lane;
}

/* Select the allocations that get a slice, and their lanes: slices on a lane
 * must not overlap.  They are of at least a thousandth of the peak of allocated
 * bytes, so at most a thousand are live at once. */
static void make_slices(struct writing *w)
{
    const struct lifetimes *l = w->l;
    uint32_t state;
    uint64_t peak = lifetimes_peak(w->arena, l, CURVE_ALLOCATED, &state);

    w->slices = arena_take(w->arena, l->alloc_count, sizeof *w->slices);
    for (size_t i = 0; i < l->alloc_count; i++) {
        const struct lifetime *a = &l->allocs[i];
        struct lane *lane;

        if (a->rounded < peak / 1000 || a->end == LIFETIME_BEFORE)
            continue;
        lane = find_lane(w, a->stream, a->start + 1);
        lane->until = a->end + 1;
        w->slices[w->slice_count++] =
            (struct slice){(uint32_t)i, (uint32_t)(lane - w->lanes)};
    }
}

/* ---- names -------------------------------------------------------------- */

static void write_names(struct writing *w)
{
    begin_event(w);
    fprintf(w->out,
            "{\"ph\":\"M\",\"pid\":%zu,\"name\":\"process_name\","
            "\"args\":{\"name\":\"device %zu\"}}",
            w->l->device, w->l->device);
    for (size_t i = 0; i < w->lane_count; i++) {
        const struct lane *lane = &w->lanes[i];

        begin_event(w);
        fprintf(w->out,
                "{\"ph\":\"M\",\"pid\":%zu,\"tid\":%zu,"
                "\"name\":\"thread_name\",\"args\":{\"name\":"
                "\"stream 0x%" PRIx64 ", %" PRIu32 "\"}}",
                w->l->device, i + 1, snapshot_stream(w->s, lane->stream),
                lane->order);
        begin_event(w);
        fprintf(w->out,
                "{\"ph\":\"M\",\"pid\":%zu,\"tid\":%zu,"
                "\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%zu}}",
                w->l->device, i + 1, i + 1);
    }
}

/* ---- counters ----------------------------------------------------------- */

static void write_counter(struct writing *w, enum lifetime_curve which,
                          const char *name)
{
    const struct arena_piece *last = w->arena->last;
    uint32_t count = w->l->event_count;
    uint64_t *values = arena_take(w->arena, (size_t)count + 1, sizeof *values);

    lifetimes_curve(w->l, which, values);
    for (uint32_t i = 0; i <= count; i++) {
        if (i > 0 && i < count && values[i] == values[i - 1])
            continue;
        begin_event(w);
        fprintf(w->out,
                "{\"ph\":\"C\",\"pid\":%zu,\"ts\":%" PRId64
                ",\"name\":\"%s\",\"args\":{\"bytes\":%" PRIu64 "}}",
                w->l->device, w->times[i], name, values[i]);
    }
    arena_free_since(w->arena, last);
}

/* ---- slices ------------------------------------------------------------- */

static void write_frame(struct writing *w, uint32_t number)
{
    const struct snapshot_frame *f = &w->s->frames[number];

    fputs("{\"file\":", w->out);
    json_text_write(w->out, w->s, f->filename);
    fprintf(w->out, ",\"line\":%" PRIu32 ",\"name\":", f->line);
    json_text_write(w->out, w->s, f->name);
    putc('}', w->out);
}

static void write_stack(struct writing *w, uint32_t stack)
{
    size_t count;
    const uint32_t *frames = snapshot_stack(w->s, stack, &count);

    fputs(",\"frames\":[", w->out);
    for (size_t i = 0; i < count && i < FRAMES_MAX; i++) {
        if (i > 0)
            putc(',', w->out);
        write_frame(w, frames[i]);
    }
    putc(']', w->out);
}

static void write_slice(struct writing *w, const struct slice *slice)
{
    const struct lifetime *a = &w->l->allocs[slice->alloc];
    int64_t begin = w->times[(uint32_t)(a->start + 1)];
    int64_t end = w->times[a->end + 1];

    begin_event(w);
    fprintf(w->out,
            "{\"ph\":\"X\",\"pid\":%zu,\"tid\":%" PRIu32 ",\"ts\":%" PRId64
            ",\"dur\":%" PRId64 ",\"name\":\"%.2f MiB\",\"args\":{"
            "\"bytes\":%" PRIu64 ",\"address\":\"0x%" PRIx64 "\"",
            w->l->device, slice->lane + 1, begin, end - begin,
            (double)a->requested / (1 << 20), a->requested, a->address);
    if (a->user_metadata != 0) {
        fputs(",\"user_metadata\":", w->out);
        json_text_write(w->out, w->s, a->user_metadata);
    }
    if (a->stack != 0)
        write_stack(w, a->stack);
    fputs("}}", w->out);
}

/* ---- instants ----------------------------------------------------------- */

/* Its name follows. */
static void begin_instant(struct writing *w, int64_t time)
{
    begin_event(w);
    fprintf(w->out,
            "{\"ph\":\"i\",\"s\":\"p\",\"pid\":%zu,\"ts\":%" PRId64
            ",\"name\":",
            w->l->device, time);
}

static void write_ooms(struct writing *w)
{
    for (uint32_t i = 0; i < w->l->event_count; i++) {
        const struct snapshot_event *e = &w->l->events[i];

        if (e->action != SNAPSHOT_OOM)
            continue;
        begin_instant(w, w->times[i + 1]);
        fprintf(w->out,
                "\"out of memory\",\"args\":{\"bytes\":%" PRIu64
                ",\"device_free\":%" PRIu64,
                e->size, e->address);
        if (e->stack != 0)
            write_stack(w, e->stack);
        fputs("}}", w->out);
    }
}

static void write_annotations(struct writing *w)
{
    for (size_t i = 0; i < w->s->annotation_count; i++) {
        const struct snapshot_annotation *a = &w->s->annotations[i];

        if (a->device != w->l->device)
            continue;
        begin_instant(w, a->time_us);
        json_text_write(w->out, w->s, a->name);
        fputs(",\"args\":{\"stage\":", w->out);
        json_text_write(w->out, w->s, a->stage);
        fputs("}}", w->out);
    }
}

/* ---- the whole file ----------------------------------------------------- */

static void write_device(struct arena *arena, const struct lifetimes *l,
                         FILE *out, bool *begun)
{
    struct writing w = {
        .arena = arena, .s = l->snapshot, .l = l, .out = out, .begun = begun};

    take_times(&w);
    make_slices(&w);
    write_names(&w);
    write_counter(&w, CURVE_REQUESTED, "requested");
    write_counter(&w, CURVE_ALLOCATED, "allocated");
    write_counter(&w, CURVE_RESERVED, "reserved");
    for (size_t i = 0; i < w.slice_count; i++)
        write_slice(&w, &w.slices[i]);
    write_ooms(&w);
    write_annotations(&w);
}

bool perfetto_write(const struct snapshot *s, size_t device, FILE *out,
                    struct tool_error *error)
{
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", out);
    if (!viewer_devices(s, device, out, write_device, error))
        return false;
    fputs("\n]}\n", out);
    return (fflush(out) == 0 && ferror(out) == 0) ||
           tool_fail(error, "cannot be written: %s", strerror(errno));
}
