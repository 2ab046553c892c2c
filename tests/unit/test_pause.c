/* test_pause.c - releasing a tag's memory for a while. */
#include "support/tag_rig.h"

/* ---- pausing -------------------------------------------------------------------- */

enum { COUNT = 12 };

static uint64_t bytes_of(int i)
{
    return i % 2 == 0 ? 3000 + (uint64_t)i * 50000 : MIB(3) + (uint64_t)i * 999;
}

/* Weights on two streams, and other memory between them. */
static void fill(struct rig *rig, larder_addr *at, larder_addr *other)
{
    for (int i = 0; i < COUNT; i++) {
        at[i] =
            tagged_on(rig, "weights", bytes_of(i), (larder_stream)(i / 4 % 2));
        pattern_put(at[i], bytes_of(i), (uint64_t)i);
        other[i] = rig_alloc(rig, bytes_of(i));
        pattern_put(other[i], bytes_of(i), 100 + (uint64_t)i);
    }
}

/* What the device does not take back at once it gets by the next wake. */
static void kept_contents_are_released_at_last(void **state)
{
    struct rig rig = way_up("sim:512MiB", 2);
    larder_addr at[COUNT], other[COUNT];

    (void)state;
    fill(&rig, at, other);
    assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_KEEP));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_host_alloc), 1);
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_host_free, 1, 1,
                                 LARDER_ERR_DEVICE));
    assert_ok(larder_resume(rig.a, "weights"));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_host_free), 0);
    assert_true(usage_of(&rig, "weights").kept_bytes > 0);
    assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_DROP));
    assert_int_equal(rig_calls(&rig, LARDER_CALL_host_free), 1);
    assert_int_equal(usage_of(&rig, "weights").kept_bytes, 0);
    assert_ok(larder_resume(rig.a, "weights"));
    rig_down(&rig);
}

/* A tag pauses, keeping more each time, and resumes with its contents, while the
 * device takes none of the host's memory back. */
static void kept_contents_that_stay_are_not_in_the_way(void **state)
{
    struct rig rig = way_up("sim:512MiB", 2);
    larder_addr at[3];

    (void)state;
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_host_free, 1, 0,
                                 LARDER_ERR_DEVICE));
    for (int i = 0; i < 3; i++) {
        at[i] = tagged(&rig, "weights", MIB(30));
        pattern_put(at[i], MIB(30), (uint64_t)i);
        assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_KEEP));
        assert_ok(larder_resume(rig.a, "weights"));
        for (int k = 0; k <= i; k++)
            pattern_is(at[k], MIB(30), (uint64_t)k);
        assert_true(usage_of(&rig, "weights").kept_bytes >= MIB(30 * (i + 1)));
    }
    pattern_put(at[0], MIB(30), 9);
    assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_DROP));
    assert_true(usage_of(&rig, "weights").kept_bytes > 0);
    assert_ok(
        larder_device_fail(rig.dev, LARDER_CALL_host_free, 0, 0, LARDER_OK));
    assert_ok(larder_resume(rig.a, "weights"));
    assert_int_equal(usage_of(&rig, "weights").kept_bytes, 0);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_host_free),
                     rig_calls(&rig, LARDER_CALL_host_alloc));
    rig_down(&rig);
}

