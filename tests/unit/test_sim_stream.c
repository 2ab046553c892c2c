/* test_sim_stream.c - streams, events and captures of the simulated GPU. */
#include <pthread.h>

#include "sim_stream_rig.h"

/* ---- immediate ------------------------------------------------------------ */

static void immediate_work_runs_as_it_is_queued(void **state)
{
    larder_device *dev = open_one("sim:64MiB");
    uint64_t event;

    (void)state;
    launch(dev, 1, "a");
    assert_string_equal(journal, "a");
    event = event_on(dev, 1);
    assert_ok(larder_device_event_query(dev, event));
    assert_ok(larder_device_event_sync(dev, event));
    assert_ok(larder_sim_wait_event(dev, 2, event));
    launch(dev, 2, "b");
    assert_string_equal(journal, "ab");
    assert_ok(larder_sim_complete(dev, 2));
    assert_ok(larder_device_stream_sync(dev, 2));
    assert_ok(larder_device_close(dev));
}

/* ---- manual --------------------------------------------------------------- */

static void manual_work_runs_in_order_when_told(void **state)
{
    larder_device *dev = open_manual();

    (void)state;
    launch(dev, 1, "a");
    launch(dev, 2, "x");
    launch(dev, 1, "b");
    assert_string_equal(journal, "");
    assert_ok(larder_sim_complete(dev, 1));
    assert_string_equal(journal, "ab");
    assert_ok(larder_sim_complete(dev, 1));
    launch(dev, 1, "c");
    assert_ok(larder_sim_complete(dev, 2));
    assert_string_equal(journal, "abx");
    assert_ok(larder_sim_complete(dev, 1));
    assert_string_equal(journal, "abxc");
    assert_ok(larder_device_close(dev));
}

static void an_event_is_complete_when_its_stream_came_that_far(void **state)
{
    larder_device *dev = open_manual();
    uint64_t early = event_on(dev, 1), late;

    (void)state;
    launch(dev, 1, "a");
    late = event_on(dev, 1);
    assert_result(LARDER_ERR_NOT_READY, larder_device_event_query(dev, early));
    assert_result(LARDER_ERR_NOT_READY, larder_device_event_query(dev, late));
    assert_ok(larder_sim_complete(dev, 2));
    assert_result(LARDER_ERR_NOT_READY, larder_device_event_query(dev, early));
    assert_ok(larder_sim_complete(dev, 1));
    assert_ok(larder_device_event_query(dev, early));
    assert_ok(larder_device_event_query(dev, late));
    assert_ok(larder_device_close(dev));
}

static void waiting_for_an_event_runs_its_stream_up_to_it(void **state)
{
    larder_device *dev = open_manual();
    uint64_t first, second;

    (void)state;
    launch(dev, 1, "a");
    first = event_on(dev, 1);
    launch(dev, 1, "b");
    second = event_on(dev, 1);
    launch(dev, 1, "c");
    assert_ok(larder_device_event_sync(dev, first));
    assert_string_equal(journal, "a");
    assert_ok(larder_device_event_query(dev, first));
    assert_result(LARDER_ERR_NOT_READY, larder_device_event_query(dev, second));
    assert_ok(larder_device_event_sync(dev, second));
    assert_string_equal(journal, "ab");
    assert_ok(larder_device_event_sync(dev, first));
    assert_ok(larder_sim_complete(dev, 1));
    assert_string_equal(journal, "abc");
    assert_ok(larder_device_close(dev));
}

static void a_second_record_moves_the_event(void **state)
{
    larder_device *dev = open_manual();
    uint64_t event = event_on(dev, 1);

    (void)state;
    assert_ok(larder_sim_complete(dev, 1));
    assert_ok(larder_device_event_query(dev, event));
    assert_ok(larder_device_event_record(dev, event, 2));
    assert_result(LARDER_ERR_NOT_READY, larder_device_event_query(dev, event));
    assert_ok(larder_sim_complete(dev, 2));
    assert_ok(larder_device_event_query(dev, event));
    assert_ok(larder_device_close(dev));
}

