/* fake_graph.c - graphs without contents: only the amount and duration of
 * captured work are kept, and a launch is only counted.  User objects live as
 * long as graphs hold references. */
#include "driver/fake_state.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct user_object {
    struct fake_handle handle;
    void *ptr;
    void (*destroy)(void *);
    unsigned uses;
};

struct held {
    struct held *next;
    void *object;
    unsigned count;
};

struct fake_graph {
    struct fake_handle handle;
    struct held *held;
    uint64_t ns; /* duration of a launch */
    size_t nodes;
};

/* ---- user objects ------------------------------------------------------- */

cud_result cuUserObjectCreate(void **out, void *ptr, void (*destroy)(void *),
                              unsigned count, unsigned flags)
{
    cud_result answer = fake_begin_bare(__func__);
    struct user_object *o;

    (void)flags;
    if (answer != CUD_SUCCESS)
        return answer;
    if (destroy == NULL || count == 0)
        return fake_end(fake_broken(__func__, CUD_INVALID_VALUE,
                                    "no function, or no references"));
    o = calloc(1, sizeof *o);
    if (o == NULL)
        return fake_end(CUD_OUT_OF_MEMORY);
    o->ptr = ptr;
    o->destroy = destroy;
    o->uses = count;
    *out = fake_handle_make(&o->handle, FAKE_OBJECT);
    return fake_end(CUD_SUCCESS);
}

static cud_result retain(const char *symbol, struct user_object *o,
                         unsigned count)
{
    if (count == 0 || count > UINT_MAX - o->uses)
        return fake_broken(symbol, CUD_INVALID_VALUE, "%u references", count);
    o->uses += count;
    return CUD_SUCCESS;
}

cud_result cuUserObjectRetain(void *object, unsigned count)
{
    struct user_object *o;
    cud_result answer = fake_begin_handle(__func__, FAKE_OBJECT, object, &o);

    return answer != CUD_SUCCESS ? answer
                                 : fake_end(retain(__func__, o, count));
}

/* The object's own function runs without the lock: it may call the driver. */
cud_result cuUserObjectRelease(void *object, unsigned count)
{
    struct user_object *o;
    cud_result answer = fake_begin_handle(__func__, FAKE_OBJECT, object, &o);
    bool is_last;

    if (answer != CUD_SUCCESS)
        return answer;
    if (count > o->uses)
        return fake_end(fake_broken(__func__, CUD_INVALID_VALUE,
                                    "%u references of %u", count, o->uses));
    o->uses -= count;
    is_last = o->uses == 0;
    if (is_last)
        fake_handle_drop(&o->handle);
    fake_unlock();
    if (is_last) {
        o->destroy(o->ptr);
        free(o);
    }
    return CUD_SUCCESS;
}

/* Flag 1: the caller's references move to the graph. */
cud_result cuGraphRetainUserObject(void *graph, void *object, unsigned count,
                                   unsigned flags)
{
    struct fake_graph *g;
    cud_result answer = fake_begin_handle(__func__, FAKE_GRAPH, graph, &g);
    struct user_object *o;
    struct held *h;

    if (answer != CUD_SUCCESS)
        return answer;
    o = fake_handle_find(FAKE_OBJECT, object);
    if (o == NULL || ((flags & 1) != 0 && count > o->uses))
        return fake_end(fake_broken(__func__, CUD_INVALID_VALUE,
                                    "there is no user object %p with %u "
                                    "references",
                                    object, count));
    h = calloc(1, sizeof *h);
    if (h == NULL)
        return fake_end(CUD_OUT_OF_MEMORY);
    if ((flags & 1) == 0)
        answer = retain(__func__, o, count);
    if (answer != CUD_SUCCESS) {
        free(h);
        return fake_end(answer);
    }
    *h = (struct held){.next = g->held, .object = object, .count = count};
    g->held = h;
    return fake_end(CUD_SUCCESS);
}

/* ---- graphs ------------------------------------------------------------- */

static void *graph_make(enum fake_kind kind)
{
    struct fake_graph *g = calloc(1, sizeof *g);

    return g == NULL ? NULL : fake_handle_make(&g->handle, kind);
}

void *fake_graph_make(void)
{
    return graph_make(FAKE_GRAPH);
}

void fake_graph_fill(void *graph, size_t nodes, uint64_t ns)
{
    struct fake_graph *g = fake_handle_find(FAKE_GRAPH, graph);

    g->nodes = nodes;
    g->ns = ns;
}

