/* test_threads.c - every call from every thread at once: memory keeps what its
 * owner wrote, structures stay consistent, and no memory is handed out twice.
 *
 * Memory is real.  A thread writes a unique value at both ends of each block
 * and checks it before it frees the block; the thread sanitizer sees the same
 * accesses. */
#include "support/clock.h"
#include "support/random.h"
#include "support/thread_fail.h"

enum { THREADS = 4, LIVE = 64, RUN_MS = 350 };

/* ---- running ------------------------------------------------------------- */

static uint64_t run_ms(void)
{
    return getenv("LARDER_LONG") != NULL ? 20 * RUN_MS : RUN_MS;
}

struct worker {
    struct rig *rig;
    pthread_t thread;
    int number; /* from 0 */
    uint64_t seed;
    uint64_t deadline_ms;
    uint64_t operations;
    void *ctx;
};

static uint64_t random_below(struct worker *w, uint64_t end)
{
    return random_next(&w->seed) % end;
}

/* Whether to continue; reads the clock now and then. */
static int goes_on(struct worker *w)
{
    if (atomic_load_explicit(&failed, memory_order_relaxed))
        return 0;
    return ++w->operations % 64 != 0 || now_ms() < w->deadline_ms;
}

typedef void *worker_main(void *worker);

static void run_workers(struct rig *rig, int count, worker_main *const mains[],
                        void *ctx)
{
    struct worker workers[16] = {{0}};
    uint64_t deadline_ms = now_ms() + run_ms();

    assert_true(count <= 16);
    for (int i = 0; i < count; i++) {
        workers[i] = (struct worker){
            .rig = rig,
            .number = i,
            .seed = (uint64_t)i * 7919 + 12345,
            .deadline_ms = deadline_ms,
            .ctx = ctx,
        };
        assert_int_equal(
            pthread_create(&workers[i].thread, NULL, mains[i], &workers[i]), 0);
    }
    for (int i = 0; i < count; i++)
        pthread_join(workers[i].thread, NULL);
    assert_false(any_thread_failed());
    for (int i = 0; i < count; i++)
        assert_true(workers[i].operations > 0);
    assert_ok(larder_check(rig->a));
}

/* After everything is freed the statistics show it and the device gets all
 * memory back. */
static void end_empty(struct rig *rig)
{
    larder_stats st;

    assert_ok(larder_empty_cache(rig->a));
    st = rig_stats(rig);
    assert_int_equal(st.allocation.all.current, 0);
    assert_int_equal(st.active_bytes.all.current, 0);
    assert_int_equal(st.requested_bytes.all.current, 0);
    assert_int_equal(st.reserved_bytes.all.current, 0);
    assert_int_equal(st.allocation.all.allocated, st.allocation.all.freed);
    rig_down(rig);
}

/* ---- blocks with an owner ------------------------------------------------ */

struct owned {
    larder_addr addr;
    uint64_t bytes;
    uint64_t mark;
};

static uint64_t *owned_word(const struct owned *o, uint64_t offset)
{
    return (uint64_t *)(uintptr_t)(o->addr + offset);
}

static void owned_write(struct owned *o, struct worker *w)
{
    o->mark = (o->addr << 8) + (uint64_t)w->number + w->operations * 31;
    *owned_word(o, 0) = o->mark;
    *owned_word(o, (o->bytes - 8) & ~UINT64_C(7)) = o->mark;
}

static void owned_verify(const struct owned *o)
{
    EXPECT(*owned_word(o, 0) == o->mark);
    EXPECT(*owned_word(o, (o->bytes - 8) & ~UINT64_C(7)) == o->mark);
}

static uint64_t random_size(struct worker *w)
{
    static const uint64_t most[] = {4000, 4000, 200000, MIB(3), MIB(12)};

    return 16 + random_below(w, most[random_below(w, 5)]);
}

/* One more block for the worker; 0 if the device is full. */
static int owned_get(struct owned *o, struct worker *w, larder_stream stream)
{
    larder_result r;

    o->bytes = random_size(w);
    r = larder_alloc(w->rig->a, o->bytes, stream, &o->addr);
    EXPECT(r == LARDER_OK || r == LARDER_ERR_OUT_OF_MEMORY);
    if (r != LARDER_OK) {
        o->addr = 0;
        return 0;
    }
    owned_write(o, w);
    return 1;
}

