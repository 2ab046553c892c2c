/* test_debug_owners.c - the setting debug in private pools, tags and regions:
 * what it reports there, and that it leaves memory of graphs and of sleeping
 * regions unchanged. */
#include "support/debug_rig.h"
#include "support/tag_rig.h"

#include <larder/region.h>

#define SPEC "sim:256MiB"

enum { GRAPH_STREAM = 3 };

static const larder_pool_id id = {1, 7};

static struct rig rig_debug(int policy, int level)
{
    char conf[64];

    snprintf(conf, sizeof conf, "debug:%d", level);
    return rig_up_pages(SPEC, policies[policy], conf);
}

static larder_addr pooled(struct rig *rig, uint64_t bytes)
{
    larder_addr p;

    assert_ok(larder_pool_begin(rig->a, id, NULL, NULL));
    p = rig_alloc(rig, bytes);
    assert_ok(larder_pool_end(rig->a, id));
    return p;
}

/* ---- private pools ------------------------------------------------------------ */

static void a_write_outside_is_reported_in_pools(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        for (int level = 1; level <= 3; level++) {
            larder_result told = found(level, LARDER_ERR_OVERWRITTEN);
            struct rig rig = rig_debug(i, level);
            larder_addr p;
            larder_addr q;

            assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
            p = rig_alloc(&rig, 1000);
            q = rig_alloc(&rig, 1000);
            at(p)[1000] = 0x42;
            assert_result(told, larder_free(rig.a, p));
            if (level > 1)
                assert_words("0x42 was written 0 bytes behind the end");
            assert_ok(larder_pool_end(rig.a, id));
            at(q)[1005] = 0x43;
            assert_result(told, larder_check(rig.a));
            assert_result(told, larder_free(rig.a, q));
            if (level > 1)
                assert_words("0x43 was written 5 bytes behind the end");
            rig_down(&rig);
        }
    }
}

static void a_write_after_a_free_is_reported_in_pools(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        for (int level = 1; level <= 2; level++) {
            larder_result told = found(level, LARDER_ERR_OVERWRITTEN);
            struct rig rig = rig_debug(i, level);
            larder_addr kept = pooled(&rig, KIB(100));
            larder_addr inside;
            larder_addr later = pooled(&rig, KIB(40));

            assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
            inside = rig_alloc(&rig, KIB(40));
            rig_free(&rig, inside);
            if (level > 1 || policies[i] != LARDER_POLICY_DIRECT)
                at(inside)[9] = 7; /* else it is unmapped and faults */
            assert_result(told, larder_check(rig.a));
            if (level > 1)
                at(inside)[9] = 0xFF;
            assert_ok(larder_pool_end(rig.a, id));
            rig_free(&rig, later);
            if (level > 1 || policies[i] != LARDER_POLICY_DIRECT)
                at(later)[8] = 7;
            assert_result(told, larder_check(rig.a));
            if (level > 1) {
                assert_words("it lies 8 bytes from the beginning");
                at(later)[8] = 0xFF;
            }
            rig_free(&rig, kept);
            rig_down(&rig);
        }
    }
}

/* A pool that stays begun reuses its memory like any other; `direct` reuses
 * nothing, with or without debug. */
static void the_quarantine_of_a_pool_is_bounded(void **state)
{
    (void)state;
    for (int i = 0; i < CACHING; i++) {
        struct rig rig = rig_debug(i, 2);

        assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
        for (int n = 0; n < 400; n++)
            rig_free(&rig, rig_alloc(&rig, MIB(1)));
        assert_true((uint64_t)rig_stats(&rig).active_bytes.all.current <=
                    MIB(8));
        assert_true((uint64_t)rig_stats(&rig).active_bytes.all.current >=
                    MIB(6));
        assert_ok(larder_pool_end(rig.a, id));
        assert_ok(larder_pool_release(rig.a, id));
        assert_ok(larder_empty_cache(rig.a));
        assert_int_equal(rig_reserved(&rig), 0);
        rig_down(&rig);
    }
}

/* Quarantined memory serves a request that finds nothing else, also in a begun
 * pool. */
