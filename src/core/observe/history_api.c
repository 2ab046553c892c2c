/* history_api.c - the public calls on history and snapshots. */
#include <string.h>

#include "base/fail.h"
#include "base/newfile.h"
#include "base/sized.h"
#include "core/entry/handle.h"
#include "core/observe/snapshot_state.h"

/* ---- history -------------------------------------------------------------- */

const char *larder_action_name(larder_action action)
{
    switch (action) {
#define X(name, code, text)                                                    \
    case LARDER_ACTION_##name:                                                 \
        return #name;
        LARDER_ACTION_MAP(X)
#undef X
    }
    return "?";
}

void larder_history_options_init_sized(larder_history_options *opt, size_t size)
{
    sized_init(opt, size);
}

larder_result larder_history_start(larder_allocator *handle,
                                   const larder_history_options *opt)
{
    larder_history_options own;
    struct allocator *a;
    larder_result r = larder__history_options(opt, &own);

    if (r != LARDER_OK)
        return r;
    r = larder__handle_lock(handle, &a);
    if (r != LARDER_OK)
        return r;
    return larder__handle_end(a, larder__history_begin(a, &own));
}

larder_result larder_history_stop(larder_allocator *handle)
{
    struct allocator *a;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    larder__history_end(a);
    return larder__handle_end(a, LARDER_OK);
}

larder_result larder_history_clear(larder_allocator *handle)
{
    struct allocator *a;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    if (a->history != NULL) {
        a->history->next = 0;
        a->history->recorded = 0;
        a->history->missed = 0;
        a->history->mark_count = 0;
    }
    return larder__handle_end(a, LARDER_OK);
}

larder_result larder_history_get(larder_allocator *handle,
                                 larder_history_info *info)
{
    larder_history_info own;
    struct allocator *a;
    larder_result r;

    if (info == NULL || info->size < sizeof info->size)
        return larder__fail(LARDER_ERR_INVALID,
                            "larder_history_info.size is not set");
    r = larder__handle_lock(handle, &a);
    if (r != LARDER_OK)
        return r;
    larder__history_info(a, &own);
    larder__handle_unlock(a);
    return sized_write(info, &own, sizeof own);
}

static larder_event event_info(const struct history *h,
                               const struct history_event *e,
                               const struct ticks_scale *scale)
{
    larder_event out = {
        .action = event_action(e),
        .addr = e->addr,
        .bytes = e->bytes,
        .stream = e->stream,
        .time_us = larder__ticks_wall_us(scale, event_ticks(e)),
        .annotation = larder__texts_get(&h->texts, e->annotation),
        .stack = stack_frames(&h->stacks, e->stack),
        .depth = stack_depth(&h->stacks, e->stack),
    };

    if (e->pool != 0)
        out.pool = h->pool_ids[e->pool - 1];
    if (out.action == LARDER_ACTION_oom) {
        out.device_free_bytes = e->addr;
        out.addr = 0;
    }
    return out;
}

