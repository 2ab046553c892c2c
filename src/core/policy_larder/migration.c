/* migration.c - the last step before an out-of-memory error: moves live pages
 * out of handles that are mostly free. */
#include "core/policy_larder/supply.h"

#include <stdlib.h>

#include <larder/migrate.h>

#include "base/bits.h"
#include "base/fail.h"
#include "base/host.h"
#include "core/entry/handle.h"
#include "core/policy_larder/carry.h"
#include "core/policy_larder/spot.h"
#include "core/segments/events.h"

/* A handle of several pages, some of them in use. */
struct candidate {
    struct segment *segment;
    struct page_span handle;
    size_t unused;
};

struct candidates {
    struct candidate *list;
    size_t count;
    size_t capacity;
};

static size_t pages_of(const struct candidate *c)
{
    return c->handle.end - c->handle.begin;
}

/* ---- missing pages --------------------------------------------------------- */

/* Pages that are available without moving live ones. */
static size_t pages_available(struct allocator *a, struct spot_except except)
{
    size_t pages = larder__spots_unused(a, except) + larder__handles_room(a);

    return pages - bits_lesser(pages, larder__handles_excess(a));
}

/* How many more pages the request needs in its best gap; 0: it does not lack
 * pages.  The gap is excepted because its pages are needed there. */
static size_t pages_lacking(struct allocator *a, const struct request *q,
                            struct spot_except *except)
{
    struct gap gap;
    size_t pages;

    if (larder__gaps_find(a, q->heap, q->size, &gap, 1) == 0)
        return 0;
    except->segment = gap.block->segment;
    except->span = pages_touched(except->segment, gap.addr, q->size);
    pages = pages_available(a, *except);
    return gap.missing > pages ? gap.missing - pages : 0;
}

/* ---- candidates ------------------------------------------------------------ */

static bool migration_add(struct candidates *all, struct candidate c)
{
    if (all->count == all->capacity) {
        size_t capacity = all->capacity * 2 + 64;

        if (!larder__host_grow(&all->list, capacity, sizeof c))
            return false;
        all->capacity = capacity;
    }
    larder__assert(c.unused > 0 && c.unused < pages_of(&c));
    all->list[all->count++] = c;
    return true;
}

/* Add the handles of a segment that have both used and unused pages. */
static bool find_in(struct allocator *a, struct segment *s,
                    const struct spot_except *except, struct candidates *all)
{
    struct block *b = s->head;
    struct page_span handle;

    for (handle.begin = 0; handle.begin < s->bytes / PAGE_BYTES;
         handle.begin = handle.end) {
        size_t used;

        handle.end = handle.begin + 1;
        if (s->pages[handle.begin] == 0)
            continue;
        handle.end = page_handle_end(s, handle.begin);
        if (handle.end - handle.begin == 1 ||
            spot_is_excepted(except, s, handle))
            continue;
        b = block_over(a, b, page_at(s, handle.begin));
        used = larder__carry_used(a, b, s, handle, NULL);
        if (used == 0 || used == handle.end - handle.begin)
            continue;
        if (!migration_add(
                all, (struct candidate){s, handle,
                                        handle.end - handle.begin - used}))
            return false;
    }
    return true;
}

static larder_result migration_find(struct allocator *a,
                                    const struct spot_except *except,
                                    struct candidates *all)
{
    for (struct segment *s = a->segments; s != NULL; s = s->next) {
        if (s->kind == SEGMENT_PAGED && s->page_count > 0 &&
            !segment_is_paused(s) && !find_in(a, s, except, all))
            return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    }
    return LARDER_OK;
}

/* By the fraction that is free, largest first; then by address. */
static int migration_compare(const void *left, const void *right)
{
    const struct candidate *l = left;
    const struct candidate *r = right;
    uint64_t of_left = (uint64_t)l->unused * pages_of(r);
    uint64_t of_right = (uint64_t)r->unused * pages_of(l);
    larder_addr at_left = page_at(l->segment, l->handle.begin);
    larder_addr at_right = page_at(r->segment, r->handle.begin);

    if (of_left != of_right)
        return of_left > of_right ? -1 : 1;
    return at_left < at_right ? -1 : at_left > at_right;
}

/* Keep as many candidates, from the first, as have `pages` unused pages in all.
 * False: all together have fewer. */
static bool migration_choose(struct candidates *all, size_t pages)
{
    size_t count = 0;

    if (all->count > 0)
        qsort(all->list, all->count, sizeof *all->list, migration_compare);
    while (pages > 0 && count < all->count) {
        size_t unused = all->list[count++].unused;

        pages -= unused < pages ? unused : pages;
    }
    all->count = count;
    return pages == 0;
}