static void quarantined_memory_serves_its_pool(void **state)
{
    enum { ALL = 40 }; /* two in a segment of 2 MiB */
    (void)state;
    for (int i = 0; i < CACHING; i++) {
        struct rig rig = rig_up_pages("sim:40MiB", policies[i], "debug:2");
        larder_addr addr[ALL];

        assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
        for (int n = 0; n < ALL; n++)
            addr[n] = rig_alloc(&rig, KIB(900));
        rig_free(&rig, addr[0]);
        addr[0] = rig_alloc(&rig, KIB(900));
        for (int n = 0; n < ALL; n++)
            rig_free(&rig, addr[n]);
        assert_ok(larder_pool_end(rig.a, id));
        rig_down(&rig);
    }
}

static int is_graph_stream(void *ctx, larder_stream stream)
{
    (void)ctx;
    return stream == GRAPH_STREAM;
}

/* A pool begun for another stream may belong to a capture. */
static void nothing_is_checked_beside_another_stream_s_pool(void **state)
{
    struct rig rig = rig_debug(1, 2);
    larder_addr before = rig_alloc(&rig, 1000);
    larder_addr p;

    (void)state;
    assert_ok(larder_pool_begin(rig.a, id, is_graph_stream, NULL));
    p = rig_alloc(&rig, 1000);
    at(p)[1000] = 1;
    at(before)[1000] = 1;
    assert_ok(larder_check(rig.a));
    rig_free(&rig, p);
    assert_ok(larder_pool_end(rig.a, id));
    assert_told_behind(larder_free(rig.a, before));
    rig_down(&rig);
}

/* A graph of two kernels; the second reuses the first one's memory.  Its result
 * stays. */
struct graph {
    larder_addr first;
    larder_addr out;
};

enum { GRAPH_BYTES = 4096 };

static struct graph graph_capture(struct rig *rig)
{
    struct graph g;

    assert_ok(larder_pool_begin(rig->a, id, is_graph_stream, NULL));
    assert_ok(larder_sim_capture_begin(rig->dev, GRAPH_STREAM));
    g.first = rig_alloc_on(rig, GRAPH_BYTES, GRAPH_STREAM);
    rig_free(rig, g.first);
    g.out = rig_alloc_on(rig, GRAPH_BYTES / 2, GRAPH_STREAM);
    assert_ok(larder_sim_capture_end(rig->dev, GRAPH_STREAM));
    assert_ok(larder_pool_end(rig->a, id));
    return g;
}

static void graph_replay(const struct graph *g)
{
    memset(at(g->first), 1, GRAPH_BYTES);
    memset(at(g->out), 2, GRAPH_BYTES / 2);
}

/* Its replays write to memory that looks free, and nothing overwrites its
 * result. */
static void memory_of_a_graph_is_left_alone(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct rig rig = rig_debug(i, 3);
        struct graph g;
        larder_addr eager;

        if (policies[i] == LARDER_POLICY_DIRECT) { /* it caches nothing */
            rig_down(&rig);
            continue;
        }
        g = graph_capture(&rig);
        assert_int_equal(g.out, g.first);
        graph_replay(&g);
        assert_ok(larder_check(rig.a));
        assert_ok(larder_pool_begin(rig.a, id, is_graph_stream, NULL));
        eager = rig_alloc_on(&rig, 1000, GRAPH_STREAM);
        assert_ok(larder_pool_end(rig.a, id));
        graph_replay(&g);
        assert_ok(larder_check(rig.a));
        rig_free(&rig, eager);
        assert_int_equal(at(g.out)[0], 2);
        assert_int_equal(at(g.out)[GRAPH_BYTES - 1], 1);
        rig_free(&rig, g.out);
        graph_replay(&g); /* its memory is still there */
        assert_int_equal(at(g.first)[0], 2);
        rig_down(&rig);
    }
}

/* No one owned this memory when the graph was captured. */
static void memory_older_than_a_graph_is_still_checked(void **state)
{
    struct rig rig = rig_debug(1, 2);
    larder_addr before = pooled(&rig, 1000);
    larder_addr graph_free;
    struct graph g = graph_capture(&rig);

    (void)state;
    graph_free = pooled(&rig, 1000);
    at(graph_free)[1000] = 1; /* in the graph's pool now: not checked */
    rig_free(&rig, graph_free);
    at(before)[1000] = 1;
    assert_told_behind(larder_free(rig.a, before));
    rig_free(&rig, g.out);
    rig_down(&rig);
}

/* Under debug:3 freed memory is unmapped at once, except where a graph may use
 * memory that looks free. */
