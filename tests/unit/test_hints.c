/* test_hints.c - lifetime hints: long-lived allocations get ranges of their
 * own, so that short-lived ones leave whole pages free; elsewhere hints change
 * nothing. */
#include "support/rig.h"

#include <larder/hint.h>

#define SPEC "sim:256MiB,backing=none,events=immediate"

static struct rig up(const char *conf)
{
    return rig_up_pages(SPEC, LARDER_POLICY_LARDER, conf);
}

static larder_addr alloc_hinted(struct rig *rig, uint64_t bytes,
                                larder_hint hint)
{
    larder_addr addr = 0;

    assert_ok(larder_alloc_hinted(rig->a, bytes, 0, hint, &addr));
    return addr;
}

/* ---- the call ------------------------------------------------------------- */

static void an_allocation_with_a_hint_is_like_any_other(void **state)
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
            larder_alloc_hinted(rig.a, MIB(257), 0, (larder_hint)hint, &addr));
    }
    rig_down(&rig);
}

static void an_invalid_hint_is_refused(void **state)
{
    struct rig rig = up("");
    larder_addr addr;

    (void)state;
    assert_refused(LARDER_ERR_INVALID,
                   larder_alloc_hinted(rig.a, 1000, 0, (larder_hint)3, &addr),
                   "3 is not a hint: expected LARDER_HINT_NONE");
    assert_result(LARDER_ERR_INVALID,
                  larder_alloc_hinted(rig.a, 1000, 0, LARDER_HINT_LONG, NULL));
    assert_result(LARDER_ERR_INVALID,
                  larder_alloc_hinted(NULL, 1000, 0, LARDER_HINT_LONG, &addr));
    assert_int_equal(rig_stats(&rig).allocation.all.allocated, 0);
    rig_down(&rig);
}

/* Small requests share pages anyway, so a hint does not separate them. */
static void small_requests_stay_together(void **state)
{
    struct rig rig = up("");
    larder_addr addr = 0;

    (void)state;
    rig_free(&rig, addr = rig_alloc(&rig, 5000));
    for (int hint = LARDER_HINT_NONE; hint <= LARDER_HINT_SHORT; hint++) {
        assert_int_equal(alloc_hinted(&rig, 5000, (larder_hint)hint), addr);
        rig_free(&rig, addr);
    }
    rig_down(&rig);
}

/* ---- purpose --------------------------------------------------------------- */

enum { ROUNDS = 100, LARGE = 4, PAGES = 128 };

struct mixture {
    larder_addr large[LARGE];  /* short-lived */
    larder_addr small[ROUNDS]; /* long-lived: 75 MiB */
};

/* Short-lived large blocks and long-lived small ones, alternating. */
static void fill_in_turns(struct rig *rig, larder_hint of_large,
                          larder_hint of_small, struct mixture *m)
{
    memset(m, 0, sizeof *m);
    for (unsigned i = 0; i < ROUNDS; i++) {
        larder_addr *large = &m->large[i * 3 % LARGE];

        rig_free(rig, *large);
        *large = alloc_hinted(rig, MIB(2) + KIB(400) * (i % 5), of_large);
        m->small[i] = alloc_hinted(rig, KIB(768), of_small);
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

/* Completely free pages: the maximum that can be allocated at once. */
static int free_pages(struct rig *rig)
{
    for (int pages = PAGES; pages > 0; pages--) {
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

    fill_in_turns(&rig, of_large, of_small, &m);
    pages = free_pages(&rig);
    empty(&rig, &m);
    assert_int_equal(free_pages(&rig), PAGES);
    rig_down(&rig);
    return pages;
}

/* They fill 38 pages of 128. */
enum { MANY_LEFT = 86 };

static void long_lived_blocks_keep_few_pages(void **state)
{
    (void)state;
    assert_true(pages_left("", LARDER_HINT_SHORT, LARDER_HINT_LONG) >=
                MANY_LEFT);
    assert_true(pages_left("", LARDER_HINT_NONE, LARDER_HINT_LONG) >=
                MANY_LEFT);
    assert_true(pages_left("lifetimes:hints", LARDER_HINT_NONE,
                           LARDER_HINT_LONG) >= MANY_LEFT);
}

static void without_hints_more_pages_are_kept(void **state)
{
    (void)state;
    assert_true(pages_left("", LARDER_HINT_NONE, LARDER_HINT_NONE) < MANY_LEFT);
    assert_true(pages_left("", LARDER_HINT_NONE, LARDER_HINT_SHORT) <
                MANY_LEFT);
    assert_true(pages_left("lifetimes:off", LARDER_HINT_SHORT,
                           LARDER_HINT_LONG) < MANY_LEFT);
}

/* ---- without effect ---------------------------------------------------------- */

static void same_places(const char *spec, larder_policy policy)
{
    struct rig hinted = rig_up_pages(spec, policy, "");
    struct rig plain = rig_up_pages(spec, policy, "");
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

static void other_policies_and_devices_ignore_hints(void **state)
{
    (void)state;
    same_places(SPEC, LARDER_POLICY_PYTORCH);
    same_places(SPEC, LARDER_POLICY_DIRECT);
    same_places(SPEC ",vmm=off", LARDER_POLICY_LARDER);
}

/* The next owner of the memory has another hint. */
static void a_hint_ends_with_its_allocation(void **state)
{
    struct rig rig = up("");
    larder_addr hinted;
    larder_addr plain;

    (void)state;
    hinted = alloc_hinted(&rig, MIB(2), LARDER_HINT_LONG);
    rig_free(&rig, hinted);
    plain = rig_alloc(&rig, MIB(2));
    assert_int_not_equal(plain, hinted);
    rig_free(&rig, plain);
    assert_int_equal(alloc_hinted(&rig, MIB(2), LARDER_HINT_LONG), hinted);
    rig_free(&rig, hinted);
    rig_down(&rig);
}

/* One pool uses the other's free memory if the device has no more. */
static void a_hint_never_costs_the_request(void **state)
{
    struct rig rig = up("");

    (void)state;
    rig_free(&rig, rig_alloc(&rig, MIB(250)));
    rig_free(&rig, alloc_hinted(&rig, MIB(250), LARDER_HINT_LONG));
    rig_free(&rig, rig_alloc(&rig, MIB(250)));
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allocation_with_a_hint_is_like_any_other),
        cmocka_unit_test(an_invalid_hint_is_refused),
        cmocka_unit_test(small_requests_stay_together),
        cmocka_unit_test(long_lived_blocks_keep_few_pages),
        cmocka_unit_test(without_hints_more_pages_are_kept),
        cmocka_unit_test(a_hint_ends_with_its_allocation),
        cmocka_unit_test(a_hint_never_costs_the_request),
        cmocka_unit_test(other_policies_and_devices_ignore_hints),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
