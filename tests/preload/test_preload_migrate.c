/* test_preload_migrate.c - live memory moves before a request fails, while
 * every call that would queue work on it is held back; 256 MiB. */
#include "moving_rig.h"

#include <pthread.h>
#include <stdatomic.h>

#include "support/clock.h"
#include "work.h"

static void live_memory_moves_for_a_request(void **state)
{
    struct holes h = holes_make();
    uint64_t moves = stats_now().moves;
    cud_addr got = allocate(WANTED);

    (void)state;
    assert_int_equal(stats_now().moves, moves + 1);
    assert_int_equal(stats_now().outside_bytes, 0);
    write_all(got, 0xee, WANTED);
    holes_verify(&h);
    release(got);
    holes_give(&h);
    assert_ok(larder_preload_empty_cache(0));
    assert_int_equal(stats_now().held_bytes, 0);
}

static void work_that_is_queued_is_done_first(void **state)
{
    struct holes h = holes_make();
    cud_stream streams[2] = {new_stream(), new_stream()};
    cud_addr got;

    (void)state;
    assert_ok(larder_preload_empty_cache(0)); /* no free waits for it */
    for (int i = 0; i < KEPT; i++) {
        assert_int_equal(cuMemsetD8Async(h.kept[i], 0xff, PAGE, streams[i % 2]),
                         0);
        assert_int_equal(
            cuMemsetD8Async(h.kept[i], byte_of(i), PAGE, streams[i % 2]), 0);
    }
    got = allocate(WANTED);
    write_all(got, 0xee, WANTED);
    holes_verify(&h);
    release(got);
    holes_give(&h);
    for (int i = 0; i < 2; i++)
        assert_int_equal(cuStreamDestroy_v2(streams[i]), CUD_SUCCESS);
}

/* Whatever the driver refuses during a move, live memory stays, and the next
 * request is served. */
static void a_failed_move_changes_nothing(void **state)
{
    static const char *const symbols[] = {
        "cuMemCreate",     "cuMemMap",        "cuMemUnmap",
        "cuMemSetAccess",  "cuMemcpyDtoD_v2", "cuMemcpyDtoH_v2",
        "cuMemcpyHtoD_v2", "cuMemRelease",    "cuMemAddressReserve",
        "cuEventRecord",   "cuCtxSynchronize"};
    enum { SYMBOLS = sizeof symbols / sizeof symbols[0], TIMES = 2 };
    int refused = 0;

    (void)state;
    for (int i = 0; i < SYMBOLS * TIMES; i++) {
        struct holes h = holes_make();
        uint64_t moves = stats_now().moves;
        bool is_refused;
        cud_addr got = 0;

        fake()->plan(symbols[i / TIMES], (unsigned long)(i % TIMES) + 1, 1,
                     CUD_UNKNOWN);
        is_refused = cuMemAlloc_v2(&got, WANTED) != CUD_SUCCESS;
        fake()->plan(NULL, 0, 0, 0);
        refused += is_refused;
        assert_true(!is_refused || stats_now().moves == moves);
        holes_verify(&h);
        release(got != 0 ? got : allocate(WANTED));
        holes_verify(&h);
        holes_give(&h);
        assert_ok(larder_preload_empty_cache(0));
        assert_int_equal(stats_now().held_bytes, 0);
    }
    assert_true(refused > SYMBOLS / 2);
}

/* ---- calls held back -------------------------------------------------------- */

static void *take_wanted(void *out)
{
    (void)rig_context(0);
    *(cud_addr *)out = allocate(WANTED);
    return NULL;
}

static void a_move_waits_for_a_running_call(void **state)
{
    struct holes h = holes_make();
    uint64_t moves = stats_now().moves;
    bool is_entered = preload_work_enter();
    pthread_t thread;
    cud_addr got = 0;

    (void)state;
    assert_true(is_entered);
    assert_int_equal(pthread_create(&thread, NULL, take_wanted, &got), 0);
    nap_ms(50); /* it waits */
    assert_int_equal(stats_now().moves, moves);
    preload_work_leave(is_entered);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(stats_now().moves, moves + 1);
    holes_verify(&h);
    release(got);
    holes_give(&h);
}

