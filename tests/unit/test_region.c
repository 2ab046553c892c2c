/* test_region.c - reserved addresses that are backed by memory where needed
 * (larder/region.h). */
#include "region_rig.h"

#include <larder/account.h>

static uint64_t at_hand(larder_region *region, uint64_t page, uint64_t count)
{
    uint64_t bytes = 0;

    assert_ok(larder_region_at_hand(region, page * PAGE, count * PAGE, &bytes));
    return bytes / PAGE;
}

/* Driver calls of every kind except queries. */
static uint64_t all_calls(struct rig *rig)
{
    larder_device_counters c = rig_counters(rig);
    uint64_t sum = 0;

    for (int i = 0; i < LARDER_CALL_COUNT; i++)
        sum += i == LARDER_CALL_mem_info ? 0 : c.calls[i];
    return sum;
}

/* ---- driver calls ---------------------------------------------------------- */

static void a_run_of_pages_takes_one_map_and_one_access(void **state)
{
    struct rig rig = up("sim:1GiB,backing=none");
    larder_region *kv = region_of(&rig, 200);

    (void)state;
    assert_ok(larder_device_reset_counters(rig.dev));
    commit(kv, 50, 100);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_page_create), 1);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_map), 1);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_set_access), 1);
    assert_int_equal(all_calls(&rig), 3);
    assert_int_equal(info_of(kv).committed_bytes, 100 * PAGE);
    assert_ok(larder_region_destroy(kv));
    rig_down(&rig);
}

static void committing_idle_pages_needs_no_driver_call(void **state)
{
    struct rig rig = up("sim:1GiB,backing=none");
    larder_region *kv = region_of(&rig, 200);

    (void)state;
    commit(kv, 0, 100);
    assert_ok(larder_device_reset_counters(rig.dev));
    decommit(kv, 20, 50);
    assert_int_equal(info_of(kv).committed_bytes, 50 * PAGE);
    assert_int_equal(info_of(kv).idle_bytes, 50 * PAGE);
    assert_int_equal(at_hand(kv, 0, 200), 100);
    commit(kv, 10, 30); /* partly committed already */
    commit(kv, 40, 30);
    assert_int_equal(all_calls(&rig), 0);
    assert_int_equal(info_of(kv).committed_bytes, 100 * PAGE);
    assert_ok(larder_check(rig.a));
    assert_ok(larder_region_destroy(kv));
    rig_down(&rig);
}

/* More blocks than the first 4096 headers, two at a time; beforehand one more or
 * none, so that once a single header is left. */
static void a_part_is_cut_out_whatever_headers_are_left(void **state)
{
    enum { PAGES = 4200 };

    (void)state;
    for (int odd = 0; odd < 2; odd++) {
        struct rig rig = up("sim:16GiB,backing=none");
        larder_region *kv = region_of(&rig, PAGES);

        commit(kv, 0, PAGES);
        if (odd)
            decommit(kv, 0, 1);
        for (uint64_t page = 2; page < PAGES - 1; page += 2)
            decommit(kv, page, 1);
        assert_ok(larder_check(rig.a));
        assert_ok(larder_region_destroy(kv));
        rig_down(&rig);
    }
}

static void handles_are_as_short_as_is_asked_for(void **state)
{
    struct rig rig = up("sim:1GiB,backing=none");
    larder_region_options opt;
    larder_region *kv;

    (void)state;
    larder_region_options_init(&opt);
    opt.handle_bytes = 4 * PAGE;
    assert_ok(larder_region_create(rig.a, 100 * PAGE, &opt, &kv));
    assert_ok(larder_device_reset_counters(rig.dev));
    commit(kv, 0, 10);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_map), 3);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_set_access), 1);
    decommit(kv, 0, 10);
    assert_ok(larder_region_destroy(kv));
    rig_down(&rig);
}

/* Under debug:3 each page can be taken away alone; a level less changes nothing. */
static void pages_are_handles_where_uses_are_looked_for(void **state)
{
    static const struct {
        const char *conf;
        uint64_t handles;
    } levels[] = {{"debug:1", 1}, {"debug:2", 1}, {"debug:3", 10}};

    (void)state;
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        struct rig rig = rig_up_policy("sim:40GiB,backing=none",
                                       LARDER_POLICY_LARDER, levels[i].conf);
        larder_region *kv = region_of(&rig, 100);

        assert_ok(larder_device_reset_counters(rig.dev));
        commit(kv, 0, 10);
        assert_int_equal(rig_calls(&rig, LARDER_CALL_page_create),
                         levels[i].handles);
        assert_ok(larder_region_destroy(kv));
        rig_down(&rig);
    }
}

/* ---- ownership ------------------------------------------------------------- */