static void kept_memory_resumes_at_its_address(void **state)
{
    (void)state;
    for (int w = 0; w < WAYS; w++) {
        struct rig rig = way_up("sim:512MiB", w);
        larder_addr at[COUNT], other[COUNT];
        larder_tag_usage before, paused;
        uint64_t reserved;

        fill(&rig, at, other);
        before = usage_of(&rig, "weights");
        reserved = rig_reserved(&rig);
        assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_KEEP));
        assert_ok(larder_check(rig.a));
        paused = usage_of(&rig, "weights");
        assert_true(paused.is_paused);
        assert_int_equal(paused.reserved_bytes, 0);
        assert_int_equal(paused.allocated_bytes, before.allocated_bytes);
        assert_int_equal(paused.kept_bytes, paused.paused_bytes);
        assert_true(paused.paused_bytes <= before.reserved_bytes);
        assert_int_equal(rig_reserved(&rig), reserved - before.reserved_bytes);
        rig_alloc(&rig, MIB(200)); /* released memory is for others */
        for (int i = 0; i < COUNT; i++)
            pattern_is(other[i], bytes_of(i), 100 + (uint64_t)i);
        assert_ok(larder_resume(rig.a, "weights"));
        assert_ok(larder_check(rig.a));
        paused = usage_of(&rig, "weights");
        assert_false(paused.is_paused);
        assert_int_equal(paused.kept_bytes, 0);
        for (int i = 0; i < COUNT; i++) {
            pattern_is(at[i], bytes_of(i), (uint64_t)i);
            pattern_is(other[i], bytes_of(i), 100 + (uint64_t)i);
        }
        rig_down(&rig);
    }
}

static void dropped_memory_resumes_without_contents(void **state)
{
    struct rig rig = way_up("sim:512MiB", 2);
    larder_addr at[COUNT], other[COUNT];

    (void)state;
    fill(&rig, at, other);
    assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_DROP));
    assert_int_equal(usage_of(&rig, "weights").kept_bytes, 0);
    assert_ok(larder_resume(rig.a, "weights"));
    for (int i = 0; i < COUNT; i++) {
        pattern_put(at[i], bytes_of(i), 7);
        pattern_is(at[i], bytes_of(i), 7);
        pattern_is(other[i], bytes_of(i), 100 + (uint64_t)i);
    }
    rig_down(&rig);
}

static void memory_freed_while_paused_is_not_resumed(void **state)
{
    (void)state;
    for (int w = 0; w < WAYS; w++) {
        struct rig rig = way_up("sim:512MiB", w);
        larder_addr at[COUNT], other[COUNT];
        larder_addr whole = tagged_on(&rig, "weights", MIB(100), 5);

        fill(&rig, at, other);
        assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_KEEP));
        rig_free(&rig, whole); /* a segment of its own */
        for (int i = 0; i < COUNT; i += 3)
            rig_free(&rig, at[i]);
        assert_refused(LARDER_ERR_DOUBLE_FREE, larder_free(rig.a, at[0]),
                       "freed before");
        assert_ok(larder_empty_cache(rig.a));
        assert_ok(larder_check(rig.a));
        assert_ok(larder_resume(rig.a, "weights"));
        assert_ok(larder_check(rig.a));
        for (int i = 0; i < COUNT; i++) {
            if (i % 3 != 0)
                pattern_is(at[i], bytes_of(i), (uint64_t)i);
        }
        assert_true(usage_of(&rig, "weights").reserved_bytes <
                    MIB(100)); /* without `whole` */
        tagged(&rig, "weights", 5000);
        rig_down(&rig);
    }
}

/* It becomes free only when its recorded stream has passed. */
static void memory_pending_while_paused_is_resumed(void **state)
{
    (void)state;
    for (int w = 0; w < WAYS; w++) {
        struct rig rig = way_up("sim:512MiB", w);
        larder_addr at = tagged(&rig, "weights", MIB(3));

        assert_ok(larder_record_stream(rig.a, at, 5));
        assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_KEEP));
        assert_ok(larder_capture_begin(rig.a)); /* no event is recorded */
        rig_free(&rig, at);
        assert_ok(larder_capture_end(rig.a));
        assert_ok(larder_resume(rig.a, "weights"));
        assert_ok(larder_check(rig.a));
        assert_int_equal(tagged(&rig, "weights", MIB(3)), at);
        pattern_put(at, MIB(3), 7);
        rig_down(&rig);
    }
}

