/* shortage.c - see shortage.h.
 *
 * When the event is recorded the allocator has already released everything it
 * could to the driver (PyTorch's ladder): what is still cached is in segments
 * that are partly in use. */
#include "report/shortage.h"

#include <string.h>

#include "snapshot/snapshot_conf.h"

#define PAGE_BYTES ((uint64_t)2 << 20)

bool shortage_may_use(const struct shortage *s, const struct moment_area *a)
{
    if (a->stream != s->stream || a->pool != s->pool)
        return false;
    /* The kind of an expandable segment does not tell its pool. */
    return a->kind == SPAN_EXPANDABLE || s->small == (a->kind == SPAN_SMALL);
}

static void look_at_area(struct shortage *s, const struct moment_area *a)
{
    uint64_t free_bytes = moment_area_free(a);

    s->free_bytes += free_bytes;
    if (a->count == 0)
        s->whole_free += free_bytes;
    if (a->kind == SPAN_EXPANDABLE)
        s->expandable = true;
    if (shortage_may_use(s, a)) {
        s->own_free += free_bytes;
        if (a->largest_gap > s->own_largest)
            s->own_largest = a->largest_gap;
    } else if (a->stream != s->stream) {
        if (a->largest_gap > s->stream_largest)
            s->stream_largest = a->largest_gap;
    } else if (a->largest_gap > s->pool_largest) {
        s->pool_largest = a->largest_gap;
    }
}

static enum shortage_cause cause_of(const struct shortage *s)
{
    const struct moment *m = &s->moment;

    if (s->driver_known && s->driver_free >= s->segment_bytes)
        return SHORTAGE_LIMIT;

    if (s->own_largest >= s->asked)
        return SHORTAGE_REFUSED;
    if (s->stream_largest >= s->asked)
        return SHORTAGE_STREAMS;
    if (s->pool_largest >= s->asked)
        return SHORTAGE_POOLS;
    if (s->free_bytes + s->driver_free >= s->asked)
        return SHORTAGE_PIECES;
    if (s->free_bytes + s->driver_free + m->pending >= s->asked)
        return SHORTAGE_PENDING;
    return SHORTAGE_TOO_MUCH;
}

/* The size of a new segment is a multiple of 2 MiB. */
static uint64_t fits(const struct shortage *s)
{
    uint64_t fresh = s->driver_free / PAGE_BYTES * PAGE_BYTES;

    return fresh > s->own_largest ? fresh : s->own_largest;
}

bool shortage_make(const struct lifetimes *l, uint32_t event,
                   struct shortage *out, struct tool_error *error)
{
    const struct snapshot_event *e = &l->events[event];
    uint64_t page_bytes;
    size_t i;

    memset(out, 0, sizeof(*out));
    if (!snapshot_segment(l->snapshot, e->size, &out->segment_bytes,
                          &page_bytes))
        return tool_fail(error, "not enough host memory for the report");
    if (!moment_make(l, event, &out->moment, error))
        return false;
    out->event = event;
    out->asked = e->size;
    out->stream = e->stream;
    out->pool = e->pool;
    out->small = page_bytes == PAGE_BYTES;
    out->expandable = l->snapshot->settings.expandable_segments;
    out->driver_known = (e->has & SNAPSHOT_HAS_ADDRESS) != 0;
    out->driver_free = out->driver_known ? e->address : 0;
    for (i = 0; i < out->moment.area_count; i++)
        look_at_area(out, &out->moment.areas[i]);
    /* Memory in use in segments that were never recorded counts too. */
    out->attainable = out->moment.reserved;
    if (out->attainable < out->moment.allocated + out->moment.pending)
        out->attainable = out->moment.allocated + out->moment.pending;
    out->attainable += out->driver_free;
    out->would_fit = fits(out);
    out->cause = cause_of(out);
    return true;
}

uint64_t shortage_needed(const struct shortage *s)
{
    return s->moment.allocated + s->moment.pending + s->asked;
}

uint64_t shortage_missing(const struct shortage *s)
{
    uint64_t needed = shortage_needed(s);

    return needed > s->attainable ? needed - s->attainable : s->asked;
}

bool shortage_of_all(const struct shortage *s)
{
    return s->cause == SHORTAGE_TOO_MUCH &&
           s->moment.requested + s->moment.pending + s->asked > s->attainable;
}
