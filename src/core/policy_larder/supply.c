/* supply.c - finds memory for a request that no free block can serve. */
#include "core/policy_larder/supply.h"

#include "base/bits.h"
#include "base/fail.h"
#include "core/policy_larder/carry.h"
#include "core/policy_larder/spot.h"
#include "core/pools/pool.h"
#include "core/segments/segment.h"
#include "core/state/held.h"

/* ---- the pages to map ------------------------------------------------------ */

/* A request placed in a gap: the pages it touches, and perhaps more. */
struct target {
    struct segment *segment;
    struct block *block; /* the block that the request begins in */
    struct page_span span;
    size_t unmapped; /* unmapped blocks within the span */
};

static struct target target_of(const struct request *q, const struct gap *gap)
{
    struct segment *s = gap->block->segment;

    larder__assert(s->heap == q->heap && s->kind == SEGMENT_PAGED);
    return (struct target){
        .segment = s,
        .block = gap->block,
        .span = pages_touched(s, gap->addr, q->size),
        .unmapped = gap->unmapped,
    };
}

/* Map the target's missing pages and take its block out of the heap. */
static larder_result fill_target(struct allocator *a, struct request *q,
                                 const struct target *t, bool may_break)
{
    const struct fill_rules rules = {.may_break = may_break};
    uint32_t headers = (uint32_t)t->unmapped * PAGES_HEADERS + SLAB_SPARE;
    larder_result r;

    if (!larder__slab_ensure(&a->slab, headers))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    r = larder__fill(a, t->segment, t->span, &rules);
    if (r != LARDER_OK)
        return r;
    q->block = larder__pages_back(a, t->block, t->span);
    larder__assert(q->block->segment == t->segment);
    larder__assert(q->block->bytes >= q->size);
    heap_remove(q->block);
    return LARDER_OK;
}

/* ---- growing --------------------------------------------------------------- */

/* Count the missing pages from page `begin` on, at most `max`. */
static size_t missing_from(const struct segment *s, size_t begin, size_t max)
{
    size_t end = begin;
    size_t last = s->bytes / PAGE_BYTES;

    while (end < last && end - begin < max && s->pages[end] == 0)
        end++;
    return end - begin;
}

/* How many pages to map at the end of the span, of which `missing` are needed.
 * A driver call costs the same for many pages as for few, and a heap that grows
 * will grow again.  So one of PyTorch's segments is mapped, and more the more
 * the heap has, but in proportion to it less and less: the geometric mean of
 * the two, and no more than one handle.  Near the end of memory each heap of the
 * pool gets at most an even share of what is left. */
static size_t pages_ahead(const struct allocator *a, const struct heap *heap,
                          size_t missing)
{
    uint64_t segment =
        segment_page_size(&a->conf, heap->pool->is_small) / PAGE_BYTES;
    uint64_t ahead = bits_sqrt(segment * heap->page_count);

    if (ahead < segment)
        ahead = segment;
    ahead = bits_lesser(ahead, larder__handles_pages_max(a));
    larder__assert(ahead > 0);
    return ahead > missing ? (size_t)ahead : missing;
}

/* Extend the target over missing pages behind its end, so that one driver call
 * serves later requests too. */
static struct target with_ahead(const struct allocator *a,
                                const struct target *t, size_t missing)
{
    struct target more = *t;
    const struct segment *s = t->segment;
    size_t begin = t->span.end;
    size_t room =
        (larder__handles_room(a) - missing) / s->heap->pool->heap_count;
    size_t ahead;

    while (begin > t->span.begin && s->pages[begin - 1] == 0)
        begin--;
    if (begin == t->span.end)
        return more;
    ahead =
        pages_ahead(a, s->heap, t->span.end - begin) - (t->span.end - begin);
    more.span.end += missing_from(s, t->span.end, bits_lesser(ahead, room));
    return more;
}

static bool may_grow(const struct allocator *a, const struct gap *gap)
{
    return gap->missing <= larder__handles_room(a) + a->larder->loose.pages;
}

static larder_result supply_grow(struct allocator *a, struct request *q,
                                 const struct gap *gap)
{
    struct target t = target_of(q, gap);
    size_t room = larder__handles_room(a);
    larder_result r;

    if (!may_grow(a, gap))
        return larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
    if (gap->missing < room) {
        struct target more = with_ahead(a, &t, gap->missing);

        r = fill_target(a, q, &more, false);
        if (r != LARDER_ERR_OUT_OF_MEMORY)
            return r;
    }
    return fill_target(a, q, &t, false);
}

