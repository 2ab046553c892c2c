/* test_preload_cache.c - memory below a program's own calls is cached, and
 * reused if and only if no queued work can still use it. */
#include "preload_rig.h"

#include <pthread.h>

/* ---- what is cached ------------------------------------------------------- */

static void the_second_allocation_makes_no_driver_call(void **state)
{
    cud_addr first = allocate(MIB(24));
    unsigned long allocs = CALLS(cuMemAlloc_v2);
    unsigned long frees = CALLS(cuMemFree_v2);
    cud_addr second;

    (void)state;
    release(first);
    second = allocate(MIB(24));
    assert_int_equal(second, first);
    assert_int_equal(CALLS(cuMemAlloc_v2), allocs);
    assert_int_equal(CALLS(cuMemFree_v2), frees);
    release(second);
    assert_ok(larder_preload_empty_cache(0));
    assert_int_equal(CALLS(cuMemFree_v2), frees + 1);
    assert_int_equal(stats_now().held_bytes, 0);
}

static void a_hit_waits_for_nothing(void **state)
{
    cud_addr a = allocate(KIB(600));
    cud_addr b = allocate(KIB(600));
    unsigned long waits;

    (void)state;
    release(a);
    release(b);
    /* The rest of the segment serves this; the next request has to wait once,
     * for both. */
    waits = CALLS(cuCtxSynchronize);
    a = allocate(KIB(700));
    assert_int_equal(CALLS(cuCtxSynchronize), waits);
    b = allocate(KIB(800));
    assert_int_equal(CALLS(cuCtxSynchronize), waits + 1);
    release(allocate(KIB(16)));
    assert_int_equal(CALLS(cuCtxSynchronize), waits + 1);
    release(a);
    release(b);
}

static void driver_memory_is_freed_by_the_driver(void **state)
{
    cud_addr addr = 0;
    unsigned long frees = CALLS(cuMemFree_v2);

    (void)state;
    assert_int_equal(DRIVER(cuMemAlloc_v2)(&addr, MIB(2)), CUD_SUCCESS);
    assert_int_equal(cuMemFree_v2(addr), CUD_SUCCESS);
    assert_int_equal(CALLS(cuMemFree_v2), frees + 1);
    assert_int_equal(cuMemFree_v2(0), CUD_SUCCESS);
}

/* The first block begins its segment: the driver would free all of it. */
static void a_second_free_is_refused_and_takes_no_segment(void **state)
{
    cud_addr a = allocate(MIB(3));
    cud_addr b = allocate(MIB(3));
    unsigned long frees = CALLS(cuMemFree_v2);

    (void)state;
    write_all(b, 7, MIB(3));
    release(a);
    assert_int_equal(cuMemFree_v2(a), CUD_INVALID_VALUE);
    assert_int_equal(cuMemFreeAsync(a, NULL), CUD_INVALID_VALUE);
    assert_int_equal(cuMemFree_v2(b + 512), CUD_INVALID_VALUE);
    assert_int_equal(CALLS(cuMemFree_v2), frees);
    assert_true(reads_all(b, 7, MIB(3)));
    release(b);
}

static void a_request_that_fits_is_served_where_a_segment_does_not(void **state)
{
    cud_addr most = allocate(MIB(248)); /* of 256: a segment takes 20 */
    cud_addr rest = allocate(MIB(3));

    (void)state;
    assert_int_equal(stats_now().outside_bytes, MIB(3));
    release(rest);
    assert_int_equal(stats_now().outside_bytes, 0);
    release(most);
}

static void the_cache_makes_room_for_the_driver_s_own_memory(void **state)
{
    cud_page_prop prop = {.type = CUD_PAGE_PINNED,
                          .location = {.type = CUD_ON_DEVICE, .id = 0}};
    cud_page page;

    (void)state;
    release(allocate(MIB(200)));
    assert_int_equal(cuMemCreate(&page, MIB(100), &prop, 0), CUD_SUCCESS);
    assert_int_equal(stats_now().held_bytes, 0);
    assert_int_equal(cuMemRelease(page), CUD_SUCCESS);
    assert_int_equal(stats_now().outside_bytes, 0);
}

/* ---- P1 --------------------------------------------------------------------- */

/* Work on a stream that waits for no other writes to freed memory; its next
 * owner must write last. */