static void owned_drop(struct owned *o, struct worker *w)
{
    if (o->addr == 0)
        return;
    owned_verify(o);
    EXPECT(larder_free(w->rig->a, o->addr) == LARDER_OK);
    o->addr = 0;
}

/* ---- each for itself ----------------------------------------------------- */

static void churn(struct worker *w, larder_stream stream)
{
    struct owned live[LIVE] = {{0}};

    while (goes_on(w)) {
        struct owned *o = &live[random_below(w, LIVE)];

        if (o->addr == 0)
            owned_get(o, w, stream);
        else
            owned_drop(o, w);
    }
    for (int i = 0; i < LIVE; i++)
        owned_drop(&live[i], w);
}

static void *churn_own_stream(void *worker)
{
    struct worker *w = worker;

    churn(w, (larder_stream)w->number + 1);
    return NULL;
}

static void *churn_one_stream(void *worker)
{
    churn(worker, 0);
    return NULL;
}

static void churn_all(const char *spec, larder_policy policy, const char *conf,
                      worker_main *what)
{
    struct rig rig = rig_up_policy(spec, policy, conf);
    worker_main *const mains[THREADS] = {what, what, what, what};

    run_workers(&rig, THREADS, mains, NULL);
    end_empty(&rig);
}

static void threads_with_streams_of_their_own_do_not_meet(void **state)
{
    (void)state;
    churn_all("sim:2GiB", LARDER_POLICY_PYTORCH, "", churn_own_stream);
}

static void threads_share_a_stream(void **state)
{
    (void)state;
    churn_all("sim:2GiB", LARDER_POLICY_PYTORCH, "", churn_one_stream);
}

static void threads_share_expandable_segments(void **state)
{
    (void)state;
    churn_all("sim:2GiB", LARDER_POLICY_PYTORCH, "expandable_segments:True",
              churn_one_stream);
}

static void threads_share_a_device_that_is_too_small(void **state)
{
    (void)state;
    churn_all("sim:64MiB", LARDER_POLICY_PYTORCH, "", churn_own_stream);
    churn_all("sim:64MiB", LARDER_POLICY_PYTORCH, "expandable_segments:True",
              churn_own_stream);
}

static void threads_share_the_direct_policy(void **state)
{
    (void)state;
    churn_all("sim:64MiB", LARDER_POLICY_DIRECT, "", churn_one_stream);
}

/* ---- passing blocks on --------------------------------------------------- */

enum { RING = 256 };

struct ring {
    pthread_mutex_t lock;
    struct owned items[RING];
    size_t begin;
    size_t count;
    int producers; /* still running */
};

static int ring_put(struct ring *r, const struct owned *o)
{
    int done;

    pthread_mutex_lock(&r->lock);
    done = r->count < RING;
    if (done)
        r->items[(r->begin + r->count++) % RING] = *o;
    pthread_mutex_unlock(&r->lock);
    return done;
}

/* 1: *o is filled; 0: nothing now; -1: nothing will come. */
static int ring_get(struct ring *r, struct owned *o)
{
    int got = 0;

    pthread_mutex_lock(&r->lock);
    if (r->count > 0) {
        *o = r->items[r->begin];
        r->begin = (r->begin + 1) % RING;
        r->count--;
        got = 1;
    } else if (r->producers == 0) {
        got = -1;
    }
    pthread_mutex_unlock(&r->lock);
    return got;
}

static void *produce(void *worker)
{
    struct worker *w = worker;
    struct ring *ring = w->ctx;
    struct owned o = {0};

    while (goes_on(w)) {
        if (o.addr == 0)
            owned_get(&o, w, (larder_stream)w->number);
        if (o.addr != 0 && ring_put(ring, &o))
            o.addr = 0;
    }
    owned_drop(&o, w);
    pthread_mutex_lock(&ring->lock);
    ring->producers--;
    pthread_mutex_unlock(&ring->lock);
    return NULL;
}

