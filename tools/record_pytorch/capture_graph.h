/* capture_graph.h - what streams that are captured record: a graph of nodes,
 * and for each stream the nodes that its next one will depend on.
 *
 * One thread; nodes live as long as the process. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct capture_graph {
    unsigned long long id; /* from 1 */
};

/* Begin and end a capture on a stream; other streams come in by
 * capture_graph_join(). */
void capture_graph_begin(unsigned stream);
void capture_graph_end(unsigned stream);

/* The graph that the stream records into; NULL: it is not captured. */
const struct capture_graph *capture_graph_of(unsigned stream);

/* Work is queued on the stream: a node after its ends. */
void capture_graph_work(unsigned stream);

/* What is queued on `stream` from now on comes after `other`'s work so far. */
void capture_graph_join(unsigned stream, unsigned other);

const void *const *capture_graph_ends(unsigned stream, size_t *count);
void capture_graph_set_ends(unsigned stream, const void *const *nodes,
                            size_t count);

/* A node of a graph after others. */
const void *capture_graph_add(unsigned long long graph,
                              const void *const *parents, size_t count);

/* As cudaGraphNodeGetDependencies(): with `out` NULL only the count. */
void capture_graph_parents(const void *node, const void **out, size_t *count);

#ifdef __cplusplus
}
#endif