/* ---- waiting for the device ------------------------------------------------ */

/* Wait until nothing is queued on any stream that the allocator knows, nor on
 * those that stream 0 waits for. */
static larder_result device_pass(struct allocator *a)
{
    larder_result r = larder__events_sync(a);

    if (r == LARDER_OK)
        r = larder__events_pass(a, 0);
    if (r == LARDER_OK)
        r = larder__events_pass_heaps(a, a->pools);
    for (const struct private_pool *p = a->privates.first;
         p != NULL && r == LARDER_OK; p = p->next)
        r = larder__events_pass_heaps(a, p->pools);
    for (const struct segment *s = a->segments; s != NULL && r == LARDER_OK;
         s = s->next)
        r = larder__events_pass_uses(a, s);
    return r;
}

/* ---- migrating ------------------------------------------------------------- */

/* Whether the program promises that nothing uses memory meanwhile. */
static bool is_promised(const struct allocator *a)
{
    return a->conf.migrate == CONF_MIGRATE_ON || a->quiet_points > 0;
}

static bool is_guarded(const struct allocator *a)
{
    return a->guard.hold != NULL && !a->conf.migrate_is_off;
}

/* One move at a time: an earlier one that could not be undone comes first. */
static bool is_allowed(const struct allocator *a)
{
    return (is_promised(a) || is_guarded(a)) && a->is_paged &&
           a->conf.defrag != CONF_DEFRAG_OFF && !allocator_is_capturing(a) &&
           !a->has_withheld;
}

static larder_result carry_all(struct allocator *a,
                               const struct candidates *all)
{
    larder_result r = device_pass(a);

    larder__assert(is_allowed(a) && all->count > 0);
    if (r != LARDER_OK)
        return r == LARDER_ERR_CAPTURING
                   ? larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY)
                   : r;
    larder__handles_drop(a, a->larder->loose.pages); /* for the copies */
    for (size_t i = 0; i < all->count && r == LARDER_OK; i++)
        r = larder__carry(a, all->list[i].segment, all->list[i].handle);
    return r;
}

/* With the program's work held back, unless nothing needs that.  The message is
 * that of the move, whatever fails after it. */
static larder_result carry_guarded(struct allocator *a,
                                   const struct candidates *all)
{
    const struct guard guard = a->guard;
    bool is_held = !is_promised(a);
    char words[LARDER_FAIL_MAX];
    larder_result r;

    if (is_held && guard.hold(guard.ctx) != LARDER_OK)
        return larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
    r = carry_all(a, all);
    larder__copy_error(words, sizeof words);
    larder__carry_tidy(a);
    if (is_held)
        guard.release(guard.ctx);
    larder__set_error("%s", words);
    return r;
}

larder_result larder__migrate(struct allocator *a, const struct request *q)
{
    struct candidates all = {0};
    struct spot_except except = {0};
    size_t lacking;
    larder_result r;

    larder__assert(allocator_is_locked(a) && q->block == NULL);
    if (!is_allowed(a) || (lacking = pages_lacking(a, q, &except)) == 0)
        return larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
    r = migration_find(a, &except, &all);
    if (r == LARDER_OK)
        r = migration_choose(&all, lacking)
                ? carry_guarded(a, &all)
                : larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
    larder__host_free(all.list);
    return r;
}

/* ---- who allows it ---------------------------------------------------------- */

larder_result larder_migrate_begin(larder_allocator *handle)
{
    struct allocator *a;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    a->quiet_points++;
    return larder__handle_end(a, LARDER_OK);
}

larder_result larder_migrate_end(larder_allocator *handle)
{
    struct allocator *a;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    if (a->quiet_points == 0)
        r = larder__fail(LARDER_ERR_INVALID,
                         "larder_migrate_end() without larder_migrate_begin()");
    else
        a->quiet_points--;
    return larder__handle_end(a, r);
}

larder_result larder_migrate_guard(larder_allocator *handle,
                                   larder_hold_fn *hold,
                                   larder_release_fn *release, void *ctx)
{
    struct allocator *a;
    larder_result r;

    if ((hold == NULL) != (release == NULL))
        return larder__fail_plain(LARDER_ERR_INVALID);
    r = larder__handle_lock(handle, &a);
    if (r != LARDER_OK)
        return r;
    a->guard = (struct guard){hold, release, ctx};
    return larder__handle_end(a, LARDER_OK);
}
