/* recorded_start.c - builds the state before a recording by public calls. */
#include "convert/recorded_start.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define SMALL_REQUEST_BYTES ((uint64_t)1 << 20)
/* A free remainder in the large pool is larger than this; a smaller one belongs
 * to the block before it. */
#define SLACK_BYTES ((uint64_t)1 << 20)

struct places {
    larder_addr *at;
    size_t count;
    size_t capacity;
};

struct start {
    struct playback *r;
    const struct segment_span **spans; /* present at the start */
    size_t span_count;
    uint32_t *blocks; /* allocations present at the start, by address */
    size_t block_count;
    struct places fillers; /* whole spans; by span, the first of them */
    size_t *filler_begins;
    struct places gaps;
    struct places holes;
};

void playback_stop(struct playback *r, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(r->out->reason, RECORDED_WORDS_MAX, format, list);
    va_end(list);
    longjmp(r->stopped, 1);
}

/* ---- the settings ------------------------------------------------------- */

larder_result playback_alloc(struct playback *r, uint64_t bytes,
                             uint32_t stream, uint32_t pool, larder_addr *out)
{
    const struct snapshot *s = r->l->snapshot;
    larder_pool_id id = {s->pools[pool].a, s->pools[pool].b};
    bool is_private = id.first != 0 || id.second != 0;
    larder_result result = LARDER_OK;

    if (is_private)
        result = larder_pool_begin(r->allocator, id, NULL, NULL);
    if (result != LARDER_OK)
        return result;
    result = larder_alloc(r->allocator, bytes, snapshot_stream(s, stream), out);
    if (is_private)
        (void)larder_pool_end(r->allocator, id); /* begun above */
    return result;
}

larder_result playback_free(struct playback *r, uint32_t number)
{
    larder_addr address = r->got[number];
    larder_result result = LARDER_OK;

    if (r->story->deferred[number]) {
        r->waits[number] = RECORDED_WAIT + r->next_wait++;
        result = larder_record_stream(r->allocator, address, r->waits[number]);
    }
    return result == LARDER_OK ? larder_free(r->allocator, address) : result;
}

/* Request `bytes` at `address`: in the large pool as one, in the small pool in
 * parts. */
static void recorded_start_take(struct start *s,
                                const struct segment_span *span, bool is_small,
                                uint64_t address, uint64_t bytes,
                                struct places *out)
{
    while (bytes > 0) {
        uint64_t part = bytes;
        larder_addr got;

        if (is_small && part > SMALL_REQUEST_BYTES)
            part = SMALL_REQUEST_BYTES;
        ARENA_ROOM(&s->r->arena, out->at, out->capacity, out->count + 1);
        if (playback_alloc(s->r, part, span->stream, span->pool, &got) !=
            LARDER_OK)
            playback_stop(s->r, "memory at 0x%" PRIx64 " cannot be rebuilt",
                          address);
        out->at[out->count++] = got;
        if (got != address)
            playback_stop(s->r, "memory for 0x%" PRIx64 " was placed elsewhere",
                          address);
        address += part;
        bytes -= part;
    }
}

static void free_all(struct start *s, larder_addr *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (larder_free(s->r->allocator, list[i]) != LARDER_OK)
            playback_stop(s->r, "0x%" PRIx64 " cannot be released", list[i]);
    }
}

/* ---- the initial state -------------------------------------------------- */

static bool is_expandable(const struct segment_span *span)
{
    return span->kind == SPAN_EXPANDABLE;
}

/* Before the spans of each kind, let the allocator make segments of it. */
static void set_kind(struct start *s, size_t index)
{
    bool on = is_expandable(s->spans[index]);

    if (index > 0 && on == is_expandable(s->spans[index - 1]))
        return;
    if (larder_configure(s->r->allocator, on ? "expandable_segments:True"
                                             : "expandable_segments:False") !=
        LARDER_OK)
        playback_stop(s->r, "expandable segments are not available");
}

static int compare_spans(const void *a, const void *b)
{
    const struct segment_span *x = *(const struct segment_span *const *)a;
    const struct segment_span *y = *(const struct segment_span *const *)b;

    if (is_expandable(x) != is_expandable(y))
        return is_expandable(x) ? 1 : -1;
    return (x->address > y->address) - (x->address < y->address);
}

static void collect(struct start *s)
{
    const struct lifetimes *l = s->r->l;
    struct arena *arena = &s->r->arena;

    s->spans = arena_take(arena, l->span_count, sizeof *s->spans);
    s->filler_begins =
        arena_take(arena, l->span_count + 1, sizeof *s->filler_begins);
    s->blocks = arena_take(arena, l->before_count, sizeof *s->blocks);
    for (size_t i = 0; i < l->span_count; i++) {
        if (l->spans[i].start == LIFETIME_BEFORE)
            s->spans[s->span_count++] = &l->spans[i];
    }
    qsort(s->spans, s->span_count, sizeof(struct segment_span *),
          compare_spans);
    while (s->block_count < l->before_count) {
        s->blocks[s->block_count] = (uint32_t)s->block_count;
        s->block_count++;
    }
    lifetimes_by_address(arena, l, s->blocks, s->block_count);
}

static bool span_is_small(const struct start *s,
                          const struct segment_span *span)
{
    if (!is_expandable(span))
        return span->kind == SPAN_SMALL;
    return recorded_ranges_of(&s->r->device->ranges, span)->is_small;
}

/* ---- memory ------------------------------------------------------------- */

/* The address up to which the span's range is already in use. */
static uint64_t range_filled(const struct start *s, size_t index)
{
    const struct recorded_ranges *ranges = &s->r->device->ranges;
    const struct recorded_range *range =
        recorded_ranges_of(ranges, s->spans[index]);

    while (index-- > 0 && is_expandable(s->spans[index])) {
        if (recorded_ranges_of(ranges, s->spans[index]) == range)
            return s->spans[index]->address + s->spans[index]->size;
    }
    return range->base;
}

