/* fake_graph.c - graphs without contents: captured work is not kept, and a
 * launch is only counted.  User objects live as long as graphs keep them. */
#include "fakecuda/fake_state.h"

#include <stdlib.h>

struct user_object {
    void *ptr;
    void (*destroy)(void *);
    unsigned uses;
};

struct held {
    struct held *next;
    struct user_object *object;
    unsigned count;
};

struct fake_graph {
    struct held *held;
};

/* ---- user objects --------------------------------------------------------------- */

cud_result cuUserObjectCreate(void **out, void *ptr, void (*destroy)(void *),
                              unsigned count, unsigned flags)
{
    struct user_object *o = calloc(1, sizeof *o);

    (void)flags;
    if (o == NULL)
        return CUD_OUT_OF_MEMORY;
    *o = (struct user_object){.ptr = ptr, .destroy = destroy, .uses = count};
    *out = o;
    return CUD_SUCCESS;
}

cud_result cuUserObjectRetain(void *object, unsigned count)
{
    ((struct user_object *)object)->uses += count;
    return CUD_SUCCESS;
}

cud_result cuUserObjectRelease(void *object, unsigned count)
{
    struct user_object *o = object;

    if (o == NULL || count > o->uses)
        return CUD_INVALID_VALUE;
    o->uses -= count;
    if (o->uses == 0) {
        o->destroy(o->ptr);
        free(o);
    }
    return CUD_SUCCESS;
}

/* Flag 1: the caller's references move to the graph. */
cud_result cuGraphRetainUserObject(void *graph, void *object, unsigned count,
                                   unsigned flags)
{
    struct fake_graph *g = graph;
    struct held *h = calloc(1, sizeof *h);

    if (h == NULL)
        return CUD_OUT_OF_MEMORY;
    if ((flags & 1) == 0)
        (void)cuUserObjectRetain(object, count);
    *h = (struct held){.next = g->held, .object = object, .count = count};
    g->held = h;
    return CUD_SUCCESS;
}

/* ---- graphs ---------------------------------------------------------------------- */

struct fake_graph *fake_graph_make(void)
{
    return calloc(1, sizeof(struct fake_graph));
}

cud_result cuGraphCreate(void **out, unsigned flags)
{
    (void)flags;
    *out = fake_graph_make();
    return *out == NULL ? CUD_OUT_OF_MEMORY : CUD_SUCCESS;
}

cud_result cuGraphDestroy(void *graph)
{
    struct fake_graph *g = graph;

    while (g != NULL && g->held != NULL) {
        struct held *h = g->held;

        g->held = h->next;
        (void)cuUserObjectRelease(h->object, h->count);
        free(h);
    }
    free(g);
    return CUD_SUCCESS;
}

/* An executable graph, independent of the graph. */
cud_result cuGraphInstantiateWithFlags(void **out, void *graph,
                                       unsigned long long flags)
{
    (void)flags;
    if (graph == NULL)
        return CUD_INVALID_VALUE;
    *out = fake_graph_make();
    return *out == NULL ? CUD_OUT_OF_MEMORY : CUD_SUCCESS;
}

cud_result cuGraphExecDestroy(void *graph)
{
    return cuGraphDestroy(graph);
}

cud_result cuGraphUpload(void *graph, cud_stream stream)
{
    (void)stream;
    return graph == NULL ? CUD_INVALID_VALUE : CUD_SUCCESS;
}

cud_result cuGraphLaunch(void *graph, cud_stream stream)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);
    larder_stream number;

    if (answer != CUD_SUCCESS)
        return answer;
    if (graph == NULL)
        return fake_end(
            fake_broken(__func__, CUD_INVALID_VALUE, "there is no graph"));
    answer = fake_stream_number(__func__, d, stream, &number);
    if (answer == CUD_SUCCESS)
        d->launches++;
    return fake_end(answer);
}

cud_result cuGraphGetNodes(void *graph, void **nodes, size_t *count)
{
    (void)nodes;
    if (graph == NULL)
        return CUD_INVALID_VALUE;
    *count = 0;
    return CUD_SUCCESS;
}
