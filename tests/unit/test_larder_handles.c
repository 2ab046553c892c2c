/* test_larder_handles.c - the larder policy on devices whose handles have
 * several pages: fewer calls, and no page lost.  With 20 GiB a handle has up to
 * 25 pages, with 2 GiB up to 12. */
#include <stdbool.h>

#include "device/device.h"
#include "support/rig.h"

#define SPEC "sim:20GiB,backing=none,events=immediate"

static struct rig up(const char *spec)
{
    return rig_up_policy(spec, LARDER_POLICY_LARDER, "");
}

/* ---- sizes ---------------------------------------------------------------- */

static void a_handle_has_several_pages_where_there_is_room(void **state)
{
    struct rig rig = up(SPEC);

    (void)state;
    (void)rig_alloc_on(&rig, MIB(50), 0);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_page_create), 1);
    assert_int_equal(rig_counters(&rig).pages_mapped, 1);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_set_access), 1);
    assert_int_equal(rig_reserved(&rig), MIB(50));
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

/* How many handles are created for `bytes`. */
static uint64_t created_for(struct rig *rig, uint64_t bytes)
{
    uint64_t before = rig_calls(rig, LARDER_CALL_page_create);

    (void)rig_alloc_on(rig, bytes, 0);
    return rig_calls(rig, LARDER_CALL_page_create) - before;
}

/* As few as possible, and about equal: 12 pages at most. */
static void handles_of_a_request_have_about_one_size(void **state)
{
    struct rig rig = up("sim:2GiB,backing=none,events=immediate");

    (void)state;
    assert_int_equal(created_for(&rig, MIB(24)), 1);
    assert_int_equal(created_for(&rig, MIB(26)), 2);
    assert_int_equal(created_for(&rig, MIB(48)), 2);
    assert_int_equal(created_for(&rig, MIB(50)), 3);
    assert_int_equal(created_for(&rig, MIB(80)), 4);
    rig_down(&rig);
}

/* A quarter more than large_segment_size_mb; 1/400 of a large device. */
static void a_setting_or_a_segment_or_the_device_bounds_a_handle(void **state)
{
    static const struct {
        const char *spec;
        const char *conf;
        uint64_t bytes; /* in one handle */
    } cases[] = {
        {"sim:2GiB,backing=none", "", MIB(24)},
        {"sim:2GiB,backing=none", "large_segment_size_mb:40", MIB(50)},
        {"sim:2GiB,backing=none", "handle_mib:17", MIB(16)},
        {"sim:2GiB,backing=none", "handle_mib:1", MIB(2)},
        {"sim:9GiB,backing=none,context=0", "", MIB(24)},
        {"sim:80GiB,backing=none,context=0", "", MIB(204)},
        {"sim:80GiB,backing=none,context=0", "limit:40GiB", MIB(102)},
        {"sim:80GiB,backing=none,context=0", "handle_mib:1000", MIB(1000)},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rig rig =
            rig_up_policy(cases[i].spec, LARDER_POLICY_LARDER, cases[i].conf);

        assert_int_equal(created_for(&rig, cases[i].bytes), 1);
        assert_int_equal(created_for(&rig, cases[i].bytes + MIB(2)), 2);
        rig_down(&rig);
    }
}

/* Whatever is held and left. */
static void a_handle_s_size_does_not_change(void **state)
{
    struct rig rig = up(SPEC);

    (void)state;
    assert_int_equal(created_for(&rig, MIB(100)), 2);
    (void)rig_alloc_on(&rig, GIB(5), 0);
    assert_int_equal(created_for(&rig, MIB(100)), 2);
    (void)rig_alloc_on(&rig, GIB(14), 0);
    assert_int_equal(created_for(&rig, MIB(100)), 2);
    rig_down(&rig);
}

/* Requests in turn do not need a driver call each.  What is mapped ahead grows
 * with the square root of what is held, up to a handle: 142 MiB beyond 1 GiB,
 * 202 beyond 2, and 204 beyond 4. */