/* Of what it has free a region gets what is beyond it. */
static void the_cache_keeps_its_minimum_from_a_region(void **state)
{
    for (uint64_t more = 0; more < 2; more++) {
        struct rig rig = rig_up_policy("sim:100MiB,backing=none,context=0",
                                       LARDER_POLICY_LARDER, "handle_mib:2");
        larder_region *kv = region_of(&rig, 40);

        (void)state;
        rig_free(&rig, rig_alloc(&rig, MIB(80)));
        assert_ok(larder_cache_set_minimum(rig.a, MIB(64)));
        if (more == 0) {
            commit(kv, 0, 18);
            assert_int_equal(rig_reserved(&rig), MIB(100));
        } else {
            assert_result(LARDER_ERR_OUT_OF_MEMORY,
                          larder_region_commit(kv, 0, 19 * PAGE));
        }
        assert_ok(larder_check(rig.a));
        rig_free(&rig, rig_alloc(&rig, MIB(64)));
        assert_ok(larder_region_destroy(kv));
        rig_down(&rig);
    }
}

static void idle_pages_serve_others_and_return(void **state)
{
    struct rig rig = up("sim:400MiB,backing=none");
    larder_region *kv = region_of(&rig, 200);
    larder_addr big;

    (void)state;
    for (uint64_t i = 0; i < 150; i += 10)
        commit(kv, i, 10); /* 300 MiB */
    decommit(kv, 0, 120);
    big = rig_alloc(&rig, MIB(300)); /* 100 MiB of it from the region */
    assert_ok(larder_check(rig.a));
    assert_in_range(info_of(kv).held_bytes, 60 * PAGE / 2, 50 * PAGE);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_region_commit(kv, 0, 60 * PAGE));
    assert_words("'kv' needs");
    rig_free(&rig, big);
    commit(kv, 0, 150); /* from the cache */
    assert_int_equal(info_of(kv).committed_bytes, 150 * PAGE);
    assert_ok(larder_check(rig.a));
    assert_ok(larder_region_destroy(kv));
    rig_down(&rig);
}

/* As requests do (larder_pool_release()). */
static void a_region_takes_what_a_pool_without_users_has(void **state)
{
    static const larder_pool_id pool = {1, 2};
    struct rig rig = up("sim:100MiB,backing=none,context=0");
    larder_region *kv = region_of(&rig, 40);

    (void)state;
    rig_free(&rig, rig_alloc_in(&rig, pool, MIB(80), 0));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_region_commit(kv, 0, 40 * PAGE));
    assert_ok(larder_pool_release(rig.a, pool));
    commit(kv, 0, 40);
    assert_ok(larder_check(rig.a));
    assert_ok(larder_region_destroy(kv));
    rig_down(&rig);
}

static void a_minimum_stays_with_the_region(void **state)
{
    struct rig rig = up("sim:400MiB,backing=none");
    larder_region *kv = region_of(&rig, 200);
    larder_addr big = 0;

    (void)state;
    for (uint64_t i = 0; i < 150; i += 10)
        commit(kv, i, 10);
    assert_ok(larder_region_set_minimum(kv, 100 * PAGE));
    decommit(kv, 0, 150);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(220), 0, &big));
    big = rig_alloc(&rig, MIB(190));
    assert_in_range(info_of(kv).held_bytes, 100 * PAGE, 110 * PAGE);
    commit(kv, 0, 100);
    assert_ok(larder_check(rig.a));
    rig_free(&rig, big);
    assert_ok(larder_region_destroy(kv));
    rig_down(&rig);
}

/* The cache's minimum is not used for the region either. */
static void a_minimum_stays_with_the_cache(void **state)
{
    struct rig rig = up("sim:400MiB,backing=none");
    larder_region *kv = region_of(&rig, 200);
    larder_addr block = rig_alloc(&rig, MIB(200));

    (void)state;
    assert_ok(larder_cache_set_minimum(rig.a, MIB(200)));
    rig_free(&rig, block);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_region_commit(kv, 0, 120 * PAGE));
    commit(kv, 0, 100);
    assert_ok(larder_check(rig.a));
    block = rig_alloc(&rig, MIB(200));
    rig_free(&rig, block);
    assert_ok(larder_region_destroy(kv));
    rig_down(&rig);
}

static void a_limit_is_kept(void **state)
{
    struct rig rig = up("sim:400MiB,backing=none");
    larder_region *kv = region_of(&rig, 200);

    (void)state;
    assert_ok(larder_region_set_limit(kv, 20 * PAGE));
    commit(kv, 0, 20);
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_region_commit(kv, 20 * PAGE, PAGE), "may hold");
    decommit(kv, 0, 20);
    commit(kv, 10, 10);
    assert_ok(larder_region_destroy(kv));
    rig_down(&rig);
}