/* From the first page of the freed memory to its last. */
static void no_page_freed_while_paused_is_resumed(void **state)
{
    (void)state;
    for (int w = 0; w < WAYS; w++) {
        struct rig rig = way_up("sim:512MiB", w);
        larder_addr at[3];
        uint64_t reserved;

        for (int i = 0; i < 3; i++)
            at[i] = tagged(&rig, "weights", MIB(40));
        reserved = usage_of(&rig, "weights").reserved_bytes;
        assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_KEEP));
        rig_free(&rig, at[1]);
        assert_ok(larder_resume(rig.a, "weights"));
        assert_int_equal(usage_of(&rig, "weights").reserved_bytes,
                         reserved - MIB(40));
        rig_down(&rig);
    }
}

/* Neither the device nor what is cached can help. */
static void a_tag_above_its_limit_stays_paused(void **state)
{
    (void)state;
    for (int i = 0; i < WAYS * 2; i++) {
        struct rig rig = way_up("sim:512MiB", i / 2);
        larder_addr one = tagged(&rig, "weights", MIB(40));
        uint64_t cached;

        (void)tagged(&rig, "weights", MIB(40));
        rig_free(&rig, rig_alloc(&rig, MIB(20)));
        assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_DROP));
        cached = rig_reserved(&rig);
        assert_ok(larder_tag_limit(rig.a, "weights", MIB(60)));
        assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                       larder_resume(rig.a, "weights"),
                       "'weights' may hold 62914560 bytes and needs 83886080");
        assert_int_equal(rig_reserved(&rig), cached);
        assert_true(usage_of(&rig, "weights").is_paused);
        if (i % 2 == 0)
            rig_free(&rig, one);
        else
            assert_ok(larder_tag_limit(rig.a, "weights", MIB(80)));
        assert_ok(larder_resume(rig.a, "weights"));
        rig_down(&rig);
    }
}

/* Whole pages are missing between the memory that is kept. */
static void memory_behind_a_hole_is_resumed(void **state)
{
    (void)state;
    for (int w = 0; w < WAYS; w++) {
        struct rig rig = way_up("sim:512MiB", w);
        larder_addr at[4];

        for (int i = 0; i < 4; i++) {
            at[i] = tagged(&rig, "weights", MIB(50));
            pattern_put(at[i], MIB(50), (uint64_t)i);
        }
        rig_free(&rig, at[0]);
        rig_free(&rig, at[2]);
        assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_KEEP));
        assert_true(usage_of(&rig, "weights").kept_bytes <= MIB(160));
        assert_ok(larder_resume(rig.a, "weights"));
        pattern_is(at[1], MIB(50), 1);
        pattern_is(at[3], MIB(50), 3);
        rig_down(&rig);
    }
}

static void nothing_is_allocated_for_a_paused_tag(void **state)
{
    struct rig rig = way_up("sim:256MiB", 2);
    larder_addr at = tagged(&rig, "weights", 5000);
    larder_addr addr = 0;

    (void)state;
    assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_KEEP));
    assert_ok(larder_tag_begin(rig.a, "weights"));
    assert_refused(LARDER_ERR_PAUSED, larder_alloc(rig.a, 5000, 0, &addr),
                   "'weights' is paused");
    assert_ok(larder_tag_end(rig.a));
    rig_alloc(&rig, 5000);
    assert_refused(LARDER_ERR_PAUSED,
                   larder_pause(rig.a, "weights", LARDER_PAUSE_KEEP),
                   "paused already");
    assert_ok(larder_resume(rig.a, "weights"));
    tagged(&rig, "weights", 5000);
    rig_free(&rig, at);
    rig_down(&rig);
}