static void growth_is_mapped_ahead(void **state)
{
    struct rig rig = up("sim:80GiB,backing=none,events=immediate");
    uint64_t before;
    uint64_t twice;

    (void)state;
    (void)rig_alloc_on(&rig, GIB(1), 0);
    assert_int_equal(rig_reserved(&rig), GIB(1));
    before = rig_calls(&rig, LARDER_CALL_page_create);
    (void)rig_alloc_on(&rig, MIB(2), 0);
    assert_int_equal(rig_reserved(&rig), GIB(1) + MIB(142));
    for (int i = 1; i < 512; i++)
        (void)rig_alloc_on(&rig, MIB(2), 0);
    twice = rig_calls(&rig, LARDER_CALL_page_create);
    assert_in_range(twice - before, 5, 7);
    assert_true(rig_reserved(&rig) <= GIB(2) + MIB(202));
    for (int i = 0; i < 1024; i++)
        (void)rig_alloc_on(&rig, MIB(2), 0);
    assert_in_range(rig_calls(&rig, LARDER_CALL_page_create) - twice, 9, 11);
    assert_true(rig_reserved(&rig) <= GIB(4) + MIB(204));
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

static void memory_mapped_ahead_is_never_required(void **state)
{
    struct rig rig = up(SPEC);

    (void)state;
    (void)rig_alloc_on(&rig, GIB(20) - MIB(2), 0);
    (void)rig_alloc_on(&rig, MIB(2), 0);
    assert_int_equal(rig_reserved(&rig), GIB(20));
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

/* A stream gets all the addresses it needs at once, so that its memory grows at
 * one end only. */
static void the_first_stream_has_one_range(void **state)
{
    struct rig rig = up(SPEC);

    (void)state;
    for (int i = 0; i < 19; i++)
        (void)rig_alloc_on(&rig, GIB(1), 0);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_address_reserve), 1);
    (void)rig_alloc_on(&rig, MIB(2), 1);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_address_reserve), 2);
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

/* ---- moving --------------------------------------------------------------- */

static void handles_move_whole(void **state)
{
    struct rig rig = up(SPEC);
    uint64_t made;

    (void)state;
    rig_free(&rig, rig_alloc_on(&rig, GIB(20), 0));
    made = rig_calls(&rig, LARDER_CALL_page_create);
    assert_true(made <= 10240 / 25 + 1);
    (void)rig_alloc_on(&rig, GIB(20), 1);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_page_create), made);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_page_release), 0);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_unmap), 1);
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

/* What is missing at the end is less than a handle: one is released, and a
 * smaller one created. */
static void a_handle_is_split_to_make_up_for_a_pinned_one(void **state)
{
    struct rig rig = up(SPEC);
    larder_addr hole = rig_alloc_on(&rig, MIB(50), 0);
    larder_addr moves = rig_alloc_on(&rig, GIB(20) - MIB(50), 0);
    uint64_t made = rig_calls(&rig, LARDER_CALL_page_create);
    larder_addr addr;

    (void)state;
    rig_free(&rig, hole);
    (void)rig_alloc_on(&rig, MIB(2), 0);
    rig_free(&rig, moves);
    addr = rig_alloc_on(&rig, GIB(1), 1);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_page_release), 1);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_page_create), made + 1);
    rig_free(&rig, addr);
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

/* A page is requested where only larger handles are left: one is released, and
 * the rest of it is not lost. */
static void a_handle_that_is_too_large_is_recreated(void **state)
{
    struct rig rig = up(SPEC);

    (void)state;
    rig_free(&rig, rig_alloc_on(&rig, GIB(20), 0));
    (void)rig_alloc_on(&rig, MIB(2), 1);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_page_release), 1);
    assert_ok(larder_check(rig.a));
    (void)rig_alloc_on(&rig, GIB(20) - MIB(2), 1);
    assert_int_equal(rig_reserved(&rig), GIB(20));
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

/* A byte in use keeps its handle, for the stream that owns it. */
static void a_handle_in_use_stays(void **state)
{
    struct rig rig = up(SPEC);
    larder_addr hole;
    larder_addr none;

    (void)state;
    hole = rig_alloc_on(&rig, MIB(50), 0);
    (void)rig_alloc_on(&rig, GIB(20) - MIB(50), 0);
    rig_free(&rig, hole);
    (void)rig_alloc_on(&rig, MIB(2), 0);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(6), 1, &none));
    assert_ok(larder_check(rig.a));
    (void)rig_alloc_on(&rig, MIB(48), 0);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_unmap), 0);
    rig_down(&rig);
}

