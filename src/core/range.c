#include "core/range.h"

#include "base/fail.h"
#include "base/host.h"
#include "core/front.h"
#include "core/orphan.h"
#include "core/pages.h"
#include "core/pool.h"
#include "core/segment.h"

/* ---- giving back ---------------------------------------------------------- */

static void segment_free(struct allocator *a, struct segment *s)
{
    larder__segment_unlink(a, s);
    larder__host_free(s->pages);
    larder__host_free(s->stamps);
    larder__host_free(s);
}

larder_result larder__range_release(struct allocator *a, struct segment *s)
{
    larder_result r = larder__device_address_free(a->device, s->addr, s->bytes);

    if (r != LARDER_OK)
        return r;
    heap_remove(s->head);
    front_give_header(a, s->head);
    segment_free(a, s);
    return LARDER_OK;
}

/* ---- getting -------------------------------------------------------------- */

/* More than any device has; beyond it a heap has several ranges. */
#define RANGE_MOST (UINT64_C(1) << 40)

/* Room to place things in, whatever the device has. */
static uint64_t range_bytes(const struct allocator *a, uint64_t bytes)
{
    uint64_t total = a->props.total_bytes + a->props.total_bytes / 8;

    if (total > RANGE_MOST)
        total = RANGE_MOST;
    if (total < bytes)
        total = bytes;
    return (total + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

larder_result larder__range_create(struct allocator *a, struct heap *heap,
                                   uint64_t bytes)
{
    struct block *b;
    larder_result r;

    if (bytes > a->props.total_bytes) /* never to be had */
        return larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
    r = larder__segment_reserve(a, heap, SEGMENT_PAGED, PAGE_BYTES,
                                range_bytes(a, bytes), &b);
    if (r != LARDER_OK)
        return r;
    b->front = heap->front != NULL ? heap->front->number : 0;
    heap_insert(b);
    return LARDER_OK;
}

larder_result larder__range_destroy(struct allocator *a, struct segment *s)
{
    larder_result r = larder__device_stream_sync(a->device, s->heap->stream);

    for (size_t i = 0, end; i < s->page_end; i = end) {
        struct orphan orphan = {.page = s->pages[i],
                                .mapped_at = page_at(s, i)};

        end = larder__handle_end(s, i);
        orphan.bytes = (uint64_t)(end - i) * PAGE_BYTES;
        if (orphan.page == 0)
            continue;
        a->page_count -= end - i;
        larder__orphan_give(a, orphan);
    }
    fail_keep_first(&r, larder__orphans_release(a)); /* mapped here, maybe */
    fail_keep_first(&r,
                    larder__device_address_free(a->device, s->addr, s->bytes));
    segment_free(a, s);
    return r;
}
