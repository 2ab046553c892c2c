/* fill.c - maps memory at the missing pages of a span of a paged segment. */
#include "core/policy_larder/supply.h"

#include "base/bits.h"
#include "base/fail.h"
#include "core/history/recording.h"
#include "core/segments/segment.h"
#include "core/state/held.h"
#include "core/state/shard.h"

/* A span being filled.  Nothing is published until all of it is mapped. */
struct filling {
    struct segment *segment;
    struct page_span span;
    size_t planned; /* loose handles, from the first, to be mapped */
    size_t mapped;  /* how many of them are mapped */
};

/* The pages of adjacent ones among the planned handles, from *i up to `end`; *i
 * becomes the one behind them. */
static struct page_span next_run(const struct allocator *a, size_t *i,
                                 size_t end)
{
    const struct page_handle *list = a->larder->loose.list;
    struct page_span run = {list[*i].at, list[*i].at};

    while (*i < end && list[*i].at == run.end)
        run.end += list[(*i)++].pages;
    return run;
}

/* ---- planning ------------------------------------------------------------- */

/* Plan to map the i-th loose handle next, at page `at`.  Returns its size in
 * pages. */
static size_t plan_handle(struct allocator *a, struct filling *f, size_t i,
                          size_t at)
{
    struct page_handle *list = a->larder->loose.list;
    struct page_handle p = list[i];

    larder__assert(i >= f->planned && i < a->larder->loose.handles);
    p.at = at;
    list[i] = list[f->planned];
    list[f->planned++] = p;
    return p.pages;
}

/* The size of the next handle when `missing` pages are to be created: the fewest
 * handles, of about one size each.  Otherwise a small one would come last, and
 * cost as much as the others. */
static size_t even_pages(const struct allocator *a, size_t missing)
{
    size_t max = larder__handles_pages_max(a);
    size_t handles = missing / max + (missing % max != 0);

    larder__assert(missing > 0 && handles > 0);
    return missing / handles + (missing % handles != 0);
}

/* Create a handle of at most `max` pages, smaller if there is less room. */
static larder_result fill_grow(struct allocator *a, size_t max,
                               const struct fill_rules *rules)
{
    size_t pages =
        rules->handle_pages != 0 ? rules->handle_pages : even_pages(a, max);
    larder_result r;

    larder__assert(pages > 0 && max > 0);
    pages = bits_lesser(bits_lesser(pages, max), larder__handles_room(a));
    if (pages == 0)
        return larder__fail_plain(LARDER_ERR_OUT_OF_MEMORY);
    r = larder__handles_create(a, pages);
    if (r == LARDER_ERR_OUT_OF_MEMORY) /* a smaller one may still fit */
        a->larder->refused_at = a->held_bytes + pages_bytes(pages - 1);
    return r;
}

/* Create a loose handle of at most `max` pages; with may_break, release
 * loose handles until the device has room for one. */
static larder_result obtain(struct allocator *a, const struct filling *f,
                            size_t max, const struct fill_rules *rules)
{
    size_t smallest;
    larder_result r = fill_grow(a, max, rules);

    while (r == LARDER_ERR_OUT_OF_MEMORY && rules->may_break &&
           larder__handles_smallest(a, f->planned, &smallest)) {
        larder__handles_release(a, smallest);
        r = fill_grow(a, max, rules);
    }
    return r;
}

/* Plan handles for a run of missing pages, the largest that fits first.  What
 * is left of the run shrinks, so that no later one is larger than the last;
 * with that bound a search among many equal handles ends at the first. */
static larder_result plan_run(struct allocator *a, struct filling *f,
                              struct page_span run,
                              const struct fill_rules *rules)
{
    size_t max = run.end - run.begin;
    larder_result r = LARDER_OK;

    while (r == LARDER_OK && run.begin < run.end) {
        size_t n = run.end - run.begin;
        size_t i;

        if (larder__handles_fit(a, f->planned, bits_lesser(n, max), &i)) {
            max = plan_handle(a, f, i, run.begin);
            run.begin += max;
        } else {
            max = n;
            r = obtain(a, f, n, rules);
        }
    }
    larder__assert(run.begin <= run.end);
    return r;
}

static larder_result plan(struct allocator *a, struct filling *f,
                          const struct fill_rules *rules)
{
    struct page_span run = {.end = f->span.begin};
    larder_result r = LARDER_OK;

    while (r == LARDER_OK && page_next_missing(f->segment, f->span.end, &run))
        r = plan_run(a, f, run, rules);
    return r;
}

/* ---- mapping -------------------------------------------------------------- */

/* Make room in the map for the run's blocks, unless each page was mapped there
 * before. */
static bool prepare_map(struct allocator *a, const struct segment *s,
                        struct page_span run)
{
    const struct heap *heap = s->heap;
    size_t i = run.begin;