static void freed_memory_waits_for_the_device(void **state)
{
    cud_stream stream = new_stream();
    cud_addr first = allocate(MIB(24));
    unsigned long waits = CALLS(cuCtxSynchronize);
    cud_addr second;

    (void)state;
    assert_int_equal(DRIVER(cuMemsetD8Async)(first, 1, MIB(24), stream), 0);
    release(first);
    assert_int_equal(CALLS(cuCtxSynchronize), waits); /* no wait either */
    second = allocate(MIB(24));
    assert_int_equal(second, first);
    assert_int_equal(CALLS(cuCtxSynchronize), waits + 1);
    write_all(second, 2, MIB(24));
    assert_int_equal(DRIVER(cuStreamSynchronize)(stream), CUD_SUCCESS);
    assert_true(reads_all(second, 2, MIB(24)));
    release(second);
    assert_int_equal(cuStreamDestroy_v2(stream), CUD_SUCCESS);
}

static void a_device_that_refuses_to_wait_gives_nothing_up(void **state)
{
    cud_addr first = allocate(MIB(24));
    cud_addr second;

    (void)state;
    release(first);
    fake()->plan("cuCtxSynchronize", 1, 1, CUD_ILLEGAL_ADDRESS);
    second = allocate(MIB(24));
    assert_int_not_equal(second, first);
    release(second);
    assert_int_equal(allocate(MIB(24)), first < second ? first : second);
    release(first < second ? first : second);
}

static void nothing_waits_while_a_stream_is_captured(void **state)
{
    cud_stream stream = new_stream();
    cud_capture_mode mode = CUD_CAPTURE_RELAXED;
    cud_addr first = allocate(MIB(24));
    unsigned long waits;
    void *graph = NULL;
    cud_addr second;

    (void)state;
    release(first);
    assert_int_equal(cuStreamBeginCapture_v2(stream, CUD_CAPTURE_RELAXED), 0);
    assert_int_equal(DRIVER(cuThreadExchangeStreamCaptureMode)(&mode), 0);
    waits = CALLS(cuCtxSynchronize);
    second = allocate(MIB(24));
    assert_int_not_equal(second, first);
    assert_int_equal(CALLS(cuCtxSynchronize), waits);
    /* The graph allocates in stream order: the driver handles that. */
    fake()->plan("cuMemAllocAsync", 1, 1, CUD_NOT_SUPPORTED);
    assert_int_equal(cuMemAllocAsync(&first, 512, stream), CUD_NOT_SUPPORTED);
    assert_int_equal(cuMemFreeAsync(second, stream), CUD_NOT_SUPPORTED);
    assert_int_equal(DRIVER(cuThreadExchangeStreamCaptureMode)(&mode), 0);
    assert_int_equal(DRIVER(cuStreamEndCapture)(stream, &graph), 0);
    assert_int_equal(DRIVER(cuGraphDestroy)(graph), 0);
    release(second);
    release(allocate(MIB(24)));
    assert_int_equal(CALLS(cuCtxSynchronize), waits + 1);
    assert_int_equal(cuStreamDestroy_v2(stream), CUD_SUCCESS);
}

/* ---- P2 --------------------------------------------------------------------- */

static cud_addr take_on(cud_stream stream, size_t bytes)
{
    cud_addr addr = 0;

    assert_int_equal(cuMemAllocAsync(&addr, bytes, stream), CUD_SUCCESS);
    return addr;
}

static void a_stream_reuses_its_memory_at_once(void **state)
{
    cud_stream stream = new_stream();
    cud_stream other = new_stream();
    unsigned long waits = CALLS(cuCtxSynchronize);
    cud_addr first = take_on(stream, MIB(24));
    cud_addr second;
    cud_addr third;

    (void)state;
    assert_int_equal(cuMemFreeAsync(first, stream), CUD_SUCCESS);
    second = take_on(other, MIB(24));
    assert_int_not_equal(second, first);
    third = allocate(MIB(24)); /* may be used anywhere, so not this one */
    assert_int_not_equal(third, first);
    assert_int_equal(take_on(stream, MIB(24)), first);
    assert_int_equal(CALLS(cuCtxSynchronize), waits);
    assert_int_equal(cuMemFreeAsync(first, stream), CUD_SUCCESS);
    assert_int_equal(cuMemFreeAsync(second, other), CUD_SUCCESS);
    release(third);
    assert_int_equal(cuStreamDestroy_v2(stream), CUD_SUCCESS);
    assert_int_equal(cuStreamDestroy_v2(other), CUD_SUCCESS);
}

