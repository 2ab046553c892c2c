/* snap_trace.c - converts one device of a snapshot to a trace that can be
 * replayed. */
#include "convert/snap_trace.h"

#include <inttypes.h>
#include <stdlib.h>

#include "snapshot/plain_text.h"

/* For pools that exceed a trace's numbers. */
enum { BEYOND_POOLS = TRACE_POOLS + 1, LABEL_MAX = 1024 };

struct timed_mark {
    int64_t time_us;
    uint32_t annotation;
};

struct making {
    const struct story *story;
    const struct lifetimes *l;
    struct trace *out;
    struct snap_trace_notes *notes;
    struct arena arena;
    uint32_t *ids; /* by allocation */
    uint32_t next_id;
    uint16_t *streams; /* by number in the snapshot; 0: default, or none */
    uint32_t real_streams;
    uint16_t *waits; /* by allocation: stream that its free waited for */
    uint16_t *idle;  /* such streams that nothing waits for now */
    size_t idle_count;
    uint32_t next_wait;       /* the next unused one */
    uint16_t *pools;          /* by number in the snapshot */
    struct placed *placed;    /* the blocks from before */
    struct timed_mark *marks; /* the device's annotations, by time */
    size_t mark_count;
    size_t next_mark;
    uint32_t metadata; /* string: of the last allocation that had one */
};

static void append(struct making *m, struct trace_op op)
{
    arena_need(&m->arena, trace_append(m->out, &op));
}

/* ---- marks -------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Append a mark.  Its label contains neither the beginning of a comment nor a
 * line end, and does not begin or end with a blank. */
static void add_mark(struct making *m, const char *text)
{
    char label[LABEL_MAX];
    size_t length = 0;

    while (is_blank(*text))
        text++;
    while (*text != '\0' && length < sizeof label) {
        unsigned code;
        size_t control = plain_text_control(text, &code);

        label[length++] = *text == '#' ? ':' : control > 0 ? ' ' : *text;
        text += control > 0 ? control : 1;
    }
    while (length > 0 && is_blank(label[length - 1]))
        length--;
    arena_need(&m->arena,
               length == 0 || trace_append_mark(m->out, label, length));
}

static int compare_times(const void *a, const void *b)
{
    const struct timed_mark *x = a;
    const struct timed_mark *y = b;

    if (x->time_us != y->time_us)
        return x->time_us < y->time_us ? -1 : 1;
    return (x->annotation > y->annotation) - (x->annotation < y->annotation);
}

static void sort_marks(struct making *m)
{
    const struct snapshot *s = m->l->snapshot;

    for (size_t i = 0; i < s->annotation_count; i++) {
        if (s->annotations[i].device == m->l->device)
            m->marks[m->mark_count++] =
                (struct timed_mark){s->annotations[i].time_us, (uint32_t)i};
    }
    qsort(m->marks, m->mark_count, sizeof *m->marks, compare_times);
}

/* Append the annotations up to this time that have not been. */
static void add_annotations(struct making *m, int64_t until_us)
{
    const struct snapshot *s = m->l->snapshot;

    for (; m->next_mark < m->mark_count &&
           m->marks[m->next_mark].time_us <= until_us;
         m->next_mark++) {
        const struct snapshot_annotation *a =
            &s->annotations[m->marks[m->next_mark].annotation];
        char text[LABEL_MAX];

        snprintf(text, sizeof text, "%s %s", snapshot_string(s, a->name),
                 snapshot_string(s, a->stage));
        add_mark(m, text);
    }
}

/* Append the marks before an event. */
static void add_marks(struct making *m, const struct snapshot_event *e)
{
    if ((e->has & SNAPSHOT_HAS_TIME) != 0)
        add_annotations(m, e->time_us);
    if (e->action != SNAPSHOT_ALLOC || e->user_metadata == 0 ||
        e->user_metadata == m->metadata)
        return;
    m->metadata = e->user_metadata;
    add_mark(m, snapshot_string(m->l->snapshot, e->user_metadata));
}

/* ---- numbers ------------------------------------------------------------ */

