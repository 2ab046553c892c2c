/* test_gaps.c - where a request would miss the fewest pages, in a heap whose
 * pages are live, free and unmapped in many patterns: the places found are those
 * of a search that looks at every page. */
#include <stdbool.h>

#include "support/random.h"
#include "support/rig.h"

#include "core/entry/handle.h"
#include "core/policy_larder/supply.h"
#include "core/segments/blocks.h"

enum { PAGES = 24, PLACES = 256, HALF = 1 << 20, MOST = 4 };

/* ---- heaps ---------------------------------------------------------------------- */

/* Each page is a handle, so that each can be released. */
#define PAGE_HANDLES "handle_mib:2"

/* A page for each letter: L live, F free, U unmapped.  What follows them in the
 * range is unmapped. */
static struct rig heap_up(const char *pages, larder_addr *first)
{
    struct rig rig = rig_up_policy("sim:128MiB,backing=none",
                                   LARDER_POLICY_LARDER, PAGE_HANDLES);
    size_t count = strlen(pages);
    larder_addr at[PAGES] = {0};

    assert_in_range(count, 1, PAGES);
    for (size_t i = 0; i < count; i++) {
        at[i] = rig_alloc(&rig, PAGE_BYTES);
        assert_int_equal(at[i], at[0] + i * PAGE_BYTES);
    }
    for (size_t i = 0; i < count; i++) {
        if (pages[i] == 'U')
            rig_free(&rig, at[i]);
    }
    assert_ok(larder_empty_cache(rig.a));
    for (size_t i = 0; i < count; i++) {
        if (pages[i] == 'F')
            rig_free(&rig, at[i]);
    }
    *first = at[0];
    return rig;
}

/* ---- the search that looks at every page ------------------------------------------ */

struct picture_of_heap {
    struct allocator *a;
    struct segment *s;
    size_t count;
    char *pages; /* as heap_up() */
};

static bool is_used(const struct picture_of_heap *h, size_t page)
{
    return page >= h->count || h->pages[page] == 'L';
}

/* Where runs of the page's kind, of any length, begin and end. */
static size_t end_of(const struct picture_of_heap *h, size_t page)
{
    size_t end = page;

    while (end < h->count && h->pages[end] == h->pages[page])
        end++;
    return end;
}

static size_t end_of_run(const struct picture_of_heap *h, size_t page)
{
    while (!is_used(h, page))
        page++;
    return page;
}

/* The place at this half of a page, in a run of [begin, end) pages. */
static bool place(const struct picture_of_heap *h, size_t begin, size_t end,
                  size_t half, size_t halves, struct gap *out)
{
    size_t last = (half + halves + 1) / 2;

    if (half < 2 * begin || half + halves > 2 * end)
        return false;
    *out = (struct gap){.addr = h->s->addr + (uint64_t)half * HALF,
                        .bytes = (end - begin) * PAGE_BYTES};
    for (size_t i = half / 2; i < last; i++) {
        bool is_first = i == half / 2 || h->pages[i - 1] != 'U';

        out->missing += h->pages[i] == 'U';
        out->unmapped += h->pages[i] == 'U' && is_first;
    }
    return true;
}

/* Each run's places, in order of the blocks: their beginnings, the ends of free
 * ones, and the end of the run if it has one. */
static size_t places_of_run(const struct picture_of_heap *h, size_t begin,
                            size_t halves, struct gap *out)
{
    size_t end = end_of_run(h, begin);
    size_t count = 0;

    for (size_t i = begin; i < end; i = end_of(h, i)) {
        size_t next = end_of(h, i);

        count += place(h, begin, end, 2 * i, halves, &out[count]);
        if ((h->pages[i] == 'F' || (next == end && end < h->count)) &&
            2 * next >= halves)
            count +=
                place(h, begin, end, 2 * next - halves, halves, &out[count]);
        assert_in_range(count, 0, PLACES - 2);
    }
    return count;
}

/* A run without an unmapped page misses nothing, and is for others to find. */
static bool run_misses(const struct picture_of_heap *h, size_t begin)
{
    return memchr(&h->pages[begin], 'U', end_of_run(h, begin) - begin) != NULL;
}

static size_t all_places(const struct picture_of_heap *h, size_t halves,
                         struct gap *out)
{
    size_t count = 0;

    for (size_t i = 0; i < h->count; i++) {
        if (!is_used(h, i) && (i == 0 || is_used(h, i - 1)) && run_misses(h, i))
            count += places_of_run(h, i, halves, &out[count]);
    }
    return count;
}