static void memory_freed_on_another_stream_waits_for_that(void **state)
{
    cud_stream stream = new_stream();
    cud_stream other = new_stream();
    cud_addr first = take_on(stream, MIB(24));
    cud_addr second;

    (void)state;
    assert_int_equal(DRIVER(cuMemsetD8Async)(first, 1, MIB(24), other), 0);
    assert_int_equal(cuMemFreeAsync(first, other), CUD_SUCCESS);
    second = take_on(stream, MIB(24));
    assert_int_not_equal(second, first);
    assert_int_equal(DRIVER(cuStreamSynchronize)(other), CUD_SUCCESS);
    assert_int_equal(cuMemFreeAsync(second, stream), CUD_SUCCESS);
    assert_int_equal(take_on(stream, MIB(24)), first < second ? first : second);
    release(first < second ? first : second);
    assert_int_equal(cuStreamDestroy_v2(stream), CUD_SUCCESS);
    assert_int_equal(cuStreamDestroy_v2(other), CUD_SUCCESS);
}

static void memory_of_the_default_stream_stays_with_it(void **state)
{
    cud_addr first = take_on(NULL, MIB(24));
    cud_addr second;

    (void)state;
    assert_int_equal(cuMemFreeAsync(first, NULL), CUD_SUCCESS);
    second = allocate(MIB(24));
    assert_int_not_equal(second, first);
    assert_int_equal(take_on(NULL, MIB(24)), first);
    release(second);
    release(first);
}

/* All per-thread streams share one handle. */
static void memory_of_threads_own_streams_waits_for_the_device(void **state)
{
    unsigned long waits;
    cud_addr first;

    (void)state;
    assert_int_equal(cuMemAllocAsync_ptsz(&first, MIB(24), NULL), 0);
    assert_int_equal(cuMemFreeAsync_ptsz(first, NULL), CUD_SUCCESS);
    waits = CALLS(cuCtxSynchronize);
    release(allocate(MIB(24)));
    assert_int_equal(CALLS(cuCtxSynchronize), waits + 1);
}

static void destroying_a_stream_waits_for_its_work(void **state)
{
    cud_stream stream = new_stream();
    cud_addr first = take_on(stream, MIB(24));
    unsigned long waits = CALLS(cuStreamSynchronize);

    (void)state;
    assert_int_equal(cuMemFreeAsync(first, stream), CUD_SUCCESS);
    assert_int_equal(cuStreamDestroy_v2(stream), CUD_SUCCESS);
    assert_int_equal(CALLS(cuStreamSynchronize), waits + 1);
}

static void a_stream_lost_in_a_capture_is_waited_for_later(void **state)
{
    cud_stream stream = new_stream();
    cud_stream captured = new_stream();
    cud_addr first = take_on(stream, MIB(24));
    unsigned long waits;
    void *graph = NULL;

    (void)state;
    assert_int_equal(cuMemFreeAsync(first, stream), CUD_SUCCESS);
    assert_int_equal(cuStreamBeginCapture_v2(captured, CUD_CAPTURE_RELAXED), 0);
    waits = CALLS(cuCtxSynchronize);
    assert_int_equal(cuStreamDestroy_v2(stream), CUD_SUCCESS);
    stream = new_stream();
    /* Passed to the driver: nothing is certain before the capture ends. */
    fake()->plan("cuMemAllocAsync", 1, 1, CUD_NOT_SUPPORTED);
    assert_int_equal(cuMemAllocAsync(&first, MIB(24), stream),
                     CUD_NOT_SUPPORTED);
    assert_int_equal(DRIVER(cuStreamEndCapture)(captured, &graph), 0);
    assert_int_equal(DRIVER(cuGraphDestroy)(graph), 0);
    first = take_on(stream, MIB(24));
    assert_int_equal(CALLS(cuCtxSynchronize), waits + 1);
    assert_int_equal(cuMemFreeAsync(first, stream), CUD_SUCCESS);
    assert_int_equal(cuStreamDestroy_v2(stream), CUD_SUCCESS);
    assert_int_equal(cuStreamDestroy_v2(captured), CUD_SUCCESS);
}