/* Uses each block it receives on its own stream, then frees it. */
static void *consume(void *worker)
{
    struct worker *w = worker;
    struct owned o;
    int got;

    while ((got = ring_get(w->ctx, &o)) >= 0) {
        w->operations++;
        if (got == 0)
            continue;
        EXPECT(larder_record_stream(w->rig->a, o.addr,
                                    10 + (larder_stream)w->number) ==
               LARDER_OK);
        owned_drop(&o, w);
    }
    return NULL;
}

static void *complete_streams(void *worker)
{
    struct worker *w = worker;

    while (goes_on(w))
        EXPECT(larder_sim_complete(w->rig->dev, 10 + random_below(w, 8)) ==
               LARDER_OK);
    return NULL;
}

static void blocks_are_freed_by_other_threads_on_other_streams(void **state)
{
    struct rig rig = rig_up("sim:1GiB,events=manual", "");
    struct ring ring = {.lock = PTHREAD_MUTEX_INITIALIZER, .producers = 2};
    worker_main *const mains[] = {produce, produce, consume, consume,
                                  complete_streams};

    (void)state;
    run_workers(&rig, 5, mains, &ring);
    end_empty(&rig);
}

/* ---- all calls at once --------------------------------------------------- */

static int see_segment(void *ctx, const larder_segment_info *segment)
{
    uint64_t *bytes = ctx;

    *bytes += segment->bytes;
    return 0;
}

static int see_block(void *ctx, const larder_segment_info *segment,
                     const larder_block_info *block)
{
    (void)ctx;
    EXPECT(block->addr >= segment->addr);
    EXPECT(block->addr + block->bytes <= segment->addr + segment->bytes);
    return 0;
}

/* What must hold within one reading of the statistics. */
static void look(struct worker *w)
{
    larder_stats st;
    uint64_t bytes = 0;
    char text[8192];

    larder_stats_init(&st);
    EXPECT(larder_stats_get(w->rig->a, &st) == LARDER_OK);
    EXPECT(st.allocation.all.current ==
           st.allocation.small_pool.current + st.allocation.large_pool.current);
    EXPECT(st.active_bytes.all.current >= st.allocated_bytes.all.current);
    EXPECT(st.reserved_bytes.all.current >= st.active_bytes.all.current);
    EXPECT(larder_walk(w->rig->a, see_segment, see_block, &bytes) == LARDER_OK);
    EXPECT(larder_memory_summary(w->rig->a, 0, text, sizeof text, NULL) ==
           LARDER_OK);
    EXPECT(larder_largest_cached(w->rig->a, &bytes) == LARDER_OK);
}

static void *meddle(void *worker)
{
    static const char *const confs[] = {
        "", "expandable_segments:True", "expandable_segments:False",
        "max_split_size_mb:21,garbage_collection_threshold:0.5",
        "roundup_power2_divisions:4"};
    struct worker *w = worker;
    larder_allocator *a = w->rig->a;
    double fraction;

    while (goes_on(w)) {
        switch (random_below(w, 7)) {
        case 0:
            EXPECT(larder_empty_cache(a) == LARDER_OK);
            break;
        case 1:
            look(w);
            break;
        case 2:
            EXPECT(larder_check(a) == LARDER_OK);
            break;
        case 3:
            EXPECT(larder_configure(a, confs[random_below(w, 5)]) == LARDER_OK);
            break;
        case 4:
            EXPECT(larder_set_memory_fraction(a, 0.9) == LARDER_OK);
            EXPECT(larder_memory_fraction(a, &fraction) == LARDER_OK);
            break;
        case 5:
            EXPECT(larder_stats_reset_peak(a) == LARDER_OK);
            break;
        default:
            EXPECT(larder_free(a, 4096 * random_below(w, 1000) + 8) ==
                   LARDER_ERR_UNKNOWN_ADDRESS);
        }
    }
    return NULL;
}

