/* test_preload_pause.c - memory is released to the driver for a while and
 * restored at the same addresses; the limit is 200 of 256 MiB. */
#include "preload_rig.h"

#include <pthread.h>

#include "base/host.h"

static size_t free_of_device(void)
{
    size_t free_bytes;
    size_t total;

    assert_int_equal(DRIVER(cuMemGetInfo_v2)(&free_bytes, &total), 0);
    return free_bytes;
}

static void contents_come_back_where_they_were(void **state)
{
    size_t before = free_of_device();
    cud_addr a = allocate(MIB(40));
    cud_addr b = allocate(KIB(300));

    (void)state;
    release(allocate(MIB(30))); /* cached memory is not worth a copy */
    write_all(a, 5, MIB(40));
    write_all(b, 6, KIB(300));
    assert_ok(larder_preload_pause(0, 0));
    assert_int_equal(free_of_device(), before);
    assert_int_equal(stats_now().held_bytes, 0);
    assert_int_equal(stats_now().paused_bytes, MIB(42));
    assert_ok(larder_preload_pause(0, 0)); /* already paused */
    assert_ok(larder_preload_resume(0));
    assert_int_equal(stats_now().held_bytes, MIB(42));
    assert_int_equal(stats_now().paused_bytes, 0);
    assert_true(reads_all(a, 5, MIB(40)));
    assert_true(reads_all(b, 6, KIB(300)));
    assert_ok(larder_preload_resume(0)); /* already resumed */
    release(a);
    release(b);
    assert_ok(larder_preload_empty_cache(0));
    assert_int_equal(free_of_device(), before);
}

static void contents_may_be_dropped(void **state)
{
    cud_addr a = allocate(MIB(40));
    unsigned long copies = CALLS(cuMemcpyDtoH_v2);

    (void)state;
    assert_ok(larder_preload_pause(LARDER_PRELOAD_ALL, LARDER_PRELOAD_DROP));
    assert_int_equal(CALLS(cuMemcpyDtoH_v2), copies);
    assert_ok(larder_preload_resume(LARDER_PRELOAD_ALL));
    write_all(a, 5, MIB(40));
    assert_true(reads_all(a, 5, MIB(40)));
    release(a);
}

static void memory_taken_meanwhile_is_the_driver_s(void **state)
{
    cud_addr a = allocate(MIB(3));
    cud_addr b = allocate(MIB(3)); /* of the same segment as the next */
    cud_addr c;

    (void)state;
    assert_ok(larder_preload_pause(0, 0));
    c = allocate(MIB(3));
    write_all(c, 9, MIB(3));
    assert_int_equal(stats_now().outside_bytes, MIB(3));
    release(b);
    assert_ok(larder_preload_resume(0));
    assert_true(reads_all(c, 9, MIB(3)));
    release(c);
    assert_int_equal(stats_now().outside_bytes, 0);
    release(a);
}

static void a_resume_without_room_can_be_repeated(void **state)
{
    cud_addr a = allocate(MIB(100));
    cud_addr b = allocate(MIB(30));
    cud_addr other;

    (void)state;
    write_all(a, 3, MIB(100));
    write_all(b, 4, MIB(30));
    assert_ok(larder_preload_pause(0, 0));
    other = allocate(MIB(90)); /* 200 - 90 cannot hold both */
    assert_int_equal(larder_preload_resume(0), LARDER_ERR_OUT_OF_MEMORY);
    assert_string_equal(larder_preload_last_error(),
                        "it would exceed the limit");
    release(other);
    assert_ok(larder_preload_resume(0));
    assert_true(reads_all(a, 3, MIB(100)));
    assert_true(reads_all(b, 4, MIB(30)));
    release(a);
    release(b);
}

static void work_ends_before_its_memory_goes(void **state)
{
    cud_stream stream = new_stream();
    cud_addr a = allocate(MIB(24));

    (void)state;
    assert_int_equal(DRIVER(cuMemsetD8Async)(a, 8, MIB(24), stream), 0);
    assert_ok(larder_preload_pause(0, 0));
    assert_ok(larder_preload_resume(0));
    assert_true(reads_all(a, 8, MIB(24)));
    /* The same when a segment is released for good. */
    assert_int_equal(DRIVER(cuMemsetD8Async)(a, 9, MIB(24), stream), 0);
    release(a);
    assert_ok(larder_preload_empty_cache(0));
    assert_int_equal(cuMemAllocAsync(&a, MIB(24), stream), CUD_SUCCESS);
    assert_int_equal(DRIVER(cuMemsetD8Async)(a, 9, MIB(24), stream), 0);
    assert_int_equal(cuMemFreeAsync(a, stream), CUD_SUCCESS);
    assert_ok(larder_preload_empty_cache(0));
    assert_int_equal(cuStreamDestroy_v2(stream), CUD_SUCCESS);
}

static void pausing_is_refused_during_a_capture(void **state)
{
    cud_stream stream = new_stream();
    cud_addr a = allocate(MIB(24));
    void *graph = NULL;

    (void)state;
    assert_int_equal(cuStreamBeginCapture_v2(stream, CUD_CAPTURE_RELAXED), 0);
    assert_int_equal(larder_preload_pause(0, 0), LARDER_ERR_CAPTURING);
    assert_int_equal(DRIVER(cuStreamEndCapture)(stream, &graph), 0);
    assert_int_equal(DRIVER(cuGraphDestroy)(graph), 0);
    assert_ok(larder_preload_pause(0, 0));
    assert_ok(larder_preload_resume(0));
    release(a);
    assert_int_equal(cuStreamDestroy_v2(stream), CUD_SUCCESS);
}