static void a_tag_without_memory_pauses_too(void **state)
{
    struct rig rig = way_up("sim:256MiB", 2);
    larder_addr at = tagged(&rig, "weights", 5000);

    (void)state;
    assert_ok(larder_tag_begin(rig.a, "empty"));
    assert_ok(larder_tag_end(rig.a));
    assert_ok(larder_pause(rig.a, "empty", LARDER_PAUSE_KEEP));
    assert_ok(larder_resume(rig.a, "empty"));
    rig_free(&rig, at);
    assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_DROP));
    assert_int_equal(rig_reserved(&rig), 0);
    assert_ok(larder_resume(rig.a, "weights"));
    assert_int_equal(rig_reserved(&rig), 0);
    rig_down(&rig);
}

/* It neither has nor needs memory, however much is held. */
static void a_tag_that_needs_no_memory_resumes_beyond_any_limit(void **state)
{
    (void)state;
    for (int w = 0; w < WAYS; w++) {
        struct rig rig = way_up("sim:256MiB", w);
        larder_addr at = tagged(&rig, "weights", MIB(40));

        (void)rig_alloc(&rig, MIB(60));
        assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_KEEP));
        rig_free(&rig, at);
        assert_ok(larder_configure(rig.a, "limit:50MiB"));
        assert_ok(larder_resume(rig.a, "weights"));
        rig_down(&rig);
    }
}

/* The addresses are the tag's; there is no memory at them. */
static void memory_freed_while_paused_is_not_cached(void **state)
{
    (void)state;
    for (int w = 0; w < WAYS; w++) {
        struct rig rig = way_up("sim:256MiB", w);
        larder_addr at = tagged(&rig, "weights", MIB(40));
        uint64_t largest = 1;

        assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_DROP));
        rig_free(&rig, at);
        assert_ok(larder_largest_cached(rig.a, &largest));
        assert_int_equal(largest, 0);
        assert_ok(larder_resume(rig.a, "weights"));
        rig_down(&rig);
    }
}

static void an_allocator_is_destroyed_with_its_tags_paused(void **state)
{
    struct rig rig = way_up("sim:512MiB", 2);
    larder_addr at[COUNT], other[COUNT];

    (void)state;
    fill(&rig, at, other);
    assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_KEEP));
    rig_down(&rig);
}

/* ---- order ----------------------------------------------------------------------- */

static void set_flag(void *ctx)
{
    *(int *)ctx = 1;
}

/* On the allocation's stream, and on one recorded for it. */
static void pausing_waits_for_what_is_queued(void **state)
{
    struct rig rig = way_up("sim:256MiB,events=manual", 2);
    larder_addr at = tagged_on(&rig, "weights", MIB(3), 1);
    int ran[2] = {0};

    (void)state;
    assert_ok(larder_record_stream(rig.a, at, 2));
    assert_ok(larder_device_fill(rig.dev, at, 0x5A, MIB(3), 1));
    assert_ok(larder_sim_launch(rig.dev, 1, set_flag, &ran[0]));
    assert_ok(larder_sim_launch(rig.dev, 2, set_flag, &ran[1]));
    assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_KEEP));
    assert_int_equal(ran[0], 1);
    assert_int_equal(ran[1], 1);
    assert_ok(larder_resume(rig.a, "weights"));
    assert_int_equal(*(unsigned char *)(uintptr_t)at, 0x5A);
    assert_int_equal(*(unsigned char *)(uintptr_t)(at + MIB(3) - 1), 0x5A);
    rig_down(&rig);
}

/* Of either size, on its own stream. */
static void pausing_waits_for_work_queued_on_the_stream(void **state)
{
    static const uint64_t sizes[] = {3000, MIB(3)};

    (void)state;
    for (int i = 0; i < 2 * WAYS; i++) {
        struct rig rig = way_up("sim:512MiB,events=manual", i / 2);
        int ran = 0;

        tagged_on(&rig, "weights", sizes[i % 2], 3);
        assert_ok(larder_sim_launch(rig.dev, 3, set_flag, &ran));
        assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_DROP));
        assert_int_equal(ran, 1);
        assert_ok(larder_resume(rig.a, "weights"));
        rig_down(&rig);
    }
}