static void number_stream(struct making *m, uint32_t stream)
{
    if (snapshot_stream(m->l->snapshot, stream) == 0 || m->streams[stream] != 0)
        return;
    arena_check(&m->arena,
                m->real_streams < TRACE_STREAMS ||
                    tool_fail(m->arena.error,
                              "device %zu has more than %d streams, the most a "
                              "trace can have",
                              m->l->device, TRACE_STREAMS));
    m->streams[stream] = (uint16_t)m->real_streams++;
}

static void number_pool(struct making *m, uint32_t pool)
{
    if (pool == 0)
        return;
    m->notes->pool_allocs++;
    if (m->pools[pool] == 0) {
        uint64_t number = ++m->notes->pools;

        m->pools[pool] =
            (uint16_t)(number <= TRACE_POOLS ? number : BEYOND_POOLS);
    }
    m->notes->unpooled += m->pools[pool] == BEYOND_POOLS;
}

/* Streams of failed requests are numbered last: nothing else may use them. */
static void number_all(struct making *m)
{
    m->real_streams = 1;
    for (size_t i = 0; i < m->l->alloc_count; i++) {
        number_stream(m, m->l->allocs[i].stream);
        number_pool(m, m->l->allocs[i].pool);
    }
    for (uint32_t i = 0; i < m->l->event_count; i++) {
        const struct snapshot_event *e = &m->l->events[i];

        if (e->action != SNAPSHOT_OOM)
            continue;
        number_stream(m, e->stream);
        number_pool(m, e->pool);
    }
    m->next_wait = m->real_streams;
}

/* A stream that nothing else waits for; 0: none is left. */
static uint16_t take_wait(struct making *m)
{
    if (m->idle_count > 0)
        return m->idle[--m->idle_count];
    return m->next_wait < TRACE_STREAMS ? (uint16_t)m->next_wait++ : 0;
}

/* ---- operations --------------------------------------------------------- */

static void add_request(struct making *m, uint64_t bytes, uint32_t stream,
                        uint32_t pool)
{
    uint16_t number = m->pools[pool];

    append(m, (struct trace_op){
                  .kind = TRACE_ALLOC,
                  .id = m->next_id++,
                  .bytes = bytes <= INT64_MAX ? bytes : INT64_MAX,
                  .stream = m->streams[stream],
                  .pool = (uint8_t)(number != BEYOND_POOLS ? number : 0),
              });
}

static void add_alloc(struct making *m, uint32_t number)
{
    const struct lifetime *a = &m->l->allocs[number];

    m->ids[number] = m->next_id;
    add_request(m, a->requested, a->stream, a->pool);
}

static void add_free(struct making *m, uint32_t number)
{
    uint16_t wait = m->story->deferred[number] ? take_wait(m) : 0;

    m->waits[number] = wait;
    if (wait != 0)
        append(m, (struct trace_op){.kind = TRACE_RECORD,
                                    .id = m->ids[number],
                                    .stream = wait});
    append(m, (struct trace_op){.kind = TRACE_FREE, .id = m->ids[number]});
}

static void add_completed(struct making *m, uint32_t number)
{
    uint16_t wait = m->waits[number];

    if (wait == 0)
        return;
    m->waits[number] = 0;
    m->idle[m->idle_count++] = wait;
    append(m, (struct trace_op){.kind = TRACE_COMPLETE, .stream = wait});
}

/* ---- blocks older than the recording ------------------------------------ */

struct placed {
    uint64_t address;
    uint32_t number;
    bool is_pending;
};

/* Pending allocations come first, so that they are not counted as live together
 * with the others. */