static void a_stale_address_faults_in_pools(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        for (int has_graph = 0; has_graph < 2; has_graph++) {
            struct rig rig = rig_debug(i, 3);
            larder_addr p = pooled(&rig, MIB(12));

            if (has_graph)
                (void)graph_capture(&rig);
            rig_free(&rig, p);
            assert_result(has_graph ? LARDER_OK : LARDER_ERR_DEVICE,
                          larder_device_fill(rig.dev, p + MIB(6), 0, 1, 0));
            assert_result(has_graph ? LARDER_ERR_LEAKED : LARDER_OK,
                          larder_destroy(rig.a));
            assert_ok(larder_device_close(rig.dev));
        }
    }
}

static void a_checkpoint_has_the_programs_addresses(void **state)
{
    struct rig rig = rig_debug(1, 2);
    larder_addr p = pooled(&rig, 1000);
    larder_addr q = pooled(&rig, 3000);
    larder_addr freed[4];
    larder_addr created[4];
    larder_checkpoint *cp;
    size_t freed_count;
    size_t created_count;

    (void)state;
    rig_free(&rig, q); /* in quarantine */
    assert_ok(larder_checkpoint_take(rig.a, id, &cp));
    rig_free(&rig, p);
    q = pooled(&rig, 1000);
    assert_ok(larder_checkpoint_restore(rig.a, cp, freed, 4, &freed_count,
                                        created, 4, &created_count));
    assert_int_equal(freed_count, 1);
    assert_int_equal(freed[0], q);
    assert_int_equal(created_count, 1);
    assert_int_equal(created[0], p);
    larder_checkpoint_destroy(cp);
    assert_ok(larder_check(rig.a));
    rig_free(&rig, p);
    rig_down(&rig);
}

/* The same in the messages about memory that a pool has lent. */
static void lent_memory_is_reported_by_the_program_s_address(void **state)
{
    struct rig rig = rig_up_pages("sim:64MiB", LARDER_POLICY_LARDER,
                                  "debug:2,expandable_segments:True");
    struct graph g = graph_capture(&rig);
    larder_addr all;
    larder_addr p;
    char words[64];

    (void)state;
    rig_free(&rig, g.out);
    all = rig_alloc_on(&rig, MIB(40), GRAPH_STREAM);
    assert_ok(larder_pool_lend(rig.a, id, GRAPH_STREAM));
    p = rig_alloc_on(&rig, KIB(100), GRAPH_STREAM);
    for (int n = 0; n < 400 && p >> 20 != g.out >> 20; n++)
        p = rig_alloc_on(&rig, KIB(100), GRAPH_STREAM);
    snprintf(words, sizeof words, "lent the allocation at 0x%llx",
             (unsigned long long)p);
    assert_refused(LARDER_ERR_BUSY, larder_pool_recall(rig.a, id), words);
    (void)all;
    assert_ok(larder_destroy(rig.a));
    assert_ok(larder_device_close(rig.dev));
}

/* ---- tags ------------------------------------------------------------------------ */

static struct rig rig_tagged(int way, int level)
{
    char conf[128];

    snprintf(conf, sizeof conf, "debug:%d,%s", level, ways[way].conf);
    return rig_up_pages(SPEC, ways[way].policy, conf);
}

static void a_write_outside_is_reported_in_tags(void **state)
{
    (void)state;
    for (int i = 0; i < WAYS; i++) {
        for (int level = 1; level <= 3; level++) {
            larder_result told = found(level, LARDER_ERR_OVERWRITTEN);
            struct rig rig = rig_tagged(i, level);
            larder_addr p = tagged(&rig, "t", 1000);

            at(p)[1000] = 1;
            assert_result(told, larder_check(rig.a));
            assert_result(told, larder_free(rig.a, p));
            rig_down(&rig);
        }
    }
}

/* Red zones sleep and wake with the memory between them. */
static void writes_before_a_kept_pause_are_reported_after_it(void **state)
{
    (void)state;
    for (int i = 0; i < WAYS; i++) {
        struct rig rig = rig_tagged(i, 2);
        larder_addr p = tagged(&rig, "t", 1000);
        larder_addr q = tagged(&rig, "t", 1000);

        memset(at(p), 5, 1000);
        at(p)[-3] = 1;
        assert_ok(larder_pause(rig.a, "t", LARDER_PAUSE_KEEP));
        assert_ok(larder_check(rig.a)); /* nothing is mapped to check */
        assert_int_equal(rig_counters(&rig).failed[LARDER_CALL_copy], 0);
        assert_ok(larder_resume(rig.a, "t"));
        assert_int_equal(at(p)[0], 5);
        assert_int_equal(at(p)[999], 5);
        assert_refused(LARDER_ERR_OVERWRITTEN, larder_free(rig.a, p),
                       "3 bytes before");
        at(q)[1000] = 1;
        assert_told_behind(larder_free(rig.a, q));
        rig_down(&rig);
    }
}