static void *found(const char *name)
{
    void *out = NULL;

    assert_int_equal(cuGetProcAddress_v2(name, &out, 12080, 0, NULL), 0);
    return out;
}

static void functions_that_queue_work_are_found_as_hooks(void **state)
{
    (void)state;
    assert_ptr_equal(found("cuLaunchKernel"), cuLaunchKernel);
    assert_ptr_equal(found("cuLaunchKernelEx"), cuLaunchKernelEx);
    assert_ptr_equal(found("cuGraphLaunch"), cuGraphLaunch);
    assert_ptr_equal(found("cuMemcpyHtoDAsync"), cuMemcpyHtoDAsync_v2);
    assert_ptr_equal(found("cuMemsetD32"), cuMemsetD32_v2);
}

struct writer {
    const struct holes *holes;
    int first;
    atomic_bool *is_over;
};

/* Writes without a pause on its own stream; every second call waits. */
static void *write_on(void *arg)
{
    const struct writer *w = arg;
    cud_stream stream;

    (void)rig_context(0);
    stream = new_stream();
    for (int i = w->first; !atomic_load(w->is_over); i = (i + 2) % KEPT) {
        assert_int_equal(
            cuMemsetD8Async(w->holes->kept[i], byte_of(i), PAGE, stream), 0);
        assert_int_equal(cuMemsetD8_v2(w->holes->kept[i], byte_of(i), PAGE), 0);
    }
    assert_int_equal(cuStreamDestroy_v2(stream), CUD_SUCCESS);
    return NULL;
}

/* The stand-in reports pages that are unmapped while work uses them. */
static void threads_at_work_and_memory_that_moves_do_not_meet(void **state)
{
    enum { ROUNDS = 4 };
    atomic_bool is_over = false;
    struct holes h = holes_make();
    struct writer writers[2] = {{&h, 0, &is_over}, {&h, 1, &is_over}};
    pthread_t threads[2];
    uint64_t moves = stats_now().moves;
    cud_addr got;

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, write_on, &writers[i]), 0);
    got = allocate(WANTED);
    for (int i = 0; i < ROUNDS; i++) {
        release(got);
        got = allocate(WANTED + PAGE * (uint64_t)(i % 2));
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(stats_now().moves > moves);
    holes_verify(&h);
    release(got);
    holes_give(&h);
}

/* ---- when nothing moves ------------------------------------------------------- */

static void nothing_moves_while_a_stream_is_captured(void **state)
{
    struct holes h = holes_make();
    cud_stream stream = new_stream();
    unsigned long waits;
    void *graph;

    (void)state;
    assert_ok(larder_preload_empty_cache(0)); /* no free waits for it */
    assert_int_equal(cuStreamBeginCapture_v2(stream, CUD_CAPTURE_RELAXED), 0);
    waits = CALLS(cuCtxSynchronize);
    assert_nothing_moves();
    assert_int_equal(CALLS(cuCtxSynchronize), waits);
    assert_int_equal(DRIVER(cuStreamEndCapture)(stream, &graph), 0);
    assert_int_equal(DRIVER(cuGraphDestroy)(graph), 0);
    release(allocate(WANTED));
    holes_verify(&h);
    holes_give(&h);
    assert_int_equal(cuStreamDestroy_v2(stream), CUD_SUCCESS);
}

/* The last test: once memory was shared it counts as shared for good. */
static void nothing_moves_once_memory_was_shared_past_the_driver(void **state)
{
    struct holes h = holes_make();
    int fd = -1;

    (void)state;
    (void)cuMemGetHandleForAddressRange(&fd, h.kept[0], PAGE, 1, 0);
    assert_nothing_moves();
    holes_verify(&h);
    holes_give(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PRELOAD_TEST(live_memory_moves_for_a_request),
        PRELOAD_TEST(work_that_is_queued_is_done_first),
        PRELOAD_TEST(a_failed_move_changes_nothing),
        PRELOAD_TEST(functions_that_queue_work_are_found_as_hooks),
        PRELOAD_TEST(a_move_waits_for_a_running_call),
        PRELOAD_TEST(threads_at_work_and_memory_that_moves_do_not_meet),
        PRELOAD_TEST(nothing_moves_while_a_stream_is_captured),
        PRELOAD_TEST(nothing_moves_once_memory_was_shared_past_the_driver),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
