/* fake_capture.c - captures by the driver's rules: which calls they forbid to
 * which threads, which streams belong to one, and what invalidates one.
 *
 * A stream joins a capture by waiting for an event that was recorded in it, and
 * must be joined again before the capture ends.  Captured work is not kept: of
 * a graph only its duration is known.
 *
 * Devices of tests, whose streams are numbers, are captured through the
 * simulated GPU (fake_control.c): for them captures are only counted. */
#include "driver/fake_state.h"

#include <stdlib.h>

enum {
    MODE_GLOBAL = 0,
    STATUS_ACTIVE = 1,
    STATUS_INVALIDATED = 2,
    ILLEGAL_STATE = 401,
    MERGE = 902,
    UNMATCHED = 903,
    UNJOINED = 904,
    ISOLATION = 905,
    CAPTURED_EVENT = 907
};

struct member {
    struct member *next; /* the stream that began it is the last */
    larder_stream number;
    unsigned queued; /* pieces of work, */
    unsigned joined; /* of which other streams wait for as many */
};

struct capture {
    struct capture *next;
    unsigned long long id;
    const struct fake_device *device;
    cud_capture_mode mode;
    const void *thread; /* that began it */
    bool is_blocking;   /* the default stream would wait for it */
    bool is_broken;
    void *graph; /* NULL: not requested yet */
    size_t nodes;
    uint64_t ns;
    struct member *members;
};

static struct capture *captures;
static unsigned long long capture_count; /* number of the last one */
static _Thread_local cud_capture_mode mode = MODE_GLOBAL;

/* ---- finding ------------------------------------------------------------ */

static struct member *member_find(const struct fake_device *d,
                                  larder_stream number, struct capture **of)
{
    for (struct capture *c = captures; c != NULL; c = c->next) {
        struct member *m = c->device == d ? c->members : NULL;

        while (m != NULL && m->number != number)
            m = m->next;
        *of = c;
        if (m != NULL)
            return m;
    }
    return NULL;
}

static struct capture *capture_find(unsigned long long id)
{
    struct capture *c = captures;

    while (c != NULL && c->id != id)
        c = c->next;
    return c;
}

/* The capture that the default stream must not touch.  NULL: none. */
static struct capture *blocking_on(const struct fake_device *d,
                                   larder_stream number)
{
    struct capture *c = number == 0 && !d->has_loose_streams ? captures : NULL;

    while (c != NULL && (c->device != d || !c->is_blocking))
        c = c->next;
    return c;
}

static bool member_add(struct capture *c, larder_stream number)
{
    struct member *m = calloc(1, sizeof *m);

    if (m == NULL)
        return false;
    m->number = number;
    m->next = c->members;
    c->members = m;
    return true;
}

static void capture_end(struct capture *gone)
{
    struct capture **at = &captures;

    while (*at != gone)
        at = &(*at)->next;
    *at = gone->next;
    while (gone->members != NULL) {
        struct member *m = gone->members;

        gone->members = m->next;
        free(m);
    }
    free(gone);
}

void fake_captures_forget(const struct fake_device *d)
{
    struct capture *c = captures;

    while (c != NULL) {
        struct capture *next = c->next;

        if (c->device == d)
            capture_end(c);
        c = next;
    }
}

/* ---- what captures forbid ----------------------------------------------- */

static cud_result refuse(const char *symbol, struct capture *c,
                         cud_result answer, const char *why)
{
    c->is_broken = true;
    return fake_broken(symbol, answer, "%s", why);
}

static cud_result refuse_implicit(const char *symbol, struct capture *c)
{
    return refuse(symbol, c, CUD_CAPTURE_IMPLICIT,
                  "the default stream would depend on a captured stream that "
                  "is not non-blocking");
}

void fake_capture_note(struct fake_device *d, bool begins)
{
    d->captures += begins ? 1 : -1;
}

/* Whether a thread in its current mode must not make calls that could disturb
 * this capture. */
static bool is_unsafe(const struct capture *c)
{
    if (mode == CUD_CAPTURE_RELAXED || c->mode == CUD_CAPTURE_RELAXED)
        return false;
    return c->thread == &mode ||
           (mode == MODE_GLOBAL && c->mode == MODE_GLOBAL);
}

