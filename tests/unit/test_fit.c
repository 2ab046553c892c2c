/* test_fit.c - free blocks in lists by size class, checked against a plain
 * array. */
#include "support/rig.h"

#include "core/heap/fit.h"

enum { BLOCKS = 2000, ROUNDS = 40000 };

struct fixture {
    struct fit fit;
    struct block blocks[BLOCKS];
    bool is_in[BLOCKS];
    uint64_t seed;
};

static uint64_t fixture_random(struct fixture *f, uint64_t below)
{
    f->seed = f->seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (f->seed >> 20) % below;
}

/* Sizes of every magnitude, from the smallest to a terabyte. */
static uint64_t any_size(struct fixture *f)
{
    uint64_t bytes = fixture_random(f, UINT64_C(1) << fixture_random(f, 41));

    return (bytes >> FIT_UNIT_LOG2 << FIT_UNIT_LOG2) +
           (UINT64_C(1) << FIT_UNIT_LOG2);
}

static struct fixture *fixture_make(void)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    f->seed = 1;
    for (uint32_t i = 0; i < BLOCKS; i++)
        f->blocks[i].bytes = any_size(f);
    return f;
}

/* The smallest class that has a block of at least `bytes`. */
static unsigned expected_class(const struct fixture *f, uint64_t bytes)
{
    unsigned best = FIT_CLASSES;

    for (uint32_t i = 0; i < BLOCKS; i++) {
        if (f->is_in[i] && f->blocks[i].bytes >= bytes &&
            fit_class(f->blocks[i].bytes) < best)
            best = fit_class(f->blocks[i].bytes);
    }
    return best;
}

static void look(struct fixture *f, unsigned looks)
{
    uint64_t bytes = any_size(f);
    unsigned best = expected_class(f, bytes);
    const struct block *b = fit_find(&f->fit, bytes, looks);

    if (best == FIT_CLASSES) {
        assert_null(b);
        return;
    }
    assert_non_null(b);
    assert_true(b->bytes >= bytes);
    /* With few looks, a block of the request's own class may be missed. */
    if (looks == BLOCKS || best > fit_class(bytes))
        assert_int_equal(fit_class(b->bytes), best);
}

static void toggle(struct fixture *f, uint64_t i)
{
    if (f->is_in[i])
        fit_remove(&f->fit, &f->blocks[i]);
    else
        fit_insert(&f->fit, &f->blocks[i]);
    f->is_in[i] = !f->is_in[i];
}

static void a_block_of_the_smallest_class_that_fits_is_found(void **state)
{
    struct fixture *f = fixture_make();

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        toggle(f, fixture_random(f, BLOCKS));
        if (round % 20 == 0)
            look(f, round % 40 == 0 ? BLOCKS : 1);
    }
    for (uint64_t i = 0; i < BLOCKS; i++) {
        if (f->is_in[i])
            toggle(f, i);
    }
    assert_int_equal(f->fit.some, 0);
    assert_int_equal(fit_next_used(&f->fit, 0), FIT_CLASSES);
    free(f);
}

/* How many blocks there are of the class of `bytes` and above. */
static uint32_t expected_from(const struct fixture *f, uint64_t bytes)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < BLOCKS; i++)
        count +=
            f->is_in[i] && fit_class(f->blocks[i].bytes) >= fit_class(bytes);
    return count;
}

static void blocks_from_a_size_on_are_visited_once_each(void **state)
{
    struct fixture *f = fixture_make();

    (void)state;
    assert_null(fit_from(&f->fit, 0).block);
    for (int round = 0; round < 200; round++) {
        uint64_t bytes = any_size(f);
        uint32_t count = 0;
        unsigned at = fit_class(bytes);

        for (int i = 0; i < 50; i++)
            toggle(f, fixture_random(f, BLOCKS));
        for (struct fit_place p = fit_from(&f->fit, bytes); p.block != NULL;
             p = fit_after(&f->fit, p), count++) {
            assert_true(f->is_in[p.block - f->blocks] && p.class >= at);
            at = fit_class(p.block->bytes);
            assert_int_equal(at, p.class);
        }
        assert_int_equal(count, expected_from(f, bytes));
    }
    free(f);
}

static void classes_grow_with_the_size(void **state)
{
    unsigned before = 0;

    (void)state;
    for (uint64_t units = 1; units < UINT64_C(1) << 34;
         units += units / 40 + 1) {
        unsigned i = fit_class(units << FIT_UNIT_LOG2);

        assert_true(i >= before && i < FIT_CLASSES);
        /* Below 8 KiB each size has its own class. */
        assert_true(units >= 32 || i == units);
        before = i;
    }
}

static void the_last_block_given_back_is_found_first(void **state)
{
    struct fixture *f = fixture_make();

    (void)state;
    for (int i = 0; i < 3; i++) {
        f->blocks[i].bytes = 1 << 20;
        fit_insert(&f->fit, &f->blocks[i]);
    }
    assert_ptr_equal(fit_find(&f->fit, 1 << 20, 1), &f->blocks[2]);
    fit_remove(&f->fit, &f->blocks[2]);
    assert_ptr_equal(fit_find(&f->fit, 1 << 20, 1), &f->blocks[1]);
    fit_remove(&f->fit, &f->blocks[0]); /* not the first */
    assert_ptr_equal(fit_find(&f->fit, 1 << 20, 1), &f->blocks[1]);
    assert_null(f->blocks[1].left);
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_of_the_smallest_class_that_fits_is_found),
        cmocka_unit_test(blocks_from_a_size_on_are_visited_once_each),
        cmocka_unit_test(classes_grow_with_the_size),
        cmocka_unit_test(the_last_block_given_back_is_found_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