static void freeing_and_stream_waits_complete_nothing(void **state)
{
    larder_device *dev = open_manual();
    larder_addr addr, range;
    uint64_t event, page;

    (void)state;
    assert_ok(larder__device_mem_alloc(dev, MIB(2), &addr));
    assert_ok(larder__device_address_reserve(dev, MIB(2), &range));
    assert_ok(larder__device_page_create(dev, MIB(2), &page));
    assert_ok(larder__device_map(dev, range, MIB(2), page));
    launch(dev, 1, "a");
    event = event_on(dev, 1);
    assert_ok(larder_device_stream_sync(dev, 1));
    assert_ok(larder__device_mem_free(dev, addr));
    assert_ok(larder__device_unmap(dev, range, MIB(2), 1));
    assert_ok(larder__device_page_release(dev, page));
    assert_result(LARDER_ERR_NOT_READY, larder_device_event_query(dev, event));
    assert_string_equal(journal, "");
    assert_ok(larder_device_close(dev));
    assert_string_equal(journal, "");
}

static void work_that_a_stream_waits_for_runs_first(void **state)
{
    larder_device *dev = open_manual();
    uint64_t event;

    (void)state;
    launch(dev, 1, "a");
    event = event_on(dev, 1);
    launch(dev, 1, "z");
    assert_ok(larder_sim_wait_event(dev, 2, event));
    launch(dev, 2, "b");
    assert_ok(larder_sim_wait_event(dev, 3, event_on(dev, 2)));
    launch(dev, 3, "c");
    assert_ok(larder_sim_complete(dev, 3));
    assert_string_equal(journal, "abc");
    assert_ok(larder_sim_complete(dev, 1));
    assert_string_equal(journal, "abcz");
    assert_ok(larder_device_close(dev));
}

/* A wait is for the event's state when the wait was queued. */
static void a_wait_is_for_the_last_record_before_it(void **state)
{
    larder_device *dev = open_manual();
    uint64_t event;

    (void)state;
    launch(dev, 1, "a");
    event = event_on(dev, 1);
    assert_ok(larder_sim_wait_event(dev, 2, event));
    launch(dev, 2, "b");
    launch(dev, 1, "c");
    assert_ok(larder_device_event_record(dev, event, 1));
    assert_ok(larder_device_event_destroy(dev, event));
    assert_ok(larder_sim_complete(dev, 2));
    assert_string_equal(journal, "ab");
    assert_ok(larder_device_close(dev));
}

static void a_stream_may_wait_for_itself(void **state)
{
    larder_device *dev = open_manual();

    (void)state;
    assert_ok(larder_sim_wait_event(dev, 1, event_on(dev, 1)));
    launch(dev, 1, "a");
    assert_ok(larder_sim_wait_event(dev, 1, event_on(dev, 1)));
    launch(dev, 1, "b");
    assert_ok(larder_sim_complete(dev, 1));
    assert_string_equal(journal, "ab");
    assert_ok(larder_device_close(dev));
}

/* Two streams that take turns, each waiting for the other: as deep as
 * possible. */
static void long_chains_of_waits_need_no_stack(void **state)
{
    larder_device *dev = open_manual();
    uint64_t event;

    (void)state;
    assert_ok(larder_device_event_create(dev, &event));
    for (int i = 0; i < 200000; i++) {
        larder_stream stream = (larder_stream)(i % 2);

        assert_ok(larder_device_event_record(dev, event, stream));
        assert_ok(larder_sim_wait_event(dev, 1 - stream, event));
    }
    launch(dev, 1, "a");
    launch(dev, 0, "b");
    assert_ok(larder_sim_complete(dev, 0));
    assert_string_equal(journal, "b");
    assert_ok(larder_sim_complete(dev, 1));
    assert_string_equal(journal, "ba");
    assert_ok(larder_device_close(dev));
}

/* Random work on a few streams: in whatever order it completes, each stream's
 * work runs in order, and after the work it waited for. */
enum { ORDER_STREAMS = 5, ORDER_STEPS = 20000 };

static int order_next[ORDER_STREAMS];

struct order_kernel {
    int stream;
    int number;
    int after[ORDER_STREAMS]; /* the positions the others must have reached */
};

static void order_run(void *ctx)
{
    const struct order_kernel *k = ctx;

    assert_int_equal(order_next[k->stream], k->number);
    for (int i = 0; i < ORDER_STREAMS; i++)
        assert_true(order_next[i] >= k->after[i]);
    order_next[k->stream]++;
}

