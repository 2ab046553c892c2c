/* test_slab.c - headers of blocks: as many as were asked for can be taken, at
 * every fill of the last chunk. */
#include "support/rig.h"

#include "core/block/slab.h"

enum { FIRST = 1 << SLAB_FIRST_LOG2, KEPT = 4 };

static uint32_t unused_of(const struct slab *slab)
{
    return slab->free_count + (slab->end - slab->untouched);
}

/* `left` headers of the first chunk are unused, `returned` of them used before. */
static void take_all_but(struct slab *slab, uint32_t left, uint32_t returned)
{
    struct block *back[KEPT];

    larder__slab_init(slab);
    assert_true(larder__slab_ensure(slab, 1));
    for (uint32_t i = 0; i < returned; i++)
        back[i] = larder__slab_take(slab);
    while (unused_of(slab) > left - returned)
        larder__slab_take(slab);
    for (uint32_t i = 0; i < returned; i++)
        slab_give(slab, back[i]);
    assert_int_equal(slab->end, FIRST);
    assert_int_equal(unused_of(slab), left);
}

static void as_many_as_were_asked_for_can_be_taken(void **state)
{
    (void)state;
    for (uint32_t left = 0; left <= KEPT; left++) {
        for (uint32_t returned = 0; returned <= left; returned++) {
            for (uint32_t count = 1; count <= KEPT + 1; count++) {
                struct slab slab;

                take_all_but(&slab, left, returned);
                assert_true(larder__slab_ensure(&slab, count));
                assert_true(unused_of(&slab) >= count);
                /* Only if they were too few. */
                assert_int_equal(slab.end > FIRST, left < count);
                larder__slab_destroy(&slab);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_as_were_asked_for_can_be_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
