/* test_bins.c - the free blocks of a heap by size, whether bins are lists or
 * trees, against a plain array. */
#include "../support/rig.h"

#include "core/bins.h"

enum { BLOCKS = 3000, SIZES = 400, ROUNDS = 20000 };

struct fixture {
    struct bins bins;
    struct block blocks[BLOCKS];
    bool is_in[BLOCKS];
    uint64_t seed;
};

static uint32_t fixture_random(struct fixture *f, uint32_t below)
{
    f->seed = f->seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(f->seed >> 33) % below;
}

/* Sizes that are alone in their bins, and such that share one. */
static struct fixture *fixture_make(bool prefers_lists)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    f->bins.prefers_lists = prefers_lists;
    f->seed = 1;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        uint64_t units = 1 + fixture_random(f, SIZES);

        f->blocks[i].self = i + 1;
        f->blocks[i].addr = (uint64_t)fixture_random(f, 1 << 20) * BLOCKS + i;
        f->blocks[i].bytes = units << BINS_UNIT_LOG2;
    }
    return f;
}

static void put(struct fixture *f, uint32_t i)
{
    if (f->bins.prefers_lists)
        bins_insert_listed(&f->bins, &f->blocks[i]);
    else
        larder__bins_insert(&f->bins, &f->blocks[i]);
    f->is_in[i] = true;
}

static void drop(struct fixture *f, uint32_t i)
{
    struct block *b = &f->blocks[i];

    if (f->bins.prefers_lists)
        bins_remove_listed(&f->bins, bins_class(b->bytes), b);
    else
        larder__bins_remove(&f->bins, b);
    f->is_in[i] = false;
}

static bool is_before(const struct block *x, const struct block *y)
{
    return x->bytes != y->bytes ? x->bytes < y->bytes : x->addr < y->addr;
}

/* The first block not before key, or the last before it. */
static struct block *expected(struct fixture *f, const struct block *key,
                              bool before)
{
    struct block *found = NULL;

    for (uint32_t i = 0; i < BLOCKS; i++) {
        struct block *b = &f->blocks[i];

        if (!f->is_in[i] || is_before(b, key) != before)
            continue;
        if (found == NULL || is_before(b, found) != before)
            found = b;
    }
    return found;
}

static void look(struct fixture *f)
{
    struct block key = {
        .bytes = (uint64_t)fixture_random(f, SIZES + 2) << BINS_UNIT_LOG2,
        .addr = f->blocks[fixture_random(f, BLOCKS)].addr,
    };

    assert_ptr_equal(larder__bins_not_before(&f->bins, key.bytes, key.addr),
                     expected(f, &key, false));
    assert_ptr_equal(larder__bins_before(&f->bins, key.bytes, key.addr),
                     expected(f, &key, true));
}

static void assert_empty(const struct bins *bins)
{
    assert_int_equal(bins->some, 0);
    for (unsigned w = 0; w < BINS_WORDS; w++) {
        assert_int_equal(bins->used[w], 0);
        assert_int_equal(bins->listed[w], 0);
    }
    for (unsigned i = 0; i < BINS_COUNT; i++)
        assert_null(bins->roots[i]);
}

/* Blocks come and go; now and then someone looks, in order. */
static void random_rounds(bool prefers_lists)
{
    struct fixture *f = fixture_make(prefers_lists);

    for (int round = 0; round < ROUNDS; round++) {
        uint32_t i = fixture_random(f, BLOCKS);

        if (f->is_in[i])
            drop(f, i);
        else
            put(f, i);
        if (round % 50 == 0)
            look(f);
    }
    for (uint32_t i = 0; i < BLOCKS; i++) {
        if (f->is_in[i])
            drop(f, i);
    }
    assert_empty(&f->bins);
    free(f);
}

static void trees_are_one_ordered_set(void **state)
{
    (void)state;
    random_rounds(false);
}

static void lists_are_ordered_when_looked_at(void **state)
{
    (void)state;
    random_rounds(true);
}

static void a_list_becomes_a_tree_until_it_is_empty(void **state)
{
    struct fixture *f = fixture_make(true);
    unsigned i;

    (void)state;
    f->blocks[1].bytes = f->blocks[0].bytes;
    i = bins_class(f->blocks[0].bytes);
    put(f, 0);
    assert_true(bins_is_list(&f->bins, i));
    (void)larder__bins_not_before(&f->bins, 0, 0);
    assert_false(bins_is_list(&f->bins, i));
    put(f, 1);
    assert_false(bins_is_list(&f->bins, i));
    drop(f, 0);
    drop(f, 1);
    put(f, 1);
    assert_true(bins_is_list(&f->bins, i));
    free(f);
}

static void trees_stay_trees_where_lists_are_not_wanted(void **state)
{
    struct fixture *f = fixture_make(false);

    (void)state;
    for (uint32_t i = 0; i < BLOCKS; i++)
        put(f, i);
    for (unsigned w = 0; w < BINS_WORDS; w++)
        assert_int_equal(f->bins.listed[w], 0);
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_are_one_ordered_set),
        cmocka_unit_test(lists_are_ordered_when_looked_at),
        cmocka_unit_test(a_list_becomes_a_tree_until_it_is_empty),
        cmocka_unit_test(trees_stay_trees_where_lists_are_not_wanted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