/* As the thread of the setting trim_age does, and calls on other devices whose
 * allocators answer other processes: neither knows of a pause. */
static void *release_cached(void *allocator)
{
    return (void *)(uintptr_t)larder_trim(allocator, 0, NULL);
}

static void memory_may_be_released_during_a_resume(void **state)
{
    enum { ROUNDS = 100, BLOCKS = 8 };
    cud_stream stream = new_stream();

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        cud_addr blocks[BLOCKS];
        pthread_t thread;
        void *r;

        for (int i = 0; i < BLOCKS; i++)
            assert_int_equal(cuMemAllocAsync(&blocks[i], MIB(24), stream), 0);
        assert_ok(larder_preload_pause(0, LARDER_PRELOAD_DROP));
        for (int i = 0; i < BLOCKS; i++)
            assert_int_equal(cuMemFreeAsync(blocks[i], stream), CUD_SUCCESS);
        assert_int_equal(pthread_create(&thread, NULL, release_cached,
                                        preload_slot_at(0)->allocator),
                         0);
        assert_ok(larder_preload_resume(0));
        assert_int_equal(pthread_join(thread, &r), 0);
        assert_int_equal((uintptr_t)r, LARDER_OK);
        assert_ok(larder_preload_empty_cache(0));
        assert_int_equal(stats_now().held_bytes, 0);
        assert_int_equal(stats_now().paused_bytes, 0);
    }
    assert_int_equal(cuStreamDestroy_v2(stream), CUD_SUCCESS);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    assert_int_equal(larder_preload_pause(0, 8), LARDER_ERR_INVALID);
    assert_int_equal(larder_preload_pause(7, 0), LARDER_ERR_INVALID);
    assert_int_equal(larder_preload_resume(64), LARDER_ERR_INVALID);
    assert_string_equal(larder_preload_last_error(),
                        "the program allocated no memory on that device");
    assert_int_equal(larder_preload_stats_get(0, NULL), LARDER_ERR_INVALID);
    assert_int_equal(larder_preload_snapshot(LARDER_PRELOAD_ALL, "x"),
                     LARDER_ERR_INVALID);
}

/* Each driver call refuses once: whatever failed, the contents are kept, and a
 * later attempt restores everything. */
static void a_refusal_of_the_driver_loses_no_contents(void **state)
{
    static const char *const calls[] = {"cuCtxSynchronize", "cuMemcpyDtoH_v2",
                                        "cuMemUnmap",       "cuMemRelease",
                                        "cuMemCreate",      "cuMemMap",
                                        "cuMemSetAccess",   "cuMemcpyHtoD_v2"};
    cud_addr a = allocate(MIB(10));
    cud_addr b = allocate(MIB(12));

    (void)state;
    write_all(a, 1, MIB(10));
    write_all(b, 2, MIB(12));
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        for (unsigned long nth = 1; nth <= 2; nth++) {
            int failures = 0;

            fake()->plan(calls[i], nth, 1, CUD_UNKNOWN);
            failures += larder_preload_pause(0, 0) != LARDER_OK;
            /* Memory that the driver did not take back is held, and counted. */
            if (strcmp(calls[i], "cuMemUnmap") == 0 ||
                strcmp(calls[i], "cuMemRelease") == 0)
                assert_int_equal(stats_now().held_bytes,
                                 nth == 1 ? MIB(10) : MIB(12));
            failures += larder_preload_resume(0) != LARDER_OK;
            fake()->plan(NULL, 0, 0, 0);
            assert_ok(larder_preload_resume(0));
            assert_true(failures == 1 || nth > 1);
            assert_int_equal(stats_now().paused_bytes, 0);
            assert_int_equal(stats_now().held_bytes, MIB(22));
            assert_true(reads_all(a, 1, MIB(10)));
            assert_true(reads_all(b, 2, MIB(12)));
        }
    }
    release(a);
    release(b);
}

static void a_copy_without_host_memory_changes_nothing(void **state)
{
    cud_addr a = allocate(MIB(10));
    cud_addr b = allocate(MIB(12));

    (void)state;
    write_all(a, 1, MIB(10));
    write_all(b, 2, MIB(12));
    for (unsigned long nth = 1; nth <= 2; nth++) {
        larder__host_fail(nth, 1);
        assert_int_equal(larder_preload_pause(0, 0), LARDER_ERR_NO_HOST_MEMORY);
        larder__host_fail(0, 0);
        assert_int_equal(stats_now().held_bytes, MIB(22));
        release(allocate(MIB(50))); /* it works */
        assert_int_equal(stats_now().outside_bytes, 0);
        assert_ok(larder_preload_empty_cache(0));
    }
    assert_true(reads_all(a, 1, MIB(10)));
    assert_true(reads_all(b, 2, MIB(12)));
    release(a);
    release(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PRELOAD_TEST(contents_come_back_where_they_were),
        PRELOAD_TEST(contents_may_be_dropped),
        PRELOAD_TEST(memory_taken_meanwhile_is_the_driver_s),
        PRELOAD_TEST(a_resume_without_room_can_be_repeated),
        PRELOAD_TEST(work_ends_before_its_memory_goes),
        PRELOAD_TEST(pausing_is_refused_during_a_capture),
        PRELOAD_TEST(memory_may_be_released_during_a_resume),
        PRELOAD_TEST(nonsense_is_refused),
        PRELOAD_TEST(a_refusal_of_the_driver_loses_no_contents),
        PRELOAD_TEST(a_copy_without_host_memory_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
