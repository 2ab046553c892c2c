/* hook_async.c - stream-ordered memory (P2), and the streams themselves. */
#include "work.h"
#include "base/host.h"

/* The stream as Larder sees it, equal for every variant of a call; the default
 * stream has its own handle.  0 for a thread's own default stream: threads
 * share that handle, so its memory is in no stream's order and waits for the
 * device. */
static larder_stream stream_of(cud_stream stream, bool per_thread)
{
    uintptr_t value = (uintptr_t)stream;

    if (value == 0)
        value = per_thread ? CUD_STREAM_PER_THREAD : CUD_STREAM_LEGACY;
    return value == CUD_STREAM_PER_THREAD ? 0 : value;
}

/* Memory of a captured stream belongs to the graph: leave it to the driver. */
static bool is_captured(const struct preload_calls *real, cud_stream stream,
                        bool per_thread)
{
    cud_capture_status status = CUD_CAPTURE_NONE;

    if (!preload_is_capturing(real))
        return false;
    if (stream == NULL && per_thread)
        stream = (cud_stream)(uintptr_t)CUD_STREAM_PER_THREAD;
    return PRELOAD_REAL(real, cuStreamIsCapturing, stream, &status) ==
               CUD_SUCCESS &&
           status != CUD_CAPTURE_NONE;
}

/* ---- allocating --------------------------------------------------------- */

typedef cud_result alloc_async_fn(cud_addr *, size_t, cud_stream);
typedef cud_result alloc_pool_fn(cud_addr *, size_t, cud_pool, cud_stream);

static cud_result call_async(alloc_async_fn *fn, cud_addr *out, size_t bytes,
                             cud_stream stream)
{
    return fn == NULL ? CUD_NOT_SUPPORTED : fn(out, bytes, stream);
}

static cud_result pass_async(const struct preload_calls *real,
                             alloc_async_fn *fn, cud_addr *out, size_t bytes,
                             cud_stream stream)
{
    struct passing x;
    cud_result answer = preload_pass_begin(real, &x, bytes);

    if (answer == CUD_SUCCESS) {
        answer = call_async(fn, out, bytes, stream);
        if (preload_pass_again(&x, answer))
            answer = call_async(fn, out, bytes, stream);
    }
    return preload_pass_end(&x, answer, answer == CUD_SUCCESS ? *out : 0);
}

/* Memory belongs to the stream's device, whichever context is current. */
static bool is_of(const struct preload_calls *real,
                  const struct preload_place *p, cud_stream stream)
{
    cud_context context = NULL;

    return (uintptr_t)stream <= CUD_STREAM_PER_THREAD ||
           real->cuStreamGetCtx == NULL ||
           (real->cuStreamGetCtx(stream, &context) == CUD_SUCCESS &&
            context == p->context);
}

static cud_result alloc_async(cud_addr *out, size_t bytes, cud_stream stream,
                              bool per_thread)
{
    const struct preload_calls *real = preload_driver();
    alloc_async_fn *fn;
    struct preload_place p;
    cud_result answer;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    fn = per_thread ? real->cuMemAllocAsync_ptsz : real->cuMemAllocAsync;
    if (out == NULL || bytes == 0 || !preload_place_find(real, &p) ||
        is_captured(real, stream, per_thread))
        return call_async(fn, out, bytes, stream);
    /* Without a cache the driver's pools are better.  Also, a stream may be
     * destroyed before its work on memory that moves is done. */
    if (preload_settings_get()->mode == PRELOAD_CACHE &&
        !preload_settings_get()->can_migrate && p.is_primary &&
        is_of(real, &p, stream) && preload_order_is_sure(real, p.slot)) {
        atomic_store(&p.slot->has_ordered, true);
        answer = preload_alloc(&p, out, bytes, stream_of(stream, per_thread));
        if (answer != CUD_NOT_READY)
            return answer;
    }
    return pass_async(real, fn, out, bytes, stream);
}

cud_result cuMemAllocAsync(cud_addr *out, size_t bytes, cud_stream stream)
{
    return alloc_async(out, bytes, stream, false);
}

cud_result cuMemAllocAsync_ptsz(cud_addr *out, size_t bytes, cud_stream stream)
{
    return alloc_async(out, bytes, stream, true);
}