static void pausing_waits_for_the_streams_of_all_its_memory(void **state)
{
    enum { STREAMS = 3 };
    struct rig rig = way_up("sim:512MiB,events=manual", 2);
    int ran[STREAMS] = {0};

    (void)state;
    for (larder_stream s = 0; s < STREAMS; s++) {
        tagged_on(&rig, "weights", MIB(3), s);
        assert_ok(larder_sim_launch(rig.dev, s, set_flag, &ran[s]));
    }
    assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_DROP));
    for (int s = 0; s < STREAMS; s++)
        assert_int_equal(ran[s], 1);
    rig_down(&rig);
}

/* Of two blocks freed while recorded streams still use them, only the tag's is
 * waited for. */
static void pausing_waits_for_nothing_else(void **state)
{
    struct rig rig = way_up("sim:256MiB,events=manual", 2);
    larder_addr kept = tagged_on(&rig, "weights", MIB(3), 1);
    larder_addr own = tagged_on(&rig, "weights", MIB(3), 1);
    larder_addr foreign = rig_alloc_on(&rig, MIB(3), 1);
    int ran[2] = {0};

    (void)state;
    assert_ok(larder_record_stream(rig.a, own, 2));
    assert_ok(larder_record_stream(rig.a, foreign, 3));
    assert_ok(larder_sim_launch(rig.dev, 2, set_flag, &ran[0]));
    assert_ok(larder_sim_launch(rig.dev, 3, set_flag, &ran[1]));
    rig_free(&rig, own);
    rig_free(&rig, foreign);
    assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_KEEP));
    assert_int_equal(ran[0], 1);
    assert_int_equal(ran[1], 0);
    assert_ok(larder_resume(rig.a, "weights"));
    assert_int_equal(ran[1], 0);
    assert_ok(larder_check(rig.a));
    rig_free(&rig, kept);
    assert_ok(larder_sim_complete(rig.dev, 3));
    rig_down(&rig);
}

static void nothing_is_paused_during_a_capture(void **state)
{
    struct rig rig = way_up("sim:256MiB", 2);
    larder_addr at = tagged(&rig, "weights", MIB(3));

    (void)state;
    pattern_put(at, MIB(3), 1);
    assert_ok(larder_pool_begin(rig.a, (larder_pool_id){1, 0}, NULL, NULL));
    assert_result(LARDER_ERR_CAPTURING,
                  larder_pause(rig.a, "weights", LARDER_PAUSE_KEEP));
    assert_ok(larder_pool_end(rig.a, (larder_pool_id){1, 0}));
    assert_ok(larder_sim_capture_begin(rig.dev, 3));
    assert_result(LARDER_ERR_CAPTURING,
                  larder_pause(rig.a, "weights", LARDER_PAUSE_KEEP));
    assert_ok(larder_sim_capture_end(rig.dev, 3));
    assert_ok(larder_check(rig.a));
    pattern_is(at, MIB(3), 1);
    assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_KEEP));
    assert_ok(larder_pool_begin(rig.a, (larder_pool_id){2, 0}, NULL, NULL));
    assert_result(LARDER_ERR_CAPTURING, larder_resume(rig.a, "weights"));
    assert_ok(larder_pool_end(rig.a, (larder_pool_id){2, 0}));
    assert_ok(larder_resume(rig.a, "weights"));
    pattern_is(at, MIB(3), 1);
    rig_down(&rig);
}