static void a_destroyed_stream_is_refused(void **state)
{
    cud_stream stream = new_stream();
    cud_addr addr;

    (void)state;
    assert_int_equal(cuStreamDestroy_v2(stream), CUD_SUCCESS);
    assert_int_not_equal(cuMemAllocAsync(&addr, 512, stream), CUD_SUCCESS);
    assert_broken("there is no stream");
    addr = take_on(NULL, 512);
    assert_int_equal(cuMemFreeAsync(addr, stream), CUD_INVALID_HANDLE);
    assert_broken("there is no stream");
    release(addr);
}

/* ---- contexts ------------------------------------------------------------------ */

static void other_contexts_are_the_driver_s_and_counted(void **state)
{
    cud_context made = NULL;
    cud_context popped;
    cud_addr addr;
    unsigned long allocs;

    (void)state;
    release(allocate(512));
    assert_int_equal(DRIVER(cuCtxCreate_v2)(&made, 0, 0), CUD_SUCCESS);
    allocs = CALLS(cuMemAlloc_v2);
    addr = allocate(MIB(2));
    assert_int_equal(CALLS(cuMemAlloc_v2), allocs + 1);
    assert_int_equal(stats_now().outside_bytes, MIB(2));
    release(addr);
    assert_int_equal(CALLS(cuMemAlloc_v2), allocs + 1);
    assert_int_equal(stats_now().outside_bytes, 0);
    addr = allocate(MIB(2));
    assert_int_equal(DRIVER(cuMemFree_v2)(addr), CUD_SUCCESS);
    assert_int_equal(DRIVER(cuCtxPopCurrent_v2)(&popped), CUD_SUCCESS);
    assert_int_equal(cuCtxDestroy_v2(made), CUD_SUCCESS);
    assert_int_equal(stats_now().outside_bytes, 0);
}

static void memory_of_another_context_s_stream_is_the_driver_s(void **state)
{
    cud_stream stream = new_stream();
    cud_context popped;
    cud_addr addr;

    (void)state;
    (void)rig_context(1);
    fake()->plan("cuMemAllocAsync", 1, 1, CUD_NOT_SUPPORTED);
    assert_int_equal(cuMemAllocAsync(&addr, MIB(3), stream), CUD_NOT_SUPPORTED);
    assert_int_equal(DRIVER(cuCtxPopCurrent_v2)(&popped), CUD_SUCCESS);
    (void)rig_context(0);
    release(take_on(stream, MIB(3)));
    assert_int_equal(cuStreamDestroy_v2(stream), CUD_SUCCESS);
}

static void memory_is_freed_in_any_context(void **state)
{
    cud_addr addr = allocate(MIB(24));
    cud_stream stream = new_stream();
    cud_addr ordered = take_on(stream, MIB(24));
    cud_context popped;

    (void)state;
    (void)rig_context(1);
    release(addr);
    assert_int_equal(cuMemFreeAsync(ordered, stream), CUD_SUCCESS);
    addr = allocate(MIB(24)); /* of the second device */
    release(addr);
    assert_ok(larder_preload_empty_cache(LARDER_PRELOAD_ALL));
    assert_int_equal(stats_now().held_bytes, 0);
    assert_int_equal(DRIVER(cuCtxPopCurrent_v2)(&popped), CUD_SUCCESS);
    (void)rig_context(0);
    assert_int_equal(cuStreamDestroy_v2(stream), CUD_SUCCESS);
}

static void a_reset_device_begins_anew(void **state)
{
    cud_addr addr = allocate(MIB(24));
    cud_addr again;

    (void)state;
    preload_slot_close(preload_driver(), preload_slot_at(0));
    assert_int_equal(larder_preload_empty_cache(0), LARDER_ERR_INVALID);
    assert_int_equal(DRIVER(cuMemFree_v2)(addr), CUD_SUCCESS);
    again = allocate(MIB(24)); /* all earlier knowledge is gone */
    assert_int_equal(stats_now().live_bytes, MIB(24));
    release(again);
}

