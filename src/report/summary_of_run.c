/* summary_of_run.c - see summary_of_run.h. */
#include "report/summary_of_run.h"

#include <stdlib.h>
#include <string.h>

#include <larder/device.h>

#include "report/frame_kind.h"
#include "report/report_words.h"
#include "snapshot/snapshot_conf.h"

#define SMALL_PAGE_BYTES ((uint64_t)2 << 20)

/* The maximum in each column of a curve, and the state with the overall
 * maximum.  With few events some columns have no state of their own: they repeat
 * the previous one. */
static uint32_t shrink(const uint64_t *curve, uint32_t events,
                       uint64_t columns[RUN_COLUMNS])
{
    uint64_t states = (uint64_t)events + 1;
    uint32_t best = 0;
    uint32_t k = 0;

    for (uint64_t column = 0; column < RUN_COLUMNS; column++) {
        uint64_t end = (column + 1) * states / RUN_COLUMNS;

        if ((column + 1) * states % RUN_COLUMNS != 0)
            end++;
        if (k == end)
            columns[column] = columns[column - 1];
        for (; k < end; k++) {
            if (curve[k] > columns[column])
                columns[column] = curve[k];
            if (curve[k] > curve[best])
                best = k;
        }
    }
    return best;
}

/* The maximum in each iteration; the last one extends to the end of the
 * recording. */
static void find_iteration_peaks(struct run_summary *r, const uint64_t *curve)
{
    const struct iterations *it = &r->iterations;

    for (size_t i = 0; i < it->count; i++) {
        uint32_t end =
            i + 1 < it->count ? it->begin[i + 1] : r->lifetimes->event_count;

        for (uint32_t k = it->begin[i]; k <= end; k++) {
            if (curve[k] > r->iteration_peaks[i])
                r->iteration_peaks[i] = curve[k];
        }
    }
}

/* Whether the iterations, of which there are three or more if any, begin at
 * levels that differ little compared with what is allocated and freed in them.
 * The first does not count: it allocates state. */
static bool is_steady(const struct run_summary *r, const uint64_t *allocated)
{
    const struct iterations *it = &r->iterations;
    uint64_t peak = allocated[r->peak_state];
    uint64_t low = UINT64_MAX;
    uint64_t high = 0;

    if (it->count == 0)
        return false;
    for (size_t i = 1; i < it->count; i++) {
        uint64_t level = allocated[it->begin[i]];

        low = level < low ? level : low;
        high = level > high ? level : high;
    }
    return peak > high && high - low <= (peak - high) / 4;
}

/* The maximum of a curve in *bytes.  Returns its state: that of the peak if it
 * is as high there. */
static uint32_t find_peak(const struct run_summary *r, const uint64_t *curve,
                          uint64_t columns[RUN_COLUMNS], uint64_t *bytes)
{
    uint32_t at = shrink(curve, r->lifetimes->event_count, columns);

    *bytes = curve[at];
    return curve[r->peak_state] == curve[at] ? r->peak_state : at;
}

static void make_curves(struct arena *arena, struct run_summary *r)
{
    const struct lifetimes *l = r->lifetimes;
    const struct arena_piece *last;
    uint64_t *curve;

    r->iteration_peaks =
        arena_take(arena, r->iterations.count + 1, sizeof(*r->iteration_peaks));
    last = arena->last;
    curve = arena_take(arena, (size_t)l->event_count + 1, sizeof(*curve));
    lifetimes_curve(l, CURVE_ALLOCATED, curve);
    r->peak_state = shrink(curve, l->event_count, r->allocated);
    r->peak_allocated = curve[r->peak_state];
    r->steady = is_steady(r, curve);
    find_iteration_peaks(r, curve);
    lifetimes_curve(l, CURVE_REQUESTED, curve);
    r->requested_state = find_peak(r, curve, r->requested, &r->peak_requested);
    lifetimes_curve(l, CURVE_RESERVED, curve);
    r->reserved_state = find_peak(r, curve, r->reserved, &r->peak_reserved);
    arena_free_since(arena, last);
}

/* A size that is not a multiple of the large pool's pages belongs to the small
 * pool. */
