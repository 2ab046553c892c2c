/* test_thread_races.c - calls of several threads that meet on one thing: each gets
 * its own answer, and one that is true. */
#include "threads_rig.h"

/* ---- a pool -------------------------------------------------------------- */

/* Blocks of a pool that one thread frees while another restores the pool to an
 * earlier state: each free succeeds or is refused. */
enum { CONTESTED = 16 };

struct contest {
    larder_pool_id id;
    larder_checkpoint *cp;
    _Atomic larder_addr addrs[CONTESTED];
};

static void *free_contested(void *worker)
{
    struct worker *w = worker;
    struct contest *c = w->ctx;

    while (goes_on(w)) {
        larder_addr p = atomic_load(&c->addrs[random_below(w, CONTESTED)]);
        larder_result r = larder_free(w->rig->a, p);

        EXPECT(r == LARDER_OK || r == LARDER_ERR_DOUBLE_FREE ||
               r == LARDER_ERR_UNKNOWN_ADDRESS);
    }
    return NULL;
}

static void *restore_contested(void *worker)
{
    struct worker *w = worker;
    struct contest *c = w->ctx;
    size_t freed, created;

    while (goes_on(w))
        EXPECT(larder_checkpoint_restore(w->rig->a, c->cp, NULL, 0, &freed,
                                         NULL, 0, &created) == LARDER_OK);
    return NULL;
}

static void a_pool_is_restored_while_its_blocks_are_freed(void **state)
{
    struct rig rig = rig_up("sim:1GiB", "");
    struct contest c = {.id = {1, 0}};
    worker_main *const mains[] = {free_contested, free_contested,
                                  restore_contested};

    (void)state;
    assert_ok(larder_pool_begin(rig.a, c.id, NULL, NULL));
    for (int i = 0; i < CONTESTED; i++)
        c.addrs[i] = rig_alloc(&rig, i % 2 == 0 ? 3000 : MIB(3));
    assert_ok(larder_pool_end(rig.a, c.id));
    assert_ok(larder_checkpoint_take(rig.a, c.id, &c.cp));
    run_workers(&rig, 3, mains, &c);
    for (int i = 0; i < CONTESTED; i++)
        larder_free(rig.a, c.addrs[i]);
    larder_checkpoint_destroy(c.cp);
    assert_ok(larder_pool_release(rig.a, c.id));
    end_empty(&rig);
}

/* ---- the same address freed twice at once -------------------------------- */

enum { ROUND = 64 };

struct race {
    pthread_barrier_t barrier;
    larder_addr addrs[ROUND];
    larder_result results[2][ROUND];
    int over;
};

static void *race_free(void *worker)
{
    struct worker *w = worker;
    struct race *race = w->ctx;

    for (;;) {
        pthread_barrier_wait(&race->barrier); /* the round is set up */
        if (race->over)
            return NULL;
        for (int i = 0; i < ROUND; i++)
            race->results[w->number][i] =
                larder_free(w->rig->a, race->addrs[i]);
        w->operations++;
        pthread_barrier_wait(&race->barrier); /* the round is done */
    }
}

static int is_refusal(larder_result r)
{
    return r == LARDER_ERR_DOUBLE_FREE || r == LARDER_ERR_UNKNOWN_ADDRESS;
}

static void *race_referee(void *worker)
{
    struct worker *w = worker;
    struct race *race = w->ctx;

    while (!race->over) {
        for (int i = 0; i < ROUND; i++)
            EXPECT(larder_alloc(w->rig->a, random_size(w), 0,
                                &race->addrs[i]) == LARDER_OK);
        pthread_barrier_wait(&race->barrier);
        pthread_barrier_wait(&race->barrier);
        for (int i = 0; i < ROUND; i++) {
            larder_result x = race->results[0][i];
            larder_result y = race->results[1][i];

            EXPECT((x == LARDER_OK && is_refusal(y)) ||
                   (y == LARDER_OK && is_refusal(x)));
        }
        race->over = now_ms() >= w->deadline_ms || atomic_load(&failed);
        w->operations++;
    }
    pthread_barrier_wait(&race->barrier);
    return NULL;
}

static void race_on(const char *conf)
{
    struct rig rig = rig_up("sim:4GiB,backing=none", conf);
    struct race race = {.over = 0};
    worker_main *const mains[] = {race_free, race_free, race_referee};

    assert_int_equal(pthread_barrier_init(&race.barrier, NULL, 3), 0);
    run_workers(&rig, 3, mains, &race);
    pthread_barrier_destroy(&race.barrier);
    end_empty(&rig);
}

static void only_one_of_two_concurrent_frees_succeeds(void **state)
{
    (void)state;
    race_on("");
    race_on("expandable_segments:True");
}

/* ---- errors -------------------------------------------------------------- */

static void *fail_with_own_number(void *worker)
{
    struct worker *w = worker;

    while (goes_on(w)) {
        char number[32];
        uint64_t stream = LARDER_SIM_STREAMS + 1000 + (uint64_t)w->number;
        larder_addr p;

        snprintf(number, sizeof number, "%llu", (unsigned long long)stream);
        EXPECT(larder_alloc(w->rig->a, 512, stream, &p) ==
               LARDER_ERR_UNKNOWN_STREAM);
        EXPECT(strstr(larder_last_error(), number) != NULL);
    }
    return NULL;
}

static void each_thread_reads_its_own_last_error(void **state)
{
    struct rig rig = rig_up("sim:64MiB,backing=none", "");
    worker_main *const mains[] = {fail_with_own_number, fail_with_own_number,
                                  fail_with_own_number};

    (void)state;
    run_workers(&rig, 3, mains, NULL);
    end_empty(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_is_restored_while_its_blocks_are_freed),
        cmocka_unit_test(only_one_of_two_concurrent_frees_succeeds),
        cmocka_unit_test(each_thread_reads_its_own_last_error),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
