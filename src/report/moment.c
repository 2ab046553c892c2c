/* moment.c - see moment.h. */
#include "report/moment.h"

#include <stdlib.h>

static bool is_pending(const struct lifetime *a, uint32_t state)
{
    return lifetime_began(a->start, state) && !lifetime_in_use(a, state) &&
           a->done >= state;
}

/* ---- address ranges ------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
    const struct moment_area *x = a;
    const struct moment_area *y = b;

    return (x->address > y->address) - (x->address < y->address);
}

static bool follows(const struct moment_area *a, const struct moment_area *b)
{
    return a->kind == SPAN_EXPANDABLE && b->kind == SPAN_EXPANDABLE &&
           a->stream == b->stream && a->pool == b->pool &&
           a->address + a->size == b->address;
}

static void join_pages(struct moment *m)
{
    size_t kept = 0;

    for (size_t i = 0; i < m->area_count; i++) {
        if (kept > 0 && follows(&m->areas[kept - 1], &m->areas[i]))
            m->areas[kept - 1].size += m->areas[i].size;
        else
            m->areas[kept++] = m->areas[i];
    }
    m->area_count = kept;
}

static void make_areas(struct arena *arena, struct moment *m)
{
    const struct lifetimes *l = m->lifetimes;

    m->areas = arena_take(arena, l->span_count + 1, sizeof(*m->areas));
    for (size_t i = 0; i < l->span_count; i++) {
        const struct segment_span *span = &l->spans[i];

        if (!lifetime_began(span->start, m->state) || span->end < m->state)
            continue;
        m->areas[m->area_count++] = (struct moment_area){
            .address = span->address,
            .size = span->size,
            .stream = span->stream,
            .pool = span->pool,
            .stack = span->stack,
            .kind = span->kind,
        };
        m->reserved += span->size;
    }
    qsort(m->areas, m->area_count, sizeof(*m->areas), by_address);
    join_pages(m);
}

/* ---- allocations ------------------------------------------------------------ */

static void make_live(struct arena *arena, struct moment *m)
{
    const struct lifetimes *l = m->lifetimes;
    size_t capacity = 0;

    for (size_t i = 0; i < l->alloc_count; i++) {
        const struct lifetime *a = &l->allocs[i];

        if (lifetime_in_use(a, m->state)) {
            m->allocated += a->rounded;
            m->requested += a->requested;
        } else if (is_pending(a, m->state)) {
            m->pending += a->rounded;
        } else {
            continue;
        }
        ARENA_ROOM(arena, m->live, capacity, m->live_count + 1);
        m->live[m->live_count++] = (uint32_t)i;
    }
    lifetimes_by_address(arena, l, m->live, m->live_count);
}

const struct lifetime *moment_use(const struct moment *m, size_t *i)
{
    for (; *i < m->live_count; ++*i) {
        const struct lifetime *a = &m->lifetimes->allocs[m->live[*i]];

        if (lifetime_in_use(a, m->state))
            return a;
    }
    return NULL;
}

/* ---- the whole moment --------------------------------------------------------- */

static void add_gap(struct moment *m, struct moment_area *area,
                    uint64_t address, uint64_t end)
{
    if (address >= end)
        return;
    m->gaps[m->gap_count++] = (struct moment_gap){address, end - address,
                                                  (uint32_t)(area - m->areas)};
    if (end - address > area->largest_gap)
        area->largest_gap = end - address;
}

static void count_one(struct moment *m, struct moment_area *area,
                      const struct lifetime *a)
{
    if (lifetime_in_use(a, m->state))
        area->allocated += a->rounded;
    else
        area->pending += a->rounded;
}

/* Fill in the area from its allocations, which begin at live[*at]. */
static void fill_area(struct moment *m, struct moment_area *area, size_t *at)
{
    const struct lifetime *allocs = m->lifetimes->allocs;
    uint64_t end = area->address + area->size;
    uint64_t free_from = area->address;

    while (*at < m->live_count && allocs[m->live[*at]].address < area->address)
        m->outside += allocs[m->live[(*at)++]].rounded;
    area->first = (uint32_t)*at;
    while (*at < m->live_count && allocs[m->live[*at]].address < end) {
        const struct lifetime *a = &allocs[m->live[(*at)++]];

        add_gap(m, area, free_from, a->address);
        if (a->address + a->rounded > free_from)
            free_from = a->address + a->rounded;
        count_one(m, area, a);
    }
    area->count = (uint32_t)*at - area->first;
    add_gap(m, area, free_from, end);
}

static void fill_areas(struct arena *arena, struct moment *m)
{
    size_t at = 0;

    m->gaps =
        arena_take(arena, m->area_count + m->live_count + 1, sizeof(*m->gaps));
    for (size_t i = 0; i < m->area_count; i++)
        fill_area(m, &m->areas[i], &at);
    while (at < m->live_count)
        m->outside += m->lifetimes->allocs[m->live[at++]].rounded;
}

void moment_make(struct arena *arena, const struct lifetimes *l, uint32_t state,
                 struct moment *out)
{
    *out = (struct moment){.lifetimes = l, .state = state};
    make_areas(arena, out);
    make_live(arena, out);
    fill_areas(arena, out);
}

struct moment_sum moment_sum_of(const struct moment *m, moment_test *counts,
                                const void *ctx)
{
    const struct lifetime *allocs = m->lifetimes->allocs;
    const struct lifetime *a;
    struct moment_sum sum = {0, UINT32_MAX};

    for (size_t i = 0; (a = moment_use(m, &i)) != NULL; i++) {
        if (!counts(ctx, m->live[i]))
            continue;
        sum.bytes += a->rounded;
        if (sum.largest == UINT32_MAX ||
            a->rounded > allocs[sum.largest].rounded)
            sum.largest = m->live[i];
    }
    return sum;
}

static uint64_t left_of(uint64_t bytes, uint64_t used)
{
    return used < bytes ? bytes - used : 0;
}

uint64_t moment_area_free(const struct moment_area *a)
{
    return left_of(a->size, a->allocated + a->pending);
}

uint64_t moment_unused(const struct moment *m)
{
    return left_of(m->reserved, m->allocated + m->pending);
}

uint64_t moment_gap_bytes(const struct moment *m, uint64_t *largest)
{
    uint64_t sum = 0;

    *largest = 0;
    for (size_t i = 0; i < m->gap_count; i++) {
        sum += m->gaps[i].size;
        if (m->gaps[i].size > *largest)
            *largest = m->gaps[i].size;
    }
    return sum;
}