static void random_work_keeps_every_order(void **state)
{
    static struct order_kernel kernels[ORDER_STEPS];
    int queued[ORDER_STREAMS] = {0},
        known[ORDER_STREAMS][ORDER_STREAMS] = {{0}};
    larder_device *dev = open_manual();
    uint64_t random = 7, event;

    (void)state;
    memset(order_next, 0, sizeof order_next);
    assert_ok(larder_device_event_create(dev, &event));
    for (int i = 0; i < ORDER_STEPS; i++) {
        int s, t;

        random = random * UINT64_C(6364136223846793005) + 1;
        s = (int)(random >> 40) % ORDER_STREAMS;
        t = (int)(random >> 50) % ORDER_STREAMS;
        if (random >> 60 < 3) {
            assert_ok(larder_device_event_record(dev, event, (uint64_t)t));
            assert_ok(larder_sim_wait_event(dev, (uint64_t)s, event));
            for (int j = 0; j < ORDER_STREAMS; j++) {
                int far = j == t ? queued[t] : known[t][j];

                known[s][j] = known[s][j] > far ? known[s][j] : far;
            }
        } else if (random >> 60 == 3) {
            assert_ok(larder_sim_complete(dev, (uint64_t)s));
            assert_int_equal(order_next[s], queued[s]);
        } else {
            kernels[i].stream = s;
            kernels[i].number = queued[s]++;
            memcpy(kernels[i].after, known[s], sizeof known[s]);
            kernels[i].after[s] = 0;
            assert_ok(
                larder_sim_launch(dev, (uint64_t)s, order_run, &kernels[i]));
        }
    }
    for (int s = 0; s < ORDER_STREAMS; s++) {
        assert_ok(larder_sim_complete(dev, (uint64_t)s));
        assert_int_equal(order_next[s], queued[s]);
    }
    assert_ok(larder_device_close(dev));
}

static void an_event_never_recorded_is_complete(void **state)
{
    larder_device *dev = open_manual();
    uint64_t event;

    (void)state;
    assert_ok(larder_device_event_create(dev, &event));
    assert_ok(larder_device_event_query(dev, event));
    assert_ok(larder_device_event_sync(dev, event));
    assert_ok(larder_sim_wait_event(dev, 0, event));
    assert_ok(larder_device_close(dev));
}

/* ---- names that are none -------------------------------------------------- */

static void a_stream_is_a_number_below_the_limit(void **state)
{
    larder_device *dev = open_manual();
    larder_stream none = LARDER_SIM_STREAMS, last = none - 1;
    uint64_t event = event_on(dev, last);
    int capturing;

    (void)state;
    launch(dev, last, "a");
    assert_ok(larder_sim_complete(dev, last));
    assert_ok(larder__device_stream_check(dev, last));
#define UNKNOWN(call) assert_result(LARDER_ERR_UNKNOWN_STREAM, call)
    UNKNOWN(larder__device_stream_check(dev, none));
    UNKNOWN(larder_device_event_record(dev, event, none));
    UNKNOWN(larder_device_stream_sync(dev, none));
    UNKNOWN(larder_device_stream_is_capturing(dev, none, &capturing));
    UNKNOWN(larder_device_fill(dev, 0, 0, 0, none));
    UNKNOWN(larder_sim_complete(dev, none));
    UNKNOWN(larder_sim_launch(dev, none, note, NULL));
    UNKNOWN(larder_sim_wait_event(dev, UINT64_MAX, event));
    UNKNOWN(larder_sim_capture_begin(dev, none));
    UNKNOWN(larder_sim_capture_end(dev, none));
#undef UNKNOWN
    assert_words("streams are the numbers below 65536");
    assert_ok(larder_device_close(dev));
}

/* Like a driver, whose free waits for the whole device. */
static void a_device_with_driver_events_waits_as_a_driver_does(void **state)
{
    larder_device *dev = open_one("sim:64MiB,events=driver");
    larder_addr a, b;
    unsigned char *at;

    (void)state;
    assert_ok(larder__device_mem_alloc(dev, MIB(2), &a));
    assert_ok(larder__device_mem_alloc(dev, MIB(2), &b));
    at = (unsigned char *)(uintptr_t)a;
    assert_ok(larder_device_fill(dev, a, 1, 1, 3));
    assert_int_equal(at[0], 0);
    assert_ok(larder_device_stream_sync(dev, 4));
    assert_int_equal(at[0], 0);
    assert_ok(larder_device_stream_sync(dev, 3));
    assert_int_equal(at[0], 1);
    assert_ok(larder_device_fill(dev, a, 2, 1, 3));
    assert_ok(larder__device_mem_free(dev, b));
    assert_int_equal(at[0], 2);
    assert_ok(larder_device_close(dev));
}

