/* Hints at lifetimes: what lives long is kept together where memory is tight,
 * by hint or by what became of its size; elsewhere they change nothing. */
#include "core/allocator.h"
#include "core/handle.h"
#include "support/rig.h"

#include <larder/hint.h>

#define SPEC "sim:64MiB,backing=none,events=immediate"

static struct rig up(const char *conf)
{
    return rig_up_policy(SPEC, LARDER_POLICY_LARDER, conf);
}

static larder_addr alloc_hinted(struct rig *rig, uint64_t bytes,
                                larder_hint hint)
{
    larder_addr addr = 0;

    assert_ok(larder_alloc_hinted(rig->a, bytes, 0, hint, &addr));
    return addr;
}

/* More than a third of the device was in use: placement decides. */
static void make_tight(struct rig *rig)
{
    rig_free(rig, rig_alloc(rig, MIB(40)));
}

/* ---- the call ------------------------------------------------------------- */

static void it_allocates_like_any_other(void **state)
{
    struct rig rig = up("");
    larder_addr addr = 1;

    (void)state;
    for (int hint = LARDER_HINT_NONE; hint <= LARDER_HINT_SHORT; hint++) {
        assert_ok(larder_alloc_hinted(rig.a, 0, 0, (larder_hint)hint, &addr));
        assert_int_equal(addr, 0);
        addr = alloc_hinted(&rig, 1000, (larder_hint)hint);
        assert_int_not_equal(addr, 0);
        assert_int_equal(rig_stats(&rig).requested_bytes.all.current, 1000);
        rig_free(&rig, addr);
        assert_result(
            LARDER_ERR_OUT_OF_MEMORY,
            larder_alloc_hinted(rig.a, MIB(65), 0, (larder_hint)hint, &addr));
    }
    rig_down(&rig);
}

static void what_is_no_hint_is_refused(void **state)
{
    struct rig rig = up("");
    larder_addr addr;

    (void)state;
    assert_refused(LARDER_ERR_INVALID,
                   larder_alloc_hinted(rig.a, 1000, 0, (larder_hint)3, &addr),
                   "3 is no hint; expected LARDER_HINT_NONE");
    assert_result(LARDER_ERR_INVALID,
                  larder_alloc_hinted(rig.a, 1000, 0, LARDER_HINT_LONG, NULL));
    assert_result(LARDER_ERR_INVALID,
                  larder_alloc_hinted(NULL, 1000, 0, LARDER_HINT_LONG, &addr));
    assert_int_equal(rig_stats(&rig).allocation.all.allocated, 0);
    rig_down(&rig);
}

/* A stream's kept blocks answer a hint, too: the shortest way. */
static void a_hit_is_a_hit(void **state)
{
    struct rig rig = up("");
    larder_addr addr = 0;

    (void)state;
    for (int i = 0; i < 3; i++) /* a size is kept from the second on */
        rig_free(&rig, addr = rig_alloc(&rig, 5000));
    for (int hint = LARDER_HINT_NONE; hint <= LARDER_HINT_SHORT; hint++) {
        assert_int_equal(alloc_hinted(&rig, 5000, (larder_hint)hint), addr);
        rig_free(&rig, addr);
    }
    rig_down(&rig);
}

/* ---- what it is for -------------------------------------------------------- */

enum { ROUNDS = 40, LARGE = 4 };

struct mixture {
    larder_addr large[LARGE];  /* that come and go */
    larder_addr small[ROUNDS]; /* that stay: 10 MiB */
};

/* Large blocks that go soon and small ones that stay, in turns. */
static void fill_in_turns(struct rig *rig, larder_hint of_large,
                          larder_hint of_small, struct mixture *m)
{
    memset(m, 0, sizeof *m);
    for (unsigned i = 0; i < ROUNDS; i++) {
        larder_addr *large = &m->large[i * 3 % LARGE];

        rig_free(rig, *large);
        *large = alloc_hinted(rig, MIB(2) + KIB(400) * (i % 5), of_large);
        m->small[i] = alloc_hinted(rig, KIB(256), of_small);
    }
    for (int i = 0; i < LARGE; i++)
        rig_free(rig, m->large[i]);
    assert_ok(larder_check(rig->a));
}

static void empty(struct rig *rig, struct mixture *m)
{
    for (int i = 0; i < ROUNDS; i++)
        rig_free(rig, m->small[i]);
}

/* Pages that nothing is in: the most that can be had at once. */
static int free_pages(struct rig *rig)
{
    for (int pages = 32; pages > 0; pages--) {
        larder_addr addr;

        if (larder_alloc(rig->a, MIB(2) * (uint64_t)pages, 0, &addr) ==
            LARDER_OK) {
            rig_free(rig, addr);
            return pages;
        }
    }
    return 0;
}

static int pages_left(const char *conf, larder_hint of_large,
                      larder_hint of_small)
{
    struct rig rig = up(conf);
    struct mixture m;
    int pages;

    make_tight(&rig);
    fill_in_turns(&rig, of_large, of_small, &m);
    pages = free_pages(&rig);
    empty(&rig, &m);
    assert_int_equal(free_pages(&rig), 32);
    rig_down(&rig);
    return pages;
}

