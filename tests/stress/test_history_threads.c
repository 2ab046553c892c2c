/* test_history_threads.c - threads allocate while others write snapshots, read
 * the events, and turn the history on and off. */
#include "support/clock.h"
#include "support/history_rig.h"
#include "support/random.h"

#include <pthread.h>
#include <stdatomic.h>

enum { LIVE = 32, RUN_MS = 400 };

struct shared {
    struct rig rig;
    _Atomic int stop;
    _Atomic int failures; /* of calls; cmocka's asserts are for one thread */
    _Atomic unsigned long written;
};

static void expect_ok(struct shared *s, larder_result r)
{
    if (r != LARDER_OK)
        atomic_fetch_add(&s->failures, 1);
}

static void *allocate(void *arg)
{
    struct shared *s = arg;
    larder_addr live[LIVE] = {0};
    uint64_t seed = (uint64_t)(uintptr_t)live | 1;

    for (unsigned n = 0; !atomic_load(&s->stop); n++) {
        larder_addr *slot;

        random_next(&seed);
        slot = &live[seed % LIVE];
        larder_annotate(n % 3 == 0 ? "third" : n % 3 == 1 ? "other" : NULL);
        if (*slot != 0)
            expect_ok(s, larder_free(s->rig.a, *slot));
        expect_ok(
            s, larder_alloc(s->rig.a, 1 + seed % (4 << 20), seed >> 60, slot));
        if (n % 16 == 0)
            expect_ok(s, larder_record_stream(s->rig.a, *slot, 20));
    }
    for (int i = 0; i < LIVE; i++)
        expect_ok(s, larder_free(s->rig.a, live[i]));
    return NULL;
}

static int count_bytes(void *ctx, const void *from, size_t count)
{
    struct shared *s = ctx;

    (void)from;
    atomic_fetch_add(&s->written, count);
    return 0;
}

static void *write_snapshots(void *arg)
{
    struct shared *s = arg;
    larder_snapshot_options opt;

    larder_snapshot_options_init(&opt);
    for (int i = 0; !atomic_load(&s->stop); i++) {
        opt.format = i % 2 ? LARDER_SNAPSHOT_JSON : LARDER_SNAPSHOT_PICKLE;
        expect_ok(s, larder_snapshot_write_to(s->rig.a, count_bytes, s, &opt));
    }
    return NULL;
}

static int look(void *ctx, const larder_event *e)
{
    struct shared *s = ctx;

    for (size_t i = 0; i < e->depth; i++) {
        if (e->stack[i] == 0)
            atomic_fetch_add(&s->failures, 1);
    }
    return 0;
}

static void *turn(void *arg)
{
    static const larder_stacks stacks[] = {
        LARDER_STACKS_FRAME_POINTERS, LARDER_STACKS_OFF, LARDER_STACKS_UNWIND};
    struct shared *s = arg;
    larder_history_options opt;

    larder_history_options_init(&opt);
    for (int i = 0; !atomic_load(&s->stop); i++) {
        opt.max_events = 500;
        opt.stacks = stacks[i % 3];
        expect_ok(s, larder_history_start(s->rig.a, &opt));
        nap_ms(3);
        expect_ok(s, larder_history_mark(s->rig.a, "turn"));
        expect_ok(s, larder_history_walk(s->rig.a, look, s));
        if (i % 4 == 0)
            expect_ok(s, larder_history_clear(s->rig.a));
        if (i % 5 == 0)
            expect_ok(s, larder_history_stop(s->rig.a));
        expect_ok(s, larder_check(s->rig.a));
    }
    return NULL;
}

static void snapshots_are_written_while_others_allocate(void **state)
{
    struct shared s = {.rig = rig_up("sim:8GiB,backing=none", "history:500")};
    void *(*const mains[])(void *) = {
        allocate, allocate, allocate, write_snapshots, write_snapshots, turn};
    enum { THREADS = sizeof mains / sizeof mains[0] };
    pthread_t threads[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, mains[i], &s), 0);
    nap_ms(RUN_MS);
    atomic_store(&s.stop, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(s.failures, 0);
    assert_true(s.written > 0);
    assert_int_equal(rig_stats(&s.rig).allocation.all.current, 0);
    rig_down(&s.rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshots_are_written_while_others_allocate),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
