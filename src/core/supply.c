#include "core/supply.h"

#include "base/bits.h"
#include "core/fill.h"
#include "core/grain.h"
#include "core/held.h"
#include "core/physical.h"
#include "core/quick.h"
#include "core/spare.h"

enum {
    TIGHT_PERCENT = 34,       /* of what there is, in use: save before speed */
    ROOMY_PERCENT = 66,       /* up to here there is no need to, once */
    CALM_REQUESTS = 1 << 19,  /* so many passed and nothing grew */
    SLACK_KNOWN_PERCENT = 40, /* for sizes asked for before */
    SLACK_PERCENT = 8,        /* held above the peak in use before pages move */

    /* What is mapped ahead of need, at most: parts of what is in use, and of
     * the room there is. */
    AHEAD_OF_USE = 32,
    AHEAD_OF_ROOM = 128,

    /* Since the peak in use last rose: times over that all pages are moved
     * before staying put comes first, and searches before it comes last. */
    MOVES_MOST = 3,
    SEARCHES_MOST = 4000
};

/* ---- how much is in use --------------------------------------------------- */

/* Whether for long no more was in use than `used`, and much more would fit. */
static bool is_calm(const struct allocator *a, uint64_t used)
{
    return a->calm >= CALM_REQUESTS && used <= a->calm_peak &&
           a->calm_peak / ROOMY_PERCENT < larder__physical_most(a) / 100;
}

/* Whether a good part of what there is was once in use, or is so with q. */
static bool use_is_tight(const struct allocator *a, const struct request *q)
{
    uint64_t used = (uint64_t)metric_all(&a->stats.active_bytes) + q->size;

    if (used < (uint64_t)a->stats.active_bytes.peak_all)
        used = (uint64_t)a->stats.active_bytes.peak_all;
    return !is_calm(a, used) &&
           used / TIGHT_PERCENT >= larder__physical_most(a) / 100;
}

void larder__supply_relax(struct allocator *a)
{
    uint64_t peak = (uint64_t)a->stats.active_bytes.peak_all;

    if (a->calm_peak != peak) {
        a->calm_peak = peak;
        a->calm = 0;
    } else if (a->calm < CALM_REQUESTS) {
        a->calm++;
    } else if (is_calm(a, peak)) {
        a->is_tight = false;
    }
}

/* From now on as few pages are touched as can be, whatever it costs to map
 * them; what was asked for until then does little harm. */
static void become_tight(struct allocator *a)
{
    if (a->is_tight)
        return;
    a->is_tight = true;
    a->calm = 0;
    (void)larder__quick_flush_all(a, 0);
    (void)larder__spare_take_back(a);
}

static bool may_harvest(const struct allocator *a)
{
    return a->conf.defrag != CONF_DEFRAG_OFF && !allocator_is_routing(a);
}

/* How far above all that was ever in use may be held before pages move. */
static unsigned slack_percent(const struct allocator *a,
                              const struct request *q)
{
    if (is_calm(a, (uint64_t)a->stats.active_bytes.peak_all) ||
        quick_knows(q->heap->quick, q->size))
        return SLACK_KNOWN_PERCENT;
    return SLACK_PERCENT;
}

/* Whether moving free pages is to come before growing: what is held would
 * exceed all that was ever in use by too much. */
static bool harvest_is_first(const struct allocator *a, const struct request *q,
                             size_t pages)
{
    uint64_t after = a->held_bytes + (uint64_t)pages * PAGE_BYTES;

    if (!may_harvest(a))
        return false;
    if (a->conf.defrag == CONF_DEFRAG_EAGER)
        return true;
    return held_passes_threshold(a, after) ||
           held_is_above_use(a, after, slack_percent(a, q));
}

/* ---- sizes ---------------------------------------------------------------- */

/* The most pages to map at once where fewer would do. */
static size_t ahead_pages(const struct allocator *a, size_t handle)
{
    uint64_t used = (uint64_t)metric_all(&a->stats.active_bytes) / PAGE_BYTES;
    size_t most = bits_lesser(handle, (size_t)(used / AHEAD_OF_USE));

    if (a->is_tight)
        most = bits_lesser((size_t)(used / AHEAD_OF_USE),
                           larder__physical_room(a) / AHEAD_OF_ROOM);
    return most;
}