static void exported_memory_is_not_paused(void **state)
{
    struct rig rig = way_up("sim:256MiB,export=fd", 2);
    larder_addr at = tagged(&rig, "weights", MIB(3));
    larder_export *e;

    (void)state;
    assert_ok(larder_export_open(rig.a, at, &e));
    assert_refused(LARDER_ERR_BUSY,
                   larder_pause(rig.a, "weights", LARDER_PAUSE_DROP),
                   "is exported");
    rig_free(&rig, at);
    assert_refused(LARDER_ERR_BUSY,
                   larder_pause(rig.a, "weights", LARDER_PAUSE_DROP),
                   "is exported");
    assert_ok(larder_export_close(e));
    at = tagged(&rig, "weights", MIB(3));
    assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_DROP));
    assert_refused(LARDER_ERR_PAUSED, larder_export_open(rig.a, at, &e),
                   "is paused");
    rig_down(&rig);
}

/* ---- when pausing is refused ------------------------------------------------------- */

static void memory_that_is_not_in_pages_is_not_paused(void **state)
{
    struct rig rig = rig_up("sim:256MiB,vmm=off", "");

    (void)state;
    tagged(&rig, "weights", MIB(3));
    assert_refused(LARDER_ERR_UNSUPPORTED,
                   larder_pause(rig.a, "weights", LARDER_PAUSE_KEEP),
                   "has no virtual memory");
    rig_down(&rig);
    rig = rig_up_policy("sim:256MiB", LARDER_POLICY_DIRECT, "");
    tagged(&rig, "weights", MIB(3));
    assert_refused(LARDER_ERR_UNSUPPORTED,
                   larder_pause(rig.a, "weights", LARDER_PAUSE_KEEP),
                   "under this policy");
    rig_down(&rig);
}

/* Others have taken the memory meanwhile. */
static void memory_without_room_stays_paused(void **state)
{
    (void)state;
    for (int w = 0; w < WAYS; w++) {
        struct rig rig = way_up("sim:128MiB", w);
        larder_addr at = tagged(&rig, "weights", MIB(60));
        larder_addr other;

        pattern_put(at, MIB(60), 3);
        assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_KEEP));
        other = rig_alloc(&rig, MIB(100));
        assert_result(LARDER_ERR_OUT_OF_MEMORY,
                      larder_resume(rig.a, "weights"));
        assert_ok(larder_check(rig.a));
        assert_int_equal(usage_of(&rig, "weights").reserved_bytes, 0);
        rig_free(&rig, other); /* cached: released by the resume */
        assert_ok(larder_resume(rig.a, "weights"));
        pattern_is(at, MIB(60), 3);
        assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_KEEP));
        assert_ok(larder_configure(rig.a, "limit:50MiB"));
        assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                       larder_resume(rig.a, "weights"), "the limit");
        assert_ok(larder_configure(rig.a, "limit:128MiB"));
        assert_ok(larder_resume(rig.a, "weights"));
        pattern_is(at, MIB(60), 3);
        rig_down(&rig);
    }
}

static void an_out_of_memory_message_does_not_count_paused_memory(void **state)
{
    struct rig rig = way_up("sim:128MiB", 0);
    larder_addr addr = 0;

    (void)state;
    tagged(&rig, "weights", MIB(60));
    assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_DROP));
    rig_alloc(&rig, MIB(20));
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_alloc(rig.a, MIB(120), 0, &addr),
                   "Of the allocated memory 20.00 MiB is allocated by Larder, "
                   "and 0 bytes is reserved");
    rig_down(&rig);
}

/* ---- at random ----------------------------------------------------------------------- */

enum { TAGS = 3, SLOTS = 60, STEPS = 1500 };

struct slot {
    larder_addr addr; /* 0: none */
    uint64_t bytes;
    uint64_t seed;
    int tag; /* TAGS: none */
};

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

