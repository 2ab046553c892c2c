/* share_export.c - exports an allocation to another process. */
#include <inttypes.h>
#include <string.h>

#include <larder/share.h>

#include "base/fail.h"
#include "base/host.h"
#include "core/entry/handle.h"
#include "core/segments/blocks.h"
#include "core/segments/events.h"
#include "core/segments/page_span.h"
#include "core/share/share_message.h"
#include "core/state/paged.h"
#include "core/state/zone.h"

struct larder_export {
    larder_allocator *handle;
    larder_device *device;
    struct use *hold; /* freed with the allocator */
    struct share_header header;
    size_t handle_count;
    struct page_handle handles[]; /* the block's, valid while it is held */
};

/* ---- opening -------------------------------------------------------------- */

static larder_result check_exportable(const struct allocator *a,
                                      const struct block *b)
{
    if (!segment_is_expandable(b->segment))
        return larder__fail(LARDER_ERR_UNSUPPORTED,
                            "0x%" PRIx64 " does not lie in pages and cannot be "
                            "exported: use the policy larder or "
                            "expandable_segments:True",
                            zone_user(b));
    if (a->props.export_kind == LARDER_HANDLE_NONE)
        return larder__fail(LARDER_ERR_UNSUPPORTED,
                            "the pages of this device cannot be exported: open "
                            "it with export=fd");
    if (segment_is_paused(b->segment))
        return larder__fail(LARDER_ERR_PAUSED,
                            "0x%" PRIx64 " is paused: it has no pages",
                            zone_user(b));
    return LARDER_OK;
}

/* The pages of all handles that the block is in: a handle is mapped as a
 * whole. */
static struct page_span handles_span(const struct block *b)
{
    struct page_span span = block_pages(b);

    span.begin = page_handle_begin(b->segment, span.begin);
    span.end = page_handle_end(b->segment, span.end - 1);
    return span;
}

static void handles_list(const struct segment *s, struct page_span span,
                         larder_export *e)
{
    for (size_t i = span.begin, end; i < span.end; i = end) {
        end = page_handle_end(s, i);
        larder__assert(s->pages[i] != 0 && end <= span.end);
        e->handles[e->handle_count++] =
            (struct page_handle){.handle = s->pages[i], .pages = end - i};
    }
}

static larder_result export_make(larder_allocator *handle, struct allocator *a,
                                 struct block *b, larder_export **out)
{
    const struct segment *s = b->segment;
    struct page_span span = handles_span(b);
    size_t count = span.end - span.begin;
    larder_export *e =
        larder__host_alloc(1, sizeof *e + count * sizeof e->handles[0]);
    larder_result r;