    while (i < run.end && s->extents[i].end != 0)
        i = s->extents[i].end;
    return i >= run.end ||
           larder__map_prepare(&a->map, &a->slab, page_at(s, run.begin),
                               span_bytes(s, run), heap->pool->is_small,
                               heap->shard == NULL ? 0 : heap->shard->number);
}

/* Map the planned handles up to the i-th, which fill the run. */
static larder_result map_run(struct allocator *a, struct filling *f,
                             struct page_span run, size_t i)
{
    struct segment *s = f->segment;

    if (!prepare_map(a, s, run))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    for (; f->mapped < i; f->mapped++) {
        struct page_handle p = a->larder->loose.list[f->mapped];
        larder_result r = larder__device_map(a->device, page_at(s, p.at),
                                             pages_bytes(p.pages), p.handle);

        if (r != LARDER_OK)
            return r;
    }
    return larder__device_set_access(a->device, page_at(s, run.begin),
                                     span_bytes(s, run));
}

/* The device failed to unmap this handle: it becomes an orphan. */
static void strand(struct allocator *a, const struct segment *s,
                   struct page_handle *p)
{
    struct orphan orphan = {
        .handle = p->handle,
        .mapped_at = page_at(s, p->at),
        .bytes = pages_bytes(p->pages),
    };

    larder__assert(p->pages > 0 && p->pages <= a->larder->loose.pages);
    larder__assert(a->larder->loose.pages <= a->page_count);
    a->page_count -= p->pages;
    a->larder->loose.pages -= p->pages;
    held_sub(a, &a->pools[POOL_LARGE], orphan.bytes);
    p->pages = 0;
    larder__orphan_try_release(a, orphan);
}

/* Unmap the first f->mapped handles again. */
static void fill_undo(struct allocator *a, const struct filling *f)
{
    const struct segment *s = f->segment;
    struct page_handle *list = a->larder->loose.list;
    size_t kept = 0;

    for (size_t i = 0; i < f->mapped;) {
        size_t first = i;
        struct page_span run = next_run(a, &i, f->mapped);

        if (larder__device_unmap(a->device, page_at(s, run.begin),
                                 span_bytes(s, run), i - first) == LARDER_OK)
            continue;
        for (; first < i; first++)
            strand(a, s, &list[first]);
    }
    /* Remove the stranded handles from the list. */
    for (size_t i = 0; i < a->larder->loose.handles; i++) {
        if (list[i].pages != 0)
            list[kept++] = list[i];
    }
    a->larder->loose.handles = kept;
}

static void publish_run(struct allocator *a, struct segment *s,
                        struct page_span run)
{
    size_t pages = run.end - run.begin;

    larder__assert(pages <= a->larder->loose.pages);
    s->page_count += pages;
    s->heap->page_count += pages;
    a->larder->loose.pages -= pages;
    larder__pages_recount(a, &a->pools[POOL_LARGE], s->heap->pool, pages);
    history_segment(a, s, page_at(s, run.begin), pages_bytes(pages),
                    LARDER_ACTION_segment_map);
}

static void fill_publish(struct allocator *a, const struct filling *f)
{
    struct segment *s = f->segment;
    struct page_handle *list = a->larder->loose.list;

    larder__assert(f->mapped == f->planned);
    for (size_t i = 0; i < f->mapped; i++)
        page_enter(s,
                   (struct page_span){list[i].at, list[i].at + list[i].pages},
                   list[i].handle);
    for (size_t i = 0; i < f->mapped;)
        publish_run(a, s, next_run(a, &i, f->mapped));
    a->larder->loose.handles -= f->mapped;
    for (size_t i = 0; i < a->larder->loose.handles; i++)
        list[i] = list[i + f->mapped];
}

static larder_result map(struct allocator *a, struct filling *f)
{
    larder_result r = LARDER_OK;

    for (size_t i = 0; i < f->planned && r == LARDER_OK;) {
        struct page_span run = next_run(a, &i, f->planned);

        r = map_run(a, f, run, i);
    }
    return r;
}

larder_result larder__fill(struct allocator *a, struct segment *s,
                           struct page_span span,
                           const struct fill_rules *rules)
{
    struct filling f = {.segment = s, .span = span};
    larder_result r;

    larder__assert(allocator_is_locked(a) && s->kind == SEGMENT_PAGED);
    larder__assert(span.begin < span.end);
    larder__assert(span.end <= s->bytes / PAGE_BYTES);
    if (a->orphans.count > 0) /* one may still be mapped here */
        (void)larder__orphans_release(a);
    r = plan(a, &f, rules);
    if (r != LARDER_OK)
        return r;
    r = map(a, &f);
    if (r == LARDER_OK)
        fill_publish(a, &f);
    else
        fill_undo(a, &f);
    return r;
}