static void slot_step(struct rig *rig, struct slot *s, const int *paused,
                      uint64_t *random)
{
    static const char *const names[] = {"a", "b", "c"};

    if (s->addr != 0) {
        if (s->tag == TAGS || !paused[s->tag])
            pattern_is(s->addr, s->bytes, s->seed);
        rig_free(rig, s->addr);
        s->addr = 0;
        return;
    }
    s->tag = (int)(next_random(random) % (TAGS + 1));
    if (s->tag < TAGS && paused[s->tag])
        return;
    s->bytes = 8 + next_random(random) %
                       (next_random(random) % 3 == 0 ? MIB(6) : KIB(200));
    s->seed = next_random(random);
    s->addr =
        s->tag == TAGS
            ? rig_alloc_on(rig, s->bytes, next_random(random) % 2)
            : tagged_on(rig, names[s->tag], s->bytes, next_random(random) % 2);
    pattern_put(s->addr, s->bytes, s->seed);
}

static void tag_step(struct rig *rig, const struct slot *slots, int *paused,
                     int tag)
{
    static const char *const names[] = {"a", "b", "c"};

    if (!paused[tag]) {
        assert_ok(larder_pause(rig->a, names[tag], LARDER_PAUSE_KEEP));
    } else {
        assert_ok(larder_resume(rig->a, names[tag]));
        for (int i = 0; i < SLOTS; i++) {
            if (slots[i].addr != 0 && slots[i].tag == tag)
                pattern_is(slots[i].addr, slots[i].bytes, slots[i].seed);
        }
    }
    paused[tag] = !paused[tag];
    assert_ok(larder_check(rig->a));
}

static void bytes_survive_random_pauses(void **state)
{
    (void)state;
    for (int w = 0; w < WAYS; w++) {
        struct rig rig = way_up("sim:1GiB", w);
        struct slot slots[SLOTS] = {{0}};
        int paused[TAGS] = {0};
        uint64_t random = 11 + (uint64_t)w;

        for (int i = 0; i < TAGS; i++)
            assert_ok(larder_tag_limit(
                rig.a, (const char[]){(char)('a' + i), 0}, MIB(800)));
        for (int i = 0; i < STEPS; i++) {
            uint64_t what = next_random(&random) % 40;

            if (what == 0)
                tag_step(&rig, slots, paused,
                         (int)(next_random(&random) % TAGS));
            else if (what == 1)
                assert_ok(larder_empty_cache(rig.a));
            else
                slot_step(&rig, &slots[next_random(&random) % SLOTS], paused,
                          &random);
        }
        rig_down(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_memory_resumes_at_its_address),
        cmocka_unit_test(pausing_waits_for_work_queued_on_the_stream),
        cmocka_unit_test(pausing_waits_for_the_streams_of_all_its_memory),
        cmocka_unit_test(kept_contents_are_released_at_last),
        cmocka_unit_test(kept_contents_that_stay_are_not_in_the_way),
        cmocka_unit_test(dropped_memory_resumes_without_contents),
        cmocka_unit_test(memory_freed_while_paused_is_not_resumed),
        cmocka_unit_test(memory_pending_while_paused_is_resumed),
        cmocka_unit_test(no_page_freed_while_paused_is_resumed),
        cmocka_unit_test(a_tag_above_its_limit_stays_paused),
        cmocka_unit_test(memory_behind_a_hole_is_resumed),
        cmocka_unit_test(nothing_is_allocated_for_a_paused_tag),
        cmocka_unit_test(a_tag_without_memory_pauses_too),
        cmocka_unit_test(a_tag_that_needs_no_memory_resumes_beyond_any_limit),
        cmocka_unit_test(memory_freed_while_paused_is_not_cached),
        cmocka_unit_test(an_allocator_is_destroyed_with_its_tags_paused),
        cmocka_unit_test(pausing_waits_for_what_is_queued),
        cmocka_unit_test(pausing_waits_for_nothing_else),
        cmocka_unit_test(nothing_is_paused_during_a_capture),
        cmocka_unit_test(exported_memory_is_not_paused),
        cmocka_unit_test(memory_that_is_not_in_pages_is_not_paused),
        cmocka_unit_test(memory_without_room_stays_paused),
        cmocka_unit_test(an_out_of_memory_message_does_not_count_paused_memory),
        cmocka_unit_test(bytes_survive_random_pauses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