    larder__assert(allocator_is_locked(a) && b->state == BLOCK_LIVE);
    if (e == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    e->handle = handle;
    e->device = a->device;
    e->header = (struct share_header){
        .magic = SHARE_HEADER_MAGIC,
        .version = SHARE_VERSION,
        .kind = a->props.export_kind,
        .bytes = b->requested,
        .offset = zone_user(b) - page_at(s, span.begin),
        .page_bytes = s->page_bytes,
        .page_count = count,
    };
    memcpy(e->header.uuid, a->props.uuid, sizeof e->header.uuid);
    handles_list(s, span, e);
    r = larder__events_hold(a, b, &e->hold);
    if (r != LARDER_OK) {
        larder__host_free(e);
        return r;
    }
    *out = e;
    return LARDER_OK;
}

static larder_result export_open(larder_allocator *handle, struct allocator *a,
                                 larder_addr addr, larder_export **out)
{
    struct block *b = zone_find(a, addr);
    larder_result r;

    if (b == NULL || b->state != BLOCK_LIVE)
        return larder__fail(LARDER_ERR_UNKNOWN_ADDRESS,
                            "no live allocation of this allocator begins at "
                            "0x%" PRIx64,
                            addr);
    r = check_exportable(a, b);
    if (r == LARDER_OK && a->has_withheld)
        r = larder__paged_settle(a);
    return r == LARDER_OK ? export_make(handle, a, b, out) : r;
}

larder_result larder_export_open(larder_allocator *handle, larder_addr addr,
                                 larder_export **out)
{
    struct allocator *a;
    larder_result r;

    if (out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    r = larder__handle_lock(handle, &a);
    if (r != LARDER_OK)
        return r;
    return larder__handle_end(a, export_open(handle, a, addr, out));
}

/* ---- sending -------------------------------------------------------------- */

/* A batch of handles to send. */
struct batch {
    struct share_batch told;
    int fds[SHARE_BATCH_MAX];
    unsigned char fabric[SHARE_BATCH_MAX * LARDER_FABRIC_BYTES];
};

/* Export the handles from index i on.  On failure those already exported are
 * closed. */
static larder_result batch_make(const larder_export *e, size_t i,
                                struct batch *out)
{
    uint32_t *n = &out->told.count;

    larder__assert(i < e->handle_count);
    memset(out->told.pages, 0, sizeof out->told.pages);
    for (*n = 0; *n < SHARE_BATCH_MAX && i < e->handle_count; i++, ++*n) {
        larder_page_handle handle = {.fd = -1};
        larder_result r = larder__device_page_export(
            e->device, e->handles[i].handle, &handle);

        if (r != LARDER_OK) {
            if (e->header.kind == LARDER_HANDLE_FD)
                larder__fds_close(out->fds, *n);
            return r;
        }
        out->told.pages[*n] = (uint32_t)e->handles[i].pages;
        out->fds[*n] = handle.fd;
        memcpy(out->fabric + (size_t)*n * LARDER_FABRIC_BYTES, handle.fabric,
               LARDER_FABRIC_BYTES);
    }
    return LARDER_OK;
}

static larder_result batch_send(const larder_export *e, int socket,
                                const struct batch *batch)
{
    bool is_fd = e->header.kind == LARDER_HANDLE_FD;
    uint32_t count = batch->told.count;
    larder_result r =
        larder__socket_send(socket, &batch->told, sizeof batch->told,
                            batch->fds, is_fd ? count : 0);

    if (is_fd)
        larder__fds_close(batch->fds, count);
    else if (r == LARDER_OK)
        r = larder__socket_send(socket, batch->fabric,
                                (size_t)count * LARDER_FABRIC_BYTES, NULL, 0);
    return r;
}

static larder_result handles_send(const larder_export *e, int socket)
{
    struct batch batch = {.told.magic = SHARE_BATCH_MAGIC};
    larder_result r = LARDER_OK;

    for (size_t i = 0; r == LARDER_OK && i < e->handle_count;) {
        r = batch_make(e, i, &batch);
        if (r == LARDER_OK)
            r = batch_send(e, socket, &batch);
        i += batch.told.count;
        for (uint32_t k = 0; k < batch.told.count; k++)
            batch.told.first += batch.told.pages[k];
    }
    return r;
}

larder_result larder_export_send(larder_export *e, int socket)
{
    larder_result r;

    if (e == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    if (handle_allocator(e->handle) == NULL)
        return larder__handle_bad(e->handle);
    larder__assert(e->header.page_count > 0 && e->header.bytes > 0);
    larder__assert(e->header.offset <
                   e->header.page_count * e->header.page_bytes);
    r = larder__socket_send(socket, &e->header, sizeof e->header, NULL, 0);
    return r == LARDER_OK ? handles_send(e, socket) : r;
}

/* ---- closing -------------------------------------------------------------- */

larder_result larder_export_close(larder_export *e)
{
    struct allocator *a;

    if (e == NULL)
        return LARDER_OK;
    if (e->handle->of_parent != NULL)
        return larder__handle_bad(e->handle);
    if (handle_allocator(e->handle) != NULL &&
        larder__handle_lock_for(e->handle, &a, __builtin_return_address(0)) ==
            LARDER_OK) {
        larder__events_unhold(a, e->hold);
        larder__handle_unlock(a);
    }
    larder__host_free(e);
    return LARDER_OK;
}