static int compare_placed(const void *a, const void *b)
{
    const struct placed *x = a;
    const struct placed *y = b;

    if (x->is_pending != y->is_pending)
        return x->is_pending ? -1 : 1;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static void add_before(struct making *m)
{
    size_t count = m->l->before_count;

    for (size_t i = 0; i < count; i++)
        m->placed[i] = (struct placed){.address = m->l->allocs[i].address,
                                       .number = (uint32_t)i,
                                       .is_pending = m->l->allocs[i].end ==
                                                     LIFETIME_BEFORE};
    qsort(m->placed, count, sizeof *m->placed, compare_placed);
    for (size_t i = 0; i < count; i++) {
        add_alloc(m, m->placed[i].number);
        if (m->placed[i].is_pending)
            add_free(m, m->placed[i].number);
    }
    if (count > 0)
        add_mark(m, "the recording begins");
}

/* ---- the recording ------------------------------------------------------ */

static void add_oom(struct making *m, const struct snapshot_event *e)
{
    char text[96];

    m->notes->recorded_ooms++;
    snprintf(text, sizeof text,
             "out of memory: %" PRIu64 " bytes requested, %" PRIu64 " free",
             e->size, e->address);
    m->out->has_refused = true;
    m->out->refused = m->next_id;
    add_mark(m, text);
    add_request(m, e->size, e->stream, e->pool);
    append(m, (struct trace_op){.kind = TRACE_FREE, .id = m->out->refused});
}

static void add_made(struct making *m, uint32_t i)
{
    if (m->story->replaced[i] != STORY_NONE)
        add_free(m, m->story->replaced[i]);
    add_alloc(m, m->story->subjects[i]);
}

static void add_late(struct making *m, uint32_t request)
{
    uint32_t event = request;

    while (story_is_late(m->story, request, &event)) {
        if (m->story->subjects[event] != STORY_NONE)
            add_completed(m, m->story->subjects[event]);
    }
}

static void add_event(struct making *m, uint32_t i)
{
    const struct snapshot_event *e = &m->l->events[i];
    uint32_t subject = m->story->subjects[i];

    add_marks(m, e);
    if (m->story->empties[i])
        append(m, (struct trace_op){.kind = TRACE_EMPTY_CACHE});
    if (e->action == SNAPSHOT_OOM || e->action == SNAPSHOT_ALLOC) {
        if (e->action == SNAPSHOT_OOM)
            add_oom(m, e);
        else
            add_made(m, i);
        add_late(m, i);
    } else if (subject == STORY_NONE || m->story->late[i])
        return;
    else if (e->action == SNAPSHOT_FREE_REQUESTED)
        add_free(m, subject);
    else
        add_completed(m, subject);
}

static void take_memory(struct making *m)
{
    const struct snapshot *s = m->l->snapshot;
    struct arena *arena = &m->arena;

    m->ids = arena_take(arena, m->l->alloc_count, sizeof *m->ids);
    m->waits = arena_take(arena, m->l->alloc_count, sizeof *m->waits);
    m->streams = arena_take(arena, s->stream_count, sizeof *m->streams);
    m->idle = arena_take(arena, TRACE_STREAMS, sizeof *m->idle);
    m->pools = arena_take(arena, s->pool_count, sizeof *m->pools);
    m->placed = arena_take(arena, m->l->before_count, sizeof *m->placed);
    m->marks = arena_take(arena, s->annotation_count, sizeof *m->marks);
}

static bool snap_trace_add_all(struct making *m)
{
    if (setjmp(m->arena.failed) != 0)
        return false;
    take_memory(m);
    sort_marks(m);
    number_all(m);
    add_before(m);
    for (uint32_t i = 0; i < m->l->event_count; i++)
        add_event(m, i);
    add_annotations(m, INT64_MAX);
    return true;
}

bool snap_trace_make(const struct story *story, struct trace *out,
                     struct snap_trace_notes *notes, struct tool_error *error)
{
    struct making m = {.story = story,
                       .l = story->lifetimes,
                       .out = out,
                       .notes = notes,
                       .arena = {.error = error}};
    bool ok;

    *notes = (struct snap_trace_notes){
        .rolled_back = story->lifetimes->before_count,
        .unmatched_frees = story->lifetimes->unmatched,
        .overwritten = story->lifetimes->overwritten,
        .zero_sizes = story->zero_sizes,
        .deferred = story->deferred_count,
        .empty_caches = story->empty_count,
    };
    trace_init(out);
    ok = arena_end(&m.arena, snap_trace_add_all(&m));
    if (!ok)
        trace_free(out);
    return ok;
}
