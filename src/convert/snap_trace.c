/* snap_trace.c - converts one device of a snapshot to a trace that can be
 * replayed. */
#include "convert/snap_trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "convert/snap_marks.h"

/* For pools that exceed a trace's numbers. */
enum { BEYOND_POOLS = TRACE_POOLS + 1 };

struct making {
    const struct story *story;
    const struct lifetimes *l;
    struct trace *out;
    struct snap_trace_notes *notes;
    struct tool_error *error;
    uint32_t *ids; /* by allocation */
    uint32_t next_id;
    uint16_t *streams; /* by number in the snapshot; 0: default, or none */
    uint32_t real_streams;
    uint16_t *waits; /* by allocation: stream that its free waited for */
    uint16_t *idle;  /* such streams that nothing waits for now */
    size_t idle_count;
    uint32_t next_wait; /* the next unused one */
    uint16_t *pools;    /* by number in the snapshot */
    struct snap_marks marks;
};

static bool snap_trace_no_memory(const struct making *m)
{
    return tool_fail(m->error, "out of host memory");
}

static bool append(struct making *m, struct trace_op op)
{
    return trace_append(m->out, &op) || snap_trace_no_memory(m);
}

/* ---- numbers ------------------------------------------------------------ */

static bool number_stream(struct making *m, uint32_t stream)
{
    if (snapshot_stream(m->l->snapshot, stream) == 0 || m->streams[stream] != 0)
        return true;
    if (m->real_streams == TRACE_STREAMS)
        return tool_fail(m->error,
                         "device %zu has more than %d streams, the most a "
                         "trace can have",
                         m->l->device, TRACE_STREAMS);
    m->streams[stream] = (uint16_t)m->real_streams++;
    return true;
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
static bool number_all(struct making *m)
{
    m->real_streams = 1;
    for (size_t i = 0; i < m->l->alloc_count; i++) {
        if (!number_stream(m, m->l->allocs[i].stream))
            return false;
        number_pool(m, m->l->allocs[i].pool);
    }
    for (uint32_t i = 0; i < m->l->event_count; i++) {
        const struct snapshot_event *e = &m->l->events[i];

        if (e->action != SNAPSHOT_OOM)
            continue;
        if (!number_stream(m, e->stream))
            return false;
        number_pool(m, e->pool);
    }
    m->next_wait = m->real_streams;
    return true;
}

/* A stream that nothing else waits for; 0: none is left. */
static uint16_t take_wait(struct making *m)
{
    if (m->idle_count > 0)
        return m->idle[--m->idle_count];
    return m->next_wait < TRACE_STREAMS ? (uint16_t)m->next_wait++ : 0;
}

/* ---- operations --------------------------------------------------------- */

static bool add_request_for(struct making *m, uint64_t bytes, uint32_t stream,
                            uint32_t pool)
{
    uint16_t number = m->pools[pool];

    return append(m, (struct trace_op){
                         .kind = TRACE_ALLOC,
                         .id = m->next_id++,
                         .bytes = bytes <= INT64_MAX ? bytes : INT64_MAX,
                         .stream = m->streams[stream],
                         .pool = (uint8_t)(number != BEYOND_POOLS ? number : 0),
                     });
}

static bool add_alloc(struct making *m, uint32_t number)
{
    const struct lifetime *a = &m->l->allocs[number];

    m->ids[number] = m->next_id;
    return add_request_for(m, a->requested, a->stream, a->pool);
}

static bool add_free(struct making *m, uint32_t number)
{
    uint16_t wait = m->story->deferred[number] ? take_wait(m) : 0;

    m->waits[number] = wait;
    if (wait != 0 && !append(m, (struct trace_op){.kind = TRACE_RECORD,
                                                  .id = m->ids[number],
                                                  .stream = wait}))
        return false;
    return append(m,
                  (struct trace_op){.kind = TRACE_FREE, .id = m->ids[number]});
}

static bool add_completed(struct making *m, uint32_t number)
{
    uint16_t wait = m->waits[number];

    if (wait == 0)
        return true;
    m->waits[number] = 0;
    m->idle[m->idle_count++] = wait;
    return append(m, (struct trace_op){.kind = TRACE_COMPLETE, .stream = wait});
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

static bool add_placed(struct making *m, const struct placed *p)
{
    return add_alloc(m, p->number) &&
           (!p->is_pending || add_free(m, p->number));
}

static bool add_before(struct making *m)
{
    size_t count = m->l->before_count;
    struct placed *placed = calloc(count + 1, sizeof *placed);
    bool ok = placed != NULL || snap_trace_no_memory(m);

    for (size_t i = 0; ok && i < count; i++) {
        placed[i].address = m->l->allocs[i].address;
        placed[i].number = (uint32_t)i;
        placed[i].is_pending = m->l->allocs[i].end == LIFETIME_BEFORE;
    }
    if (ok)
        qsort(placed, count, sizeof *placed, compare_placed);
    for (size_t i = 0; ok && i < count; i++)
        ok = add_placed(m, &placed[i]);
    free(placed);
    if (ok && count > 0)
        ok = snap_marks_text(m->out, "the recording begins") ||
             snap_trace_no_memory(m);
    return ok;
}

/* ---- the recording ------------------------------------------------------ */

static bool add_oom(struct making *m, const struct snapshot_event *e)
{
    char text[96];

    m->notes->recorded_ooms++;
    snprintf(text, sizeof text,
             "out of memory: %" PRIu64 " bytes requested, %" PRIu64 " free",
             e->size, e->address);
    m->out->has_refused = true;
    m->out->refused = m->next_id;
    return (snap_marks_text(m->out, text) || snap_trace_no_memory(m)) &&
           add_request_for(m, e->size, e->stream, e->pool) &&
           append(m,
                  (struct trace_op){.kind = TRACE_FREE, .id = m->out->refused});
}

static bool add_made(struct making *m, uint32_t i)
{
    uint32_t replaced = m->story->replaced[i];

    return (replaced == STORY_NONE || add_free(m, replaced)) &&
           add_alloc(m, m->story->subjects[i]);
}

static bool add_request(struct making *m, uint32_t i)
{
    const struct snapshot_event *e = &m->l->events[i];
    uint32_t event = i;

    if (!(e->action == SNAPSHOT_OOM ? add_oom(m, e) : add_made(m, i)))
        return false;
    while (story_is_late(m->story, i, &event)) {
        if (m->story->subjects[event] != STORY_NONE &&
            !add_completed(m, m->story->subjects[event]))
            return false;
    }
    return true;
}

static bool add_event(struct making *m, uint32_t i)
{
    const struct snapshot_event *e = &m->l->events[i];
    uint32_t subject = m->story->subjects[i];

    if (!snap_marks_before(&m->marks, e, m->out))
        return snap_trace_no_memory(m);
    if (m->story->empties[i] &&
        !append(m, (struct trace_op){.kind = TRACE_EMPTY_CACHE}))
        return false;
    if (e->action == SNAPSHOT_OOM || e->action == SNAPSHOT_ALLOC)
        return add_request(m, i);
    if (subject == STORY_NONE || m->story->late[i])
        return true;
    if (e->action == SNAPSHOT_FREE_REQUESTED)
        return add_free(m, subject);
    return add_completed(m, subject);
}

static bool snap_trace_add_all(struct making *m)
{
    bool ok = number_all(m) && add_before(m);

    for (uint32_t i = 0; ok && i < m->l->event_count; i++)
        ok = add_event(m, i);
    return ok &&
           (snap_marks_rest(&m->marks, m->out) || snap_trace_no_memory(m));
}

static bool take_memory(struct making *m)
{
    const struct snapshot *s = m->l->snapshot;
    size_t allocs = m->l->alloc_count + 1;

    m->ids = calloc(allocs, sizeof *m->ids);
    m->waits = calloc(allocs, sizeof *m->waits);
    m->streams = calloc(s->stream_count + 1, sizeof *m->streams);
    m->idle = calloc(TRACE_STREAMS, sizeof *m->idle);
    m->pools = calloc(s->pool_count + 1, sizeof *m->pools);
    return (m->ids != NULL && m->waits != NULL && m->streams != NULL &&
            m->idle != NULL && m->pools != NULL &&
            snap_marks_begin(&m->marks, s, m->l->device)) ||
           snap_trace_no_memory(m);
}

static void fill_notes(const struct story *story,
                       struct snap_trace_notes *notes)
{
    notes->rolled_back = story->lifetimes.before_count;
    notes->unmatched_frees = story->lifetimes.unmatched;
    notes->overwritten = story->lifetimes.overwritten;
    notes->zero_sizes = story->zero_sizes;
    notes->deferred = story->deferred_count;
    notes->empty_caches = story->empty_count;
}

bool snap_trace_make(const struct story *story, struct trace *out,
                     struct snap_trace_notes *notes, struct tool_error *error)
{
    struct making m = {.story = story,
                       .l = &story->lifetimes,
                       .out = out,
                       .notes = notes,
                       .error = error};
    bool ok;

    memset(notes, 0, sizeof *notes);
    trace_init(out);
    fill_notes(story, notes);
    ok = take_memory(&m) && snap_trace_add_all(&m);
    free(m.ids);
    free(m.waits);
    free(m.streams);
    free(m.idle);
    free(m.pools);
    snap_marks_end(&m.marks);
    if (!ok)
        trace_free(out);
    return ok;
}