static void writes_are_reported_before_memory_is_dropped(void **state)
{
    (void)state;
    for (int i = 0; i < WAYS; i++) {
        struct rig rig = rig_tagged(i, 2);
        larder_addr p = tagged(&rig, "t", 1000);

        at(p)[1000] = 0x33;
        assert_ok(larder_pause(rig.a, "t", LARDER_PAUSE_DROP));
        assert_refused(LARDER_ERR_OVERWRITTEN, larder_check(rig.a),
                       "0x33 was written 0 bytes behind the end");
        assert_ok(larder_resume(rig.a, "t"));
        assert_ok(larder_check(rig.a)); /* the red zones are back */
        assert_int_equal(at(p)[0], 0xFF);
        assert_int_equal(at(p)[999], 0xFF);
        at(p)[1000] = 1;
        assert_told_behind(larder_free(rig.a, p));
        rig_down(&rig);
    }
}

/* A pause that fails drops nothing. */
static void a_pause_that_fails_drops_nothing(void **state)
{
    struct rig rig = rig_tagged(0, 2);
    larder_addr p = tagged(&rig, "t", 1000);

    (void)state;
    memset(at(p), 5, 1000);
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_unmap, 1, 1,
                                 LARDER_ERR_DEVICE));
    assert_result(LARDER_ERR_DEVICE,
                  larder_pause(rig.a, "t", LARDER_PAUSE_DROP));
    assert_int_equal(at(p)[999], 5);
    assert_ok(larder_check(rig.a));
    rig_free(&rig, p);
    rig_down(&rig);
}

static void quarantined_memory_does_not_keep_a_tag_awake(void **state)
{
    (void)state;
    for (int i = 0; i < WAYS; i++) {
        for (int mode = LARDER_PAUSE_KEEP; mode <= LARDER_PAUSE_DROP; mode++) {
            struct rig rig = rig_tagged(i, 2);
            larder_addr p = tagged(&rig, "t", 1000);
            larder_addr q = tagged(&rig, "t", 1000);
            larder_addr kept = rig_alloc(&rig, 1000);
            larder_addr other = rig_alloc(&rig, 1000);

            rig_free(&rig, q);
            rig_free(&rig, other);
            at(q)[7] = 1;
            assert_ok(larder_pause(rig.a, "t", (larder_pause_mode)mode));
            assert_refused(LARDER_ERR_OVERWRITTEN, larder_check(rig.a),
                           "it lies 7 bytes from the beginning");
            at(other)[6] = 1; /* other blocks stay in it */
            assert_refused(LARDER_ERR_OVERWRITTEN, larder_check(rig.a),
                           "it lies 6 bytes from the beginning");
            at(other)[6] = 0xFF;
            rig_free(&rig, kept);
            rig_free(&rig, p); /* asleep */
            assert_ok(larder_resume(rig.a, "t"));
            assert_int_equal(usage_of(&rig, "t").reserved_bytes, 0);
            rig_down(&rig);
        }
    }
}

/* 200 MiB, where 52 are in use and what is freed has a segment of 20. */
static void quarantined_memory_does_not_keep_a_tag_asleep(void **state)
{
    struct rig rig = rig_tagged(0, 2);
    larder_addr p = tagged(&rig, "t", MIB(190));

    (void)state;
    at(p)[1] = 5;
    assert_ok(larder_pause(rig.a, "t", LARDER_PAUSE_KEEP));
    (void)rig_alloc(&rig, MIB(51));
    rig_free(&rig, rig_alloc(&rig, MIB(6)));
    assert_ok(larder_resume(rig.a, "t"));
    assert_int_equal(at(p)[1], 5);
    rig_down(&rig);
}