static void trimming_reaches_its_target(void **state)
{
    struct rig rig = up(SPEC);
    uint64_t gone;

    (void)state;
    rig_free(&rig, rig_alloc_on(&rig, GIB(1), 0));
    assert_ok(larder_trim(rig.a, MIB(500), &gone));
    assert_true(rig_reserved(&rig) <= MIB(500));
    assert_true(rig_reserved(&rig) > MIB(500) - MIB(200));
    assert_int_equal(gone, GIB(1) - rig_reserved(&rig));
    assert_ok(larder_check(rig.a));
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_reserved(&rig), 0);
    assert_int_equal(rig_usage(rig.dev).pages, 0);
    rig_down(&rig);
}

/* What is held beyond a limit that was lowered is released first; the rest of
 * the last handle serves. */
static void a_lowered_limit_leaves_room_for_small_requests(void **state)
{
    struct rig rig = up(SPEC);

    (void)state;
    rig_free(&rig, rig_alloc_on(&rig, GIB(16), 0));
    assert_ok(larder_set_memory_fraction(rig.a, 0.6));
    (void)rig_alloc_on(&rig, KIB(8), 0);
    assert_true(rig_reserved(&rig) <= GIB(12));
    assert_true(rig_reserved(&rig) > GIB(12) - MIB(200));
    (void)rig_alloc_on(&rig, GIB(11), 1);
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

/* ---- refusals ------------------------------------------------------------- */

/* The device has less than it reports because others use it: allocate as much
 * as there is. */
static void memory_taken_by_others_is_done_without(void **state)
{
    struct rig rig = up(SPEC);
    larder_addr taken;
    larder_addr none;

    (void)state;
    assert_ok(larder__device_mem_alloc(rig.dev, MIB(702), &taken));
    (void)rig_alloc_on(&rig, GIB(20) - MIB(702), 0);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(2), 0, &none));
    assert_ok(larder_check(rig.a));
    assert_ok(larder__device_mem_free(rig.dev, taken));
    (void)rig_alloc_on(&rig, MIB(702), 0); /* the device is called again */
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

/* A device with free handles of 4 pages between others in use, all of it
 * held. */
static struct rig up_with_holes(void)
{
    struct rig rig = rig_up_policy("sim:17GiB,backing=none,events=immediate",
                                   LARDER_POLICY_LARDER, "handle_mib:8");
    larder_addr holes[8];

    for (int i = 0; i < 8; i++)
        holes[i] = rig_alloc_on(&rig, MIB(12), 0);
    (void)rig_alloc_on(&rig, GIB(17) - MIB(96), 0);
    for (int i = 0; i < 8; i += 2)
        rig_free(&rig, holes[i]);
    return rig;
}

/* Nothing was lost: all free memory can be allocated. */
static void down_with_all(struct rig *rig, larder_addr addr)
{
    if (addr != 0)
        rig_free(rig, addr);
    addr = rig_alloc_on(rig, MIB(48), 1);
    assert_ok(larder_check(rig->a));
    rig_free(rig, addr);
    assert_ok(larder_empty_cache(rig->a));
    rig_down(rig);
}

/* A request that moves handles and recreates one, while one call after the
 * other fails. */
static bool remake_with_failure(larder_call call, uint64_t nth,
                                larder_result with)
{
    struct rig rig = up_with_holes();
    larder_addr addr = 0;
    bool failed;

    assert_ok(larder_device_fail(rig.dev, call, nth, 1, with));
    (void)larder_alloc(rig.a, MIB(46), 1, &addr);
    assert_ok(larder_check(rig.a));
    failed = rig_counters(&rig).failed[call] > 0;
    assert_ok(larder_device_fail(rig.dev, call, 0, 1, LARDER_OK));
    down_with_all(&rig, addr);
    return failed;
}

/* The same, but the mapped memory cannot be unmapped at first.  Then all of it
 * is released, before the next request or after it. */
static bool stranded_with_failure(uint64_t nth, bool is_emptied)
{
    struct rig rig = up_with_holes();
    larder_addr addr = 0;
    bool failed;

    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_set_access, 1, 1,
                                 LARDER_ERR_DEVICE));
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_unmap, nth, 0,
                                 LARDER_ERR_DEVICE));
    assert_true(larder_alloc(rig.a, MIB(46), 1, &addr) != LARDER_OK);
    assert_ok(larder_check(rig.a));
    failed = rig_counters(&rig).failed[LARDER_CALL_unmap] > 0;
    assert_ok(
        larder_device_fail(rig.dev, LARDER_CALL_set_access, 0, 1, LARDER_OK));
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_unmap, 0, 1, LARDER_OK));
    if (is_emptied)
        assert_ok(larder_empty_cache(rig.a));
    down_with_all(&rig, 0);
    return failed;
}