cud_result fake_capture_guard(const char *symbol, const struct fake_device *d)
{
    static const char why[] =
        "a stream is captured, and this thread's mode is not relaxed";

    if (d->captures > 0 && mode != CUD_CAPTURE_RELAXED)
        return fake_broken(symbol, CUD_CAPTURE_UNSUPPORTED, "%s", why);
    for (struct capture *c = captures; c != NULL; c = c->next) {
        if (is_unsafe(c))
            return refuse(symbol, c, CUD_CAPTURE_UNSUPPORTED, why);
    }
    return CUD_SUCCESS;
}

cud_result fake_capture_guard_member(const char *symbol,
                                     const struct fake_device *d,
                                     larder_stream number)
{
    struct capture *c;

    if (member_find(d, number, &c) == NULL)
        return CUD_SUCCESS;
    return refuse(symbol, c, CUD_CAPTURE_UNSUPPORTED, "the stream is captured");
}

cud_result fake_capture_guard_stream(const char *symbol,
                                     const struct fake_device *d,
                                     larder_stream number)
{
    cud_result answer = fake_capture_guard_member(symbol, d, number);
    struct capture *c;

    if (answer != CUD_SUCCESS)
        return answer;
    c = blocking_on(d, number);
    return c != NULL ? refuse_implicit(symbol, c)
                     : fake_capture_guard(symbol, d);
}

cud_result fake_capture_guard_device(const char *symbol,
                                     const struct fake_device *d)
{
    for (struct capture *c = captures; c != NULL; c = c->next) {
        if (c->device == d)
            return refuse(symbol, c, CUD_CAPTURE_UNSUPPORTED,
                          "a stream of the context is captured");
    }
    return fake_capture_guard(symbol, d);
}

cud_result fake_capture_guard_event(const char *symbol,
                                    const struct fake_device *d,
                                    const struct sim_event *event)
{
    struct capture *c = capture_find(event->note.capture);

    if (event->note.capture == 0)
        return fake_capture_guard(symbol, d);
    if (c != NULL)
        c->is_broken = true;
    return fake_broken(symbol, CAPTURED_EVENT,
                       "the event was recorded in a capture");
}

/* ---- work --------------------------------------------------------------- */

bool fake_is_captured(const struct fake_device *d, larder_stream number)
{
    struct capture *c;

    return member_find(d, number, &c) != NULL;
}

cud_result fake_work_note(const char *symbol, struct fake_device *d,
                          larder_stream number, uint64_t ns)
{
    struct capture *c;
    struct member *m = member_find(d, number, &c);

    if (m != NULL && c->is_broken)
        return fake_broken(symbol, CUD_CAPTURE_INVALIDATED,
                           "the stream's capture is already invalid");
    if (m != NULL) {
        c->ns += ns;
        c->nodes++;
        m->queued++;
        return CUD_SUCCESS;
    }
    c = blocking_on(d, number);
    if (c != NULL)
        return refuse_implicit(symbol, c);
    d->clock_ns += ns;
    return CUD_SUCCESS;
}

/* Recording takes some time, so that no two events have the same time. */
cud_result fake_record_note(const char *symbol, struct fake_device *d,
                            larder_stream number, struct sim_event *event)
{
    enum { RECORD_NS = 1000 };
    struct capture *c;
    const struct member *m = member_find(d, number, &c);

    event->note = (struct sim_event_note){.flags = event->note.flags};
    if (m != NULL) {
        event->note.capture = c->id;
        event->note.queued = m->queued;
        return CUD_SUCCESS;
    }
    c = blocking_on(d, number);
    if (c != NULL)
        return refuse_implicit(symbol, c);
    d->clock_ns += RECORD_NS;
    event->note.ns = d->clock_ns;
    return CUD_SUCCESS;
}

/* A stream waits for an event of a capture, and joins it. */
static cud_result join(const char *symbol, struct fake_device *d,
                       cud_stream stream, larder_stream number,
                       const struct sim_event *event)
{
    struct capture *from = capture_find(event->note.capture);
    struct capture *of;
    struct member *m = member_find(d, number, &of);

    if (from == NULL)
        return fake_broken(symbol, CAPTURED_EVENT,
                           "the event was recorded in a capture that ended");
    if (m != NULL && of != from) {
        of->is_broken = true;
        return refuse(symbol, from, MERGE, "it would merge two captures");
    }
    if (m == NULL && number == 0 && !d->has_loose_streams)
        return refuse_implicit(symbol, from);
    if (m == NULL && !member_add(from, number))
        return CUD_OUT_OF_MEMORY;
    if (fake_stream_is_blocking(stream))
        from->is_blocking = true;
    m = member_find(d, event->stream, &of);
    if (m != NULL && of == from && event->stream != number &&
        event->note.queued > m->joined)
        m->joined = event->note.queued;
    return CUD_SUCCESS;
}

