/* test_preload_migrate_stuck.c - queued work that waits for a thread which is
 * held back: the move is given up, and nothing hangs. */
#include "moving_rig.h"

#include <pthread.h>
#include <stdatomic.h>

#include "gate.h"
#include "support/clock.h"
#include "work.h"

enum { PATIENCE_MS = 200, HANGS_MS = 20000 };

static atomic_int is_launched;

/* As a collective does until its peer was launched, but not for ever. */
static void wait_for_peer(void *gave_up)
{
    uint64_t begin_ms = now_ms();

    while (!atomic_load(&is_launched) && now_ms() - begin_ms < HANGS_MS)
        nap_ms(1);
    atomic_store((atomic_int *)gave_up, !atomic_load(&is_launched));
}

static void *launch_peer(void *arg)
{
    bool is_entered;

    (void)arg;
    nap_ms(50); /* by now the other thread has closed the gate */
    is_entered = preload_work_enter();
    atomic_store(&is_launched, 1);
    preload_work_leave(is_entered);
    return NULL;
}

static void work_that_waits_for_held_work_ends_the_move(void **state)
{
    struct holes h = holes_make();
    uint64_t moves = stats_now().moves;
    atomic_int gave_up = 0;
    pthread_t thread;
    cud_addr got = 0;

    (void)state;
    assert_ok(larder_preload_empty_cache(0)); /* no free waits for the work */
    preload_gate_set_patience(PATIENCE_MS);
    assert_ok(fake()->launch(fake()->device(0), 0, wait_for_peer, &gave_up));
    assert_int_equal(pthread_create(&thread, NULL, launch_peer, NULL), 0);
    assert_int_equal(cuMemAlloc_v2(&got, WANTED), CUD_OUT_OF_MEMORY);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&gave_up), 0);
    assert_int_equal(stats_now().moves, moves);
    assert_non_null(strstr(preload_work_shared_by(), "waits for other work"));
    holes_verify(&h);
    holes_give(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PRELOAD_TEST(work_that_waits_for_held_work_ends_the_move),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
