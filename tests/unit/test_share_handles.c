/* test_share_handles.c - shared memory in handles of several pages, which are
 * mapped, sent and kept whole. */
#include "support/share_rig.h"

enum { BYTES = 5 << 20, MORE = 140 << 20, SEED = 77, ANSWER = 99 };

/* Large enough that new memory comes in handles of 8 pages. */
static struct rig large_up(void)
{
    return rig_up_policy("sim:40GiB,export=fd", LARDER_POLICY_LARDER, "");
}

/* On a large device memory comes in handles of many pages, and an allocation
 * begins and ends inside them. */
static void handles_of_many_pages_arrive_whole(void **state)
{
    struct rig rig = large_up();
    struct pair p = pair_up(SOCK_STREAM);
    larder_addr before = rig_alloc(&rig, 3 << 20);
    larder_addr addr = rig_alloc(&rig, MORE);
    larder_export *e = NULL;
    larder_import *m = NULL;
    larder_import_info info;

    (void)state;
    pattern_put(before, 3 << 20, 1);
    pattern_put(addr, MORE, SEED);
    assert_ok(larder_export_open(rig.a, addr, &e));
    assert_ok(larder_export_send(e, p.near));
    assert_true(rig_calls(&rig, LARDER_CALL_page_export) < 12);
    assert_ok(larder_import_receive(rig.dev, p.far, &m));
    info = import_info(m);
    assert_int_equal(info.bytes, MORE);
    assert_true(info.mapped_bytes >= MORE);
    pattern_is(info.addr, MORE, SEED);
    pattern_put(info.addr, MORE, ANSWER);
    pattern_is(addr, MORE, ANSWER);
    pattern_is(before, 3 << 20, 1);
    assert_ok(larder_import_close(m));
    assert_ok(larder_export_close(e));
    rig_free(&rig, addr);
    rig_free(&rig, before);
    pair_down(&p);
    rig_down(&rig);
}

/* The same for a handle larger than the allocation: no one gets any of it,
 * however little is left. */
static void a_handle_that_is_exported_stays(void **state)
{
    struct rig rig = large_up();
    struct pair p = pair_up(SOCK_STREAM);
    larder_addr addr = rig_alloc(&rig, BYTES);
    larder_export *e = NULL;
    larder_import *m = NULL;
    larder_addr other;

    (void)state;
    pattern_put(addr, BYTES, SEED);
    assert_ok(larder_export_open(rig.a, addr, &e));
    assert_ok(larder_export_send(e, p.near));
    assert_ok(larder_import_receive(rig.dev, p.far, &m));
    rig_free(&rig, addr);
    rig_free(&rig, rig_alloc_on(&rig, MIB(70), 1));
    assert_ok(larder_configure(rig.a, "limit:96MiB"));
    other = rig_alloc_on(&rig, MIB(72), 2); /* all but the handle, moved */
    pattern_put(other, MIB(72), 5);
    assert_ok(larder_empty_cache(rig.a));
    assert_ok(larder_trim(rig.a, 0, NULL));
    pattern_is(import_info(m).addr, BYTES, SEED);
    pattern_put(import_info(m).addr, BYTES, ANSWER);
    pattern_is(other, MIB(72), 5);
    assert_ok(larder_export_close(e));
    rig_free(&rig, rig_alloc_on(&rig, MIB(20), 2)); /* now it may be taken */
    pattern_is(import_info(m).addr, BYTES, ANSWER);
    assert_ok(larder_import_close(m));
    rig_free(&rig, other);
    pair_down(&p);
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handles_of_many_pages_arrive_whole),
        cmocka_unit_test(a_handle_that_is_exported_stays),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
