/* test_sim_unrecorded.c - debug:2 reports memory that is freed while another,
 * unrecorded stream uses it, and reports no correct program. */
#include "support/policies.h"
#include "support/rig.h"

#include <stdbool.h>

#include <larder/region.h>

#define DRIVER "sim:64MiB,events=driver"

enum { BYTES = 5000, OWN = 1, USER = 2, THIRD = 3, FOURTH = 300 };

static unsigned char host[BYTES];

/* As a program reads a result: the copy names the address and the stream. */
static void use(struct rig *rig, larder_addr p, larder_stream stream)
{
    assert_ok(larder_device_copy(rig->dev, (uintptr_t)host, p, BYTES,
                                 LARDER_COPY_TO_HOST, stream));
}

static uint64_t mark(struct rig *rig, larder_stream stream)
{
    uint64_t event;

    assert_ok(larder_device_event_create(rig->dev, &event));
    assert_ok(larder_device_event_record(rig->dev, event, stream));
    return event;
}

static void wait_for(struct rig *rig, larder_stream stream, uint64_t event)
{
    assert_ok(larder_sim_wait_event(rig->dev, stream, event));
    assert_ok(larder_device_event_destroy(rig->dev, event));
}

static void join(struct rig *rig, larder_stream stream, larder_stream other)
{
    wait_for(rig, stream, mark(rig, other));
}

static void finish(struct rig *rig)
{
    static const larder_stream all[] = {OWN, USER, THIRD, FOURTH};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        assert_ok(larder_sim_complete(rig->dev, all[i]));
    rig_down(rig);
}

/* What a program does with memory between its allocation and its free. */
typedef void life(struct rig *rig, larder_addr p);

static void try(const char *spec, int policy, const char *conf, life *between,
                larder_result expected)
{
    struct rig rig = rig_up_policy(spec, policies[policy], conf);
    larder_addr before = rig_alloc_on(&rig, BYTES, OWN);
    larder_addr p = rig_alloc_on(&rig, BYTES, OWN);
    larder_addr behind = rig_alloc_on(&rig, BYTES, OWN);

    use(&rig, before, USER);
    use(&rig, behind, FOURTH);
    between(&rig, p);
    assert_result(expected, larder_free(rig.a, p));
    assert_int_not_equal(LARDER_OK, larder_free(rig.a, p)); /* freed */
    assert_ok(larder_sim_complete(rig.dev, USER));
    assert_ok(larder_sim_complete(rig.dev, FOURTH));
    rig_free(&rig, before);
    rig_free(&rig, behind);
    finish(&rig);
}

static void try_all(life *between, larder_result expected)
{
    for (int i = 0; i < POLICIES; i++)
        try(DRIVER, i, "debug:2", between, expected);
}

/* ---- errors --------------------------------------------------------------------- */

static void used_elsewhere(struct rig *rig, larder_addr p)
{
    use(rig, p, USER);
}

static void an_unrecorded_use_is_reported(void **state)
{
    (void)state;
    try_all(used_elsewhere, LARDER_ERR_UNRECORDED);
    for (int i = 0; i < POLICIES; i++) {
        try("sim:64MiB,events=manual", i, "debug:2", used_elsewhere,
            LARDER_ERR_UNRECORDED);
        try("sim:64MiB,events=driver,backing=none", i, "debug:2",
            used_elsewhere, LARDER_ERR_UNRECORDED);
        try(DRIVER, i, "debug:1", used_elsewhere, LARDER_OK);
    }
}

static void the_words_name_both_streams(void **state)
{
    struct rig rig = rig_up_policy(DRIVER, LARDER_POLICY_LARDER,
                                   "debug:2,history:1000,history_stacks:fp");
    larder_addr p = rig_alloc_on(&rig, BYTES, OWN);

    (void)state;
    use(&rig, p, FOURTH);
    assert_refused(LARDER_ERR_UNRECORDED, larder_free(rig.a, p),
                   "stream 300 still uses the allocation");
    assert_words("of 5000 bytes on stream 1");
    assert_words("allocated by ");
    finish(&rig);
}

