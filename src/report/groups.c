/* groups.c - see groups.h. */
#include "report/groups.h"

#include <stdlib.h>

#include "report/explain.h"
#include "report/report_words.h"

/* Keys are numbers below a bound: frames, stacks or categories, plus one for
 * "none". */
struct gathering {
    const struct moment *m;
    enum group_by by;
    const uint8_t *categories;
    int only; /* only this category; -1: all */
    struct report_group *groups;
    uint32_t *of_key; /* group number + 1; 0: none yet */
    uint32_t *own;    /* by stack: its own frame + 1 (0: not determined) */
    size_t count;
};

static size_t key_bound(const struct gathering *g)
{
    const struct snapshot *s = g->m->lifetimes->snapshot;

    if (g->by == GROUP_BY_LINE)
        return s->frame_count + 1;
    return g->by == GROUP_BY_PATH ? s->stack_count : REPORT_CATEGORIES;
}

/* A frame's number; frame_count means none. */
static uint32_t line_of(struct gathering *g, uint32_t stack)
{
    const struct snapshot *s = g->m->lifetimes->snapshot;

    if (g->own[stack] == 0) {
        uint32_t frame = report_own_frame(s, stack);

        g->own[stack] =
            (frame == UINT32_MAX ? (uint32_t)s->frame_count : frame) + 1;
    }
    return g->own[stack] - 1;
}

static uint32_t key_of(struct gathering *g, uint32_t number)
{
    const struct lifetime *a = &g->m->lifetimes->allocs[number];

    if (g->by == GROUP_BY_LINE)
        return line_of(g, a->stack);
    return g->by == GROUP_BY_PATH ? a->stack : g->categories[number];
}

static void groups_add(struct gathering *g, uint32_t number)
{
    const struct lifetime *allocs = g->m->lifetimes->allocs;
    const struct lifetime *a = &allocs[number];
    uint32_t key = key_of(g, number);
    struct report_group *group;

    if (g->of_key[key] == 0) {
        g->groups[g->count] =
            (struct report_group){.key = key, .largest = number};
        g->of_key[key] = (uint32_t)++g->count;
    }
    group = &g->groups[g->of_key[key] - 1];
    group->bytes += a->rounded;
    group->requested += a->requested;
    group->count++;
    group->older +=
        a->start == LIFETIME_BEFORE && g->m->lifetimes->event_count > 0;
    if (a->rounded > allocs[group->largest].rounded)
        group->largest = number;
}

int report_groups_by_bytes(const void *a, const void *b)
{
    const struct report_group *x = a;
    const struct report_group *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return (x->key > y->key) - (x->key < y->key);
}

static void groups_gather(struct gathering *g)
{
    size_t none = g->m->lifetimes->snapshot->frame_count;

    for (size_t i = 0; moment_use(g->m, &i) != NULL; i++) {
        uint32_t number = g->m->live[i];

        if (g->only < 0 || g->categories[number] == g->only)
            groups_add(g, number);
    }
    qsort(g->groups, g->count, sizeof(*g->groups), report_groups_by_bytes);
    for (size_t i = 0; g->by == GROUP_BY_LINE && i < g->count; i++) {
        if (g->groups[i].key == none)
            g->groups[i].key = UINT32_MAX;
    }
}

static void groups_make(struct arena *arena, struct gathering *g)
{
    const struct moment *m = g->m;
    size_t bound = key_bound(g);
    const struct arena_piece *last;

    g->groups =
        arena_take(arena, (m->live_count < bound ? m->live_count : bound) + 1,
                   sizeof(*g->groups));
    last = arena->last;
    g->of_key = arena_take(arena, bound + 1, sizeof(*g->of_key));
    g->own = arena_take(arena, m->lifetimes->snapshot->stack_count + 1,
                        sizeof(*g->own));
    groups_gather(g);
    arena_free_since(arena, last);
}

struct report_groups report_groups_make(struct arena *arena,
                                        const struct moment *m,
                                        enum group_by by,
                                        const uint8_t *categories)
{
    struct gathering g = {
        .m = m, .by = by, .categories = categories, .only = -1};

    groups_make(arena, &g);
    return (struct report_groups){g.groups, g.count};
}

uint32_t report_main_line(struct arena *arena, const struct moment *m,
                          const uint8_t *categories, uint8_t category)
{
    const struct arena_piece *last = arena->last;
    struct gathering g = {.m = m,
                          .by = GROUP_BY_LINE,
                          .categories = categories,
                          .only = category};
    uint32_t frame;

    groups_make(arena, &g);
    frame = g.count > 0 ? g.groups[0].key : UINT32_MAX;
    arena_free_since(arena, last);
    return frame;
}