/* ---- moving ---------------------------------------------------------------- */

static bool may_move(const struct allocator *a)
{
    return a->conf.defrag != CONF_DEFRAG_OFF && !allocator_is_capturing(a);
}

/* What a plan to move pages may use. */
struct plan {
    struct spots *spots;
    size_t room;         /* pages that can be created */
    size_t excess;       /* pages to be released before any can be */
    uint64_t refused_at; /* as far as is known (own.h) */
};

static struct plan plan_begin(struct allocator *a)
{
    return (struct plan){&a->larder->spots, larder__handles_room(a),
                         larder__handles_excess(a), a->larder->refused_at};
}

/* The handle will be released, to be created anew in part. */
static void plan_release(struct plan *p, size_t pages)
{
    size_t paid = bits_lesser(p->excess, pages);

    p->excess -= paid;
    p->room += pages - paid;
}

/* Choose spots that fill a run of missing pages, in the order that
 * larder__fill() uses them, as plan_was_kept() checks: spots that fit whole, then
 * new pages, then what released larger spots leave.  False: there are too
 * few. */
static bool plan_gap(struct plan *p, size_t pages)
{
    while (pages > 0) {
        struct spot *s = larder__spots_largest(p->spots, pages);
        size_t fresh = bits_lesser(pages, p->room);

        if (s == NULL && fresh > 0) {
            p->room -= fresh;
            pages -= fresh;
            continue;
        }
        if (s == NULL && (s = larder__spots_smallest(p->spots)) == NULL)
            return false;
        larder__spots_choose_one(p->spots, s);
        if (s->pages > pages)
            plan_release(p, s->pages);
        else
            pages -= s->pages;
    }
    return true;
}

static bool plan_target(struct allocator *a, const struct target *t,
                        struct plan *p)
{
    larder_addr end = page_at(t->segment, t->span.end);

    *p = plan_begin(a);
    for (struct block *b = t->block; b != NULL && b->addr < end;
         b = block_next(a, b)) {
        if (b->state == BLOCK_UNMAPPED &&
            !plan_gap(p, pages_unmapped_of(b, t->span)))
            return false;
    }
    return true;
}

/* Whether larder__fill() created and released what the plan says.  It cannot
 * where the device refuses; nor does the plan know that pages lent by regions
 * count for the limit of the cache. */
static bool plan_was_kept(const struct allocator *a, const struct plan *p)
{
    return a->larder->refused_at != p->refused_at ||
           account_drawer(&a->account)->limit_bytes != 0 ||
           (larder__handles_room(a) == p->room &&
            larder__handles_excess(a) == p->excess);
}

/* Pages do not move out of the target itself. */
static struct spot_except except_of(const struct target *t)
{
    return (struct spot_except){t->segment, t->span};
}

/* The last block in use before the target, as a slab index; 0: none. */
static uint32_t anchor_of(struct allocator *a, const struct target *t)
{
    const struct block *b = t->block;

    while (!block_is_in_use(b) && b->prev != 0)
        b = slab_at(&a->slab, b->prev);
    return block_is_in_use(b) ? b->self : 0;
}

/* The block that the target begins in.  Its header may have changed: moving
 * pages splits and merges free blocks, but not the anchor. */
static struct block *block_after(struct allocator *a, const struct target *t,
                                 uint32_t anchor, larder_addr addr)
{
    return block_over(
        a, anchor == 0 ? t->segment->head : slab_at(&a->slab, anchor), addr);
}

/* Carry out the plan; from here on only the device can fail. */
static larder_result move_chosen(struct allocator *a, struct request *q,
                                 struct target *t, larder_addr addr,
                                 const struct plan *p)
{
    uint32_t anchor = anchor_of(a, t);
    larder_result r;

    larder__assert(may_move(a));
    r = larder__spots_unmap(a);
    if (r != LARDER_OK)
        return r;
    t->block = block_after(a, t, anchor, addr);
    r = fill_target(a, q, t, true);
    larder__assert(r != LARDER_OK || plan_was_kept(a, p));
    return r;
}

/* ---- choosing the step ----------------------------------------------------- */

/* How many gaps to try. */
enum { MOVE_GAPS = 4 };

/* Move pages into the gap, if that fills it.  False: they are too few. */
static bool move_into(struct allocator *a, struct request *q,
                      const struct gap *gap, larder_result *r)
{
    struct target t = target_of(q, gap);
    struct plan p;

    larder__spots_except(a, except_of(&t));
    if (!plan_target(a, &t, &p))
        return false;
    *r = move_chosen(a, q, &t, gap->addr, &p);
    return true;
}

