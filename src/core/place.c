#include "core/place.h"

/* Blocks looked at: more made no difference on any trace, eight did. */
enum { CANDIDATES = 32 };

/* Pages that it is worth not to share one with what will soon be gone: more
 * than one of its own, or the first that lives long would settle there. */
enum { COMPANY_PAGES = 2 };

/* What taking a place means for others. */
struct cost {
    bool misses; /* a page */
    size_t pages;
};

/* Of the two, the one to take; a miss counts only if it is asked about. */
static bool is_less(const struct cost *x, const struct cost *y,
                    const struct place_rules *rules)
{
    if (rules->whole_first && x->misses != y->misses)
        return y->misses;
    return x->pages < y->pages;
}

static bool has_all_pages(const struct segment *s, struct page_span span)
{
    if (span.end > s->page_end)
        return false;
    for (size_t i = span.begin; i < span.end; i++) {
        if (s->pages[i] == 0)
            return false;
    }
    return true;
}

/* The span, all in pages `own` to a block, without those at its ends whose
 * handle has pages beyond: somebody else is in it, and it is of no use to
 * others anyway. */
static struct page_span trim_shared(const struct segment *s,
                                    struct page_span own, struct page_span span)
{
    const uint64_t *pages = s->pages;

    if (own.begin > 0 && pages[own.begin - 1] != 0) {
        while (span.begin < span.end &&
               pages[span.begin] == pages[own.begin - 1])
            span.begin++;
    }
    if (own.end < s->page_end && pages[own.end] != 0) {
        while (span.begin < span.end && pages[span.end - 1] == pages[own.end])
            span.end--;
    }
    return span;
}

/* Of the handles at the ends of the span, the pages outside it. */
static size_t pages_around(const struct segment *s, struct page_span span)
{
    size_t count = 0;

    if (span.begin == span.end)
        return 0;
    if (s->pages[span.begin] != 0)
        count += span.begin - larder__handle_begin(s, span.begin);
    if (s->pages[span.end - 1] != 0)
        count += larder__handle_end(s, span.end - 1) - span.end;
    return count;
}

/* What it costs to share a page with the block of that number. */
static size_t company_pages(const struct place_rules *rules, uint32_t number)
{
    bool is_bad = rules->apart != NULL && number != 0 &&
                  !slab_at(rules->apart, number)->is_long;

    return is_bad ? COMPANY_PAGES : 0;
}

/* What `size` bytes at addr, within the free block b, would cost.  Only b's
 * first and last page can have another use: its neighbours reach into them.
 * Misses are looked for if they matter next to `most`. */
static struct cost cost_of(const struct block *b, larder_addr addr,
                           uint64_t size, const struct place_rules *rules,
                           const struct cost *most)
{
    const struct segment *s = b->segment;
    struct page_span own = pages_within(s, b->addr, b->bytes);
    struct page_span span = pages_touched(s, addr, size);
    struct cost cost = {0};

    if (span.begin < own.begin) {
        cost.pages += company_pages(rules, b->prev);
        span.begin = own.begin;
    }
    if (span.end > own.end) {
        cost.pages += company_pages(rules, b->next);
        span.end = own.end;
    }
    if (span.begin >= span.end)
        return cost;
    span = trim_shared(s, own, span);
    cost.pages += span.end - span.begin;
    if (rules->count_handles)
        cost.pages += pages_around(s, span);
    if (rules->whole_first && (most->misses || cost.pages < most->pages))
        cost.misses = !b->is_whole && !has_all_pages(s, span);
    return cost;
}

bool larder__place_find(const struct heap *heap, uint64_t size,
                        struct place_rules rules, struct place *out)
{
    struct block *b = larder__bins_not_before(&heap->bins, size, 0);
    struct cost least = {.misses = true, .pages = SIZE_MAX};
    static const struct cost nothing = {0};

    for (int i = 0; i < CANDIDATES && b != NULL; i++) {
        larder_addr ends[2] = {b->addr, b->addr + b->bytes - size};

        if (b->segment->kind != SEGMENT_PAGED) {
            *out = (struct place){.block = b, .addr = b->addr};
            return true;
        }
        for (int k = 0; k < (rules.best_fit ? 1 : 2); k++) {
            struct cost cost = cost_of(b, ends[k], size, &rules, &least);

            if (!is_less(&cost, &least, &rules))
                continue;
            least = cost;
            *out = (struct place){.block = b, .addr = ends[k]};
        }
        if ((rules.best_fit && !least.misses) ||
            !is_less(&nothing, &least, &rules))
            break;
        b = bins_after(&heap->bins, b->bytes, b->addr);
    }
    return least.pages != SIZE_MAX;
}

/* At the end of b that takes fewer pages. */
static bool find_whole_in(struct block *b, uint64_t size, struct place *out)
{
    static const struct place_rules rules = {.whole_first = false};
    const struct segment *s = b->segment;
    larder_addr ends[2] = {b->addr, b->addr + b->bytes - size};
    size_t least = SIZE_MAX;

    if (s->kind != SEGMENT_PAGED) {
        *out = (struct place){.block = b, .addr = b->addr};
        return true;
    }
    for (int k = 0; k < 2; k++) {
        size_t pages;

        if (!b->is_whole && !has_all_pages(s, pages_touched(s, ends[k], size)))
            continue; /* most do not: told sooner than the cost */
        pages = cost_of(b, ends[k], size, &rules, NULL).pages;
        if (pages >= least)
            continue;
        least = pages;
        *out = (struct place){.block = b, .addr = ends[k]};
    }
    return least != SIZE_MAX;
}

bool larder__place_find_whole(const struct heap *heap, uint64_t size,
                              int candidates, struct place *out)
{
    struct block *b = larder__bins_not_before(&heap->bins, size, 0);

    for (int i = 0; i < candidates && b != NULL; i++) {
        if (find_whole_in(b, size, out))
            return true;
        b = bins_after(&heap->bins, b->bytes, b->addr);
    }
    return false;
}