static void a_destroyed_event_is_recognised(void **state)
{
    larder_device *dev = open_manual();
    uint64_t event = event_on(dev, 0), later;

    (void)state;
    assert_int_equal(rig_usage(dev).events, 1);
    assert_ok(larder_device_event_destroy(dev, event));
    assert_int_equal(rig_usage(dev).events, 0);
    later = event_on(dev, 0);
    assert_int_not_equal(later, event);
    assert_ok(larder_device_event_destroy(dev, later));
#define REFUSED(call) assert_refused(LARDER_ERR_DEVICE, call, "no such event")
    REFUSED(larder_device_event_destroy(dev, event));
    REFUSED(larder_device_event_query(dev, event));
    REFUSED(larder_device_event_sync(dev, event));
    REFUSED(larder_device_event_record(dev, event, 0));
    REFUSED(larder_sim_wait_event(dev, 0, event));
    REFUSED(larder_device_event_query(dev, 0));
    /* The next name of its slot. */
    REFUSED(larder_device_event_query(dev, later + (later - event)));
#undef REFUSED
    assert_ok(larder_device_close(dev));
}

static void steering_needs_a_device_and_arguments(void **state)
{
    larder_device *dev = open_manual();
    larder_sim_usage usage = {.size = 0};
    larder_addr first, second;

    (void)state;
#define INVALID(call) assert_result(LARDER_ERR_INVALID, call)
    INVALID(larder_sim_complete(NULL, 0));
    INVALID(larder_sim_launch(NULL, 0, note, NULL));
    INVALID(larder_sim_launch(dev, 0, NULL, NULL));
    INVALID(larder_sim_wait_event(NULL, 0, 0));
    INVALID(larder_sim_capture_begin(NULL, 0));
    INVALID(larder_sim_capture_end(NULL, 0));
    INVALID(larder_sim_regions(NULL, &first, &second));
    INVALID(larder_sim_regions(dev, NULL, &second));
    INVALID(larder_sim_regions(dev, &first, NULL));
    INVALID(larder_sim_get_usage(NULL, &usage));
    INVALID(larder_sim_get_usage(dev, NULL));
    INVALID(larder_sim_get_usage(dev, &usage));
#undef INVALID
    assert_ok(larder_device_close(dev));
}

/* ---- capture -------------------------------------------------------------- */

static void a_capture_forbids_what_a_driver_forbids(void **state)
{
    larder_device *dev = open_manual();
    uint64_t event = event_on(dev, 1), page, other;
    larder_addr addr, range;

    (void)state;
    assert_ok(larder__device_mem_alloc(dev, MIB(2), &addr));
    assert_ok(larder_sim_capture_begin(dev, 7));
#define FORBIDDEN(call)                                                        \
    assert_refused(LARDER_ERR_CAPTURING, call,                                 \
                   "failed: not permitted while a stream is being captured")
    FORBIDDEN(larder__device_mem_free(dev, addr));
    FORBIDDEN(larder_device_event_query(dev, event));
    FORBIDDEN(larder_device_event_sync(dev, event));
    FORBIDDEN(larder_device_stream_sync(dev, 1));
    assert_ok(larder__device_address_reserve(dev, MIB(2), &range));
    assert_ok(larder__device_page_create(dev, MIB(2), &page));
    assert_ok(larder__device_map(dev, range, MIB(2), page));
    assert_ok(larder__device_set_access(dev, range, MIB(2)));
    FORBIDDEN(larder__device_unmap(dev, range, MIB(2), 1));
#undef FORBIDDEN
    assert_ok(larder_device_event_record(dev, event, 7));
    assert_ok(larder_device_event_create(dev, &other));
    assert_ok(larder__device_mem_alloc(dev, MIB(2), &range));
    assert_ok(larder_sim_capture_end(dev, 7));
    assert_ok(larder__device_mem_free(dev, addr));
    assert_result(LARDER_ERR_NOT_READY, larder_device_event_query(dev, event));
    assert_ok(larder_device_close(dev));
}

