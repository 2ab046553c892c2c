/* test_preload_captures.c - captures that nobody can query any more: their
 * thread, stream or context is gone, and other memory is reused again. */
#include "preload_rig.h"

#include <pthread.h>

/* Freed memory is reused, which takes a wait for the device. */
static void assert_waits_again(void)
{
    cud_addr first = allocate(MIB(24));

    release(first);
    assert_int_equal(allocate(MIB(24)), first);
    release(first);
}

static void *capture_own_stream(void *own)
{
    void *graph = NULL;
    cud_result answer = DRIVER(cuCtxSetCurrent)(own);

    if (answer == CUD_SUCCESS)
        answer = cuStreamBeginCapture_v2(
            (cud_stream)(uintptr_t)CUD_STREAM_PER_THREAD, CUD_CAPTURE_RELAXED);
    if (answer == CUD_SUCCESS)
        answer = cuStreamEndCapture(
            (cud_stream)(uintptr_t)CUD_STREAM_PER_THREAD, &graph);
    if (answer == CUD_SUCCESS)
        answer = DRIVER(cuGraphDestroy)(graph);
    return (void *)(uintptr_t)answer;
}

static void a_thread_that_captured_its_own_stream_may_end(void **state)
{
    pthread_t thread;
    void *answer;

    (void)state;
    assert_int_equal(
        pthread_create(&thread, NULL, capture_own_stream, rig_context(0)), 0);
    assert_int_equal(pthread_join(thread, &answer), 0);
    assert_int_equal((uintptr_t)answer, CUD_SUCCESS);
    assert_waits_again();
}

static void a_reset_ends_the_captures_of_its_device(void **state)
{
    cud_stream stream = new_stream();

    (void)state;
    release(allocate(MIB(24)));
    assert_int_equal(cuStreamBeginCapture_v2(stream, CUD_CAPTURE_RELAXED), 0);
    assert_int_equal(cuDevicePrimaryCtxReset_v2(0), CUD_SUCCESS);
    (void)rig_context(0);
    assert_waits_again();
    assert_int_equal(stats_now().held_bytes, MIB(24));
}

static void a_reset_ends_no_capture_of_another_device(void **state)
{
    cud_context popped;
    cud_stream stream;
    void *graph = NULL;

    (void)state;
    release(allocate(MIB(24)));
    (void)rig_context(1);
    stream = new_stream();
    assert_int_equal(cuStreamBeginCapture_v2(stream, CUD_CAPTURE_RELAXED), 0);
    assert_int_equal(cuDevicePrimaryCtxReset_v2(0), CUD_SUCCESS);
    assert_int_equal(stats_now().held_bytes, 0);
    assert_true(preload_is_capturing(preload_driver()));
    assert_int_equal(cuStreamEndCapture(stream, &graph), 0);
    assert_false(preload_is_capturing(preload_driver()));
    assert_int_equal(DRIVER(cuGraphDestroy)(graph), 0);
    assert_int_equal(cuStreamDestroy_v2(stream), CUD_SUCCESS);
    DRIVER(cuCtxPopCurrent_v2)(&popped);
    (void)rig_context(0);
    assert_waits_again();
}

static void a_destroyed_context_ends_its_captures(void **state)
{
    cud_context made = NULL;

    (void)state;
    assert_int_equal(DRIVER(cuCtxCreate_v2)(&made, 0, 0), CUD_SUCCESS);
    assert_int_equal(cuStreamBeginCapture_v2(new_stream(), CUD_CAPTURE_RELAXED),
                     0);
    assert_int_equal(cuCtxDestroy_v2(made), CUD_SUCCESS);
    (void)rig_context(0);
    assert_false(preload_is_capturing(preload_driver()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PRELOAD_TEST(a_thread_that_captured_its_own_stream_may_end),
        PRELOAD_TEST(a_reset_ends_the_captures_of_its_device),
        PRELOAD_TEST(a_reset_ends_no_capture_of_another_device),
        PRELOAD_TEST(a_destroyed_context_ends_its_captures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