cud_result fake_wait_note(const char *symbol, struct fake_device *d,
                          cud_stream stream, larder_stream number,
                          const struct sim_event *event, unsigned flags)
{
    enum { EXTERNAL = 1 };
    struct capture *c;

    if (event->note.capture != 0)
        return join(symbol, d, stream, number, event);
    if (member_find(d, number, &c) == NULL || event->ticket == 0 ||
        (flags & EXTERNAL) != 0)
        return CUD_SUCCESS;
    return refuse(symbol, c, ISOLATION,
                  "a captured stream would wait for work outside its capture");
}

/* ---- the driver's calls ------------------------------------------------- */

cud_result cuThreadExchangeStreamCaptureMode(cud_capture_mode *inout)
{
    cud_capture_mode old = mode;

    if (*inout < 0 || *inout > CUD_CAPTURE_RELAXED)
        return CUD_INVALID_VALUE;
    mode = *inout;
    *inout = old;
    return CUD_SUCCESS;
}

static cud_result begin(const char *symbol, struct fake_device *d,
                        cud_stream stream, larder_stream number,
                        cud_capture_mode with)
{
    struct capture *c;

    if (number == 0)
        return fake_broken(symbol, CUD_CAPTURE_UNSUPPORTED,
                           "the default stream cannot be captured");
    if (with < MODE_GLOBAL || with > CUD_CAPTURE_RELAXED)
        return fake_broken(symbol, CUD_INVALID_VALUE, "there is no mode %d",
                           with);
    if (member_find(d, number, &c) != NULL)
        return fake_broken(symbol, ILLEGAL_STATE,
                           "the stream is captured already");
    c = calloc(1, sizeof *c);
    if (c == NULL || !member_add(c, number)) {
        free(c);
        return CUD_OUT_OF_MEMORY;
    }
    c->id = ++capture_count;
    c->device = d;
    c->mode = with;
    c->thread = &mode;
    c->is_blocking = fake_stream_is_blocking(stream);
    c->next = captures;
    captures = c;
    return CUD_SUCCESS;
}