static void idle_pages_are_released_on_request(void **state)
{
    struct rig rig = up("sim:400MiB,backing=none");
    larder_region *kv = region_of(&rig, 200);
    uint64_t released = 0;

    (void)state;
    commit(kv, 0, 10);
    commit(kv, 10, 10);
    decommit(kv, 0, 10);
    assert_ok(larder_region_trim(kv, &released));
    assert_int_equal(released, 10 * PAGE);
    assert_int_equal(info_of(kv).held_bytes, 10 * PAGE);
    decommit(kv, 10, 10);
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_usage(rig.dev).pages, 0);
    commit(kv, 3, 5); /* its addresses are still there */
    assert_ok(larder_region_destroy(kv));
    rig_down(&rig);
}

/* Memory that is mapped nowhere serves any request: trimming a region releases
 * no more than the region's own idle memory. */
static void trimming_releases_as_much_as_was_idle(void **state)
{
    struct rig rig = up("sim:400MiB,backing=none");
    larder_region *kv = region_of(&rig, 200);
    larder_region *other = region_of(&rig, 200);
    uint64_t released = 0;

    (void)state;
    commit(other, 0, 30);
    commit(kv, 0, 10);
    commit(kv, 10, 10);
    assert_ok(larder_region_destroy(other));
    decommit(kv, 0, 10);
    assert_ok(larder_region_trim(kv, &released));
    assert_int_equal(released, 10 * PAGE);
    assert_int_equal(rig_reserved(&rig), 40 * PAGE);
    assert_ok(larder_region_destroy(kv));
    rig_down(&rig);
}

/* ---- work that is queued --------------------------------------------------- */

static void decommitted_memory_waits_for_recorded_streams(void **state)
{
    struct rig rig = up("sim:400MiB,backing=none,events=manual");
    larder_region *kv = region_of(&rig, 20);

    (void)state;
    commit(kv, 0, 10);
    assert_ok(larder_region_record_stream(kv, 5 * PAGE, 0, 5)); /* nothing */
    decommit(kv, 0, 10);
    assert_int_equal(info_of(kv).pending_bytes, 0);
    commit(kv, 0, 10);
    assert_ok(larder_region_record_stream(kv, 2 * PAGE, 2 * PAGE, 5));
    decommit(kv, 0, 3);
    assert_int_equal(info_of(kv).pending_bytes, 3 * PAGE);
    decommit(kv, 3, 2); /* recorded with the rest, before it was cut */
    assert_int_equal(info_of(kv).pending_bytes, 5 * PAGE);
    assert_int_equal(info_of(kv).idle_bytes, info_of(kv).held_bytes -
                                                 info_of(kv).committed_bytes -
                                                 5 * PAGE);
    assert_ok(larder_sim_complete(rig.dev, 5));
    commit(kv, 0, 5);
    assert_int_equal(info_of(kv).committed_bytes, 10 * PAGE);
    decommit(kv, 0, 10);
    assert_ok(larder_region_destroy(kv));
    rig_down(&rig);
}

static void contents_stay_while_pages_are_committed(void **state)
{
    struct rig rig = up("sim:64MiB");
    larder_region *kv = region_of(&rig, 16);
    larder_addr base = info_of(kv).addr;

    (void)state;
    commit(kv, 0, 8);
    for (unsigned i = 0; i < 8; i++)
        memset((void *)(uintptr_t)(base + i * PAGE), (int)i + 1, PAGE);
    decommit(kv, 2, 3);
    commit(kv, 4, 8);
    for (unsigned i = 0; i < 8; i++) {
        const unsigned char *p =
            (const unsigned char *)(uintptr_t)(base + i * PAGE);

        if (i < 2 || i > 4)
            assert_true(p[0] == i + 1 && p[PAGE - 1] == i + 1);
    }
    assert_ok(larder_region_destroy(kv));
    rig_down(&rig);
}

/* ---- anything goes --------------------------------------------------------- */

enum { MODEL_PAGES = 64, MODEL_STEPS = 4000 };

static unsigned random_below(uint64_t *seed, unsigned n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*seed >> 33) % n;
}

/* A region checked against a list of its committed pages, while the default
 * pools and a second region compete for the memory. */
