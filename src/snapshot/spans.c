/* spans.c - the live spans as a sorted array.
 *
 * Segments are few, and most come and go near the end of the address order, so
 * moving the rest of an array costs less than a tree would. */
#include "snapshot/spans.h"

#include <stdlib.h>
#include <string.h>

#include "trace/array_room.h"

static struct segment_span *live_span(const struct span_set *set, size_t i)
{
    return &set->out->spans[set->order[i]];
}

static uint64_t end_of(const struct segment_span *span)
{
    return span->address + span->size;
}

void span_set_free(struct span_set *set)
{
    free(set->order);
    set->order = NULL;
    set->live = 0;
    set->order_capacity = 0;
}

/* The first live span that ends after an address. */
static size_t first_after(const struct span_set *set, uint64_t address)
{
    size_t low = 0;
    size_t high = set->live;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (end_of(live_span(set, middle)) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert(struct span_set *set, size_t at,
                   const struct segment_span *span)
{
    struct lifetimes *l = set->out;

    arena_need(set->arena,
               ARRAY_ROOM(l->spans, set->capacity, l->span_count + 1) &&
                   ARRAY_ROOM(set->order, set->order_capacity, set->live + 1));
    memmove(set->order + at + 1, set->order + at,
            (set->live - at) * sizeof(*set->order));
    set->order[at] = (uint32_t)l->span_count;
    set->live++;
    l->spans[l->span_count++] = *span;
}

static void forget(struct span_set *set, size_t at)
{
    set->live--;
    memmove(set->order + at, set->order + at + 1,
            (set->live - at) * sizeof(*set->order));
}

/* Shorten live span `at` to what is below `address`; the rest becomes a live
 * span of its own after it. */
static void cut(struct span_set *set, size_t at, uint64_t address)
{
    struct segment_span rest = *live_span(set, at);

    rest.size = end_of(&rest) - address;
    rest.address = address;
    live_span(set, at)->size -= rest.size;
    insert(set, at + 1, &rest);
}

/* Add the parts of `span` that no live span covers. */
static void fill_gaps(struct span_set *set, const struct segment_span *span)
{
    uint64_t address = span->address;
    size_t at = first_after(set, address);

    while (address < end_of(span)) {
        struct segment_span gap = *span;
        uint64_t until = end_of(span);

        if (at < set->live && live_span(set, at)->address < until)
            until = live_span(set, at)->address;
        if (until > address) {
            gap.address = address;
            gap.size = until - address;
            insert(set, at++, &gap);
        }
        if (at >= set->live || live_span(set, at)->address >= end_of(span))
            break;
        address = end_of(live_span(set, at++));
    }
}

/* End every live span inside the range, at whose borders spans were already
 * cut. */
static void end_inside(struct span_set *set, const struct segment_span *range,
                       uint32_t end)
{
    size_t at = first_after(set, range->address);

    while (at < set->live && live_span(set, at)->address < end_of(range)) {
        live_span(set, at)->end = end;
        forget(set, at);
    }
}

/* Cut the live span that extends across an address. */
static void cut_across(struct span_set *set, uint64_t address)
{
    size_t at = first_after(set, address);

    if (at < set->live && live_span(set, at)->address < address)
        cut(set, at, address);
}

static void cut_edges(struct span_set *set, const struct segment_span *range)
{
    cut_across(set, range->address);
    cut_across(set, end_of(range));
}

static bool is_sound(const struct segment_span *span)
{
    return span->size > 0 && span->address <= UINT64_MAX - span->size;
}

struct segment_span *span_set_at(const struct span_set *set, uint64_t address)
{
    size_t at = first_after(set, address);

    return at < set->live && live_span(set, at)->address == address
               ? live_span(set, at)
               : NULL;
}

void span_set_add(struct span_set *set, const struct segment_span *span)
{
    if (!is_sound(span))
        return;
    cut_edges(set, span);
    end_inside(set, span, span->start);
    insert(set, first_after(set, span->address), span);
}

void span_set_remove(struct span_set *set, const struct segment_span *span,
                     uint32_t end)
{
    if (!is_sound(span))
        return;
    cut_edges(set, span);
    fill_gaps(set, span);
    end_inside(set, span, end);
}

void span_set_fill(struct span_set *set, const struct segment_span *span)
{
    if (is_sound(span))
        fill_gaps(set, span);
}