static void a_stale_address_faults_in_tags(void **state)
{
    (void)state;
    for (int i = 0; i < WAYS; i++) {
        for (int level = 2; level <= 3; level++) {
            struct rig rig = rig_tagged(i, level);
            larder_addr kept = tagged(&rig, "t", MIB(1));
            larder_addr p = tagged(&rig, "t", MIB(60));

            rig_free(&rig, p);
            assert_result(level == 3 ? LARDER_ERR_DEVICE : LARDER_OK,
                          larder_device_fill(rig.dev, p + MIB(30), 0, 1, 0));
            rig_free(&rig, kept);
            rig_down(&rig);
        }
    }
}

/* ---- regions ----------------------------------------------------------------------- */

enum { PAGE = LARDER_REGION_PAGE };

static larder_region *region_of(struct rig *rig, larder_addr *addr)
{
    larder_region_info info = {.size = sizeof info};
    larder_region *kv;

    assert_ok(larder_region_create(rig->a, 16 * (uint64_t)PAGE, NULL, &kv));
    assert_ok(larder_region_commit(kv, 0, 8 * (uint64_t)PAGE));
    assert_ok(larder_region_get_info(kv, &info));
    *addr = info.addr;
    return kv;
}

static void decommitted_memory_faults(void **state)
{
    (void)state;
    for (int level = 1; level <= 3; level++) {
        struct rig rig = rig_debug(0, level);
        larder_addr addr;
        larder_region *kv = region_of(&rig, &addr);

        assert_ok(larder_device_fill(rig.dev, addr, 1, 8 * (uint64_t)PAGE, 0));
        assert_ok(larder_region_decommit(kv, 3 * (uint64_t)PAGE, PAGE));
        assert_result(
            level == 3 ? LARDER_ERR_DEVICE : LARDER_OK,
            larder_device_fill(rig.dev, addr + 3 * (uint64_t)PAGE, 0, 1, 0));
        assert_int_equal(at(addr)[3 * PAGE - 1], 1);
        assert_int_equal(at(addr)[4 * PAGE], 1);
        assert_ok(larder_region_commit(kv, 3 * (uint64_t)PAGE, PAGE));
        if (level > 1) /* nothing has been written there yet */
            assert_int_equal(at(addr)[3 * PAGE], 0xFF);
        assert_int_equal(at(addr)[4 * PAGE], 1);
        assert_ok(larder_region_destroy(kv));
        rig_down(&rig);
    }
}

/* Its pages can be released one by one, but none is while the pool is begun. */
static void a_region_made_beside_a_begun_pool_faults_too(void **state)
{
    struct rig rig = rig_debug(0, 3);
    larder_region *kv;
    larder_addr addr;

    (void)state;
    assert_ok(larder_pool_begin(rig.a, id, is_graph_stream, NULL));
    kv = region_of(&rig, &addr);
    assert_ok(larder_pool_end(rig.a, id));
    assert_ok(larder_region_decommit(kv, 3 * (uint64_t)PAGE, PAGE));
    assert_result(
        LARDER_ERR_DEVICE,
        larder_device_fill(rig.dev, addr + 3 * (uint64_t)PAGE, 0, 1, 0));
    assert_ok(larder_region_destroy(kv));
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_outside_is_reported_in_pools),
        cmocka_unit_test(a_write_after_a_free_is_reported_in_pools),
        cmocka_unit_test(the_quarantine_of_a_pool_is_bounded),
        cmocka_unit_test(quarantined_memory_serves_its_pool),
        cmocka_unit_test(nothing_is_checked_beside_another_stream_s_pool),
        cmocka_unit_test(memory_of_a_graph_is_left_alone),
        cmocka_unit_test(memory_older_than_a_graph_is_still_checked),
        cmocka_unit_test(a_stale_address_faults_in_pools),
        cmocka_unit_test(a_checkpoint_has_the_programs_addresses),
        cmocka_unit_test(lent_memory_is_reported_by_the_program_s_address),
        cmocka_unit_test(a_write_outside_is_reported_in_tags),
        cmocka_unit_test(writes_before_a_kept_pause_are_reported_after_it),
        cmocka_unit_test(writes_are_reported_before_memory_is_dropped),
        cmocka_unit_test(a_pause_that_fails_drops_nothing),
        cmocka_unit_test(quarantined_memory_does_not_keep_a_tag_awake),
        cmocka_unit_test(quarantined_memory_does_not_keep_a_tag_asleep),
        cmocka_unit_test(a_stale_address_faults_in_tags),
        cmocka_unit_test(decommitted_memory_faults),
        cmocka_unit_test(a_region_made_beside_a_begun_pool_faults_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