cud_result cuGraphCreate(void **out, unsigned flags)
{
    cud_result answer = fake_begin_bare(__func__);

    (void)flags;
    if (answer != CUD_SUCCESS)
        return answer;
    *out = fake_graph_make();
    return fake_end(*out == NULL ? CUD_OUT_OF_MEMORY : CUD_SUCCESS);
}

static cud_result graph_drop(const char *symbol, enum fake_kind kind,
                             void *graph)
{
    struct fake_graph *g;
    cud_result answer = fake_begin_handle(symbol, kind, graph, &g);

    if (answer != CUD_SUCCESS)
        return answer;
    fake_handle_drop(&g->handle);
    fake_unlock();
    while (g->held != NULL) {
        struct held *h = g->held;

        g->held = h->next;
        (void)cuUserObjectRelease(h->object, h->count);
        free(h);
    }
    free(g);
    return CUD_SUCCESS;
}

cud_result cuGraphDestroy(void *graph)
{
    return graph_drop(__func__, FAKE_GRAPH, graph);
}

/* An executable graph, independent of the graph. */
cud_result cuGraphInstantiateWithFlags(void **out, void *graph,
                                       unsigned long long flags)
{
    struct fake_graph *g;
    cud_result answer = fake_begin_handle(__func__, FAKE_GRAPH, graph, &g);

    (void)flags;
    if (answer != CUD_SUCCESS)
        return answer;
    *out = graph_make(FAKE_EXEC);
    if (*out == NULL)
        return fake_end(CUD_OUT_OF_MEMORY);
    ((struct fake_graph *)fake_handle_find(FAKE_EXEC, *out))->ns = g->ns;
    return fake_end(CUD_SUCCESS);
}

cud_result cuGraphInstantiateWithParams(void *out, void *graph,
                                        void *parameters)
{
    (void)parameters;
    return cuGraphInstantiateWithFlags(out, graph, 0);
}

/* There are no nodes, so nothing can differ. */
cud_result cuGraphExecUpdate_v2(void *exec, void *graph, void *info)
{
    const int none = 0;
    struct fake_graph *g;
    cud_result answer = fake_begin_handle(__func__, FAKE_EXEC, exec, &g);

    if (answer != CUD_SUCCESS)
        return answer;
    fake_unlock();
    answer = fake_begin_handle(__func__, FAKE_GRAPH, graph, &g);
    if (answer != CUD_SUCCESS)
        return answer;
    if (info != NULL)
        memcpy(info, &none, sizeof none);
    return fake_end(CUD_SUCCESS);
}

cud_result cuGraphExecDestroy(void *exec)
{
    return graph_drop(__func__, FAKE_EXEC, exec);
}

/* Begin a call about an executable graph and a stream. */
static cud_result begin_launch(const char *symbol, void *exec,
                               cud_stream stream, struct fake_device **d,
                               uint64_t ns)
{
    struct fake_graph *g;
    larder_stream number = 0;
    cud_result answer = fake_begin_handle(symbol, FAKE_EXEC, exec, &g);

    if (answer != CUD_SUCCESS)
        return answer;
    *d = fake_current();
    answer = *d == NULL ? fake_broken(symbol, CUD_INVALID_CONTEXT,
                                      "no context is current in this thread")
                        : fake_stream_number(symbol, *d, stream, &number);
    if (answer == CUD_SUCCESS && ns > 0)
        answer = fake_work_note(symbol, *d, number, ns + g->ns);
    return answer == CUD_SUCCESS ? answer : fake_end(answer);
}

cud_result cuGraphUpload(void *exec, cud_stream stream)
{
    struct fake_device *d;
    cud_result answer = begin_launch(__func__, exec, stream, &d, 0);

    return answer != CUD_SUCCESS ? answer : fake_end(CUD_SUCCESS);
}

cud_result cuGraphLaunch(void *exec, cud_stream stream)
{
    struct fake_device *d;
    cud_result answer =
        begin_launch(__func__, exec, stream, &d, FAKE_LAUNCH_NS);

    if (answer != CUD_SUCCESS)
        return answer;
    d->launches++;
    return fake_end(CUD_SUCCESS);
}

/* How many: they have no handles. */
cud_result cuGraphGetNodes(void *graph, void **nodes, size_t *count)
{
    struct fake_graph *g;
    cud_result answer = fake_begin_handle(__func__, FAKE_GRAPH, graph, &g);

    if (answer != CUD_SUCCESS)
        return answer;
    for (size_t i = 0; nodes != NULL && i < *count; i++)
        nodes[i] = NULL;
    *count = g->nodes;
    return fake_end(CUD_SUCCESS);
}

cud_result cuGraphGetRootNodes(void *graph, void **nodes, size_t *count)
{
    return cuGraphGetNodes(graph, nodes, count);
}