larder_result larder_history_walk(larder_allocator *handle, larder_event_fn *fn,
                                  void *ctx)
{
    const struct history *h;
    struct ticks_scale scale;
    struct allocator *a;
    larder_result r;
    int end = 0;

    if (fn == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    r = larder__handle_lock(handle, &a);
    if (r != LARDER_OK)
        return r;
    h = a->history;
    if (h != NULL)
        larder__ticks_scale(&h->clock, &scale);
    for (uint64_t i = 0; h != NULL && !end && i < history_count(h); i++) {
        larder_event event = event_info(h, history_at(h, i), &scale);

        end = fn(ctx, &event);
    }
    return larder__handle_end(a, LARDER_OK);
}

larder_result larder_history_mark(larder_allocator *handle, const char *text)
{
    struct allocator *a;
    struct history *h;
    larder_result r;

    if (text == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    r = larder__handle_lock(handle, &a);
    if (r != LARDER_OK)
        return r;
    h = a->history;
    if (h != NULL)
        h->marks[h->mark_count++ % MARKS_MAX] =
            (struct history_mark){.ticks = larder__history_ticks(h),
                                  .text = larder__texts_put(&h->texts, text)};
    return larder__handle_end(a, LARDER_OK);
}

/* ---- snapshots ------------------------------------------------------------ */

larder_result larder_set_frame_resolver(larder_allocator *handle,
                                        larder_frame_fn *fn, void *ctx)
{
    struct allocator *a;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    a->frames.fn = fn;
    a->frames.ctx = ctx;
    return larder__handle_end(a, LARDER_OK);
}

void larder_snapshot_options_init_sized(larder_snapshot_options *opt,
                                        size_t size)
{
    sized_init(opt, size);
}

static larder_result history_api_options_read(
    const larder_snapshot_options *opt, larder_snapshot_options *out)
{
    larder_snapshot_options_init(out);
    if (opt == NULL)
        return LARDER_OK;
    if (opt->size < sizeof opt->size || opt->size > sizeof *out)
        return larder__fail(LARDER_ERR_INVALID,
                            "larder_snapshot_options.size is %zu: use "
                            "larder_snapshot_options_init()",
                            opt->size);
    memcpy(out, opt, opt->size);
    if ((unsigned)out->format > LARDER_SNAPSHOT_JSON)
        return larder__fail(LARDER_ERR_INVALID, "%d is not a snapshot format",
                            (int)out->format);
    return LARDER_OK;
}

/* Copy the state as the options ask. */
static larder_result history_api_take(larder_allocator *handle,
                                      const larder_snapshot_options *opt,
                                      struct snapshot *out)
{
    struct allocator *a;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    return larder__handle_end(a,
                              larder__snapshot_take(a, !opt->no_history, out));
}

bool larder__snapshot_is_json(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot != NULL && strcmp(dot, ".json") == 0;
}

static int write_file(void *ctx, const void *bytes, size_t count)
{
    return !larder__newfile_write(ctx, bytes, count);
}

larder_result larder__snapshot_file(const struct snapshot *s, bool json,
                                    const char *path)
{
    struct newfile file;
    larder_result r = LARDER_ERR_SYSTEM;

    if (larder__newfile_open(&file, path))
        r = larder__snapshot_emit(s, json, write_file, &file);
    if (!larder__newfile_close(&file, r == LARDER_OK))
        return larder__fail(LARDER_ERR_SYSTEM, "%s cannot be written: %s", path,
                            larder__newfile_words(&file));
    return r;
}

larder_result larder_snapshot_write(larder_allocator *handle, const char *path,
                                    const larder_snapshot_options *opt)
{
    larder_snapshot_options own;
    struct snapshot s;
    bool json;
    larder_result r;

    if (path == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    if ((r = history_api_options_read(opt, &own)) != LARDER_OK ||
        (r = history_api_take(handle, &own, &s)) != LARDER_OK)
        return r;
    json = own.format == LARDER_SNAPSHOT_AUTO
               ? larder__snapshot_is_json(path)
               : own.format == LARDER_SNAPSHOT_JSON;
    r = larder__snapshot_file(&s, json, path);
    larder__snapshot_free(&s);
    return r;
}

larder_result larder_snapshot_write_to(larder_allocator *handle,
                                       larder_write_fn *fn, void *ctx,
                                       const larder_snapshot_options *opt)
{
    larder_snapshot_options own;
    struct snapshot s;
    larder_result r;

    if (fn == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    if ((r = history_api_options_read(opt, &own)) != LARDER_OK ||
        (r = history_api_take(handle, &own, &s)) != LARDER_OK)
        return r;
    r = larder__snapshot_emit(&s, own.format == LARDER_SNAPSHOT_JSON, fn, ctx);
    larder__snapshot_free(&s);
    if (r == LARDER_ERR_SYSTEM)
        return larder__fail(r, "the caller's function refused the snapshot");
    return r;
}