static void a_reset_leaves_the_memory_of_other_contexts(void **state)
{
    cud_context made = NULL;

    (void)state;
    (void)allocate(MIB(24));
    assert_int_equal(DRIVER(cuCtxCreate_v2)(&made, 0, 0), CUD_SUCCESS);
    (void)allocate(MIB(2));
    assert_int_equal(cuDevicePrimaryCtxReset_v2(0), CUD_SUCCESS);
    assert_int_equal(stats_now().live_bytes, 0);
    assert_int_equal(stats_now().outside_bytes, MIB(2));
    assert_int_equal(cuCtxDestroy_v2(made), CUD_SUCCESS);
    assert_int_equal(stats_now().outside_bytes, 0);
    (void)rig_context(0);
}

/* ---- questions ------------------------------------------------------------------ */

static void an_address_is_its_own_allocation(void **state)
{
    cud_addr a = allocate(KIB(300));
    cud_addr b = allocate(KIB(300));
    cud_addr base = 0;
    size_t bytes = 0;
    char handle[64];
    int number = 9;

    (void)state;
    assert_int_equal(cuMemGetAddressRange_v2(&base, &bytes, b + 1000), 0);
    assert_int_equal(base, b);
    assert_int_equal(bytes, KIB(300));
    assert_int_equal(cuPointerGetAttribute(&base, CUD_RANGE_START, a + 7), 0);
    assert_int_equal(base, a);
    assert_int_equal(cuPointerGetAttribute(&bytes, CUD_RANGE_SIZE, a), 0);
    assert_int_equal(bytes, KIB(300));
    assert_int_equal(cuPointerGetAttribute(&number, 9, a), CUD_SUCCESS);
    assert_int_equal(number, 0);
    /* A handle for another process refers to the whole segment. */
    assert_int_equal(cuIpcGetMemHandle(handle, b), CUD_NOT_SUPPORTED);
    assert_int_equal(cuIpcGetMemHandle(handle, a), CUD_SUCCESS);
    assert_int_equal(cuPointerGetAttributes(2, (int[]){2, CUD_RANGE_SIZE},
                                            (void *[]){&number, &bytes}, b),
                     CUD_SUCCESS);
    assert_int_equal(number, 2); /* memory of a device */
    assert_int_equal(bytes, KIB(300));
    release(a);
    release(b);
    assert_int_equal(cuMemGetAddressRange_v2(&base, &bytes, b), CUD_SUCCESS);
    assert_int_not_equal(bytes, KIB(300)); /* the driver's result */
}

static void cached_memory_counts_as_free(void **state)
{
    size_t before;
    size_t free_bytes;
    size_t total;
    cud_addr addr;

    (void)state;
    assert_int_equal(cuMemGetInfo_v2(&before, &total), CUD_SUCCESS);
    assert_int_equal(total, MIB(256));
    addr = allocate(MIB(32));
    assert_int_equal(cuMemGetInfo_v2(&free_bytes, &total), CUD_SUCCESS);
    assert_int_equal(before - free_bytes, MIB(32));
    release(addr);
    assert_int_equal(cuMemGetInfo_v2(&free_bytes, &total), CUD_SUCCESS);
    assert_int_equal(free_bytes, before);
}

static void rows_are_aligned(void **state)
{
    cud_addr addr;
    size_t pitch;
    size_t bytes;

    (void)state;
    assert_int_equal(cuMemAllocPitch_v2(&addr, &pitch, 1000, 10, 4), 0);
    assert_int_equal(pitch, 1024);
    assert_int_equal(cuMemGetAddressRange_v2(NULL, &bytes, addr), 0);
    assert_int_equal(bytes, 10240);
    release(addr);
    assert_int_equal(cuMemAllocPitch_v2(&addr, &pitch, SIZE_MAX / 2, 3, 4),
                     CUD_OUT_OF_MEMORY);
}

static void the_driver_refuses_calls_that_make_no_sense(void **state)
{
    cud_addr addr;
    cud_context own;

    (void)state;
    assert_int_equal(cuMemAlloc_v2(&addr, 0), CUD_INVALID_VALUE);
    assert_broken("0 bytes");
    assert_int_equal(DRIVER(cuCtxPopCurrent_v2)(&own), CUD_SUCCESS);
    assert_int_equal(cuMemAlloc_v2(&addr, 512), CUD_INVALID_CONTEXT);
    assert_broken("no context is current");
    assert_int_equal(DRIVER(cuCtxPushCurrent_v2)(own), CUD_SUCCESS);
    assert_int_equal(cuMemAlloc_v2(&addr, SIZE_MAX / 2), CUD_OUT_OF_MEMORY);
}

