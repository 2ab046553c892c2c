/* look_calls.h - the driver's calls that look up what lies at an address: they
 * are held back, too, while memory in use moves, because it is unmapped for a
 * moment (work.c). */
#pragma once

/* As in work_calls.h.  Those of pointers are in hook_query.c. */
#define PRELOAD_LOOK_MAP(X)                                                    \
    X(cuMemGetAccess, "cuMemGetAccess", 10020, false,                          \
      (unsigned long long *, const cud_location *, cud_addr),                  \
      (unsigned long long *out, const cud_location *place, cud_addr at),       \
      (out, place, at))                                                        \
    X(cuMemRangeGetAttribute, "cuMemRangeGetAttribute", 8000, false,           \
      (void *, size_t, int, cud_addr, size_t),                                 \
      (void *out, size_t room, int which, cud_addr at, size_t bytes),          \
      (out, room, which, at, bytes))                                           \
    X(cuMemRangeGetAttributes, "cuMemRangeGetAttributes", 8000, false,         \
      (void **, size_t *, int *, size_t, cud_addr, size_t),                    \
      (void **out, size_t *rooms, int *which, size_t count, cud_addr at,       \
       size_t bytes),                                                          \
      (out, rooms, which, count, at, bytes))                                   \
    X(cuMemGetLocationInfo, "cuMemGetLocationInfo", 13040, false,              \
      (cud_addr, size_t, size_t, size_t, cud_location *),                      \
      (cud_addr at, size_t bytes, size_t summary, size_t sampling,             \
       cud_location * out),                                                    \
      (at, bytes, summary, sampling, out))                                     \
    X(cuTexObjectCreate, "cuTexObjectCreate", 5000, false,                     \
      (void *, const void *, const void *, const void *),                      \
      (void *out, const void *resource, const void *texture,                   \
       const void *view),                                                      \
      (out, resource, texture, view))                                          \
    X(cuTexRefSetAddress_v2, "cuTexRefSetAddress", 3020, false,                \
      (size_t *, void *, cud_addr, size_t),                                    \
      (size_t * offset, void *texture, cud_addr at, size_t bytes),             \
      (offset, texture, at, bytes))                                            \
    X(cuTexRefSetAddress2D_v2, "cuTexRefSetAddress2D", 3020, false,            \
      (void *, const void *, cud_addr, size_t),                                \
      (void *texture, const void *shape, cud_addr at, size_t pitch),           \
      (texture, shape, at, pitch))                                             \
    X(cuTexRefSetAddress2D_v3, "cuTexRefSetAddress2D", 4010, false,            \
      (void *, const void *, cud_addr, size_t),                                \
      (void *texture, const void *shape, cud_addr at, size_t pitch),           \
      (texture, shape, at, pitch))                                             \
    X(cuGraphAddMemcpyNode, "cuGraphAddMemcpyNode", 10000, false,              \
      (void *, void *, const void *, size_t, const void *, cud_context),       \
      (void *out, void *graph, const void *after, size_t count,                \
       const void *params, cud_context context),                               \
      (out, graph, after, count, params, context))                             \
    X(cuGraphAddMemsetNode, "cuGraphAddMemsetNode", 10000, false,              \
      (void *, void *, const void *, size_t, const void *, cud_context),       \
      (void *out, void *graph, const void *after, size_t count,                \
       const void *params, cud_context context),                               \
      (out, graph, after, count, params, context))                             \
    X(cuGraphAddBatchMemOpNode, "cuGraphAddBatchMemOpNode", 11070, false,      \
      (void *, void *, const void *, size_t, const void *),                    \
      (void *out, void *graph, const void *after, size_t count,                \
       const void *params),                                                    \
      (out, graph, after, count, params))                                      \
    X(cuGraphAddNode, "cuGraphAddNode", 12020, false,                          \
      (void *, void *, const void *, size_t, void *),                          \
      (void *out, void *graph, const void *after, size_t count, void *params), \
      (out, graph, after, count, params))                                      \
    X(cuGraphAddNode_v2, "cuGraphAddNode", 12030, false,                       \
      (void *, void *, const void *, const void *, size_t, void *),            \
      (void *out, void *graph, const void *after, const void *edges,           \
       size_t count, void *params),                                            \
      (out, graph, after, edges, count, params))                               \
    X(cuGraphAddNode_v3, "cuGraphAddNode", 13040, false,                       \
      (void *, void *, const void *, const void *, size_t, void *),            \
      (void *out, void *graph, const void *after, const void *edges,           \
       size_t count, void *params),                                            \
      (out, graph, after, edges, count, params))                               \
    X(cuGraphMemcpyNodeSetParams, "cuGraphMemcpyNodeSetParams", 10000, false,  \
      (void *, const void *), (void *node, const void *params),                \
      (node, params))                                                          \
    X(cuGraphExecMemcpyNodeSetParams, "cuGraphExecMemcpyNodeSetParams", 10020, \
      false, (void *, void *, const void *, cud_context),                      \
      (void *graph, void *node, const void *params, cud_context context),      \
      (graph, node, params, context))                                          \
    X(cuGraphMemsetNodeSetParams, "cuGraphMemsetNodeSetParams", 10000, false,  \
      (void *, const void *), (void *node, const void *params),                \
      (node, params))                                                          \
    X(cuGraphExecMemsetNodeSetParams, "cuGraphExecMemsetNodeSetParams", 10020, \
      false, (void *, void *, const void *, cud_context),                      \
      (void *graph, void *node, const void *params, cud_context context),      \
      (graph, node, params, context))                                          \
    X(cuGraphBatchMemOpNodeSetParams, "cuGraphBatchMemOpNodeSetParams", 11070, \
      false, (void *, const void *), (void *node, const void *params),         \
      (node, params))                                                          \
    X(cuGraphExecBatchMemOpNodeSetParams,                                      \
      "cuGraphExecBatchMemOpNodeSetParams", 11070, false,                      \
      (void *, void *, const void *),                                          \
      (void *graph, void *node, const void *params), (graph, node, params))    \
    X(cuGraphNodeSetParams, "cuGraphNodeSetParams", 12020, false,              \
      (void *, void *), (void *node, void *params), (node, params))            \
    X(cuGraphNodeSetParams_v2, "cuGraphNodeSetParams", 13040, false,           \
      (void *, void *), (void *node, void *params), (node, params))            \
    X(cuGraphExecNodeSetParams, "cuGraphExecNodeSetParams", 12020, false,      \
      (void *, void *, void *), (void *graph, void *node, void *params),       \
      (graph, node, params))                                                   \
    X(cuGraphExecUpdate, "cuGraphExecUpdate", 10020, false,                    \
      (void *, void *, void *, void *),                                        \
      (void *graph, void *newer, void *failed, void *result),                  \
      (graph, newer, failed, result))                                          \
    X(cuGraphExecUpdate_v2, "cuGraphExecUpdate", 12000, false,                 \
      (void *, void *, void *), (void *graph, void *newer, void *result),      \
      (graph, newer, result))                                                  \
    X(cuGraphExecChildGraphNodeSetParams,                                      \
      "cuGraphExecChildGraphNodeSetParams", 11010, false,                      \
      (void *, void *, void *), (void *graph, void *node, void *child),        \
      (graph, node, child))                                                    \
    X(cuGraphInstantiate, "cuGraphInstantiate", 10000, false,                  \
      (void *, void *, void *, char *, size_t),                                \
      (void *out, void *graph, void *failed, char *words, size_t room),        \
      (out, graph, failed, words, room))                                       \
    X(cuGraphInstantiate_v2, "cuGraphInstantiate", 11000, false,               \
      (void *, void *, void *, char *, size_t),                                \
      (void *out, void *graph, void *failed, char *words, size_t room),        \
      (out, graph, failed, words, room))                                       \
    X(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", 11040,       \
      false, (void **, void *, unsigned long long),                            \
      (void **out, void *graph, unsigned long long flags),                     \
      (out, graph, flags))                                                     \
    PRELOAD_WORK_A(                                                            \
        X, cuGraphInstantiateWithParams, "cuGraphInstantiateWithParams",       \
        12000, (void *, void *, void *),                                       \
        (void *out, void *graph, void *params), (out, graph, params))
