/* test_fault_commit.c - parts of a region are committed and decommitted, and a
 * private pool lends, while each request for host memory and each device call
 * fails in turn.  Committed memory keeps its bytes, a call that fails changes
 * nothing in use, and everything works once the fault is removed. */
#include <stdbool.h>

#include "scenario.h"

#include <larder/region.h>

#define PAGE ((uint64_t)LARDER_REGION_PAGE)

enum { PAGES = 32, BLOCKS = 5, OTHER = 3 };

static const larder_pool_id pool = {7, 1};

struct scene {
    struct rig rig;
    larder_region *kv;
    bool is_used[PAGES];
};

/* Memory that cannot be moved is not available; and if no event can be recorded
 * on a stream, it may still use the memory it was recorded for. */
static bool is_explained(const struct fault *f, larder_result r)
{
    if (r == LARDER_OK || r == f->with || r == LARDER_ERR_OUT_OF_MEMORY)
        return true;
    return r == LARDER_ERR_BUSY && !f->is_host &&
           (f->call == LARDER_CALL_event_create ||
            f->call == LARDER_CALL_event_record ||
            f->call == LARDER_CALL_event_sync);
}

static void expect(const struct fault *f, larder_result r)
{
    if (!is_explained(f, r))
        fault_fail(f, r);
}

/* ---- pages ------------------------------------------------------------------- */

static unsigned char *page_of(struct scene *s, unsigned i)
{
    larder_region_info info = {.size = sizeof info};

    assert_ok(larder_region_get_info(s->kv, &info));
    return (unsigned char *)(uintptr_t)(info.addr + i * PAGE);
}

/* Writes both ends only, which touches less memory; any other handle has
 * different ones. */
static void mark(unsigned char *p, uint64_t bytes, unsigned char value)
{
    p[0] = p[bytes - 1] = value;
}

static void verify(struct scene *s)
{
    assert_ok(larder_check(s->rig.a));
    for (unsigned i = 0; i < PAGES; i++) {
        const unsigned char *p = page_of(s, i);

        if (s->is_used[i])
            assert_true(p[0] == i + 1 && p[PAGE - 1] == i + 1);
    }
}

static void commit(struct scene *s, const struct fault *f, unsigned first,
                   unsigned count)
{
    larder_result r = larder_region_commit(s->kv, first * PAGE, count * PAGE);

    expect(f, r);
    for (unsigned i = first; i < first + count && r == LARDER_OK; i++) {
        if (!s->is_used[i])
            mark(page_of(s, i), PAGE, (unsigned char)(i + 1));
        s->is_used[i] = true;
    }
    verify(s);
}

/* Memory that is not committed may be decommitted too. */
static void decommit(struct scene *s, const struct fault *f, unsigned first,
                     unsigned count)
{
    larder_result r = larder_region_decommit(s->kv, first * PAGE, count * PAGE);

    expect(f, r);
    for (unsigned i = first; i < first + count && r == LARDER_OK; i++)
        s->is_used[i] = false;
    verify(s);
}

/* ---- the operations ------------------------------------------------------------ */

/* Cache memory in the device's units: 40 of 64 MiB. */
static void fill_cache(struct scene *s)
{
    larder_addr blocks[BLOCKS];

    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = rig_alloc(&s->rig, MIB(8));
    for (int i = 0; i < BLOCKS; i++)
        rig_free(&s->rig, blocks[i]);
}

static void region_story(struct scene *s, const struct fault *f)
{
    commit(s, f, 0, 4);
    commit(s, f, 8, 16); /* needs cached memory */
    decommit(s, f, 10, 6);
    commit(s, f, 2, 10); /* partly committed, partly cached */
    if (s->is_used[16])
        expect(f,
               larder_region_record_stream(s->kv, 16 * PAGE, 2 * PAGE, OTHER));
    decommit(s, f, 16, 4);
    commit(s, f, 16, 2); /* waits for the stream */
    expect(f, larder_region_trim(s->kv, NULL));
    verify(s);
}

