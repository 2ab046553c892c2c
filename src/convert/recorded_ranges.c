/* recorded_ranges.c - where the address ranges of recorded expandable segments
 * began. */
#include "convert/recorded_device.h"

#include <stdlib.h>

/* The final state tells the span's pool, or else whether it is made of pages of
 * the large one. */
static bool is_small(const struct recorded_ranges *r,
                     const struct segment_span *span)
{
    const struct lifetimes *l = r->lifetimes;
    const struct snapshot *s = l->snapshot;

    for (size_t i = 0; i < s->segment_count; i++) {
        const struct snapshot_segment *seg = &s->segments[i];

        if (seg->expandable && seg->device == l->device &&
            seg->type != SNAPSHOT_TYPE_UNKNOWN &&
            span->address >= seg->address &&
            span->address - seg->address < seg->total_size)
            return seg->type == SNAPSHOT_SMALL;
    }
    return span->size % r->large_page_bytes != 0;
}

const struct recorded_range *recorded_ranges_of(const struct recorded_ranges *r,
                                                const struct segment_span *span)
{
    bool small = is_small(r, span);

    for (size_t i = 0; i < r->count; i++) {
        const struct recorded_range *range = &r->list[i];

        if (range->stream == span->stream && range->pool == span->pool &&
            range->is_small == small)
            return range;
    }
    return NULL;
}

static void recorded_ranges_add(struct arena *arena, struct recorded_ranges *r,
                                const struct segment_span *span)
{
    const struct recorded_range *known = recorded_ranges_of(r, span);
    size_t place = known != NULL ? (size_t)(known - r->list) : r->count;
    struct recorded_range *range;

    ARENA_ROOM(arena, r->list, r->capacity, place + 1);
    range = &r->list[place];
    if (place == r->count) {
        r->count++;
        *range = (struct recorded_range){.base = span->address,
                                         .end = span->address + span->size,
                                         .stream = span->stream,
                                         .pool = span->pool,
                                         .is_small = is_small(r, span)};
    }
    if (span->address < range->base)
        range->base = span->address;
    if (span->address + span->size > range->end)
        range->end = span->address + span->size;
}

void recorded_ranges_make(struct arena *arena, const struct lifetimes *l,
                          uint64_t large_page_bytes,
                          struct recorded_ranges *out)
{
    *out = (struct recorded_ranges){.lifetimes = l,
                                    .large_page_bytes = large_page_bytes};
    for (size_t i = 0; i < l->span_count; i++) {
        if (l->spans[i].kind == SPAN_EXPANDABLE)
            recorded_ranges_add(arena, out, &l->spans[i]);
    }
}

uint64_t recorded_ranges_base(const struct recorded_ranges *r, uint64_t address)
{
    const struct lifetimes *l = r->lifetimes;

    for (size_t i = 0; i < l->span_count; i++) {
        const struct segment_span *span = &l->spans[i];

        if (span->kind == SPAN_EXPANDABLE && address >= span->address &&
            address - span->address < span->size)
            return recorded_ranges_of(r, span)->base;
    }
    return address;
}

static int compare_bases(const void *a, const void *b)
{
    const struct recorded_range *x = a;
    const struct recorded_range *y = b;

    return (x->base > y->base) - (x->base < y->base);
}

uint64_t recorded_ranges_distance(const struct recorded_ranges *r)
{
    uint64_t min = UINT64_MAX;

    if (r->count > 0)
        qsort(r->list, r->count, sizeof *r->list, compare_bases);
    for (size_t i = 1; i < r->count; i++) {
        uint64_t apart = r->list[i].base - r->list[i - 1].base;

        min = apart < min ? apart : min;
    }
    return min;
}