/* A pool created by the program is a policy of its own. */
static cud_result alloc_pool(cud_addr *out, size_t bytes, cud_pool pool,
                             cud_stream stream, bool per_thread)
{
    const struct preload_calls *real = preload_driver();
    alloc_pool_fn *fn;
    struct passing x;
    cud_result answer;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    fn = per_thread ? real->cuMemAllocFromPoolAsync_ptsz
                    : real->cuMemAllocFromPoolAsync;
    if (fn == NULL)
        return CUD_NOT_SUPPORTED;
    if (is_captured(real, stream, per_thread))
        return fn(out, bytes, pool, stream);
    answer = preload_pass_begin(real, &x, bytes);
    if (answer == CUD_SUCCESS) {
        answer = fn(out, bytes, pool, stream);
        if (preload_pass_again(&x, answer))
            answer = fn(out, bytes, pool, stream);
    }
    return preload_pass_end(&x, answer, answer == CUD_SUCCESS ? *out : 0);
}

cud_result cuMemAllocFromPoolAsync(cud_addr *out, size_t bytes, cud_pool pool,
                                   cud_stream stream)
{
    return alloc_pool(out, bytes, pool, stream, false);
}

cud_result cuMemAllocFromPoolAsync_ptsz(cud_addr *out, size_t bytes,
                                        cud_pool pool, cud_stream stream)
{
    return alloc_pool(out, bytes, pool, stream, true);
}

/* ---- releasing ---------------------------------------------------------- */

/* Free to Larder in stream order.  On an error the caller frees it in the way
 * that waits for the device (P1). */
static larder_result free_in_order(struct allocation *a, larder_stream stream)
{
    larder_result r = LARDER_OK;

    pthread_rwlock_rdlock(&a->slot->gate);
    if (stream != a->stream)
        r = larder_record_stream(a->slot->allocator, a->range.addr, stream);
    if (r == LARDER_OK)
        r = larder_free(a->slot->allocator, a->range.addr);
    pthread_rwlock_unlock(&a->slot->gate);
    return r;
}

static cud_result free_on_stream(struct allocation *a, larder_stream stream)
{
    larder_result r;

    if (a->stream == 0 || stream == 0)
        return preload_free_or_uncount(a);
    preload_last_answer = CUD_SUCCESS;
    r = free_in_order(a, stream);
    if (r == LARDER_ERR_UNKNOWN_STREAM) {
        preload_allocation_return(a);
        return CUD_INVALID_HANDLE;
    }
    if (r != LARDER_OK)
        return preload_free_or_uncount(a);
    preload_uncount(a);
    larder__host_free(a);
    return CUD_SUCCESS;
}

typedef cud_result free_async_fn(cud_addr, cud_stream);

static cud_result pass_free(free_async_fn *fn, struct allocation *a,
                            cud_addr addr, cud_stream stream)
{
    cud_result answer = fn == NULL ? CUD_NOT_SUPPORTED : fn(addr, stream);

    if (a == NULL)
        return answer;
    if (answer != CUD_SUCCESS) {
        preload_allocation_return(a);
        return answer;
    }
    preload_uncount(a);
    larder__host_free(a);
    return answer;
}

static cud_result free_async(cud_addr addr, cud_stream stream, bool per_thread)
{
    const struct preload_calls *real = preload_driver();
    free_async_fn *fn;
    struct allocation *a;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    fn = per_thread ? real->cuMemFreeAsync_ptsz : real->cuMemFreeAsync;
    if (preload_is_child() || addr == 0)
        return pass_free(fn, NULL, addr, stream);
    a = preload_allocation_take(addr);
    if (a == NULL && preload_holds(addr))
        return CUD_INVALID_VALUE;
    if (a == NULL || !a->is_ours)
        return pass_free(fn, a, addr, stream);
    /* A graph frees memory that was not allocated in it: not one of ours. */
    if (is_captured(real, stream, per_thread)) {
        preload_allocation_return(a);
        return CUD_NOT_SUPPORTED;
    }
    return free_on_stream(a, stream_of(stream, per_thread));
}

cud_result cuMemFreeAsync(cud_addr addr, cud_stream stream)
{
    return free_async(addr, stream, false);
}

cud_result cuMemFreeAsync_ptsz(cud_addr addr, cud_stream stream)
{
    return free_async(addr, stream, true);
}

/* ---- streams ------------------------------------------------------------ */

cud_result cuStreamDestroy_v2(cud_stream stream)
{
    const struct preload_calls *real = preload_driver();

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    if (!preload_is_child()) {
        preload_stream_close(real, stream);
        preload_capture_forget(stream);
    }
    return PRELOAD_REAL(real, cuStreamDestroy_v2, stream);
}
