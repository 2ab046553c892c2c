/* test_spots.c - which handles are chosen to move: those of a plain search that
 * tries every one each time. */
#include <stdbool.h>

#include "support/random.h"
#include "support/rig.h"

#include "core/policy_larder/spot.h"

enum { SPOTS_MAX = 12, HEAPS = 4, PAGES_MAX = 6, ROUNDS = 20000 };

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

static void lists_fill(struct lists *l, uint64_t *seed)
{
    size_t count = random_next(seed) % (SPOTS_MAX + 1);
    int heap = 0;

    for (size_t i = 0; i < count; i++) {
        heap += (int)(random_next(seed) % 3 == 0);
        l->list[i] = (struct spot){
            .block = heap < HEAPS ? &l->blocks[heap] : NULL,
            .pages = 1 + random_next(seed) % PAGES_MAX,
            .is_excepted = random_next(seed) % 5 == 0,
        };
    }
    l->state.spots = (struct spots){.list = l->list, .count = count};
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
static int largest(const struct spot *list, size_t count, size_t most)
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

static int smallest(const struct spot *list, size_t count)
{
    int best = -1;

    for (size_t i = 0; i < count; i++) {
        if (!list[i].is_chosen && !list[i].is_excepted &&
            (best < 0 || list[i].pages < list[best].pages))
            best = (int)i;
    }
    return best;
}

static void choose(struct spot *list, size_t count, size_t pages)
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

static size_t chosen_above(const struct spot *list, size_t count, size_t above)
{
    size_t pages = 0;

    for (size_t i = 0; i < count; i++)
        pages += list[i].is_chosen && list[i].pages > above ? list[i].pages : 0;
    return pages;
}

/* Loose handles, and those of default pools' heaps that have a chosen one. */
static bool may_be_added(const struct lists *l, const struct spot *list,
                         size_t count, size_t i)
{
    const struct block *b = list[i].block;
    bool is_touched = b == NULL;

    for (size_t k = 0; k < count; k++)
        is_touched = is_touched || (list[k].block == b && list[k].is_chosen);
    return is_touched && b != &l->blocks[HEAPS - 1];
}

static void choose_large(const struct lists *l, struct spot *list, size_t count,
                         size_t pages, size_t above)
{
    bool may[SPOTS_MAX];

    if (chosen_above(list, count, above) >= pages)
        return;
    for (size_t i = 0; i < count; i++)
        may[i] = may_be_added(l, list, count, i);
    for (size_t i = 0; i < count; i++)
        list[i].is_excepted = list[i].is_excepted || !may[i];
    while (chosen_above(list, count, above) < pages) {
        int i = largest(list, count, SIZE_MAX);

        if (i < 0 || list[i].pages <= above)
            return;
        list[i].is_chosen = true;
    }
}

/* ---- comparing --------------------------------------------------------------------- */

static void same_choice(const struct lists *l, const struct spot *want)
{
    for (size_t i = 0; i < l->state.spots.count; i++)
        assert_int_equal(l->list[i].is_chosen, want[i].is_chosen);
}

static void spots_of_enough_pages_are_chosen(void **state)
{
    struct lists *l = lists_make();
    uint64_t seed = 20261123;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct spot want[SPOTS_MAX];
        size_t pages = random_next(&seed) % 20;

        lists_fill(l, &seed);
        memcpy(want, l->list, sizeof want);
        larder__spots_choose(&l->a, pages);
        choose(want, l->state.spots.count, pages);
        same_choice(l, want);
    }
    free(l);
}

static void large_spots_are_added_where_nobody_else_is_waited_for(void **state)
{
    struct lists *l = lists_make();
    uint64_t seed = 77;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct spot want[SPOTS_MAX];
        size_t few = random_next(&seed) % 8;
        size_t pages = random_next(&seed) % 20;
        size_t above = random_next(&seed) % PAGES_MAX;

        lists_fill(l, &seed);
        larder__spots_choose(&l->a, few);
        memcpy(want, l->list, sizeof want);
        larder__spots_choose_large(&l->a, pages, above);
        choose_large(l, want, l->state.spots.count, pages, above);
        same_choice(l, want);
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
        size_t count;
        size_t most = random_next(&seed) % (PAGES_MAX + 2);
        int small;
        int large;

        lists_fill(l, &seed);
        count = l->state.spots.count;
        small = smallest(l->list, count);
        large = largest(l->list, count, most);
        assert_ptr_equal(larder__spots_smallest(&l->state.spots),
                         small < 0 ? NULL : &l->list[small]);
        assert_ptr_equal(larder__spots_largest(&l->state.spots, most, NULL),
                         large < 0 ? NULL : &l->list[large]);
    }
    free(l);
}

static void choosing_all_leaves_none_out(void **state)
{
    struct lists *l = lists_make();
    uint64_t seed = 6;

    (void)state;
    for (int round = 0; round < 100; round++) {
        lists_fill(l, &seed);
        larder__spots_choose_all(&l->a);
        for (size_t i = 0; i < l->state.spots.count; i++)
            assert_true(l->list[i].is_chosen);
    }
    free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spots_of_enough_pages_are_chosen),
        cmocka_unit_test(large_spots_are_added_where_nobody_else_is_waited_for),
        cmocka_unit_test(
            the_smallest_and_the_largest_are_the_first_of_their_size),
        cmocka_unit_test(choosing_all_leaves_none_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