static void each_failure_loses_nothing(void **state)
{
    static const larder_call kinds[] = {
        LARDER_CALL_unmap,        LARDER_CALL_map,
        LARDER_CALL_set_access,   LARDER_CALL_page_create,
        LARDER_CALL_page_release, LARDER_CALL_event_sync,
    };

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        uint64_t nth = 1;

        while (remake_with_failure(kinds[i], nth, LARDER_ERR_DEVICE))
            nth++;
        assert_true(nth > 1);
    }
    for (uint64_t nth = 1; remake_with_failure(LARDER_CALL_page_create, nth,
                                               LARDER_ERR_OUT_OF_MEMORY);
         nth++) {
    }
}

static void pages_that_stay_mapped_are_not_lost(void **state)
{
    (void)state;
    for (int is_emptied = 0; is_emptied < 2; is_emptied++) {
        uint64_t nth = 1;

        while (stranded_with_failure(nth, is_emptied))
            nth++;
        assert_true(nth > 1);
    }
}

/* ---- contents ------------------------------------------------------------- */

enum { SLOTS = 320, STEPS = 20000 };

struct slot {
    larder_addr addr;
    uint64_t bytes;
    unsigned char value;
};

/* First, last and some bytes between: memory never touched costs nothing. */
static void slot_bytes(const struct slot *s, bool write)
{
    unsigned char *p = (unsigned char *)(uintptr_t)s->addr;
    uint64_t at[] = {0, s->bytes / 3, s->bytes / 2, s->bytes - 1};

    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        if (write)
            p[at[i]] = s->value;
        else
            assert_int_equal(p[at[i]], s->value);
    }
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void slot_get(struct rig *rig, struct slot *s, uint32_t *seed,
                     const larder_stream *streams)
{
    uint64_t most = UINT64_C(1) << (10 + next_random(seed) % 20);
    larder_stream stream = streams[next_random(seed) % 3];

    s->bytes = most + next_random(seed) % most;
    s->value = (unsigned char)next_random(seed);
    if (larder_alloc(rig->a, s->bytes, stream, &s->addr) == LARDER_OK)
        slot_bytes(s, true);
    else
        s->addr = 0;
}

/* Request more than the device has, so that handles move, are released and are
 * recreated. */
static void contents_survive(void **state)
{
    struct rig rig = up("sim:9GiB,backing=memory,context=0");
    larder_stream streams[3] = {0, 1, 2};
    struct slot slots[SLOTS] = {{0}};
    uint32_t seed = 11;

    (void)state;
    for (int i = 0; i < STEPS; i++) {
        struct slot *s = &slots[next_random(&seed) % SLOTS];

        if (s->addr != 0) {
            slot_bytes(s, false);
            rig_free(&rig, s->addr);
            s->addr = 0;
        } else {
            slot_get(&rig, s, &seed, streams);
        }
        if (i % 500 == 0)
            assert_ok(larder_check(rig.a));
        if (i % 5000 == 4999)
            assert_ok(larder_empty_cache(rig.a));
    }
    assert_true(rig_calls(&rig, LARDER_CALL_unmap) > 1000);
    assert_true(rig_calls(&rig, LARDER_CALL_page_release) > 200);
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handle_has_several_pages_where_there_is_room),
        cmocka_unit_test(handles_of_a_request_have_about_one_size),
        cmocka_unit_test(a_setting_or_a_segment_or_the_device_bounds_a_handle),
        cmocka_unit_test(a_handle_s_size_does_not_change),
        cmocka_unit_test(growth_is_mapped_ahead),
        cmocka_unit_test(memory_mapped_ahead_is_never_required),
        cmocka_unit_test(the_first_stream_has_one_range),
        cmocka_unit_test(handles_move_whole),
        cmocka_unit_test(a_handle_is_split_to_make_up_for_a_pinned_one),
        cmocka_unit_test(a_handle_that_is_too_large_is_recreated),
        cmocka_unit_test(a_handle_in_use_stays),
        cmocka_unit_test(trimming_reaches_its_target),
        cmocka_unit_test(a_lowered_limit_leaves_room_for_small_requests),
        cmocka_unit_test(memory_taken_by_others_is_done_without),
        cmocka_unit_test(each_failure_loses_nothing),
        cmocka_unit_test(pages_that_stay_mapped_are_not_lost),
        cmocka_unit_test(contents_survive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