/* ---- threads ---------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 300, HELD = 8 };

struct worker {
    pthread_t thread;
    unsigned number;
    bool is_wrong;
};

/* Each byte pattern belongs to one thread, so that shared memory is
 * detected. */
static void *work(void *ctx)
{
    struct worker *w = ctx;
    cud_context own = NULL;
    cud_addr held[HELD] = {0};
    size_t sizes[HELD] = {0};
    unsigned seed = w->number;

    DRIVER(cuDevicePrimaryCtxRetain)(&own, 0);
    DRIVER(cuCtxSetCurrent)(own);
    for (int i = 0; i < ROUNDS + HELD; i++) {
        int at = i % HELD;
        unsigned char mark = (unsigned char)(w->number * HELD + (unsigned)at);

        if (held[at] != 0) {
            w->is_wrong |= !reads_all(held[at], mark, sizes[at]);
            w->is_wrong |= cuMemFree_v2(held[at]) != CUD_SUCCESS;
            held[at] = 0;
        }
        if (i >= ROUNDS)
            continue;
        seed = seed * 1103515245 + 12345;
        sizes[at] = 512 + seed % KIB(200);
        w->is_wrong |= cuMemAlloc_v2(&held[at], sizes[at]) != CUD_SUCCESS;
        write_all(held[at], mark, sizes[at]);
    }
    DRIVER(cuCtxPopCurrent_v2)(&own);
    return NULL;
}

static void threads_share_the_cache(void **state)
{
    struct worker workers[THREADS];
    larder_preload_stats before = {.size = sizeof before};

    (void)state;
    release(allocate(512));
    before = stats_now();
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.number = i + 1};
        assert_int_equal(
            pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_false(workers[i].is_wrong);
    }
    assert_int_equal(stats_now().allocations - before.allocations,
                     THREADS * ROUNDS);
    assert_int_equal(stats_now().live_bytes, before.live_bytes);
    assert_true(stats_now().driver_allocs - before.driver_allocs < 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PRELOAD_TEST(the_second_allocation_makes_no_driver_call),
        PRELOAD_TEST(a_hit_waits_for_nothing),
        PRELOAD_TEST(driver_memory_is_freed_by_the_driver),
        PRELOAD_TEST(a_second_free_is_refused_and_takes_no_segment),
        PRELOAD_TEST(a_request_that_fits_is_served_where_a_segment_does_not),
        PRELOAD_TEST(the_cache_makes_room_for_the_driver_s_own_memory),
        PRELOAD_TEST(freed_memory_waits_for_the_device),
        PRELOAD_TEST(a_device_that_refuses_to_wait_gives_nothing_up),
        PRELOAD_TEST(nothing_waits_while_a_stream_is_captured),
        PRELOAD_TEST(a_stream_reuses_its_memory_at_once),
        PRELOAD_TEST(memory_freed_on_another_stream_waits_for_that),
        PRELOAD_TEST(memory_of_the_default_stream_stays_with_it),
        PRELOAD_TEST(memory_of_threads_own_streams_waits_for_the_device),
        PRELOAD_TEST(destroying_a_stream_waits_for_its_work),
        PRELOAD_TEST(a_stream_lost_in_a_capture_is_waited_for_later),
        PRELOAD_TEST(a_destroyed_stream_is_refused),
        PRELOAD_TEST(other_contexts_are_the_driver_s_and_counted),
        PRELOAD_TEST(memory_of_another_context_s_stream_is_the_driver_s),
        PRELOAD_TEST(memory_is_freed_in_any_context),
        PRELOAD_TEST(a_reset_device_begins_anew),
        PRELOAD_TEST(a_reset_leaves_the_memory_of_other_contexts),
        PRELOAD_TEST(an_address_is_its_own_allocation),
        PRELOAD_TEST(cached_memory_counts_as_free),
        PRELOAD_TEST(rows_are_aligned),
        PRELOAD_TEST(the_driver_refuses_calls_that_make_no_sense),
        PRELOAD_TEST(threads_share_the_cache),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