static void *churn_recording(void *worker)
{
    struct worker *w = worker;
    struct owned live[LIVE] = {{0}};

    while (goes_on(w)) {
        struct owned *o = &live[random_below(w, LIVE)];

        if (o->addr == 0)
            owned_get(o, w, (larder_stream)w->number % 2);
        else if (random_below(w, 3) == 0)
            EXPECT(larder_record_stream(w->rig->a, o->addr,
                                        10 + random_below(w, 8)) == LARDER_OK);
        else
            owned_drop(o, w);
    }
    for (int i = 0; i < LIVE; i++)
        owned_drop(&live[i], w);
    return NULL;
}

static void every_call_runs_beside_every_other(void **state)
{
    struct rig rig = rig_up("sim:1GiB,events=manual", "");
    worker_main *const mains[] = {churn_recording, churn_recording,
                                  churn_recording, meddle,
                                  meddle,          complete_streams};

    (void)state;
    run_workers(&rig, 6, mains, NULL);
    end_empty(&rig);
}

/* ---- pools --------------------------------------------------------------- */

static int is_stream_of(void *ctx, larder_stream stream)
{
    return stream == *(const larder_stream *)ctx;
}

/* Captures again and again on its own stream, beside the others. */
static void *capture(void *worker)
{
    struct worker *w = worker;
    larder_stream stream = 20 + (larder_stream)w->number;

    while (goes_on(w)) {
        larder_pool_id id = {stream, w->operations};
        struct owned live[8] = {{0}};

        EXPECT(larder_pool_begin(w->rig->a, id, is_stream_of, &stream) ==
               LARDER_OK);
        for (int i = 0; i < 8; i++)
            owned_get(&live[i], w, stream);
        for (int i = 0; i < 8; i += 2)
            owned_drop(&live[i], w);
        EXPECT(larder_pool_end(w->rig->a, id) == LARDER_OK);
        for (int i = 0; i < 8; i++)
            owned_drop(&live[i], w);
        EXPECT(larder_pool_release(w->rig->a, id) == LARDER_OK);
    }
    return NULL;
}

static void pools_come_and_go_beside_other_work(void **state)
{
    struct rig rig = rig_up("sim:1GiB", "");
    worker_main *const mains[] = {capture, capture, churn_recording,
                                  churn_own_stream};

    (void)state;
    run_workers(&rig, 4, mains, NULL);
    end_empty(&rig);
}

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

/* ---- several allocators -------------------------------------------------- */

static void *make_and_destroy(void *worker)
{
    struct worker *w = worker;

    while (goes_on(w)) {
        struct rig own = {.dev = w->rig->dev};
        struct worker inner = *w;
        struct owned live[4] = {{0}};

        EXPECT(larder_create(own.dev, NULL, &own.a) == LARDER_OK);
        inner.rig = &own;
        for (int i = 0; i < 4; i++)
            owned_get(&live[i], &inner, (larder_stream)w->number);
        for (int i = 0; i < 4; i++) {
            if (live[i].addr != 0)
                owned_verify(&live[i]);
        }
        EXPECT(larder_destroy(own.a) == LARDER_OK);
        EXPECT(larder_free(own.a, 512) == LARDER_ERR_DESTROYED);
    }
    return NULL;
}

static void allocators_of_one_device_come_and_go(void **state)
{
    struct rig rig = rig_up("sim:1GiB", "");
    worker_main *const mains[] = {make_and_destroy, make_and_destroy,
                                  churn_own_stream};

    (void)state;
    run_workers(&rig, 3, mains, NULL);
    end_empty(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_with_streams_of_their_own_do_not_meet),
        cmocka_unit_test(threads_share_a_stream),
        cmocka_unit_test(threads_share_expandable_segments),
        cmocka_unit_test(threads_share_a_device_that_is_too_small),
        cmocka_unit_test(threads_share_the_direct_policy),
        cmocka_unit_test(blocks_are_freed_by_other_threads_on_other_streams),
        cmocka_unit_test(every_call_runs_beside_every_other),
        cmocka_unit_test(pools_come_and_go_beside_other_work),
        cmocka_unit_test(a_pool_is_restored_while_its_blocks_are_freed),
        cmocka_unit_test(only_one_of_two_concurrent_frees_succeeds),
        cmocka_unit_test(each_thread_reads_its_own_last_error),
        cmocka_unit_test(allocators_of_one_device_come_and_go),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
