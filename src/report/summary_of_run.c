/* summary_of_run.c - see summary_of_run.h. */
#include "report/summary_of_run.h"

#include <string.h>

#include <larder/device.h>

#include "report/evidence.h"
#include "report/report_words.h"
#include "report/savable.h"
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
    size_t i;

    for (i = 0; i < it->count; i++) {
        uint32_t end =
            i + 1 < it->count ? it->begin[i + 1] : r->lifetimes->event_count;
        uint32_t k;

        for (k = it->begin[i]; k <= end; k++) {
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
    size_t i;

    if (it->count == 0)
        return false;
    for (i = 1; i < it->count; i++) {
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

static void make_curves(struct hoard *h, struct run_summary *r)
{
    const struct lifetimes *l = r->lifetimes;
    const struct hoard_piece *last;
    uint64_t *curve;

    r->iteration_peaks =
        hoard_take(h, r->iterations.count + 1, sizeof(*r->iteration_peaks));
    last = h->last;
    curve = hoard_take(h, (size_t)l->event_count + 1, sizeof(*curve));
    lifetimes_curve(l, CURVE_ALLOCATED, curve);
    r->peak_state = shrink(curve, l->event_count, r->allocated);
    r->peak_allocated = curve[r->peak_state];
    r->steady = is_steady(r, curve);
    find_iteration_peaks(r, curve);
    lifetimes_curve(l, CURVE_REQUESTED, curve);
    r->requested_state = find_peak(r, curve, r->requested, &r->peak_requested);
    lifetimes_curve(l, CURVE_RESERVED, curve);
    r->reserved_state = find_peak(r, curve, r->reserved, &r->peak_reserved);
    hoard_free_since(h, last);
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

static void count_events(struct hoard *h, struct run_summary *r)
{
    const struct lifetimes *l = r->lifetimes;
    larder_prices prices;
    uint64_t large_page;
    bool begun = false;
    int64_t first = 0;
    int64_t last = 0;
    uint32_t i;

    hoard_need(
        h, snapshot_segment(l->snapshot, SMALL_PAGE_BYTES, NULL, &large_page));
    larder_prices_init(&prices);
    for (i = 0; i < l->event_count; i++) {
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

static void find_evidence(struct hoard *h, struct run_summary *r)
{
    enum evidence paths = evidence_of_steps(h, r->lifetimes, &r->iterations);

    r->activations_known = evidence_of_activations(h, &r->peak, r->categories);
    r->are_iterations = r->iterations.marked || paths == EVIDENCE_STEPS;
    r->may_be_layers = !r->iterations.marked && paths == EVIDENCE_UNSURE;
}

void run_summary_make(struct hoard *h, const struct lifetimes *l,
                      struct run_summary *out)
{
    const struct moment *peak = &out->peak;

    memset(out, 0, sizeof(*out));
    out->lifetimes = l;
    iterations_find(h, l, &out->iterations);
    make_curves(h, out);
    count_events(h, out);
    out->categories = report_categorize(h, l, &out->trains);
    moment_make(h, l, out->peak_state, &out->peak);
    find_evidence(h, out);
    out->savable = report_savable(h, peak);
    out->lines =
        report_groups_make(h, peak, GROUP_BY_LINE, NULL, &out->line_count);
    out->paths =
        report_groups_make(h, peak, GROUP_BY_PATH, NULL, &out->path_count);
    out->kinds = report_groups_make(h, peak, GROUP_BY_CATEGORY, out->categories,
                                    &out->kind_count);
    out->main_activations =
        report_main_line(h, peak, out->categories, REPORT_ACTIVATIONS);
    out->main_temporaries =
        report_main_line(h, peak, out->categories, REPORT_TEMPORARIES);
}

const struct run_summary *run_summary_of(struct hoard *h,
                                         const struct snapshot *s,
                                         size_t device)
{
    const struct lifetimes *l = lifetimes_take(h, s, device);
    struct run_summary *r = hoard_take(h, 1, sizeof *r);

    run_summary_make(h, l, r);
    return r;
}