static uint64_t page_count(uint64_t size, uint64_t large_page)
{
    uint64_t page = size % large_page == 0 ? large_page : SMALL_PAGE_BYTES;

    return (size + page - 1) / page;
}

/* The price of a segment event, from the library's own table. */
static uint64_t price_of(const larder_prices *p, const struct snapshot_event *e,
                         uint64_t large_page)
{
    uint64_t mib = e->size >> 20;
    uint64_t pages = page_count(e->size, large_page);

    switch ((enum snapshot_action)e->action) {
    case SNAPSHOT_SEGMENT_ALLOC:
        return p->mem_alloc + (mib > 2 ? mib - 2 : 0) * p->mem_alloc_per_mib;
    case SNAPSHOT_SEGMENT_FREE:
        return p->mem_free;
    case SNAPSHOT_SEGMENT_MAP:
        return pages * (p->page_create + p->map) +
               (mib > 2 * pages ? mib - 2 * pages : 0) *
                   p->page_create_per_mib +
               p->set_access;
    case SNAPSHOT_SEGMENT_UNMAP:
        return p->unmap + pages * p->page_release;
    default:
        return 0;
    }
}

static void count_events(struct arena *arena, struct run_summary *r)
{
    const struct lifetimes *l = r->lifetimes;
    larder_prices prices;
    uint64_t large_page;
    bool begun = false;
    int64_t first = 0;
    int64_t last = 0;

    arena_need(arena, snapshot_segment(l->snapshot, SMALL_PAGE_BYTES, NULL,
                                       &large_page));
    larder_prices_init(&prices);
    for (uint32_t i = 0; i < l->event_count; i++) {
        const struct snapshot_event *e = &l->events[i];

        r->counts[e->action]++;
        r->driver_ns += price_of(&prices, e, large_page);
        if (!snapshot_event_has_clock(e))
            continue;
        /* Clocks of several threads may step back; an overflow is no valid
         * time. */
        if (!begun)
            first = last = e->time_us;
        begun = true;
        if (e->time_us > last)
            last = e->time_us;
        if (i + 1 == r->peak_state)
            r->peak_us = report_elapsed(first, last);
        if (i + 1 == r->requested_state)
            r->requested_us = report_elapsed(first, last);
        if (i + 1 == r->reserved_state)
            r->reserved_us = report_elapsed(first, last);
    }
    r->duration_us = report_elapsed(first, last);
}

enum { BY_TRAINING = BY_BACKWARD | BY_OPTIMIZER | BY_ZERO_GRAD };

/* ---- what is known, and what only guessed from lifetimes ----------------- */

static bool is_evident(const struct lifetimes *l, const uint8_t *by,
                       const struct lifetime *a)
{
    enum report_category told;

    if (report_category_told(l->snapshot, a->user_metadata, &told) ||
        (by[a->stack] & BY_FORWARD) != 0)
        return true;
    return a->end < l->event_count &&
           (by[l->events[a->end].stack] & BY_BACKWARD) != 0;
}

/* Whether most of the bytes at the peak that count as activations were made by a
 * forward pass or freed by a backward pass. */
static bool are_activations_known(const struct run_summary *r,
                                  const uint8_t *by)
{
    const struct moment *m = &r->peak;
    const struct lifetime *a;
    uint64_t evident = 0;
    uint64_t all = 0;

    for (size_t i = 0; (a = moment_use(m, &i)) != NULL; i++) {
        if (r->categories[m->live[i]] != REPORT_ACTIVATIONS)
            continue;
        all += a->rounded;
        evident += is_evident(r->lifetimes, by, a) ? a->rounded : 0;
    }
    return evident >= all - evident;
}

/* Of the events from one to before another: whether training's passes are among
 * them, and allocations of something else. */
static bool is_step(const struct lifetimes *l, const uint8_t *by, uint32_t from,
                    uint32_t to)
{
    bool trains = false;
    bool more = false;

    for (uint32_t i = from; i < to && !(trains && more); i++) {
        const struct snapshot_event *e = &l->events[i];

        if ((by[e->stack] & BY_TRAINING) != 0)
            trains = true;
        else
            more = more || (e->action == SNAPSHOT_ALLOC && by[e->stack] != 0);
    }
    return trains && more;
}

