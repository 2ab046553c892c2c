/* test_bins.c - the free blocks of a heap by size, checked against a plain
 * array. */
#include "support/rig.h"

#include "core/heap/bins.h"

enum { BLOCKS = 3000, SIZES = 400, SERIALS = 5, ROUNDS = 20000 };

struct fixture {
    struct bins bins;
    struct slab slab;
    struct block *blocks[BLOCKS];
    bool is_in[BLOCKS];
    uint64_t seed;
    unsigned scale_log2; /* sizes are multiples of 2^this */
};

static uint32_t fixture_random(struct fixture *f, uint32_t below)
{
    f->seed = f->seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(f->seed >> 33) % below;
}

/* Sizes that are alone in their bins, and sizes that share one. */
static struct fixture *fixture_make(enum tree_order order, unsigned scale_log2)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    f->seed = 1;
    f->bins.order = order;
    f->scale_log2 = scale_log2;
    larder__slab_init(&f->slab);
    f->slab.has_serials = true;
    assert_true(larder__slab_ensure(&f->slab, BLOCKS));
    for (uint32_t i = 0; i < BLOCKS; i++) {
        uint64_t units = 1 + fixture_random(f, SIZES);

        f->blocks[i] = larder__slab_take(&f->slab);
        slab_set_serial(f->blocks[i], fixture_random(f, SERIALS));
        f->blocks[i]->addr = (uint64_t)fixture_random(f, 1 << 20) * BLOCKS + i;
        f->blocks[i]->bytes = units << scale_log2;
    }
    return f;
}

static void put(struct fixture *f, uint32_t i)
{
    larder__bins_insert(&f->bins, f->blocks[i]);
    f->is_in[i] = true;
}

static void drop(struct fixture *f, uint32_t i)
{
    larder__bins_remove(&f->bins, f->blocks[i]);
    f->is_in[i] = false;
}

static bool is_before(const struct fixture *f, const struct block *x,
                      struct tree_key y)
{
    if (x->bytes != y.bytes)
        return x->bytes < y.bytes;
    if (f->bins.order == TREE_BY_SERIAL && slab_serial(x) != y.serial)
        return slab_serial(x) < y.serial;
    return x->addr < y.addr;
}

/* The first block not before key, or the last before it. */
static struct block *expected(struct fixture *f, struct tree_key key,
                              bool before)
{
    struct block *found = NULL;

    for (uint32_t i = 0; i < BLOCKS; i++) {
        struct block *b = f->blocks[i];

        if (!f->is_in[i] || is_before(f, b, key) != before)
            continue;
        if (found == NULL ||
            is_before(f, b, bins_key(&f->bins, found)) != before)
            found = b;
    }
    return found;
}

static void look(struct fixture *f)
{
    struct tree_key key = {
        .serial = fixture_random(f, SERIALS),
        .bytes = (uint64_t)fixture_random(f, SIZES + 2) << f->scale_log2,
        .addr = f->blocks[fixture_random(f, BLOCKS)]->addr,
    };

    assert_ptr_equal(larder__bins_not_before(&f->bins, key),
                     expected(f, key, false));
    assert_ptr_equal(larder__bins_before(&f->bins, key),
                     expected(f, key, true));
}

static void assert_empty(const struct bins *bins)
{
    assert_int_equal(bins->some, 0);
    for (unsigned w = 0; w < BINS_WORDS; w++)
        assert_int_equal(bins->used[w], 0);
    for (unsigned i = 0; i < BINS_COUNT; i++)
        assert_null(bins->roots[i]);
}

/* Insert and remove blocks, with a search now and then. */
static void use(enum tree_order order, unsigned scale_log2)
{
    struct fixture *f = fixture_make(order, scale_log2);

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
    larder__slab_destroy(&f->slab);
    free(f);
}

/* One block alone is found from each side, and from no other. */
static void a_single_block_is_found_from_every_size(void **state)
{
    struct fixture *f = fixture_make(TREE_BY_SIZE, BINS_UNIT_LOG2);

    (void)state;
    for (uint64_t own = 1; own <= SIZES; own += 7) {
        f->blocks[0]->bytes = own << BINS_UNIT_LOG2;
        put(f, 0);
        for (uint64_t units = 0; units <= SIZES + 1; units++) {
            struct tree_key key = {.bytes = units << BINS_UNIT_LOG2};
            bool is_above = units > own;

            assert_ptr_equal(larder__bins_not_before(&f->bins, key),
                             is_above ? NULL : f->blocks[0]);
            assert_ptr_equal(larder__bins_before(&f->bins, key),
                             is_above ? f->blocks[0] : NULL);
        }
        drop(f, 0);
    }
    assert_empty(&f->bins);
    larder__slab_destroy(&f->slab);
    free(f);
}

static void bins_are_one_ordered_set(void **state)
{
    (void)state;
    use(TREE_BY_SIZE, BINS_UNIT_LOG2);
}

static void blocks_can_be_ordered_by_age_before_address(void **state)
{
    (void)state;
    use(TREE_BY_SERIAL, BINS_UNIT_LOG2);
}

/* They all fall into the last bin. */
static void sizes_beyond_all_addresses_are_in_order_too(void **state)
{
    (void)state;
    use(TREE_BY_SIZE, BINS_TOP_LOG2 - 7);
    use(TREE_BY_SERIAL, BINS_TOP_LOG2 + 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_block_is_found_from_every_size),
        cmocka_unit_test(bins_are_one_ordered_set),
        cmocka_unit_test(blocks_can_be_ordered_by_age_before_address),
        cmocka_unit_test(sizes_beyond_all_addresses_are_in_order_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