static void a_stream_knows_whether_it_is_captured(void **state)
{
    larder_device *dev = open_manual();
    int yes = 0, no = 1, other = 1;

    (void)state;
    assert_ok(larder_device_stream_is_capturing(dev, 3, &no));
    assert_int_equal(no, 0);
    assert_ok(larder_sim_capture_begin(dev, 3));
    assert_ok(larder_device_stream_is_capturing(dev, 3, &yes));
    assert_ok(larder_device_stream_is_capturing(dev, 4, &other));
    assert_int_equal(yes, 1);
    assert_int_equal(other, 0);
    assert_refused(LARDER_ERR_INVALID, larder_sim_capture_begin(dev, 3),
                   "captured already");
    assert_refused(LARDER_ERR_INVALID, larder_sim_capture_end(dev, 4),
                   "not captured");
    assert_ok(larder_sim_capture_begin(dev, 4));
    assert_ok(larder_sim_capture_end(dev, 3));
    assert_result(LARDER_ERR_CAPTURING, larder_device_stream_sync(dev, 3));
    assert_ok(larder_sim_capture_end(dev, 4));
    assert_ok(larder_device_stream_sync(dev, 3));
    assert_ok(larder_device_close(dev));
}

/* ---- threads -------------------------------------------------------------- */

static larder_device *shared_dev;

/* Its own stream and its own memory, checked after each round. */
static void *thread_work(void *ctx)
{
    larder_stream stream = (larder_stream)(uintptr_t)ctx;
    unsigned char host[512];

    for (int i = 0; i < 500; i++) {
        larder_addr addr;
        uint64_t event;

        if (larder__device_mem_alloc(shared_dev, 512, &addr) != LARDER_OK ||
            larder_device_fill(shared_dev, addr, (unsigned char)(stream + 1),
                               512, stream) != LARDER_OK ||
            larder_device_copy(shared_dev, (uint64_t)(uintptr_t)host, addr, 512,
                               LARDER_COPY_TO_HOST, stream) != LARDER_OK ||
            larder_device_event_create(shared_dev, &event) != LARDER_OK ||
            larder_device_event_record(shared_dev, event, stream) !=
                LARDER_OK ||
            larder_device_event_sync(shared_dev, event) != LARDER_OK ||
            larder_device_event_destroy(shared_dev, event) != LARDER_OK ||
            larder__device_mem_free(shared_dev, addr) != LARDER_OK ||
            host[0] != stream + 1 || host[511] != stream + 1)
            return NULL;
    }
    return ctx;
}

static void threads_may_all_use_the_device(void **state)
{
    pthread_t threads[4];

    (void)state;
    shared_dev = open_manual();
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, thread_work, (void *)(i + 1)), 0);
    for (uintptr_t i = 0; i < 4; i++) {
        void *result;

        pthread_join(threads[i], &result);
        assert_ptr_equal(result, (void *)(i + 1));
    }
    assert_device_empty(shared_dev);
    assert_ok(larder_device_close(shared_dev));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(immediate_work_runs_as_it_is_queued),
        TEST(manual_work_runs_in_order_when_told),
        TEST(an_event_is_complete_when_its_stream_came_that_far),
        TEST(waiting_for_an_event_runs_its_stream_up_to_it),
        TEST(a_second_record_moves_the_event),
        TEST(freeing_and_stream_waits_complete_nothing),
        TEST(work_that_a_stream_waits_for_runs_first),
        TEST(a_wait_is_for_the_last_record_before_it),
        TEST(a_stream_may_wait_for_itself),
        TEST(long_chains_of_waits_need_no_stack),
        TEST(random_work_keeps_every_order),
        TEST(an_event_never_recorded_is_complete),
        TEST(a_stream_is_a_number_below_the_limit),
        TEST(a_device_with_driver_events_waits_as_a_driver_does),
        TEST(a_destroyed_event_is_recognised),
        TEST(steering_needs_a_device_and_arguments),
        TEST(a_capture_forbids_what_a_driver_forbids),
        TEST(a_stream_knows_whether_it_is_captured),
        TEST(threads_may_all_use_the_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
