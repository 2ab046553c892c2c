/* test_threads.c - every call from every thread at once: memory keeps what its
 * owner wrote, structures stay consistent, and no memory is handed out twice.
 *
 * Memory is real.  A thread writes a unique value at both ends of each block
 * and checks it before it frees the block; the thread sanitizer sees the same
 * accesses. */
#include "threads_rig.h"

enum { THREADS = 4, LIVE = 64 };

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
        cmocka_unit_test(allocators_of_one_device_come_and_go),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
