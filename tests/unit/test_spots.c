/* test_spots.c - which handles are chosen to move: those of a plain search that
 * tries every one each time. */
#include <stdbool.h>

#include "support/random.h"
#include "support/rig.h"

#include "core/policy_larder/spot.h"

enum { SPOTS_MAX = 12, HEAPS = 4, ROUNDS = 20000 };

/* Mostly small handles, some around the size from which on they share a list. */
static const uint32_t SIZES[] = {1, 1, 2, 3, 3, 5, 62, 63, 64, 65, 65, 200};

enum { SIZES_COUNT = sizeof SIZES / sizeof *SIZES, STRIDE = 256 };

/* ---- lists ------------------------------------------------------------------- */

/* Spots of a few heaps, the last of them a private pool's, and loose handles
 * behind. */
struct lists {
    struct private_pool owner;
    struct pool pools[HEAPS];
    struct heap heaps[HEAPS];
    struct segment segments[HEAPS];
    struct block blocks[HEAPS];
    struct spot list[SPOTS_MAX];
    struct larder state;
    struct allocator a;
};

/* What the plain search knows of a spot. */
struct plain {
    const struct block *block;
    size_t pages;
    bool is_excepted;
    bool is_chosen;
};

static uint32_t random_size(uint64_t *seed)
{
    return SIZES[random_next(seed) % SIZES_COUNT];
}

/* Make spots, STRIDE pages apart, and except some pages of one segment.
 * Returns their number. */
static size_t lists_fill(struct lists *l, uint64_t *seed,
                         struct plain plain[SPOTS_MAX])
{
    struct spots *spots = &l->state.spots;
    size_t count = random_next(seed) % (SPOTS_MAX + 1);
    size_t at = random_next(seed) % (SPOTS_MAX * STRIDE);
    const struct segment *segment = &l->segments[random_next(seed) % HEAPS];
    struct spot_except except = {segment, {at, at + random_size(seed)}};
    int heap = 0;

    spots->list = l->list;
    larder__spots_clear(spots);
    for (size_t i = 0; i < count; i++) {
        size_t begin = i * STRIDE;
        size_t pages = random_size(seed);
        struct block *b;

        heap += (int)(random_next(seed) % 3 == 0);
        b = heap < HEAPS ? &l->blocks[heap] : NULL;
        larder__spots_add(spots, b, begin, pages);
        plain[i] = (struct plain){
            .block = b,
            .pages = pages,
            .is_excepted = b != NULL && b->segment == segment &&
                           begin < except.span.end &&
                           begin + pages > except.span.begin,
        };
    }
    larder__spots_except(&l->a, except);
    return count;
}

static struct lists *lists_make(void)
{
    struct lists *l = calloc(1, sizeof *l);

    assert_non_null(l);
    for (int i = 0; i < HEAPS; i++) {
        l->heaps[i].pool = &l->pools[i];
        l->segments[i].heap = &l->heaps[i];
        l->blocks[i].segment = &l->segments[i];
    }
    l->pools[HEAPS - 1].owner = &l->owner;
    l->a.larder = &l->state;
    return l;
}

/* ---- the plain search ------------------------------------------------------------ */

/* The first of the largest up to `most`; -1: none. */
static int largest(const struct plain *list, size_t count, size_t most)
{
    int best = -1;

    for (size_t i = 0; i < count; i++) {
        if (!list[i].is_chosen && !list[i].is_excepted &&
            list[i].pages <= most &&
            (best < 0 || list[i].pages > list[best].pages))
            best = (int)i;
    }
    return best;
}

static int smallest(const struct plain *list, size_t count)
{
    int best = -1;

    for (size_t i = 0; i < count; i++) {
        if (!list[i].is_chosen && !list[i].is_excepted &&
            (best < 0 || list[i].pages < list[best].pages))
            best = (int)i;
    }
    return best;
}

static void choose(struct plain *list, size_t count, size_t pages)
{
    while (pages > 0) {
        int i = largest(list, count, pages);

        if (i < 0)
            i = smallest(list, count);
        if (i < 0)
            return;
        list[i].is_chosen = true;
        pages -= list[i].pages < pages ? list[i].pages : pages;
    }
}

/* ---- comparing --------------------------------------------------------------------- */

static void same_choice(const struct lists *l, const struct plain *want,
                        size_t count)
{
    assert_int_equal(l->state.spots.count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(l->list[i].is_chosen, want[i].is_chosen);
}

static void spots_of_enough_pages_are_chosen(void **state)
{
    struct lists *l = lists_make();
    uint64_t seed = 20261123;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct plain want[SPOTS_MAX];
        size_t pages = random_next(&seed) % 300;
        size_t count = lists_fill(l, &seed, want);

        larder__spots_choose(&l->a, pages);
        choose(want, count, pages);
        same_choice(l, want, count);
    }
    free(l);
}

/* A new choice forgets the one before, whatever that was. */
static void a_choice_begins_with_nothing(void **state)
{
    struct lists *l = lists_make();
    uint64_t seed = 4;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct plain want[SPOTS_MAX];
        size_t pages = random_next(&seed) % 300;
        size_t count = lists_fill(l, &seed, want);

        larder__spots_choose(&l->a, random_next(&seed) % 300);
        larder__spots_except(&l->a, l->state.spots.except);
        larder__spots_choose(&l->a, pages);
        choose(want, count, pages);
        same_choice(l, want, count);
    }
    free(l);
}

static void the_smallest_and_the_largest_are_the_first_of_their_size(
    void **state)
{
    struct lists *l = lists_make();
    uint64_t seed = 5;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct plain want[SPOTS_MAX];
        size_t most = random_size(&seed) + random_next(&seed) % 2;
        size_t count = lists_fill(l, &seed, want);
        int small = smallest(want, count);
        int large = largest(want, count, most);

        assert_ptr_equal(larder__spots_smallest(&l->state.spots),
                         small < 0 ? NULL : &l->list[small]);
        assert_ptr_equal(larder__spots_largest(&l->state.spots, most),
                         large < 0 ? NULL : &l->list[large]);
    }
    free(l);
}

static void pages_are_counted_but_for_the_excepted(void **state)
{
    struct lists *l = lists_make();
    uint64_t seed = 8;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct plain want[SPOTS_MAX];
        size_t count = lists_fill(l, &seed, want);
        size_t pages = 0;

        for (size_t i = 0; i < count; i++)
            pages += want[i].is_excepted ? 0 : want[i].pages;
        assert_int_equal(larder__spots_pages(&l->state.spots), pages);
    }
    free(l);
}

static void choosing_all_leaves_none_out(void **state)
{
    struct lists *l = lists_make();
    uint64_t seed = 6;

    (void)state;
    for (int round = 0; round < 100; round++) {
        struct plain want[SPOTS_MAX];
        size_t count = lists_fill(l, &seed, want);

        larder__spots_choose_all(&l->a);
        for (size_t i = 0; i < count; i++)
            want[i].is_chosen = true;
        same_choice(l, want, count);
    }
    free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spots_of_enough_pages_are_chosen),
        cmocka_unit_test(a_choice_begins_with_nothing),
        cmocka_unit_test(
            the_smallest_and_the_largest_are_the_first_of_their_size),
        cmocka_unit_test(pages_are_counted_but_for_the_excepted),
        cmocka_unit_test(choosing_all_leaves_none_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