static void random_steps_agree_with_a_list_of_pages(void **state)
{
    struct rig rig = up("sim:96MiB,backing=none");
    larder_region *regions[2] = {region_of(&rig, MODEL_PAGES),
                                 region_of(&rig, MODEL_PAGES)};
    bool committed[2][MODEL_PAGES] = {{false}};
    larder_addr blocks[8] = {0};
    uint64_t seed = 17;
    int refused = 0;

    (void)state;
    for (int step = 0; step < MODEL_STEPS; step++) {
        unsigned g = random_below(&seed, 2);
        unsigned first = random_below(&seed, MODEL_PAGES);
        unsigned count = 1 + random_below(&seed, 12);
        unsigned kind = random_below(&seed, 10);
        uint64_t sum = 0;

        if (count > MODEL_PAGES - first)
            count = MODEL_PAGES - first;
        if (kind < 4) {
            larder_result r =
                larder_region_commit(regions[g], first * PAGE, count * PAGE);

            assert_true(r == LARDER_OK || r == LARDER_ERR_OUT_OF_MEMORY);
            refused += r != LARDER_OK;
            for (unsigned i = 0; r == LARDER_OK && i < count; i++)
                committed[g][first + i] = true;
        } else if (kind < 8) {
            decommit(regions[g], first, count);
            for (unsigned i = 0; i < count; i++)
                committed[g][first + i] = false;
        } else {
            larder_addr *b = &blocks[random_below(&seed, 8)];

            rig_free(&rig, *b);
            *b = 0;
            (void)larder_alloc(rig.a, KIB(100) + random_below(&seed, 8 << 20),
                               0, b);
        }
        for (unsigned i = 0; i < MODEL_PAGES; i++)
            sum += committed[g][i];
        assert_int_equal(info_of(regions[g]).committed_bytes, sum * PAGE);
        assert_ok(larder_check(rig.a));
    }
    assert_in_range(refused, 1, MODEL_STEPS / 4);
    for (int i = 0; i < 8; i++)
        rig_free(&rig, blocks[i]);
    assert_ok(larder_region_destroy(regions[0]));
    assert_ok(larder_region_destroy(regions[1]));
    rig_down(&rig);
}

/* ---- errors ---------------------------------------------------------------- */

static void mistakes_are_refused_and_change_nothing(void **state)
{
    struct rig rig = up("sim:400MiB,backing=none");
    struct rig other = rig_up("sim:400MiB,backing=none", "");
    larder_region *kv = region_of(&rig, 20);
    larder_region *none = NULL;
    larder_region_info info = {.size = 0};

    (void)state;
    commit(kv, 0, 4);
    assert_refused(LARDER_ERR_INVALID, larder_region_commit(kv, 1, PAGE),
                   "multiples of 2097152");
    assert_refused(LARDER_ERR_INVALID,
                   larder_region_commit(kv, 19 * PAGE, 2 * PAGE), "'kv'");
    assert_result(LARDER_ERR_INVALID,
                  larder_region_decommit(kv, UINT64_MAX - PAGE + 1, PAGE));
    assert_result(LARDER_ERR_INVALID, larder_region_commit(NULL, 0, PAGE));
    assert_result(LARDER_ERR_INVALID, larder_region_get_info(kv, &info));
    assert_refused(LARDER_ERR_UNSUPPORTED,
                   larder_region_create(other.a, PAGE, NULL, &none),
                   "policy larder");
    assert_refused(LARDER_ERR_INVALID,
                   larder_region_create(rig.a, PAGE + 1, NULL, &none),
                   "multiples");
    assert_refused(LARDER_ERR_UNKNOWN_ADDRESS,
                   larder_free(rig.a, info_of(kv).addr), "decommit");
    assert_int_equal(info_of(kv).committed_bytes, 4 * PAGE);
    rig_down(&other);
    rig_down(&rig);
    assert_result(LARDER_ERR_DESTROYED, larder_region_commit(kv, 0, PAGE));
    assert_ok(larder_region_destroy(kv));
    assert_ok(larder_region_destroy(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_of_pages_takes_one_map_and_one_access),
        cmocka_unit_test(committing_idle_pages_needs_no_driver_call),
        cmocka_unit_test(a_part_is_cut_out_whatever_headers_are_left),
        cmocka_unit_test(handles_are_as_short_as_is_asked_for),
        cmocka_unit_test(pages_are_handles_where_uses_are_looked_for),
        cmocka_unit_test(the_cache_keeps_its_minimum_from_a_region),
        cmocka_unit_test(idle_pages_serve_others_and_return),
        cmocka_unit_test(a_region_takes_what_a_pool_without_users_has),
        cmocka_unit_test(a_minimum_stays_with_the_region),
        cmocka_unit_test(a_minimum_stays_with_the_cache),
        cmocka_unit_test(a_limit_is_kept),
        cmocka_unit_test(idle_pages_are_released_on_request),
        cmocka_unit_test(trimming_releases_as_much_as_was_idle),
        cmocka_unit_test(decommitted_memory_waits_for_recorded_streams),
        cmocka_unit_test(contents_stay_while_pages_are_committed),
        cmocka_unit_test(random_steps_agree_with_a_list_of_pages),
        cmocka_unit_test(mistakes_are_refused_and_change_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
