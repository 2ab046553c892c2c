/* region_detach.c - unmaps all pages of a region, or none: until it is certain
 * that nothing can fail any more, the handles stay with their pages, so that
 * each can be mapped where it was, with its contents. */
#include "core/region/region_pages.h"

#include "base/fail.h"
#include "core/policy_larder/carry.h"

/* The next run of pages that have a handle, from run->end on.  False: none. */
static bool next_run(const struct segment *s, size_t end, struct page_span *run)
{
    run->begin = run->end;
    while (run->begin < end && s->pages[run->begin] == 0)
        run->begin++;
    run->end = run->begin;
    while (run->end < end && s->pages[run->end] != 0)
        run->end++;
    return run->end > run->begin;
}

bool larder__region_is_sound(const struct region *g)
{
    const struct detached *d = &g->detached;

    if (!region_is_detached(g))
        return d->begin == 0 && d->mapped == 0;
    return g->segment->is_asleep && d->begin <= d->mapped &&
           d->mapped <= d->end && d->end <= g->segment->bytes / PAGE_BYTES;
}

/* ---- unmapping ------------------------------------------------------------- */

/* Unmap one run after another, up to the first failure. */
static larder_result take_off(struct allocator *a, struct region *g)
{
    struct segment *s = g->segment;
    struct page_span run = {0};
    larder_result r = LARDER_OK;

    larder__assert(!region_is_detached(g));
    while (r == LARDER_OK && next_run(s, s->bytes / PAGE_BYTES, &run)) {
        r = larder__pages_take_off(a, s, run);
        if (r == LARDER_OK)
            g->detached.end = run.end;
    }
    return r;
}

larder_result larder__region_detach(struct allocator *a, struct region *g)
{
    larder_result r = larder__carry_back(a);

    larder__assert(allocator_is_locked(a) && !g->segment->is_asleep);
    if (r != LARDER_OK)
        return r;
    r = take_off(a, g);
    if (r != LARDER_OK)
        larder__region_reattach(a, g);
    return r;
}

/* ---- mapping again --------------------------------------------------------- */

static larder_result map_handles(struct allocator *a, struct region *g)
{
    const struct segment *s = g->segment;
    struct detached *d = &g->detached;

    while (d->mapped < d->end) {
        size_t i = d->mapped;
        size_t end = s->pages[i] != 0 ? page_handle_end(s, i) : i + 1;
        larder_result r = LARDER_OK;

        if (s->pages[i] != 0)
            r = larder__device_map(a->device, page_at(s, i),
                                   pages_bytes(end - i), s->pages[i]);
        if (r != LARDER_OK)
            return r;
        d->mapped = end;
    }
    return LARDER_OK;
}

larder_result larder__region_attach(struct allocator *a, struct region *g)
{
    const struct segment *s = g->segment;
    struct detached *d = &g->detached;
    struct page_span run = {.end = d->begin};
    larder_result r = map_handles(a, g);

    while (r == LARDER_OK && next_run(s, d->end, &run)) {
        r = larder__device_set_access(a->device, page_at(s, run.begin),
                                      pages_bytes(run.end - run.begin));
        if (r == LARDER_OK)
            d->begin = run.end;
    }
    if (r == LARDER_OK)
        *d = (struct detached){0};
    return r;
}

void larder__region_reattach(struct allocator *a, struct region *g)
{
    char words[LARDER_FAIL_MAX - 256];

    larder__copy_error(words, sizeof words);
    if (larder__region_attach(a, g) == LARDER_OK) {
        larder__set_error("%s", words);
        return;
    }
    g->segment->is_asleep = true;
    larder__set_error("%s; what was unmapped could not be mapped again: the "
                      "region '%s' is paused with all of its memory, and "
                      "larder_region_resume() tries again",
                      words, g->name);
}

/* ---- letting go ------------------------------------------------------------ */

/* Mark free blocks of the run as unmapped.  Each changes as a whole, so no
 * header is needed. */
static void idle_gone(struct allocator *a, const struct region *g,
                      struct page_span run)
{
    larder_addr at = page_at(g->segment, run.begin);
    larder_addr end = page_at(g->segment, run.end);

    while (at < end) {
        struct block *b = larder__region_block(a, g, at);

        at = b->addr + b->bytes;
        if (b->state == BLOCK_FREE)
            (void)larder__pages_unmapped(
                a, b, pages_touched(g->segment, b->addr, b->bytes));
    }
}

void larder__region_let_go(struct allocator *a, struct region *g)
{
    struct page_span run = {.end = g->detached.mapped};

    while (next_run(g->segment, g->detached.end, &run)) {
        larder__pages_let_go(a, g->segment, run);
        idle_gone(a, g, run);
    }
    g->detached = (struct detached){0};
}

void larder__region_empty(struct allocator *a, struct region *g)
{
    (void)take_off(a, g); /* what stays mapped is used by the next attempt */
    larder__region_let_go(a, g);
}
