/* hook_capture.c - the beginnings of captures: none begins during a move, and
 * each is recorded, because a captured stream must not be waited for. */
#include "work.h"

static void capture_begun(cud_result answer, cud_stream stream, bool per_thread)
{
    if (stream == NULL && per_thread)
        stream = (cud_stream)(uintptr_t)CUD_STREAM_PER_THREAD;
    if (answer == CUD_SUCCESS &&
        (preload_work_is_held() || preload_settings_get()->mode != PRELOAD_OFF))
        preload_capture_note(stream);
    preload_capture_unlock();
}

#define BEGINNING(symbol, per_thread, params, args)                            \
    PRELOAD_WORK_HOOK(symbol, params, args, preload_capture_lock(),            \
                      capture_begun(answer, stream, per_thread))

/* A call, and its variant for per-thread default streams. */
#define BEGINNINGS(symbol, params, args)                                       \
    BEGINNING(symbol, false, params, args)                                     \
    BEGINNING(symbol##_ptsz, true, params, args)

BEGINNINGS(cuStreamBeginCapture, (cud_stream stream), (stream))
BEGINNINGS(cuStreamBeginCapture_v2, (cud_stream stream, cud_capture_mode mode),
           (stream, mode))
BEGINNINGS(cuStreamBeginCaptureToGraph,
           (cud_stream stream, void *graph, const void *after,
            const void *edges, size_t count, cud_capture_mode mode),
           (stream, graph, after, edges, count, mode))
BEGINNINGS(cuStreamBeginRecaptureToGraph,
           (cud_stream stream, cud_capture_mode mode, void *graph, void *fn,
            void *data),
           (stream, mode, graph, fn, data))