static int region_run(const struct fault *f, const void *conf)
{
    struct scene s = {
        .rig = rig_up_policy("sim:64MiB", LARDER_POLICY_LARDER, conf)};
    int fired;

    assert_ok(larder_region_create(s.rig.a, PAGES * PAGE, NULL, &s.kv));
    fill_cache(&s);
    assert_ok(larder_device_reset_counters(s.rig.dev));
    fault_plan(f, s.rig.dev, f->nth);
    region_story(&s, f);
    fired = fault_fired(f, s.rig.dev);
    fault_off(f, s.rig.dev);
    for (unsigned i = 0; i < PAGES; i++) /* again */
        s.is_used[i] = false;
    assert_ok(larder_region_decommit(s.kv, 0, PAGES * PAGE));
    commit(&s, f, 0, 31);
    assert_ok(larder_region_destroy(s.kv));
    assert_ok(larder_empty_cache(s.rig.a));
    assert_int_equal(rig_reserved(&s.rig), 0);
    rig_down(&s.rig);
    return fired;
}

/* A pool's free memory serves other requests, and is recalled. */
static int lend_run(const struct fault *f, const void *conf)
{
    struct rig rig = rig_up_policy("sim:64MiB", LARDER_POLICY_LARDER, conf);
    larder_addr kept;
    larder_addr gone;
    larder_addr big = 0;
    int fired;

    assert_ok(larder_pool_begin(rig.a, pool, NULL, NULL));
    assert_ok(larder_pool_set_lending(rig.a, pool, 1));
    kept = rig_alloc(&rig, MIB(4));
    gone = rig_alloc(&rig, MIB(40));
    assert_ok(larder_pool_end(rig.a, pool));
    mark((unsigned char *)(uintptr_t)kept, MIB(4), 9);
    rig_free(&rig, gone);
    assert_ok(larder_device_reset_counters(rig.dev));
    fault_plan(f, rig.dev, f->nth);
    expect(f, larder_alloc(rig.a, MIB(38), 0, &big));
    assert_ok(larder_check(rig.a));
    fired = fault_fired(f, rig.dev);
    fault_off(f, rig.dev);
    assert_int_equal(((unsigned char *)(uintptr_t)kept)[MIB(4) - 1], 9);
    if (big == 0)
        big = rig_alloc(&rig, MIB(38));
    mark((unsigned char *)(uintptr_t)big, MIB(38), 1);
    rig_free(&rig, big);
    assert_ok(larder_pool_begin(rig.a, pool, NULL, NULL));
    gone = rig_alloc(&rig, MIB(40));
    assert_ok(larder_pool_end(rig.a, pool));
    assert_int_equal(((unsigned char *)(uintptr_t)kept)[0], 9);
    rig_free(&rig, gone);
    rig_free(&rig, kept);
    assert_ok(larder_pool_release(rig.a, pool));
    assert_ok(larder_pool_release(rig.a, pool));
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_reserved(&rig), 0);
    rig_down(&rig);
    return fired;
}

/* ---- every place ----------------------------------------------------------------- */

static void sweep(fault_run *run, const char *conf,
                  const struct fault_place *places, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fault_sweep_call(&places[i], run, conf);
}

static void a_commit_may_fail_for_the_host(void **state)
{
    struct fault f = {.is_host = 1, .with = LARDER_ERR_NO_HOST_MEMORY};

    (void)state;
    assert_true(fault_sweep(f, region_run, "") >= 1);
}

static void a_commit_may_fail_for_the_device(void **state)
{
    static const struct fault_place places[] = {
        {LARDER_CALL_page_create, 1},  {LARDER_CALL_map, 3},
        {LARDER_CALL_unmap, 2},        {LARDER_CALL_set_access, 3},
        {LARDER_CALL_page_release, 1}, {LARDER_CALL_event_create, 1},
        {LARDER_CALL_event_record, 1}, {LARDER_CALL_event_sync, 1},
    };

    (void)state;
    sweep(region_run, "", places, sizeof places / sizeof places[0]);
}

static void lending_may_fail(void **state)
{
    static const struct fault_place places[] = {
        {LARDER_CALL_page_create, 1},
        {LARDER_CALL_map, 1},
        {LARDER_CALL_unmap, 1},
        {LARDER_CALL_set_access, 1},
    };
    struct fault f = {.is_host = 1, .with = LARDER_ERR_NO_HOST_MEMORY};

    (void)state;
    sweep(lend_run, "expandable_segments:True", places,
          sizeof places / sizeof places[0]);
    assert_true(fault_sweep(f, lend_run, "expandable_segments:True") >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_may_fail_for_the_host),
        cmocka_unit_test(a_commit_may_fail_for_the_device),
        cmocka_unit_test(lending_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