/* They fill five pages of 32. */
enum { MANY_LEFT = 25 };

static void what_lives_long_keeps_few_pages(void **state)
{
    (void)state;
    assert_true(pages_left("", LARDER_HINT_SHORT, LARDER_HINT_LONG) >=
                MANY_LEFT);
    assert_true(pages_left("", LARDER_HINT_NONE, LARDER_HINT_LONG) >=
                MANY_LEFT);
    assert_true(pages_left("lifetimes:hints", LARDER_HINT_NONE,
                           LARDER_HINT_LONG) >= MANY_LEFT);
}

static void without_a_hint_it_keeps_more(void **state)
{
    (void)state;
    assert_true(pages_left("", LARDER_HINT_NONE, LARDER_HINT_NONE) < MANY_LEFT);
    assert_true(pages_left("", LARDER_HINT_NONE, LARDER_HINT_SHORT) <
                MANY_LEFT);
    assert_true(pages_left("lifetimes:off", LARDER_HINT_SHORT,
                           LARDER_HINT_LONG) < MANY_LEFT);
}

/* Whether a long-lived block, asked for when it is tight, lies beside one
 * that was asked for when it was not, as `of_first`. */
static int joins_the_first(larder_hint of_first)
{
    struct rig rig = up("");
    larder_addr hole = rig_alloc(&rig, MIB(3));
    larder_addr fence = rig_alloc(&rig, MIB(1));
    larder_addr first;
    larder_addr next;

    rig_free(&rig, hole); /* all there: hits come out of it */
    first = alloc_hinted(&rig, KIB(256), of_first);
    make_tight(&rig);
    next = alloc_hinted(&rig, KIB(256), LARDER_HINT_LONG);
    rig_free(&rig, first);
    rig_free(&rig, next);
    rig_free(&rig, fence);
    rig_down(&rig);
    return next == first + KIB(256) || next + KIB(256) == first;
}

static void hints_count_that_were_given_before_it_was_tight(void **state)
{
    (void)state;
    assert_true(joins_the_first(LARDER_HINT_LONG));
    assert_false(joins_the_first(LARDER_HINT_NONE));
    assert_false(joins_the_first(LARDER_HINT_SHORT));
}

/* ---- learning --------------------------------------------------------------- */

/* Two eras and more in which blocks of the small ones' size stay, and others
 * do not. */
static void teach(struct rig *rig)
{
    larder_addr kept[8];

    for (int i = 0; i < 8; i++)
        kept[i] = rig_alloc(rig, KIB(256));
    for (int i = 0; i < 2500; i++)
        rig_free(rig, rig_alloc(rig, KIB(1536)));
    for (int i = 0; i < 8; i++)
        rig_free(rig, kept[i]);
}

static int pages_left_when_taught(const char *conf, larder_hint of_small)
{
    struct rig rig = up(conf);
    struct mixture m;
    int pages;

    make_tight(&rig);
    teach(&rig);
    fill_in_turns(&rig, LARDER_HINT_NONE, of_small, &m);
    pages = free_pages(&rig);
    empty(&rig, &m);
    rig_down(&rig);
    return pages;
}

static void sizes_that_stayed_keep_few_pages(void **state)
{
    (void)state;
    assert_true(pages_left_when_taught("lifetimes:learn", LARDER_HINT_NONE) >=
                MANY_LEFT);
    assert_true(pages_left_when_taught("", LARDER_HINT_NONE) >= MANY_LEFT);
}

static void hints_and_settings_overrule_what_was_learned(void **state)
{
    (void)state;
    assert_true(pages_left_when_taught("", LARDER_HINT_SHORT) < MANY_LEFT);
    assert_true(pages_left_when_taught("lifetimes:hints", LARDER_HINT_NONE) <
                MANY_LEFT);
    assert_true(pages_left_when_taught("lifetimes:off", LARDER_HINT_NONE) <
                MANY_LEFT);
}

/* Later, those of the size are not kept apart. */
static void assert_left_alone(struct rig *rig)
{
    struct mixture m;

    for (int i = 0; i < 2500; i++)
        rig_free(rig, rig_alloc(rig, KIB(1536)));
    fill_in_turns(rig, LARDER_HINT_NONE, LARDER_HINT_NONE, &m);
    assert_true(free_pages(rig) < MANY_LEFT);
    empty(rig, &m);
}

static void sizes_that_did_not_stay_are_left_alone(void **state)
{
    struct rig rig = up("");

    (void)state;
    make_tight(&rig);
    for (int i = 0; i < 8; i++)
        rig_free(&rig, rig_alloc(&rig, KIB(256)));
    assert_left_alone(&rig);
    rig_down(&rig);
}