static void another_is_recorded(struct rig *rig, larder_addr p)
{
    assert_ok(larder_record_stream(rig->a, p, THIRD));
    use(rig, p, THIRD);
    use(rig, p, USER);
}

static void waits_too_early(struct rig *rig, larder_addr p)
{
    uint64_t event = mark(rig, USER);

    use(rig, p, USER);
    wait_for(rig, OWN, event);
}

/* The opposite direction. */
static void is_waited_for(struct rig *rig, larder_addr p)
{
    join(rig, USER, OWN);
    use(rig, p, USER);
}

static void filled_elsewhere(struct rig *rig, larder_addr p)
{
    assert_ok(larder_device_fill(rig->dev, p + BYTES - 1, 7, 1, FOURTH));
}

static void copied_to(struct rig *rig, larder_addr p)
{
    assert_ok(larder_device_copy(rig->dev, p, (uintptr_t)host, 1,
                                 LARDER_COPY_TO_DEVICE, USER));
}

static void calls_that_do_not_order_work_do_not_count(void **state)
{
    (void)state;
    try_all(another_is_recorded, LARDER_ERR_UNRECORDED);
    try_all(waits_too_early, LARDER_ERR_UNRECORDED);
    try_all(is_waited_for, LARDER_ERR_UNRECORDED);
    try_all(filled_elsewhere, LARDER_ERR_UNRECORDED);
    try_all(copied_to, LARDER_ERR_UNRECORDED);
}

/* The lowest of several streams is named, whichever had work first. */
static void the_lowest_stream_is_named(void **state)
{
    static const larder_stream orders[][2] = {{USER, THIRD}, {THIRD, USER}};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig = rig_up_policy(DRIVER, LARDER_POLICY_LARDER, "debug:2");
        larder_addr p = rig_alloc_on(&rig, BYTES, OWN);

        use(&rig, p, orders[i][0]);
        use(&rig, p, orders[i][1]);
        use(&rig, p, FOURTH);
        assert_ok(larder_sim_complete(rig.dev, FOURTH));
        assert_refused(LARDER_ERR_UNRECORDED, larder_free(rig.a, p),
                       "stream 2 still uses");
        finish(&rig);
    }
}

static void private_pools_are_checked(void **state)
{
    const larder_pool_id pool = {1, 0};
    struct rig rig = rig_up_policy(DRIVER, LARDER_POLICY_LARDER, "debug:2");
    larder_addr p;

    (void)state;
    assert_ok(larder_pool_begin(rig.a, pool, NULL, NULL));
    p = rig_alloc_on(&rig, BYTES, OWN);
    assert_ok(larder_pool_end(rig.a, pool));
    use(&rig, p, USER);
    assert_result(LARDER_ERR_UNRECORDED, larder_free(rig.a, p));
    assert_ok(larder_pool_release(rig.a, pool));
    finish(&rig);
}

struct kv {
    struct rig rig;
    larder_region *region;
};

/* A region of four pages, of which another stream uses the third. */
static struct kv kv_up(const char *conf, bool is_recorded)
{
    struct kv kv = {.rig = rig_up_policy(DRIVER, LARDER_POLICY_LARDER, conf)};
    larder_region_info info = {.size = sizeof info};
    larder_region_options opt;

    larder_region_options_init(&opt);
    opt.stream = OWN;
    assert_ok(larder_region_create(kv.rig.a, MIB(8), &opt, &kv.region));
    assert_ok(larder_region_commit(kv.region, 0, MIB(8)));
    assert_ok(larder_region_get_info(kv.region, &info));
    use(&kv.rig, info.addr + MIB(4), USER);
    if (is_recorded)
        assert_ok(larder_region_record_stream(kv.region, MIB(4), MIB(2), USER));
    return kv;
}

