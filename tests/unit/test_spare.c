/* What the larder policy hands out beyond what was asked for: how much there may
 * be, and that it comes back when memory gets tight. */
#include <pthread.h>

#include <larder/hint.h>

#include "support/rig.h"

static struct rig up(const char *spec)
{
    return rig_up_policy(spec, LARDER_POLICY_LARDER, "");
}

static int64_t spared(struct rig *rig)
{
    larder_stats st = rig_stats(rig);

    return st.active_bytes.all.current - st.requested_bytes.all.current;
}

static void alloc_all(struct rig *rig, larder_addr *addrs, int count,
                      uint64_t bytes)
{
    for (int i = 0; i < count; i++)
        addrs[i] = rig_alloc(rig, bytes);
}

static void free_all(struct rig *rig, const larder_addr *addrs, int count)
{
    for (int i = 0; i < count; i++)
        rig_free(rig, addrs[i]);
}

/* Keep so many blocks: the first of a size is not. */
static void keep(struct rig *rig, larder_addr *addrs, int count, uint64_t bytes)
{
    rig_free(rig, rig_alloc(rig, bytes));
    alloc_all(rig, addrs, count, bytes);
    free_all(rig, addrs, count);
}

/* ---- how much -------------------------------------------------------------- */

enum { BLOCKS = 160 };

static void a_64th_of_the_device_at_most(void **state)
{
    struct rig rig = up("sim:1GiB,backing=none");
    larder_addr addrs[BLOCKS];

    (void)state;
    keep(&rig, addrs, BLOCKS, MIB(1));
    alloc_all(&rig, addrs, BLOCKS, KIB(896)); /* 128 KiB each would be 20 MiB */
    assert_in_range(spared(&rig), MIB(16) - KIB(128), MIB(16));
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

/* 550 MiB of one block are too much, and what is asked for next is there. */
static void no_more_by_a_single_block(void **state)
{
    struct rig rig = up("sim:10GiB,backing=none");
    larder_addr addr;

    (void)state;
    keep(&rig, &addr, 1, MIB(3250));
    addr = rig_alloc(&rig, MIB(2700));
    assert_int_equal(spared(&rig), 0);
    (void)rig_alloc(&rig, MIB(7000));
    rig_down(&rig);
}

static void nothing_where_it_would_stay(void **state)
{
    struct rig rig = up("sim:8GiB,backing=none");
    larder_addr addr;

    (void)state;
    keep(&rig, &addr, 1, MIB(1));
    assert_ok(
        larder_alloc_hinted(rig.a, KIB(1020), 0, LARDER_HINT_LONG, &addr));
    assert_int_equal(spared(&rig), 0);
    rig_down(&rig);
}

static void *use_once(void *arg)
{
    struct rig *rig = arg;

    rig_free(rig, rig_alloc(rig, MIB(1)));
    return NULL;
}

/* With two threads each stream counts for itself. */
static void threads_keep_to_it(void **state)
{
    struct rig rig = up("sim:1GiB,backing=none");
    larder_addr addrs[BLOCKS];
    pthread_t thread;

    (void)state;
    keep(&rig, addrs, BLOCKS, MIB(1));
    assert_int_equal(pthread_create(&thread, NULL, use_once, &rig), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)rig_stats(&rig);
    alloc_all(&rig, addrs, BLOCKS, MIB(1));
    for (int i = 0; i < BLOCKS; i++) {
        rig_free(&rig, addrs[i]);
        addrs[i] = rig_alloc(&rig, KIB(896));
    }
    assert_in_range(spared(&rig), MIB(4), MIB(17));
    rig_down(&rig);
}

/* A block that waits for an event is asked for and active, not allocated. */
static void waiting_blocks_count_on_both_sides(void **state)
{
    struct rig rig = up("sim:1GiB,backing=none,events=manual");
    larder_addr waits = rig_alloc(&rig, MIB(50));
    larder_addr addrs[BLOCKS];

    (void)state;
    keep(&rig, addrs, BLOCKS, MIB(1));
    assert_ok(larder_record_stream(rig.a, waits, 3));
    rig_free(&rig, waits);
    alloc_all(&rig, addrs, BLOCKS, KIB(896));
    assert_in_range(spared(&rig), MIB(16) - KIB(128), MIB(16));
    assert_ok(larder_sim_complete(rig.dev, 3));
    rig_down(&rig);
}

/* ---- taking it back -------------------------------------------------------- */

static void it_comes_back_when_it_gets_tight(void **state)
{
    struct rig rig = up("sim:1GiB,backing=none");
    larder_addr addrs[BLOCKS];
    larder_stats before;
    larder_stats after;

    (void)state;
    keep(&rig, addrs, BLOCKS, MIB(1));
    alloc_all(&rig, addrs, BLOCKS, KIB(896));
    before = rig_stats(&rig);
    (void)rig_alloc(&rig, MIB(400));
    after = rig_stats(&rig);
    assert_int_equal(spared(&rig), 0);
    assert_int_equal(after.allocated_bytes.all.current,
                     after.active_bytes.all.current);
    assert_int_equal(after.allocation.all.current,
                     before.allocation.all.current + 1);
    assert_int_equal(after.allocated_bytes.all.allocated -
                         after.allocated_bytes.all.freed,
                     after.allocated_bytes.all.current);
    assert_ok(larder_check(rig.a));
    free_all(&rig, addrs, BLOCKS);
    assert_int_equal(rig_stats(&rig).allocated_bytes.all.current, MIB(400));
    rig_down(&rig);
}

/* What it leaves is no obstacle: 280 + 740 MiB fit, 296 + 740 would not. */
static void a_request_that_needs_it_has_it(void **state)
{
    struct rig rig = up("sim:1GiB,backing=none");
    larder_addr addrs[5];

    (void)state;
    keep(&rig, addrs, 5, MIB(60));
    alloc_all(&rig, addrs, 5, MIB(56));
    assert_in_range(spared(&rig), MIB(8), MIB(16));
    (void)rig_alloc(&rig, MIB(740));
    assert_int_equal(spared(&rig), 0);
    rig_down(&rig);
}

/* Nobody's bytes are touched. */
static void what_was_written_stays(void **state)
{
    struct rig rig = up("sim:64MiB");
    larder_addr addrs[16];

    (void)state;
    keep(&rig, addrs, 16, MIB(1));
    for (int i = 0; i < 16; i++) {
        addrs[i] = rig_alloc(&rig, KIB(960));
        memset((void *)(uintptr_t)addrs[i], i + 1, KIB(960));
    }
    assert_true(spared(&rig) > 0);
    memset((void *)(uintptr_t)rig_alloc(&rig, MIB(40)), 99, MIB(40));
    assert_int_equal(spared(&rig), 0);
    for (int i = 0; i < 16; i++) {
        const unsigned char *bytes = (const void *)(uintptr_t)addrs[i];

        for (uint64_t k = 0; k < KIB(960); k++)
            assert_int_equal(bytes[k], i + 1);
    }
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_64th_of_the_device_at_most),
        cmocka_unit_test(no_more_by_a_single_block),
        cmocka_unit_test(nothing_where_it_would_stay),
        cmocka_unit_test(threads_keep_to_it),
        cmocka_unit_test(waiting_blocks_count_on_both_sides),
        cmocka_unit_test(it_comes_back_when_it_gets_tight),
        cmocka_unit_test(a_request_that_needs_it_has_it),
        cmocka_unit_test(what_was_written_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
