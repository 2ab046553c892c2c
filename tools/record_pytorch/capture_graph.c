/* capture_graph.c - the nodes that captured streams record. */
#include "record_pytorch/capture_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

enum { STREAMS = 64, ENDS_MAX = 64 };

struct node {
    size_t count;
    const void *parents[];
};

static struct stream {
    struct capture_graph graph; /* id 0: not captured */
    const void *ends[ENDS_MAX];
    size_t count;
} streams[STREAMS];

static struct stream *stream_get(unsigned number)
{
    if (number >= STREAMS) {
        fprintf(stderr, "streams of captures are the numbers below %d\n",
                STREAMS);
        exit(2);
    }
    return &streams[number];
}

EXPORTED void capture_graph_begin(unsigned stream)
{
    static unsigned long long last_id;
    struct stream *s = stream_get(stream);

    s->graph.id = ++last_id;
    s->count = 0;
}

/* With every stream that came into it. */
EXPORTED void capture_graph_end(unsigned stream)
{
    unsigned long long id = stream_get(stream)->graph.id;

    for (unsigned i = 0; i < STREAMS; i++) {
        if (streams[i].graph.id == id)
            streams[i].graph.id = 0;
    }
}

const struct capture_graph *capture_graph_of(unsigned stream)
{
    struct stream *s;

    if (stream >= STREAMS) /* of a trace without captures */
        return NULL;
    s = stream_get(stream);
    return s->graph.id == 0 ? NULL : &s->graph;
}

const void *capture_graph_add(unsigned long long graph,
                              const void *const *parents, size_t count)
{
    struct node *n = malloc(sizeof *n + count * sizeof n->parents[0]);

    (void)graph;
    if (n == NULL)
        exit(2);
    n->count = count;
    memcpy(n->parents, parents, count * sizeof n->parents[0]);
    return n;
}

EXPORTED void capture_graph_work(unsigned stream)
{
    struct stream *s = stream_get(stream);

    s->ends[0] = capture_graph_add(s->graph.id, s->ends, s->count);
    s->count = 1;
}

static void end_add(struct stream *s, const void *node)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->ends[i] == node)
            return;
    }
    if (s->count < ENDS_MAX)
        s->ends[s->count++] = node;
}

EXPORTED void capture_graph_join(unsigned stream, unsigned other)
{
    struct stream *s = stream_get(stream);
    const struct stream *from = stream_get(other);

    if (s->graph.id == 0)
        s->count = 0;
    s->graph = from->graph;
    for (size_t i = 0; i < from->count; i++)
        end_add(s, from->ends[i]);
}

const void *const *capture_graph_ends(unsigned stream, size_t *count)
{
    const struct stream *s = stream_get(stream);

    *count = s->count;
    return s->ends;
}

void capture_graph_set_ends(unsigned stream, const void *const *nodes,
                            size_t count)
{
    struct stream *s = stream_get(stream);

    s->count = 0;
    for (size_t i = 0; i < count; i++)
        end_add(s, nodes[i]);
}

void capture_graph_parents(const void *node, const void **out, size_t *count)
{
    const struct node *n = node;

    if (out != NULL)
        memcpy(out, n->parents, n->count * sizeof *out);
    *count = n->count;
}
