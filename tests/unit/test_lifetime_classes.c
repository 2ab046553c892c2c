/* What becomes of sizes is learned: in eras, by classes, and unlearned. */
#include "support/rig.h"

#include "core/lifetime_classes.h"

/* As lifetime_classes.c has it. */
enum { ERA = 1000 };

static struct lifetimes *lifetimes_new(void)
{
    return test_calloc(1, sizeof(struct lifetimes));
}

/* A block of so many bytes that is from the current era. */
static struct block make(struct lifetimes *l, uint64_t bytes)
{
    struct block b = {.bytes = bytes};

    larder__lifetimes_make(l, &b);
    return b;
}

static void make_and_free(struct lifetimes *l, uint64_t bytes)
{
    struct block b = make(l, bytes);

    lifetimes_give(l, &b);
}

/* Requests of another size, freed at once, until so many eras have passed. */
static void pass_eras(struct lifetimes *l, unsigned eras)
{
    for (unsigned i = 0; i < eras * ERA; i++)
        make_and_free(l, GIB(4));
}

static void classes_are_quarters_of_powers_of_two(void **state)
{
    (void)state;
    assert_int_equal(lifetime_class(0), lifetime_class(1));
    assert_int_equal(lifetime_class(256), 0);
    assert_int_equal(lifetime_class(1024), lifetime_class(1024 + 255));
    assert_int_equal(lifetime_class(MIB(4)), lifetime_class(MIB(5) - 1));
    assert_int_equal(lifetime_class(MIB(5)), lifetime_class(MIB(4)) + 1);
    assert_int_equal(lifetime_class(MIB(8)), lifetime_class(MIB(4)) + 4);
    assert_true(lifetime_class(UINT64_MAX) == LIFETIME_CLASSES - 1);
}

static void nothing_is_known_at_first(void **state)
{
    struct lifetimes *l = lifetimes_new();

    (void)state;
    for (int i = 0; i < 100; i++)
        make(l, MIB(1));
    assert_false(lifetimes_is_long(l, MIB(1)));
    test_free(l);
}

static void what_outlives_an_era_is_long(void **state)
{
    struct lifetimes *l = lifetimes_new();

    (void)state;
    for (int i = 0; i < 100; i++)
        make(l, MIB(1));
    pass_eras(l, 1);
    assert_false(lifetimes_is_long(l, MIB(1))); /* some may be young */
    pass_eras(l, 1);
    assert_true(lifetimes_is_long(l, MIB(1)));
    assert_false(lifetimes_is_long(l, MIB(2)));
    assert_false(lifetimes_is_long(l, GIB(4)));
    test_free(l);
}

static void what_dies_within_an_era_is_not(void **state)
{
    struct lifetimes *l = lifetimes_new();
    struct block blocks[100];

    (void)state;
    for (int i = 0; i < 100; i++)
        blocks[i] = make(l, MIB(1));
    pass_eras(l, 1);
    for (int i = 0; i < 13; i++) /* more than an eighth */
        lifetimes_give(l, &blocks[i]);
    pass_eras(l, 1);
    assert_false(lifetimes_is_long(l, MIB(1)));
    test_free(l);
}

static void an_eighth_may_die(void **state)
{
    struct lifetimes *l = lifetimes_new();

    (void)state;
    for (int i = 0; i < 88; i++)
        make(l, MIB(1));
    for (int i = 0; i < 12; i++)
        make_and_free(l, MIB(1));
    pass_eras(l, 2);
    assert_true(lifetimes_is_long(l, MIB(1)));
    test_free(l);
}

static void a_late_death_does_not_count(void **state)
{
    struct lifetimes *l = lifetimes_new();
    struct block blocks[100];

    (void)state;
    for (int i = 0; i < 100; i++)
        blocks[i] = make(l, MIB(1));
    pass_eras(l, 2);
    for (int i = 0; i < 100; i++)
        make(l, MIB(1));
    for (int i = 0; i < 100; i++)
        lifetimes_give(l, &blocks[i]);
    pass_eras(l, 2);
    assert_true(lifetimes_is_long(l, MIB(1)));
    test_free(l);
}

static void few_tell_nothing(void **state)
{
    struct lifetimes *l = lifetimes_new();

    (void)state;
    for (int i = 0; i < 3; i++)
        make(l, MIB(1));
    pass_eras(l, 2);
    assert_false(lifetimes_is_long(l, MIB(1)));
    for (int i = 0; i < 4; i++)
        make(l, MIB(1));
    pass_eras(l, 2);
    assert_true(lifetimes_is_long(l, MIB(1)));
    for (int i = 0; i < 3; i++)
        make_and_free(l, MIB(1));
    pass_eras(l, 2);
    assert_true(lifetimes_is_long(l, MIB(1)));
    test_free(l);
}

/* Nothing to keep apart from. */
static void where_all_stays_nothing_is_long(void **state)
{
    struct lifetimes *l = lifetimes_new();

    (void)state;
    for (int i = 0; i < 3 * ERA; i++)
        make(l, MIB(1));
    assert_false(lifetimes_is_long(l, MIB(1)));
    for (int i = 0; i < 3 * ERA / 4; i++) { /* a quarter dies */
        for (int k = 0; k < 3; k++)
            make(l, MIB(1));
        make_and_free(l, GIB(4));
    }
    assert_true(lifetimes_is_long(l, MIB(1)));
    test_free(l);
}

static void what_was_long_can_become_short(void **state)
{
    struct lifetimes *l = lifetimes_new();

    (void)state;
    for (int i = 0; i < 100; i++)
        make(l, MIB(1));
    pass_eras(l, 2);
    for (int i = 0; i < 100; i++)
        make_and_free(l, MIB(1));
    pass_eras(l, 2);
    assert_false(lifetimes_is_long(l, MIB(1)));
    test_free(l);
}

/* A block of no era counts nowhere. */
static void forgotten_blocks_do_not_count(void **state)
{
    struct lifetimes *l = lifetimes_new();

    (void)state;
    for (int i = 0; i < 100; i++) {
        struct block b = make(l, MIB(1));

        b.is_long = true;
        lifetimes_forget(&b);
        assert_false(b.is_long);
        lifetimes_give(l, &b);
    }
    pass_eras(l, 2);
    assert_true(lifetimes_is_long(l, MIB(1)));
    test_free(l);
}

static void the_last_era_is_followed_by_a_first(void **state)
{
    struct lifetimes *l = lifetimes_new();

    (void)state;
    l->era = UINT32_MAX;
    pass_eras(l, 2);
    assert_true(l->era != 0 && l->era < 4);
    for (int i = 0; i < 100; i++)
        make(l, MIB(1));
    pass_eras(l, 2);
    assert_true(lifetimes_is_long(l, MIB(1)));
    test_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_quarters_of_powers_of_two),
        cmocka_unit_test(nothing_is_known_at_first),
        cmocka_unit_test(what_outlives_an_era_is_long),
        cmocka_unit_test(what_dies_within_an_era_is_not),
        cmocka_unit_test(an_eighth_may_die),
        cmocka_unit_test(a_late_death_does_not_count),
        cmocka_unit_test(few_tell_nothing),
        cmocka_unit_test(where_all_stays_nothing_is_long),
        cmocka_unit_test(what_was_long_can_become_short),
        cmocka_unit_test(forgotten_blocks_do_not_count),
        cmocka_unit_test(the_last_era_is_followed_by_a_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