/* The result of decommitting that page. */
static void decommit(const char *conf, bool is_recorded, larder_result expected)
{
    struct kv kv = kv_up(conf, is_recorded);

    assert_ok(larder_region_decommit(kv.region, 0, MIB(4)));
    assert_result(expected, larder_region_decommit(kv.region, MIB(4), MIB(2)));
    assert_ok(
        larder_region_decommit(kv.region, MIB(4), MIB(4))); /* now it is */
    /* its memory may be gone */
    (void)larder_sim_complete(kv.rig.dev, USER);
    assert_ok(larder_region_destroy(kv.region));
    finish(&kv.rig);
}

/* What a check finds after the region was destroyed. */
static void destroy(const char *conf, larder_result expected)
{
    struct kv kv = kv_up(conf, false);

    assert_ok(larder_region_destroy(kv.region));
    assert_result(expected, larder_check(kv.rig.a));
    assert_ok(larder_check(kv.rig.a));
    (void)larder_sim_complete(kv.rig.dev, USER);
    finish(&kv.rig);
}

static void regions_are_checked(void **state)
{
    (void)state;
    decommit("debug:1", false, LARDER_OK);
    decommit("debug:2", false, LARDER_ERR_UNRECORDED);
    decommit("debug:3", false, LARDER_ERR_UNRECORDED);
    decommit("debug:2", true, LARDER_OK);
    decommit("debug:3", true, LARDER_OK);
    destroy("debug:1", LARDER_OK);
    destroy("debug:2", LARDER_ERR_UNRECORDED);
}

/* ---- correct programs ------------------------------------------------------------ */

static void recorded(struct rig *rig, larder_addr p)
{
    assert_ok(larder_record_stream(rig->a, p, USER));
    use(rig, p, USER);
    assert_ok(larder_record_stream(rig->a, p, FOURTH));
    use(rig, p, FOURTH);
}

static void joined(struct rig *rig, larder_addr p)
{
    use(rig, p, USER);
    join(rig, OWN, USER);
}

static void joined_by_a_chain(struct rig *rig, larder_addr p)
{
    use(rig, p, USER);
    join(rig, THIRD, USER);
    join(rig, FOURTH, THIRD);
    join(rig, OWN, FOURTH);
}

static void joined_by_a_recorded_one(struct rig *rig, larder_addr p)
{
    use(rig, p, USER);
    join(rig, THIRD, USER);
    assert_ok(larder_record_stream(rig->a, p, THIRD));
}

static void completed(struct rig *rig, larder_addr p)
{
    use(rig, p, USER);
    assert_ok(larder_sim_complete(rig->dev, USER));
}

static void used_on_its_own(struct rig *rig, larder_addr p)
{
    use(rig, p, OWN);
}

static void ordered_work_is_not_reported(void **state)
{
    (void)state;
    try_all(recorded, LARDER_OK);
    try_all(joined, LARDER_OK);
    try_all(joined_by_a_chain, LARDER_OK);
    try_all(joined_by_a_recorded_one, LARDER_OK);
    try_all(completed, LARDER_OK);
    try_all(used_on_its_own, LARDER_OK);
}

/* Without bytes to check, nothing else waits for the stream. */
static void order_is_read_off_the_queues(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        const char *spec = "sim:64MiB,events=driver,backing=none";

        try(spec, i, "debug:2", joined_by_a_chain, LARDER_OK);
        try(spec, i, "debug:2", joined_by_a_recorded_one, LARDER_OK);
        try(spec, i, "debug:2", waits_too_early, LARDER_ERR_UNRECORDED);
    }
}

/* Work that runs when it is queued is never behind. */
static void immediate_work_is_never_reported(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++)
        try("sim:64MiB", i, "debug:2", used_elsewhere, LARDER_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unrecorded_use_is_reported),
        cmocka_unit_test(the_words_name_both_streams),
        cmocka_unit_test(calls_that_do_not_order_work_do_not_count),
        cmocka_unit_test(the_lowest_stream_is_named),
        cmocka_unit_test(private_pools_are_checked),
        cmocka_unit_test(regions_are_checked),
        cmocka_unit_test(ordered_work_is_not_reported),
        cmocka_unit_test(order_is_read_off_the_queues),
        cmocka_unit_test(immediate_work_is_never_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
