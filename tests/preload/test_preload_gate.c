/* test_preload_gate.c - the gate that holds back work while memory moves: which
 * threads wait for which, and that none is inside while it is closed. */
#include "preload_rig.h"

#include "gate.h"
#include "support/clock.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

enum {
    THREADS = 4,
    ROUNDS = 2000,
    CALLS = 10000,
    SHORT_LIVES = 200,
    STORES = 40,
    LOOKS = 50
};

static void nap(void)
{
    const struct timespec while_others_run = {.tv_nsec = 20000000};

    (void)nanosleep(&while_others_run, NULL);
}

static void *pass_once(void *passed)
{
    preload_gate_enter();
    atomic_store((atomic_int *)passed, 1);
    preload_gate_leave();
    return NULL;
}

static void a_closed_gate_holds_back_other_threads(void **state)
{
    atomic_int passed = 0;
    pthread_t thread;

    (void)state;
    preload_gate_close();
    assert_int_equal(pthread_create(&thread, NULL, pass_once, &passed), 0);
    nap();
    assert_int_equal(atomic_load(&passed), 0);
    preload_gate_open();
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&passed), 1);
}

static void *close_once(void *closed)
{
    atomic_store((atomic_int *)closed, preload_gate_close() ? 1 : -1);
    preload_gate_open();
    return NULL;
}

/* Also for the outer one of two calls. */
static void closing_waits_for_calls_in_progress(void **state)
{
    atomic_int closed = 0;
    pthread_t thread;

    (void)state;
    preload_gate_enter();
    assert_int_equal(pthread_create(&thread, NULL, close_once, &closed), 0);
    nap();
    preload_gate_enter(); /* within a call, whoever waits */
    preload_gate_leave();
    nap();
    assert_int_equal(atomic_load(&closed), 0);
    preload_gate_leave();
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&closed), 1);
}

/* Work of a device may wait for what that thread is about to queue. */
static void a_thread_held_back_for_too_long_opens_it(void **state)
{
    atomic_int passed = 0;
    pthread_t thread;

    (void)state;
    preload_gate_set_patience(50);
    preload_gate_close();
    assert_int_equal(pthread_create(&thread, NULL, pass_once, &passed), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&passed), 1);
    assert_false(preload_gate_seal());
    preload_gate_open();
    preload_gate_set_patience(30000);
}

/* As a copy to the host does: it may wait for what the closer is about to queue. */
static void a_call_that_takes_too_long_opens_it(void **state)
{
    atomic_int closed = 0;
    pthread_t thread;

    (void)state;
    preload_gate_set_patience(50);
    preload_gate_enter();
    assert_int_equal(pthread_create(&thread, NULL, close_once, &closed), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&closed), -1);
    preload_gate_leave();
    preload_gate_set_patience(30000);
}

static void *end_inside(void *unused)
{
    preload_gate_enter();
    return unused;
}

static void a_thread_that_ends_in_a_call_holds_nobody_up(void **state)
{
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, end_inside, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(preload_gate_close());
    preload_gate_open();
}

static void nothing_but_its_closer_opens_a_sealed_one(void **state)
{
    atomic_int passed = 0;
    pthread_t thread;

    (void)state;
    preload_gate_set_patience(5);
    preload_gate_close();
    assert_true(preload_gate_seal());
    assert_int_equal(pthread_create(&thread, NULL, pass_once, &passed), 0);
    for (int i = 0; i < 5; i++)
        nap();
    assert_int_equal(atomic_load(&passed), 0);
    preload_gate_open();
    assert_int_equal(pthread_join(thread, NULL), 0);
    preload_gate_set_patience(30000);
}

static void who_closed_it_passes(void **state)
{
    atomic_int passed = 0;

    (void)state;
    preload_gate_close();
    (void)pass_once(&passed);
    preload_gate_open();
    assert_int_equal(atomic_load(&passed), 1);
}

