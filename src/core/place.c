#include "core/place.h"

/* Blocks looked at: more made no difference on any trace, eight did. */
enum { CANDIDATES = 32, CANDIDATES_WHOLE = 1 };

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

/* Whether the handle of page i, which nothing uses, has pages beyond those
 * `own` to its block: somebody else is in it, and it is of no use to others
 * anyway. */
static bool is_shared(const struct segment *s, struct page_span own, size_t i)
{
    uint64_t handle = s->pages[i];

    return (own.begin > 0 && s->pages[own.begin - 1] == handle) ||
           (own.end < s->page_end && s->pages[own.end] == handle);
}

/* Count the pages of the span, which nothing uses; `most` ends the
 * counting. */
static struct cost count_pages(const struct segment *s, struct page_span own,
                               struct page_span span,
                               const struct place_rules *rules,
                               const struct cost *most)
{
    struct cost cost = {0};
    uint64_t handle = 0;
    bool shared = false;

    for (size_t i = span.begin; i < span.end; i++) {
        if (!is_less(&cost, most, rules))
            break;
        if (i >= s->page_end || s->pages[i] == 0) {
            cost.misses = true;
            cost.pages++;
            if (rules->only_whole)
                break;
        } else if (s->pages[i] != handle) {
            handle = s->pages[i];
            shared = is_shared(s, own, i);
            if (!shared && rules->count_handles)
                cost.pages +=
                    larder__handle_end(s, i) - larder__handle_begin(s, i);
        }
        if (i < s->page_end && s->pages[i] != 0 && !shared &&
            !rules->count_handles)
            cost.pages++;
    }
    return cost;
}

/* What `size` bytes at addr, within the free block b, would cost.  Only b's
 * first and last page can have another use: its neighbours reach into them. */
static struct cost cost_of(const struct block *b, larder_addr addr,
                           uint64_t size, const struct place_rules *rules,
                           const struct cost *most)
{
    const struct segment *s = b->segment;
    struct page_span own = pages_within(s, b->addr, b->bytes);
    struct page_span span = pages_touched(s, addr, size);

    if (span.begin < own.begin)
        span.begin = own.begin;
    if (span.end > own.end)
        span.end = own.end;
    return count_pages(s, own, span, rules, most);
}

/* The best of some blocks, at either end. */
static bool find_best(const struct heap *heap, uint64_t size,
                      const struct place_rules *rules, int candidates,
                      struct place *out)
{
    struct block *b = larder__bins_not_before(&heap->bins, size, 0);
    struct cost least = {.misses = true, .pages = SIZE_MAX};
    static const struct cost nothing = {0};

    for (int i = 0; i < candidates && b != NULL; i++) {
        larder_addr ends[2] = {b->addr, b->addr + b->bytes - size};

        if (b->segment->kind != SEGMENT_PAGED) {
            *out = (struct place){.block = b, .addr = b->addr};
            return true;
        }
        for (int k = 0; k < 2; k++) {
            struct cost cost = cost_of(b, ends[k], size, rules, &least);

            if ((rules->only_whole && cost.misses) ||
                !is_less(&cost, &least, rules))
                continue;
            least = cost;
            *out = (struct place){.block = b, .addr = ends[k]};
        }
        if (!is_less(&nothing, &least, rules))
            break;
        b = bins_after(&heap->bins, b->bytes, b->addr);
    }
    return least.pages != SIZE_MAX;
}

bool larder__place_find(const struct heap *heap, uint64_t size,
                        struct place_rules rules, struct place *out)
{
    return find_best(heap, size, &rules,
                     rules.only_whole ? CANDIDATES_WHOLE : CANDIDATES, out);
}
