/* rt_graph.c - captures and graphs. */
#include "rt_state.h"

/* ---- captures ------------------------------------------------------------------ */

int cudaStreamBeginCapture(cud_stream stream, int mode)
{
    RT_PASS(cuStreamBeginCapture_v2(stream, mode));
}

int cudaStreamBeginCaptureToGraph(cud_stream stream, void *graph,
                                  const void *nodes, const void *edges,
                                  size_t count, int mode)
{
    RT_PASS(
        cuStreamBeginCaptureToGraph(stream, graph, nodes, edges, count, mode));
}

int cudaStreamEndCapture(cud_stream stream, void **graph)
{
    RT_PASS(cuStreamEndCapture(stream, graph));
}

int cudaStreamIsCapturing(cud_stream stream, int *out)
{
    RT_PASS(cuStreamIsCapturing(stream, out));
}

int cudaThreadExchangeStreamCaptureMode(int *mode)
{
    RT_PASS_BARE(cuThreadExchangeStreamCaptureMode(mode));
}

static int capture_info(cud_stream stream, int *status, unsigned long long *id,
                        void **graph, const void **nodes, const void **edges,
                        size_t *count)
{
    RT_PASS(cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, edges,
                                      count));
}

static int update_dependencies(cud_stream stream, const void *nodes,
                               size_t count, unsigned flags)
{
    RT_PASS(cuStreamUpdateCaptureDependencies_v2(stream, (void *)nodes, NULL,
                                                 count, flags));
}

#if RT_MAJOR >= 13

int cudaStreamGetCaptureInfo(cud_stream stream, int *status,
                             unsigned long long *id, void **graph,
                             const void **nodes, const void **edges,
                             size_t *count)
{
    return capture_info(stream, status, id, graph, nodes, edges, count);
}

int cudaStreamUpdateCaptureDependencies(cud_stream stream, void *nodes,
                                        const void *edges, size_t count,
                                        unsigned flags)
{
    (void)edges;
    return update_dependencies(stream, nodes, count, flags);
}

#else

int cudaStreamGetCaptureInfo(cud_stream stream, int *status,
                             unsigned long long *id)
{
    return capture_info(stream, status, id, NULL, NULL, NULL, NULL);
}

int cudaStreamGetCaptureInfo_v2(cud_stream stream, int *status,
                                unsigned long long *id, void **graph,
                                const void **nodes, size_t *count)
{
    return capture_info(stream, status, id, graph, nodes, NULL, count);
}

int cudaStreamGetCaptureInfo_v3(cud_stream stream, int *status,
                                unsigned long long *id, void **graph,
                                const void **nodes, const void **edges,
                                size_t *count)
{
    return capture_info(stream, status, id, graph, nodes, edges, count);
}

int cudaStreamUpdateCaptureDependencies(cud_stream stream, void *nodes,
                                        size_t count, unsigned flags)
{
    return update_dependencies(stream, nodes, count, flags);
}

int cudaStreamUpdateCaptureDependencies_v2(cud_stream stream, void *nodes,
                                           const void *edges, size_t count,
                                           unsigned flags)
{
    (void)edges;
    return update_dependencies(stream, nodes, count, flags);
}

#endif

/* ---- graphs ---------------------------------------------------------------------- */

int cudaGraphCreate(void **out, unsigned flags)
{
    RT_PASS_BARE(cuGraphCreate(out, flags));
}

int cudaGraphDestroy(void *graph)
{
    RT_PASS_BARE(cuGraphDestroy(graph));
}

int cudaGraphInstantiate(void **out, void *graph, unsigned long long flags)
{
    RT_PASS_BARE(cuGraphInstantiateWithFlags(out, graph, flags));
}

int cudaGraphInstantiateWithFlags(void **out, void *graph,
                                  unsigned long long flags)
{
    return cudaGraphInstantiate(out, graph, flags);
}

int cudaGraphInstantiateWithParams(void **out, void *graph, void *parameters)
{
    (void)parameters;
    return cudaGraphInstantiate(out, graph, 0);
}

int cudaGraphExecDestroy(void *graph)
{
    RT_PASS_BARE(cuGraphExecDestroy(graph));
}

int cudaGraphExecUpdate(void *exec, void *graph, void *info)
{
    RT_PASS_BARE(cuGraphExecUpdate_v2(exec, graph, info));
}

int cudaGraphUpload(void *graph, cud_stream stream)
{
    RT_PASS(cuGraphUpload(graph, stream));
}

int cudaGraphLaunch(void *graph, cud_stream stream)
{
    RT_PASS(cuGraphLaunch(graph, stream));
}

int cudaGraphGetNodes(void *graph, void **nodes, size_t *count)
{
    RT_PASS_BARE(cuGraphGetNodes(graph, nodes, count));
}

int cudaGraphGetRootNodes(void *graph, void **nodes, size_t *count)
{
    RT_PASS_BARE(cuGraphGetNodes(graph, nodes, count));
}

/* ---- objects that graphs keep --------------------------------------------------------- */

int cudaGraphRetainUserObject(void *graph, void *object, unsigned count,
                              unsigned flags)
{
    RT_PASS_BARE(cuGraphRetainUserObject(graph, object, count, flags));
}

int cudaUserObjectCreate(void **out, void *ptr, rt_host_fn *destroy,
                         unsigned count, unsigned flags)
{
    RT_PASS_BARE(cuUserObjectCreate(out, ptr, destroy, count, flags));
}

int cudaUserObjectRetain(void *object, unsigned count)
{
    RT_PASS_BARE(cuUserObjectRetain(object, count));
}

int cudaUserObjectRelease(void *object, unsigned count)
{
    RT_PASS_BARE(cuUserObjectRelease(object, count));
}