static bool is_before(const struct gap *x, const struct gap *y)
{
    return x->missing != y->missing ? x->missing < y->missing
                                    : x->bytes < y->bytes;
}

/* Insertion, so that equal ones stay in their order. */
static void places_sort(struct gap *list, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct gap one = list[i];
        size_t at = i;

        for (; at > 0 && is_before(&one, &list[at - 1]); at--)
            list[at] = list[at - 1];
        list[at] = one;
    }
}

/* ---- comparing -------------------------------------------------------------------- */

/* Takes the allocator's locks. */
static struct picture_of_heap heap_see(struct rig *rig, larder_addr first)
{
    struct picture_of_heap h = {0};
    size_t at = 0;

    assert_ok(larder__handle_lock(rig->a, &h.a));
    for (h.s = h.a->segments; h.s->addr != first; h.s = h.s->next)
        assert_non_null(h.s->next);
    h.count = h.s->bytes / PAGE_BYTES;
    h.pages = calloc(h.count, 1);
    assert_non_null(h.pages);
    for (const struct block *b = h.s->head; b != NULL;
         b = slab_get(&h.a->slab, b->next)) {
        size_t count = b->bytes / PAGE_BYTES;
        bool is_free = b->state == BLOCK_FREE;

        memset(&h.pages[at],
               is_free                      ? 'F'
               : b->state == BLOCK_UNMAPPED ? 'U'
                                            : 'L',
               count);
        at += count;
    }
    assert_int_equal(at, h.count);
    return h;
}

static void heap_leave(struct picture_of_heap *h)
{
    larder__handle_unlock(h->a);
    free(h->pages);
}

static void same_gap(const struct picture_of_heap *h, const struct gap *got,
                     const struct gap *want)
{
    assert_int_equal(got->addr, want->addr);
    assert_int_equal(got->missing, want->missing);
    assert_int_equal(got->unmapped, want->unmapped);
    assert_int_equal(got->bytes, want->bytes);
    assert_ptr_equal(got->block, block_over(h->a, h->s->head, want->addr));
}

static void same_gaps(const struct picture_of_heap *h, size_t halves)
{
    struct gap want[PLACES];
    struct gap got[MOST];
    size_t count = all_places(h, halves, want);

    places_sort(want, count);
    for (size_t max = 1; max <= MOST; max++) {
        size_t few = count < max ? count : max;

        assert_int_equal(larder__gaps_find(h->a, h->s->heap,
                                           (uint64_t)halves * HALF, got, max),
                         few);
        for (size_t i = 0; i < few; i++)
            same_gap(h, &got[i], &want[i]);
    }
}

static void compare(const char *pages)
{
    larder_addr first;
    struct rig rig = heap_up(pages, &first);
    struct picture_of_heap h = heap_see(&rig, first);

    assert_memory_equal(h.pages, pages, strlen(pages));
    for (size_t halves = 1; halves <= 2 * h.count + 1; halves++)
        same_gaps(&h, halves);
    heap_leave(&h);
    assert_ok(larder_destroy(rig.a));
    assert_ok(larder_device_close(rig.dev));
}

/* ---- claims -------------------------------------------------------------------------- */

static void the_places_found_miss_the_fewest_pages(void **state)
{
    static const char *const heaps[] = {
        "L",
        "LF",
        "LUF",
        "LFFUF",
        "LU",
        "LFUL",
        "LUFL",
        "LFUFL",
        "LUFUL",
        "UL",
        "FUL",
        "LUULUULUULUL",
        "LFULFULFULFUL",
        "LUUFFUULUFUFUL",
        "LFFFLUUUL",
        "LUFLFULUUFFLFFUUL",
    };

    (void)state;
    for (size_t i = 0; i < sizeof heaps / sizeof heaps[0]; i++)
        compare(heaps[i]);
}

static void random_heaps_agree_with_a_naive_search(void **state)
{
    uint64_t seed = 20261123;

    (void)state;
    for (int i = 0; i < 150; i++) {
        size_t count = 1 + random_next(&seed) % PAGES;
        char pages[PAGES + 1] = "";

        for (size_t k = 0; k < count; k++)
            pages[k] = "LLFFUUU"[random_next(&seed) % 7];
        pages[random_next(&seed) % count] = 'L';
        compare(pages);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_places_found_miss_the_fewest_pages),
        cmocka_unit_test(random_heaps_agree_with_a_naive_search),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