static void threads_come_and_go(void **state)
{
    (void)state;
    for (int i = 0; i < SHORT_LIVES; i++) {
        atomic_int passed = 0;
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, pass_once, &passed), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    preload_gate_close();
    preload_gate_open();
}

/* ---- an allocator above ------------------------------------------------------- */

enum { HANGS_MS = 5000 };

static atomic_int is_launched;

/* As a collective that waits for another rank, but not for ever. */
static void wait_for_peer(void *gave_up)
{
    uint64_t begin_ms = now_ms();

    while (!atomic_load(&is_launched) && now_ms() - begin_ms < HANGS_MS)
        nap();
    atomic_store((atomic_int *)gave_up, atomic_load(&is_launched) ? -1 : 1);
}

/* The rank that it waits for is the one that wants to move memory. */
static void work_that_waits_for_the_closer_ends_its_wait(void **state)
{
    static atomic_int gave_up;

    (void)state;
    (void)rig_context(0);
    preload_gate_set_patience(50);
    assert_ok(fake()->launch(fake()->device(0), 0, wait_for_peer, &gave_up));
    assert_int_equal(larder_preload_hold(), LARDER_ERR_UNSUPPORTED);
    assert_non_null(
        strstr(larder_preload_last_error(), "waited for work that was"));
    atomic_store(&is_launched, 1);
    while (atomic_load(&gave_up) == 0)
        nap();
    assert_int_equal(atomic_load(&gave_up), -1);
    preload_gate_set_patience(30000);
}

/* ---- all at once -------------------------------------------------------------- */

static atomic_bool is_over;
static char far_away[64 << 20];

/* Plain words: the gate alone orders them. */
static struct worker {
    pthread_t thread;
    int inside;
    uint64_t calls;
} workers[THREADS];

/* Stores that take long: what the gate writes next waits behind them, and is seen
 * late by whoever closes it. */
static void fill_store_buffer(unsigned *at)
{
    for (int i = 0; i < STORES; i++) {
        *at = *at * 1664525U + 1013904223U;
        far_away[*at % sizeof far_away] = 1;
    }
}

static void *launch(void *arg)
{
    struct worker *w = arg;
    unsigned at = (unsigned)(w - workers);

    while (!atomic_load_explicit(&is_over, memory_order_relaxed)) {
        fill_store_buffer(&at);
        preload_gate_enter();
        w->inside = 1;
        w->calls++;
        w->inside = 0;
        preload_gate_leave();
    }
    return NULL;
}

static uint64_t calls_of_all(void)
{
    uint64_t calls = 0;

    for (int i = 0; i < THREADS; i++)
        calls += *(volatile uint64_t *)&workers[i].calls;
    return calls;
}

static void nobody_is_inside_while_it_is_closed(void **state)
{
    uint64_t before = 0;

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&workers[i].thread, NULL, launch, &workers[i]), 0);
    for (int round = 0; round < ROUNDS || before < CALLS; round++) {
        uint64_t calls;

        preload_gate_close();
        calls = calls_of_all();
        for (int i = 0; i < LOOKS; i++)
            assert_int_equal(calls_of_all(), calls);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(workers[i].inside, 0);
        preload_gate_open();
        assert_true(calls >= before);
        before = calls;
        (void)sched_yield();
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_closed_gate_holds_back_other_threads),
        cmocka_unit_test(closing_waits_for_calls_in_progress),
        cmocka_unit_test(a_thread_held_back_for_too_long_opens_it),
        cmocka_unit_test(a_call_that_takes_too_long_opens_it),
        cmocka_unit_test(a_thread_that_ends_in_a_call_holds_nobody_up),
        cmocka_unit_test(work_that_waits_for_the_closer_ends_its_wait),
        cmocka_unit_test(nothing_but_its_closer_opens_a_sealed_one),
        cmocka_unit_test(who_closed_it_passes),
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test(nobody_is_inside_while_it_is_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