static cud_result begin_into(const char *symbol, cud_stream stream,
                             cud_capture_mode with, void *graph)
{
    struct fake_device *d;
    larder_stream number;
    cud_result answer = fake_begin(symbol, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    if (graph != NULL && fake_handle_find(FAKE_GRAPH, graph) == NULL)
        return fake_end(fake_broken(symbol, CUD_INVALID_VALUE,
                                    "there is no graph %p, or no longer",
                                    graph));
    answer = fake_stream_number(symbol, d, stream, &number);
    if (answer == CUD_SUCCESS)
        answer = begin(symbol, d, stream, number, with);
    if (answer == CUD_SUCCESS)
        captures->graph = graph;
    return fake_end(answer);
}

cud_result cuStreamBeginCapture_v2(cud_stream stream, cud_capture_mode with)
{
    return begin_into(__func__, stream, with, NULL);
}

cud_result cuStreamBeginCaptureToGraph(cud_stream stream, void *graph,
                                       const void *nodes, const void *edges,
                                       size_t count, cud_capture_mode with)
{
    (void)nodes;
    (void)edges;
    (void)count;
    return graph == NULL ? CUD_INVALID_VALUE
                         : begin_into(__func__, stream, with, graph);
}

void fake_capture_drop(const struct fake_device *d, larder_stream number)
{
    struct capture *c;
    struct member *m = member_find(d, number, &c);

    if (m != NULL && m->next == NULL)
        capture_end(c);
    else if (m != NULL)
        c->is_broken = true;
}

static bool is_unjoined(const struct capture *c)
{
    const struct member *m = c->members;

    while (m->next != NULL && m->queued <= m->joined)
        m = m->next;
    return m->next != NULL;
}

/* Whether the caller may end it; if not, it continues. */
static cud_result check_end(const char *symbol, const struct capture *c,
                            const struct member *m)
{
    if (m == NULL)
        return fake_broken(symbol, ILLEGAL_STATE, "the stream is not captured");
    if (m->next != NULL)
        return fake_broken(symbol, UNMATCHED,
                           "the capture was begun on another stream");
    if (c->mode != CUD_CAPTURE_RELAXED && c->thread != &mode)
        return fake_broken(symbol, CUD_CAPTURE_WRONG_THREAD,
                           "the capture was begun by another thread");
    return CUD_SUCCESS;
}

/* The graph that the program was given, if it still exists, or a new one. */
static cud_result finish(const char *symbol, struct capture *c, void **graph)
{
    *graph = NULL;
    if (c->is_broken)
        return fake_broken(symbol, CUD_CAPTURE_INVALIDATED,
                           "a call during the capture was not permitted");
    if (is_unjoined(c))
        return fake_broken(
            symbol, UNJOINED,
            "a stream joined the capture, and its work was not joined again");
    *graph = fake_handle_find(FAKE_GRAPH, c->graph) != NULL ? c->graph
                                                            : fake_graph_make();
    if (*graph == NULL)
        return CUD_OUT_OF_MEMORY;
    fake_graph_fill(*graph, c->nodes, c->ns);
    return CUD_SUCCESS;
}

cud_result cuStreamEndCapture(cud_stream stream, void **graph)
{
    struct fake_device *d;
    larder_stream number;
    cud_result answer = fake_begin(__func__, &d);
    struct capture *c = NULL;
    const struct member *m;

    if (answer != CUD_SUCCESS)
        return answer;
    answer = fake_stream_number(__func__, d, stream, &number);
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    m = member_find(d, number, &c);
    answer = check_end(__func__, c, m);
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    answer = finish(__func__, c, graph);
    capture_end(c);
    return fake_end(answer);
}

/* The status of a stream, and its capture. */
static cud_result status_of(const char *symbol, struct fake_device *d,
                            cud_stream stream, cud_capture_status *out,
                            struct capture **c)
{
    int captured = 0;
    larder_stream number;
    cud_result answer = fake_stream_number(symbol, d, stream, &number);

    if (answer != CUD_SUCCESS)
        return answer;
    if (blocking_on(d, number) != NULL)
        return CUD_CAPTURE_IMPLICIT;
    if (member_find(d, number, c) != NULL) {
        *out = (*c)->is_broken ? STATUS_INVALIDATED : STATUS_ACTIVE;
        return CUD_SUCCESS;
    }
    *c = NULL;
    (void)larder_device_stream_is_capturing(d->dev, number, &captured);
    *out = captured;
    return CUD_SUCCESS;
}

cud_result cuStreamIsCapturing(cud_stream stream, cud_capture_status *out)
{
    struct fake_device *d;
    struct capture *c;
    cud_result answer = fake_begin(__func__, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    return fake_end(status_of(__func__, d, stream, out, &c));
}

/* Captured work is not kept: no nodes, no dependencies. */
cud_result cuStreamGetCaptureInfo_v3(cud_stream stream, cud_capture_status *out,
                                     unsigned long long *id, void **graph,
                                     const void **nodes, const void **edges,
                                     size_t *count)
{
    struct fake_device *d;
    struct capture *c = NULL;
    cud_result answer = fake_begin(__func__, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    answer = status_of(__func__, d, stream, out, &c);
    if (answer != CUD_SUCCESS || c == NULL)
        return fake_end(answer);
    if (fake_handle_find(FAKE_GRAPH, c->graph) == NULL)
        c->graph = fake_graph_make();
    if (id != NULL)
        *id = c->id;
    if (graph != NULL)
        *graph = c->graph;
    if (nodes != NULL)
        *nodes = NULL;
    if (edges != NULL)
        *edges = NULL;
    if (count != NULL)
        *count = 0;
    return fake_end(c->graph == NULL ? CUD_OUT_OF_MEMORY : CUD_SUCCESS);
}

cud_result cuStreamGetCaptureInfo_v2(cud_stream stream, cud_capture_status *out,
                                     unsigned long long *id, void **graph,
                                     const void **nodes, size_t *count)
{
    return cuStreamGetCaptureInfo_v3(stream, out, id, graph, nodes, NULL,
                                     count);
}

cud_result cuStreamGetCaptureInfo(cud_stream stream, cud_capture_status *out,
                                  unsigned long long *id)
{
    return cuStreamGetCaptureInfo_v2(stream, out, id, NULL, NULL, NULL);
}

cud_result cuStreamUpdateCaptureDependencies_v2(cud_stream stream, void *nodes,
                                                const void *edges, size_t count,
                                                unsigned flags)
{
    cud_capture_status status = CUD_CAPTURE_NONE;

    (void)nodes;
    (void)edges;
    (void)count;
    (void)flags;
    return cuStreamIsCapturing(stream, &status);
}