/* Nearly always the best gap will do, and a search for one passes over most places. */
static larder_result move_somewhere(struct allocator *a, struct request *q,
                                    const struct gap *gap)
{
    struct gap gaps[MOVE_GAPS];
    size_t count;
    larder_result r;

    larder__spots_find(a);
    larder__spots_add_loose(a);
    if (move_into(a, q, gap, &r))
        return r;
    count = larder__gaps_find(a, q->heap, q->size, gaps, MOVE_GAPS);
    for (size_t i = 1; i < count; i++) {
        if (move_into(a, q, &gaps[i], &r))
            return r;
    }
    return larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
}

static larder_result find_gap(struct allocator *a, const struct request *q,
                              struct gap *gap)
{
    larder_result r;

    if (larder__gaps_find(a, q->heap, q->size, gap, 1) > 0)
        return LARDER_OK;
    r = larder__range_create(a, q->heap, q->size);
    if (r == LARDER_OK)
        (void)larder__gaps_find(a, q->heap, q->size, gap, 1);
    return r;
}

/* The device may have less room than the plan counted on.  A refusal lowers the
 * room that is assumed (refused_at), and the next plan does with that. */
static larder_result supply_move(struct allocator *a, struct request *q,
                                 struct gap *gap)
{
    uint64_t known;
    larder_result r;

    do {
        known = a->larder->refused_at;
        r = move_somewhere(a, q, gap);
        if (r != LARDER_ERR_OUT_OF_MEMORY || a->larder->refused_at == known)
            return r;
        r = find_gap(a, q, gap);
    } while (r == LARDER_OK && a->larder->refused_at < known);
    return r == LARDER_OK ? larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY) : r;
}

/* Whether to move pages before reserving more. */
static bool move_is_first(const struct allocator *a, const struct gap *gap)
{
    uint64_t after = a->held_bytes + pages_bytes(gap->missing);

    if (!may_move(a))
        return false;
    return a->conf.defrag == CONF_DEFRAG_EAGER ||
           held_passes_threshold(a, after);
}

/* Whether a limit, not the device, is what refused the request: all pages that
 * can move, and all that the limit leaves, are too few. */
static bool is_over_limit(struct allocator *a, const struct request *q)
{
    struct gap gap;
    struct target t;
    size_t missing, found;

    /* No gap misses more; spares the search where there is no limit. */
    if (held_allows(a, q->size + 2 * PAGE_BYTES))
        return false;
    if (larder__gaps_find(a, q->heap, q->size, &gap, 1) == 0)
        return false;
    missing = gap.missing;
    if (held_allows(a, pages_bytes(missing)))
        return false;
    t = target_of(q, &gap);
    found = may_move(a) ? larder__spots_unused(a, except_of(&t))
                        : a->larder->loose.pages;
    return found < missing && !held_allows(a, pages_bytes(missing - found));
}

/* Move first, then grow. */
static larder_result supply_eagerly(struct allocator *a, struct request *q,
                                    struct gap *gap)
{
    larder_result r = supply_move(a, q, gap);

    if (r != LARDER_ERR_OUT_OF_MEMORY)
        return r;
    /* Moving may have unmapped pages: search again. */
    r = find_gap(a, q, gap);
    return r == LARDER_OK ? supply_grow(a, q, gap) : r;
}

/* Grow, then move.  The search is the larger part of a request that has to
 * move, so it is repeated only if growing may have changed something. */
static larder_result supply_in_order(struct allocator *a, struct request *q,
                                     struct gap *gap)
{
    if (may_grow(a, gap)) {
        larder_result r = supply_grow(a, q, gap);

        if (r != LARDER_ERR_OUT_OF_MEMORY || !may_move(a))
            return r;
        r = find_gap(a, q, gap);
        if (r != LARDER_OK)
            return r;
    }
    return may_move(a) ? supply_move(a, q, gap)
                       : larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
}

larder_result larder__supply(struct allocator *a, struct request *q)
{
    struct gap gap;
    larder_result r = larder__paged_settle(a);

    if (r == LARDER_OK)
        r = find_gap(a, q, &gap);
    if (r != LARDER_OK)
        return r;
    r = move_is_first(a, &gap) ? supply_eagerly(a, q, &gap)
                               : supply_in_order(a, q, &gap);
    if (r == LARDER_ERR_OUT_OF_MEMORY)
        q->refused_by =
            is_over_limit(a, q) ? REFUSED_BY_LIMIT : REFUSED_BY_DEVICE;
    return r;
}