static bool has_paths(const struct lifetimes *l, const uint8_t *by,
                      uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        if (by[l->events[i].stack] != 0)
            return true;
    }
    return false;
}

/* What the call paths within repetitions say: nothing, as there are none; that
 * each is a step of training, which runs a backward pass or an optimizer, and
 * more than these; or not that much, so that they may be layers. */
enum evidence { EVIDENCE_NO_PATHS, EVIDENCE_STEPS, EVIDENCE_UNSURE };

static enum evidence evidence_of_steps(const struct run_summary *r,
                                       const uint8_t *by)
{
    const struct lifetimes *l = r->lifetimes;
    const struct iterations *it = &r->iterations;
    size_t last = it->count > 0 ? it->count - 1 : 0;

    if (last == 0 || !has_paths(l, by, it->begin[0], it->begin[last]))
        return EVIDENCE_NO_PATHS;
    for (size_t i = 0; i < last; i++) {
        if (!is_step(l, by, it->begin[i], it->begin[i + 1]))
            return EVIDENCE_UNSURE;
    }
    return EVIDENCE_STEPS;
}

static void find_evidence(struct arena *arena, struct run_summary *r)
{
    const struct arena_piece *last = arena->last;
    const uint8_t *by = path_signs(arena, r->lifetimes->snapshot, false);
    enum evidence paths = evidence_of_steps(r, by);

    r->activations_known = are_activations_known(r, by);
    arena_free_since(arena, last);
    r->are_iterations = r->iterations.marked || paths == EVIDENCE_STEPS;
    r->may_be_layers = !r->iterations.marked && paths == EVIDENCE_UNSURE;
}

/* ---- what expandable segments would save -------------------------------- */

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

/* How much less would be held at a moment: what the segments partly in use hold
 * beyond the pages that an expandable segment for each stream, pool and kind would
 * need for the same blocks, without a gap.  Segments that can grow save nothing
 * more. */
static uint64_t find_savable(struct arena *arena, const struct moment *m)
{
    const struct arena_piece *last = arena->last;
    const struct moment_area **areas =
        arena_take(arena, m->area_count + 1, sizeof(*areas));
    size_t count = partly_used(m, areas);
    const struct snapshot *s = m->lifetimes->snapshot;
    uint64_t pages[2]; /* of the small and the large pool */
    uint64_t savable = 0;
    size_t at = 0;

    arena_need(arena, snapshot_segment(s, SMALL_REQUEST, NULL, &pages[0]) &&
                          snapshot_segment(s, LARGE_REQUEST, NULL, &pages[1]));
    qsort(areas, count, sizeof(*areas), compare_owners);
    while (at < count)
        savable += of_owner(areas, count, pages, &at);
    arena_free_since(arena, last);
    return savable;
}

/* ---- the whole summary --------------------------------------------------- */

void run_summary_make(struct arena *arena, const struct lifetimes *l,
                      struct run_summary *out)
{
    const struct moment *peak = &out->peak;

    memset(out, 0, sizeof(*out));
    out->lifetimes = l;
    iterations_find(arena, l, &out->iterations);
    make_curves(arena, out);
    count_events(arena, out);
    out->categories = report_categorize(arena, l, &out->trains);
    moment_make(arena, l, out->peak_state, &out->peak);
    find_evidence(arena, out);
    out->savable = find_savable(arena, peak);
    out->lines = report_groups_make(arena, peak, GROUP_BY_LINE, NULL);
    out->paths = report_groups_make(arena, peak, GROUP_BY_PATH, NULL);
    out->kinds =
        report_groups_make(arena, peak, GROUP_BY_CATEGORY, out->categories);
    out->main_activations =
        report_main_line(arena, peak, out->categories, REPORT_ACTIVATIONS);
    out->main_temporaries =
        report_main_line(arena, peak, out->categories, REPORT_TEMPORARIES);
}

const struct run_summary *run_summary_of(struct arena *arena,
                                         const struct snapshot *s,
                                         size_t device)
{
    const struct lifetimes *l = lifetimes_take(arena, s, device);
    struct run_summary *r = arena_take(arena, 1, sizeof *r);

    run_summary_make(arena, l, r);
    return r;
}
