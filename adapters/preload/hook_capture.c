/* hook_capture.c - the beginnings of captures: none begins during a move, and
 * each is recorded until its end, because a captured stream must not be waited
 * for. */
#include "work.h"

/* A forked child takes no locks. */
static bool is_recorded(void)
{
    return !preload_is_child() && (preload_work_is_held() ||
                                   preload_settings_get()->mode != PRELOAD_OFF);
}

/* Returns the stream's context, which cannot be asked for in a capture. */
static cud_context capture_begins(const struct preload_calls *real,
                                  cud_stream stream)
{
    cud_context own = NULL;

    if (!is_recorded())
        return NULL;
    preload_capture_lock();
    if ((uintptr_t)stream <= CUD_STREAM_PER_THREAD ||
        PRELOAD_REAL(real, cuStreamGetCtx, stream, &own) != CUD_SUCCESS)
        (void)real->cuCtxGetCurrent(&own);
    return own;
}

static void capture_begun(cud_result answer, cud_stream stream, cud_context own,
                          bool per_thread)
{
    if (!is_recorded())
        return;
    if (stream == NULL && per_thread)
        stream = (cud_stream)(uintptr_t)CUD_STREAM_PER_THREAD;
    if (answer == CUD_SUCCESS)
        preload_capture_note(stream, own);
    preload_capture_unlock();
}

#define BEGINNING(symbol, per_thread, params, args)                            \
    PRELOAD_WORK_HOOK(symbol, params, args,                                    \
                      cud_context own = capture_begins(real, stream),          \
                      capture_begun(answer, stream, own, per_thread))

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

/* ---- ends --------------------------------------------------------------- */

/* Of a thread's own default stream no other thread could find it out. */
static void capture_ended(const struct preload_calls *real)
{
    if (is_recorded())
        (void)preload_is_capturing(real);
}

PRELOAD_WORK_HOOK(cuStreamEndCapture, (cud_stream stream, void **graph),
                  (stream, graph), (void)0, capture_ended(real))
PRELOAD_WORK_HOOK(cuStreamEndCapture_ptsz, (cud_stream stream, void **graph),
                  (stream, graph), (void)0, capture_ended(real))