/* Blocks that wait for a recorded stream die as well. */
static void what_waited_for_a_stream_is_counted(void **state)
{
    struct rig rig = up("");

    (void)state;
    make_tight(&rig);
    for (int i = 0; i < 8; i++) {
        larder_addr addr = rig_alloc(&rig, KIB(256));

        assert_ok(larder_record_stream(rig.a, addr, 1));
        rig_free(&rig, addr);
    }
    assert_left_alone(&rig);
    rig_down(&rig);
}

/* ---- where it changes nothing ------------------------------------------------ */

static void same_places(const char *spec, larder_policy policy)
{
    struct rig hinted = rig_up_policy(spec, policy, "");
    struct rig plain = rig_up_policy(spec, policy, "");
    larder_addr live[2][16] = {{0}};
    larder_addr bases[2];
    larder_addr second;

    assert_ok(larder_sim_regions(hinted.dev, &bases[0], &second));
    assert_ok(larder_sim_regions(plain.dev, &bases[1], &second));
    for (unsigned i = 0; i < 400; i++) {
        unsigned k = i * 7 % 16;
        uint64_t bytes = i % 3 == 0 ? KIB(1100 + i) : 600 * (i + 1);
        larder_hint hint = i % 2 == 0 ? LARDER_HINT_LONG : LARDER_HINT_SHORT;

        rig_free(&hinted, live[0][k]);
        rig_free(&plain, live[1][k]);
        live[0][k] = alloc_hinted(&hinted, bytes, hint);
        live[1][k] = rig_alloc(&plain, bytes);
        assert_int_equal(live[0][k] - bases[0], live[1][k] - bases[1]);
    }
    for (int k = 0; k < 16; k++) {
        rig_free(&hinted, live[0][k]);
        rig_free(&plain, live[1][k]);
    }
    rig_down(&hinted);
    rig_down(&plain);
}

static void other_policies_and_devices_ignore_it(void **state)
{
    (void)state;
    same_places(SPEC, LARDER_POLICY_PYTORCH);
    same_places(SPEC, LARDER_POLICY_DIRECT);
    same_places(SPEC ",vmm=off", LARDER_POLICY_LARDER);
    same_places("sim:2GiB,backing=none,events=immediate",
                LARDER_POLICY_LARDER); /* memory is plentiful */
}

static struct block *block_at(struct rig *rig, larder_addr addr)
{
    struct allocator *a = handle_allocator(rig->a);

    return map_find(&a->map, &a->slab, addr);
}

/* Who has its memory next is another. */
static void a_hint_ends_with_its_allocation(void **state)
{
    struct rig rig = rig_up_policy("sim:64MiB,backing=none,events=immediate",
                                   LARDER_POLICY_LARDER, "");
    larder_addr addr;

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_ok(
            larder_alloc_hinted(rig.a, KIB(256), 0, LARDER_HINT_LONG, &addr));
        assert_true(block_at(&rig, addr)->is_long);
        rig_free(&rig, addr);
    }
    addr = rig_alloc(&rig, KIB(256));
    assert_false(block_at(&rig, addr)->is_long);
    rig_free(&rig, addr);
    rig_down(&rig);
}

/* Giving memory back makes it plentiful for a while: what is freed meanwhile
 * died all the same. */
static void deaths_count_while_it_is_not_tight(void **state)
{
    enum { COUNT = 20 };
    struct rig rig = rig_up_policy("sim:1GiB,backing=none,events=immediate",
                                   LARDER_POLICY_LARDER, "");
    larder_addr live[COUNT];

    (void)state;
    rig_free(&rig, rig_alloc(&rig, MIB(600)));
    for (int step = 0; step < 200; step++) {
        for (int i = 0; i < COUNT; i++)
            live[i] = rig_alloc(&rig, MIB(1));
        for (int i = 0; i < COUNT; i++)
            rig_free(&rig, rig_alloc(&rig, MIB(3)));
        assert_ok(larder_empty_cache(rig.a));
        for (int i = 0; i < COUNT; i++)
            rig_free(&rig, live[i]);
    }
    live[0] = rig_alloc(&rig, MIB(1));
    assert_false(lifetimes_is_long(
        &block_at(&rig, live[0])->segment->heap->lifetimes, MIB(1)));
    rig_free(&rig, live[0]);
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_allocates_like_any_other),
        cmocka_unit_test(what_is_no_hint_is_refused),
        cmocka_unit_test(a_hit_is_a_hit),
        cmocka_unit_test(what_lives_long_keeps_few_pages),
        cmocka_unit_test(without_a_hint_it_keeps_more),
        cmocka_unit_test(sizes_that_stayed_keep_few_pages),
        cmocka_unit_test(hints_and_settings_overrule_what_was_learned),
        cmocka_unit_test(sizes_that_did_not_stay_are_left_alone),
        cmocka_unit_test(what_waited_for_a_stream_is_counted),
        cmocka_unit_test(hints_count_that_were_given_before_it_was_tight),
        cmocka_unit_test(a_hint_ends_with_its_allocation),
        cmocka_unit_test(deaths_count_while_it_is_not_tight),
        cmocka_unit_test(other_policies_and_devices_ignore_it),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
