/* gap.c - finds where a request misses fewest pages when no free block can
 * serve it. */
#include "core/policy_larder/supply.h"

#include "core/segments/blocks.h"

/* The free and unmapped blocks between two blocks in use. */
struct run {
    struct block *first;
    larder_addr begin;
    larder_addr end;
    uint64_t free_bytes;
    bool is_open; /* it extends to the end of the range */
};

/* The run whose lowest unmapped block this is.  Two free blocks are never
 * neighbours, so at most one comes before it. */
static struct run run_of(struct allocator *a, struct block *unmapped)
{
    struct block *before = slab_get(&a->slab, unmapped->prev);
    struct run run = {.first = block_is_available(before) ? before : unmapped};
    const struct block *b;

    larder__assert(unmapped->state == BLOCK_UNMAPPED);
    larder__assert(!block_is_available(slab_get(&a->slab, run.first->prev)));
    run.begin = run.first->addr;
    run.end = run.begin;
    for (b = run.first; block_is_available(b);
         b = slab_get(&a->slab, b->next)) {
        run.end = b->addr + b->bytes;
        run.free_bytes += b->state == BLOCK_FREE ? b->bytes : 0;
    }
    run.is_open = b == NULL;
    return run;
}

/* Count the missing pages of [gap->addr, + size), which begins in
 * gap->block. */
static void gap_count_missing(struct allocator *a, struct gap *gap,
                              uint64_t size)
{
    const struct block *b = gap->block;
    const struct segment *s = b->segment;
    struct page_span span = pages_touched(s, gap->addr, size);

    gap->missing = 0;
    gap->unmapped = 0;
    for (; b != NULL && b->addr < page_at(s, span.end);
         b = slab_get(&a->slab, b->next)) {
        size_t pages =
            b->state == BLOCK_UNMAPPED ? pages_unmapped_of(b, span) : 0;

        gap->missing += pages;
        gap->unmapped += pages > 0;
    }
    larder__assert(gap->missing <= span.end - span.begin);
}

static bool is_better(const struct gap *x, const struct gap *y)
{
    return x->missing != y->missing ? x->missing < y->missing
                                    : x->bytes < y->bytes;
}

struct gaps {
    struct gap *list; /* best first */
    size_t count;
    size_t max;
};

static void keep_best(struct gaps *gaps, const struct gap *gap)
{
    size_t i = gaps->count;

    if (i == gaps->max && !is_better(gap, &gaps->list[i - 1]))
        return;
    if (i == gaps->max)
        i--;
    else
        gaps->count++;
    for (; i > 0 && is_better(gap, &gaps->list[i - 1]); i--)
        gaps->list[i] = gaps->list[i - 1];
    gaps->list[i] = *gap;
    larder__assert(gaps->count <= gaps->max);
}

/* Whether a place in the run could still be among the best: it misses at least
 * the pages that the run's free blocks do not have. */
static bool may_be_best(const struct run *run, uint64_t size,
                        const struct gaps *gaps)
{
    struct gap least = {.bytes = run->end - run->begin};

    if (least.bytes < size)
        return false;
    if (size > run->free_bytes)
        least.missing = (size - run->free_bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    return gaps->count < gaps->max ||
           is_better(&least, &gaps->list[gaps->max - 1]);
}

/* Consider placing the request at addr, which is in b or in a block before
 * it. */
static void consider(struct allocator *a, const struct run *run,
                     struct block *b, larder_addr addr, uint64_t size,
                     struct gaps *gaps)
{
    struct gap gap = {.addr = addr, .bytes = run->end - run->begin};

    if (addr < run->begin || addr + size > run->end)
        return;
    while (b->addr > addr)
        b = slab_at(&a->slab, b->prev);
    larder__assert(block_is_available(b) && addr < b->addr + b->bytes);
    gap.block = b;
    gap_count_missing(a, &gap, size);
    keep_best(gaps, &gap);
}

/* Consider the beginning of each block of the run, the end of each free one,
 * and the end of the run if a block in use follows. */
static void consider_run(struct allocator *a, const struct run *run,
                         uint64_t size, struct gaps *gaps)
{
    for (struct block *b = run->first; block_is_available(b);
         b = slab_get(&a->slab, b->next)) {
        larder_addr end = b->addr + b->bytes;

        consider(a, run, b, b->addr, size, gaps);
        if (b->state == BLOCK_FREE || (end == run->end && !run->is_open))
            consider(a, run, b, end - size, size, gaps);
    }
}

struct search {
    struct allocator *a;
    uint64_t size;
    struct gaps gaps;
    larder_addr passed; /* runs below it were considered */
};

static void search_run(void *arg, struct block *unmapped)
{
    struct search *s = arg;
    struct run run;

    if (unmapped->addr < s->passed)
        return;
    run = run_of(s->a, unmapped);
    if (may_be_best(&run, s->size, &s->gaps))
        consider_run(s->a, &run, s->size, &s->gaps);
    s->passed = run.end;
}

size_t larder__gaps_find(struct allocator *a, struct heap *heap, uint64_t size,
                         struct gap *out, size_t max)
{
    struct search s = {
        .a = a,
        .size = size,
        .gaps = {.list = out, .max = max},
    };

    larder__assert(size > 0 && max > 0 && heap->fit != NULL);
    tree_walk(heap->unmapped, search_run, &s);
    return s.gaps.count;
}
