#include "core/place.h"

/* Blocks looked at: more made no difference on any trace, eight did. */
enum { CANDIDATES = 32, CANDIDATES_WHOLE = 1 };

/* Whether no page is missing. */
static bool is_whole(const struct block *b, larder_addr addr, uint64_t size)
{
    const struct segment *s = b->segment;
    struct page_span span;

    if (s->kind != SEGMENT_PAGED)
        return true;
    span = pages_touched(s, addr, size);
    if (span.end > s->page_end)
        return false;
    for (size_t i = span.begin; i < span.end; i++) {
        if (s->pages[i] == 0)
            return false;
    }
    return true;
}

bool larder__place_find(const struct heap *heap, uint64_t size, bool whole,
                        struct place *out)
{
    struct block *b = larder__bins_not_before(&heap->bins, size, 0);
    int candidates = whole ? CANDIDATES_WHOLE : CANDIDATES;
    size_t least = SIZE_MAX;

    for (int i = 0; i < candidates && b != NULL && least > 0; i++) {
        larder_addr ends[2] = {b->addr, b->addr + b->bytes - size};

        for (int k = 0; k < 2; k++) {
            size_t taken = place_pages_taken(b, ends[k], size);

            if (taken < least && (!whole || is_whole(b, ends[k], size))) {
                least = taken;
                *out = (struct place){.block = b, .addr = ends[k]};
            }
        }
        b = bins_after(&heap->bins, b->bytes, b->addr);
    }
    return least != SIZE_MAX;
}
