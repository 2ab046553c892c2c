/* stats_api.c - the public calls that read and reset statistics, and those that
 * register callbacks. */
#include <string.h>

#include "base/fail.h"
#include "base/host.h"
#include "base/sized.h"
#include "core/entry/handle.h"
#include "core/observe/summary.h"
#include "core/state/stats.h"

void larder_stats_init_sized(larder_stats *st, size_t size)
{
    sized_init(st, size);
}

static void stats_fill(struct allocator *a, larder_stats *out)
{
    larder_stats_init(out);
    larder__stats_copy(&a->stats, out);
    out->max_split_size = a->told_max_split_bytes;
}

larder_result larder_stats_get(larder_allocator *handle, larder_stats *st)
{
    struct allocator *a;
    larder_stats own;
    larder_result r;

    if (st == NULL || st->size < sizeof st->size)
        return larder__fail(LARDER_ERR_INVALID,
                            "larder_stats: use larder_stats_init()");
    r = larder__handle_lock(handle, &a);
    if (r != LARDER_OK)
        return r;
    stats_fill(a, &own);
    larder__handle_unlock(a);
    return sized_write(st, &own, sizeof own);
}

larder_result larder_stats_reset_peak(larder_allocator *handle)
{
    struct allocator *a;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    larder__stats_reset_peak(&a->stats);
    return larder__handle_end(a, LARDER_OK);
}

larder_result larder_stats_reset_accumulated(larder_allocator *handle)
{
    struct allocator *a;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    larder__stats_reset_accumulated(&a->stats);
    return larder__handle_end(a, LARDER_OK);
}

larder_result larder_memory_summary(larder_allocator *handle, int abbreviated,
                                    char *out, size_t capacity, size_t *needed)
{
    struct allocator *a;
    larder_stats st;
    size_t length;
    int ordinal;
    larder_result r;

    if (out == NULL && capacity > 0)
        return larder__fail_plain(LARDER_ERR_INVALID);
    r = larder__handle_lock(handle, &a);
    if (r != LARDER_OK)
        return r;
    stats_fill(a, &st);
    ordinal = a->props.ordinal;
    larder__handle_unlock(a);
    length = larder__summary(&st, ordinal, abbreviated, out, capacity);
    if (needed != NULL)
        *needed = length;
    return LARDER_OK;
}

/* ---- callbacks ------------------------------------------------------------ */

enum callback_kind { RECLAIM, OOM_OBSERVER };

static larder_result callback_add(larder_allocator *handle,
                                  enum callback_kind kind, void (*fn)(void),
                                  void *ctx)
{
    struct callbacks *c;
    struct allocator *a;
    larder_result r;

    if (fn == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    r = larder__handle_lock(handle, &a);
    if (r != LARDER_OK)
        return r;
    c = kind == RECLAIM ? &a->reclaims : &a->oom_observers;
    if (HOST_ROOM(c->list, c->capacity, c->count + 1))
        c->list[c->count++] = (struct callback){fn, ctx};
    else
        r = larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    return larder__handle_end(a, r);
}

larder_result larder_add_reclaim(larder_allocator *handle,
                                 larder_reclaim_fn *fn, void *ctx)
{
    return callback_add(handle, RECLAIM, (void (*)(void))fn, ctx);
}

larder_result larder_add_oom_observer(larder_allocator *handle,
                                      larder_oom_fn *fn, void *ctx)
{
    return callback_add(handle, OOM_OBSERVER, (void (*)(void))fn, ctx);
}