static void fill_hole(struct start *s, size_t index)
{
    const struct segment_span *span = s->spans[index];
    const struct recorded_range *range =
        recorded_ranges_of(&s->r->device->ranges, span);
    uint64_t from = range_filled(s, index);

    s->r->device->reserve_address = range->base;
    if (range->end - range->base > s->r->device->total_bytes)
        playback_stop(s->r, "the range at 0x%" PRIx64 " is split", range->base);
    recorded_start_take(s, span, range->is_small, from, span->address - from,
                        &s->holes);
}

static void fill_spans(struct start *s)
{
    for (size_t i = 0; i < s->span_count; i++) {
        const struct segment_span *span = s->spans[i];

        set_kind(s, i);
        s->filler_begins[i] = s->fillers.count;
        if (is_expandable(span))
            fill_hole(s, i);
        s->r->device->start_address = span->address;
        recorded_start_take(s, span, span_is_small(s, span), span->address,
                            span->size, &s->fillers);
    }
    s->filler_begins[s->span_count] = s->fillers.count;
}

/* ---- blocks ------------------------------------------------------------- */

static void lay_gap(struct start *s, const struct segment_span *span,
                    uint64_t from, uint64_t to)
{
    recorded_start_take(s, span, span_is_small(s, span), from, to - from,
                        &s->gaps);
}

/* The size of the block up to `limit`, where the next one begins or the span
 * ends: in the large pool a short remainder belongs to the block. */
static uint64_t block_bytes(const struct start *s,
                            const struct segment_span *span,
                            const struct lifetime *a, uint64_t limit)
{
    uint64_t rest = limit - a->address - a->rounded;

    if (!is_expandable(span) && !span_is_small(s, span) && rest <= SLACK_BYTES)
        return a->rounded + rest;
    return a->rounded;
}

/* Place the block; returns its end. */
static uint64_t lay_block(struct start *s, const struct segment_span *span,
                          uint32_t number, uint64_t limit)
{
    struct playback *r = s->r;
    const struct lifetime *a = &r->l->allocs[number];
    uint64_t bytes;

    if (a->rounded == 0 || limit - a->address < a->rounded)
        playback_stop(r, "the block at 0x%" PRIx64 " overlaps another",
                      a->address);
    bytes = block_bytes(s, span, a, limit);
    if (playback_alloc(r, bytes, span->stream, span->pool, &r->got[number]) !=
            LARDER_OK ||
        r->got[number] != a->address)
        playback_stop(r, "the block at 0x%" PRIx64 " cannot be rebuilt",
                      a->address);
    return a->address + bytes;
}

/* Place the blocks from number `next` on that are in the span; returns the
 * number of the first that is not. */
static size_t lay_span(struct start *s, size_t index, size_t next)
{
    const struct segment_span *span = s->spans[index];
    const struct lifetime *allocs = s->r->l->allocs;
    uint64_t end = span->address + span->size;
    uint64_t at = span->address;

    free_all(s, s->fillers.at + s->filler_begins[index],
             s->filler_begins[index + 1] - s->filler_begins[index]);
    for (; next < s->block_count; next++) {
        uint32_t number = s->blocks[next];
        uint64_t limit = end;

        if (allocs[number].address >= end)
            break;
        if (allocs[number].address < at)
            playback_stop(s->r, "the block at 0x%" PRIx64 " is in no segment",
                          allocs[number].address);
        if (next + 1 < s->block_count &&
            allocs[s->blocks[next + 1]].address < end)
            limit = allocs[s->blocks[next + 1]].address;
        lay_gap(s, span, at, allocs[number].address);
        at = lay_block(s, span, number, limit);
    }
    lay_gap(s, span, at, end);
    return next;
}

/* The first block that is not before the span. */
static size_t first_block(const struct start *s,
                          const struct segment_span *span)
{
    size_t low = 0;
    size_t high = s->block_count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (s->r->l->allocs[s->blocks[middle]].address >= span->address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void lay_spans(struct start *s)
{
    size_t laid = 0;

    for (size_t i = 0; i < s->span_count; i++) {
        size_t begin = first_block(s, s->spans[i]);

        set_kind(s, i);
        laid += lay_span(s, i, begin) - begin;
    }
    if (laid != s->block_count)
        playback_stop(s->r,
                      "a block from before the recording is in no segment");
}

/* ---- the whole start ---------------------------------------------------- */

/* Free the blocks that were only pending. */
static void free_pending(struct start *s)
{
    for (size_t i = 0; i < s->block_count; i++) {
        uint32_t number = s->blocks[i];

        if (s->r->l->allocs[number].end == LIFETIME_BEFORE &&
            playback_free(s->r, number) != LARDER_OK)
            playback_stop(s->r, "the block at 0x%" PRIx64 " cannot be freed",
                          s->r->l->allocs[number].address);
    }
}

/* Unmap the holes before anything else is free. */
static void open_holes(struct start *s)
{
    free_all(s, s->holes.at, s->holes.count);
    if (s->holes.count != 0 && larder_empty_cache(s->r->allocator) != LARDER_OK)
        playback_stop(s->r, "unmapped parts cannot be rebuilt");
}

void recorded_start_build(struct playback *r)
{
    struct start s = {.r = r};

    r->device->is_start = true;
    collect(&s);
    fill_spans(&s);
    lay_spans(&s);
    open_holes(&s);
    free_all(&s, s.gaps.at, s.gaps.count);
    free_pending(&s);
    r->device->is_start = false;
}