/* The span, longer by missing pages so that those missing at its end come to
 * a multiple of `unit`. */
static struct page_span round_span(const struct segment *s,
                                   struct page_span span, size_t unit)
{
    size_t pages = s->bytes / PAGE_BYTES;
    size_t begin = span.end;

    while (begin > span.begin && s->pages[begin - 1] == 0)
        begin--;
    if (begin == span.end || unit < 2)
        return span;
    while (span.end < pages && s->pages[span.end] == 0 &&
           (span.end - begin) % unit != 0)
        span.end++;
    return span;
}

/* ---- having --------------------------------------------------------------- */

/* Whether a place with all its pages is worth more than one that takes fewer:
 * where pages were moved again and again, and where handles are large.  There,
 * while much room is left, work that goes on without a new peak is settled
 * once for all instead, so that it need not search. */
static bool prefers_whole(const struct allocator *a, bool in_pages)
{
    if (in_pages)
        return a->moves.pages / MOVES_MOST >= a->page_count;
    return a->is_tight || a->moves.searches < SEARCHES_MOST;
}

struct place_rules larder__supply_place(struct allocator *a)
{
    int64_t peak = a->stats.active_bytes.peak_all;
    bool in_pages = larder__grain_most(a) == 1;

    if (peak > a->moves.peak_bytes)
        a->moves = (struct moves){.peak_bytes = peak};
    a->moves.searches++;
    return (struct place_rules){
        .whole_first = prefers_whole(a, in_pages),
        .count_handles = a->is_tight || in_pages,
        .best_fit = a->is_tight && larder__grain_is_coarse(a),
    };
}

/* More pages than are needed now, as each call has its price.  Not if others
 * would have to be moved for it. */
static larder_result fill_ahead(struct allocator *a, const struct request *q,
                                struct page_span span,
                                const struct fill_rules *rules)
{
    struct segment *s = q->block->segment;
    struct page_span more =
        round_span(s, span, ahead_pages(a, rules->handle_pages));
    size_t missing = larder__pages_missing(s, more);

    if (more.end == span.end || missing > larder__physical_room(a) ||
        harvest_is_first(a, q, missing))
        return LARDER_ERR_OUT_OF_MEMORY;
    return larder__fill(a, s, more, rules);
}

/* Have `count` loose pages, of free blocks and of quick ones; of these first
 * those that hold whole pages: the smaller are worth more where they are. */
static void gather(struct allocator *a, size_t count)
{
    static const uint64_t least[] = {PAGE_BYTES, 0};

    for (int i = 0; i < 2 && a->loose.count < count; i++) {
        (void)larder__quick_flush_all(a, least[i]);
        (void)larder__pages_harvest(a, count - a->loose.count);
    }
}

larder_result larder__supply(struct allocator *a, struct request *q,
                             struct page_span span)
{
    struct fill_rules rules = {.may_harvest = may_harvest(a)};
    size_t missing = larder__pages_missing(q->block->segment, span);
    size_t lacking = missing - bits_lesser(missing, a->loose.count);
    bool moves_first = lacking > 0 && harvest_is_first(a, q, lacking);
    size_t room;
    larder_result r;

    if (lacking > 0 && use_is_tight(a, q))
        become_tight(a);
    rules.handle_pages = larder__grain(a, q, missing);
    if (!moves_first) {
        r = fill_ahead(a, q, span, &rules);
        if (r != LARDER_ERR_OUT_OF_MEMORY)
            return r;
    }
    room = moves_first ? 0 : larder__physical_room(a);
    if (rules.may_harvest && missing > room)
        gather(a, missing - room);
    r = larder__fill(a, q->block->segment, span, &rules);
    if (r == LARDER_ERR_OUT_OF_MEMORY)
        q->over_limit = !held_allows(a, PAGE_BYTES);
    return r;
}
