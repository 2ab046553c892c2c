/* savable.c - how much less would be held at a moment with expandable
 * segments. */
#include "report/savable.h"

#include <stdlib.h>

#include "snapshot/snapshot_conf.h"

/* A request of each pool. */
#define SMALL_REQUEST 1
#define LARGE_REQUEST ((uint64_t)2 << 20)

static int by(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

/* Orders blocks by the expandable segment that they would be in. */
static int compare_owners(const void *a, const void *b)
{
    const struct moment_area *x = *(const struct moment_area *const *)a;
    const struct moment_area *y = *(const struct moment_area *const *)b;
    int order = by(x->stream, y->stream);

    if (order == 0)
        order = by(x->pool, y->pool);
    return order != 0 ? order : by(x->kind, y->kind);
}

static size_t partly_used(const struct moment *m,
                          const struct moment_area **out)
{
    size_t count = 0;

    for (size_t i = 0; i < m->area_count; i++) {
        if (m->areas[i].count > 0 && m->areas[i].kind != SPAN_EXPANDABLE)
            out[count++] = &m->areas[i];
    }
    return count;
}

static uint64_t in_pages(uint64_t bytes, uint64_t page)
{
    return (bytes / page + (bytes % page != 0)) * page;
}

/* How much less the areas that would share an expandable segment, from areas[*at]
 * on, would hold in it.  Moves *at behind them. */
static uint64_t of_owner(const struct moment_area *const *areas, size_t count,
                         const uint64_t pages[2], size_t *at)
{
    const struct moment_area *const first = areas[*at];
    uint64_t held = 0;
    uint64_t used = 0;

    for (; *at < count && compare_owners(&areas[*at], &first) == 0; ++*at) {
        held += areas[*at]->size;
        used += areas[*at]->allocated + areas[*at]->pending;
    }
    used = in_pages(used, pages[first->kind != SPAN_SMALL]);
    return held > used ? held - used : 0;
}

uint64_t report_savable(struct hoard *h, const struct moment *m)
{
    const struct hoard_piece *last = h->last;
    const struct moment_area **areas =
        hoard_take(h, m->area_count + 1, sizeof(*areas));
    size_t count = partly_used(m, areas);
    const struct snapshot *s = m->lifetimes->snapshot;
    uint64_t pages[2]; /* of the small and the large pool */
    uint64_t savable = 0;
    size_t at = 0;

    hoard_need(h, snapshot_segment(s, SMALL_REQUEST, NULL, &pages[0]) &&
                      snapshot_segment(s, LARGE_REQUEST, NULL, &pages[1]));
    qsort(areas, count, sizeof(*areas), compare_owners);
    while (at < count)
        savable += of_owner(areas, count, pages, &at);
    hoard_free_since(h, last);
    return savable;
}
