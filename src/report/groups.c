/* groups.c - see groups.h. */
#include "report/groups.h"

#include <stdlib.h>
#include <string.h>

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
    size_t i;

    for (i = 0; moment_use(g->m, &i) != NULL; i++) {
        uint32_t number = g->m->live[i];

        if (g->only < 0 || g->categories[number] == g->only)
            groups_add(g, number);
    }
    qsort(g->groups, g->count, sizeof(*g->groups), report_groups_by_bytes);
    for (i = 0; g->by == GROUP_BY_LINE && i < g->count; i++) {
        if (g->groups[i].key == none)
            g->groups[i].key = UINT32_MAX;
    }
}

/* On success the caller frees g->groups. */
static bool groups_make(struct gathering *g, struct tool_error *error)
{
    const struct moment *m = g->m;
    size_t bound = key_bound(g);
    bool ok;

    g->groups = calloc((m->live_count < bound ? m->live_count : bound) + 1,
                       sizeof(*g->groups));
    g->of_key = calloc(bound + 1, sizeof(*g->of_key));
    g->own = calloc(m->lifetimes->snapshot->stack_count + 1, sizeof(*g->own));
    ok = g->groups != NULL && g->of_key != NULL && g->own != NULL;
    if (ok)
        groups_gather(g);
    free(g->of_key);
    free(g->own);
    if (ok)
        return true;
    free(g->groups);
    return tool_fail(error, "not enough host memory for the groups");
}

bool report_groups_make(const struct moment *m, enum group_by by,
                        const uint8_t *categories, struct report_group **out,
                        size_t *count, struct tool_error *error)
{
    struct gathering g = {
        .m = m, .by = by, .categories = categories, .only = -1};

    if (!groups_make(&g, error))
        return false;
    *out = g.groups;
    *count = g.count;
    return true;
}

bool report_main_line(const struct moment *m, const uint8_t *categories,
                      uint8_t category, uint32_t *frame,
                      struct tool_error *error)
{
    struct gathering g = {.m = m,
                          .by = GROUP_BY_LINE,
                          .categories = categories,
                          .only = category};

    if (!groups_make(&g, error))
        return false;
    *frame = g.count > 0 ? g.groups[0].key : UINT32_MAX;
    free(g.groups);
    return true;
}
