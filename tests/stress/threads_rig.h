/* threads_rig.h - threads that work on one allocator until the time is up.  Header
 * only, for cmocka programs. */
#pragma once

#include "support/clock.h"
#include "support/random.h"
#include "support/thread_fail.h"

enum { RUN_MS = 350 };

static inline uint64_t run_ms(void)
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

static inline uint64_t random_below(struct worker *w, uint64_t end)
{
    return random_next(&w->seed) % end;
}

static inline uint64_t random_size(struct worker *w)
{
    static const uint64_t most[] = {4000, 4000, 200000, MIB(3), MIB(12)};

    return 16 + random_below(w, most[random_below(w, 5)]);
}

/* Whether to continue; reads the clock now and then. */
static inline int goes_on(struct worker *w)
{
    if (atomic_load_explicit(&failed, memory_order_relaxed))
        return 0;
    return ++w->operations % 64 != 0 || now_ms() < w->deadline_ms;
}

typedef void *worker_main(void *worker);

static inline void run_workers(struct rig *rig, int count,
                               worker_main *const mains[], void *ctx)
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
static inline void end_empty(struct rig *rig)
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
