/* test_larder_threads.c - threads on an allocator whose pages move all the
 * time; or hardly ever, so that streams use their own shards; or whose segments
 * come and go.  Nobody's bytes change, and every rule holds at any time. */
#include <pthread.h>
#include <stdatomic.h>

#include "support/rig.h"

enum { THREADS = 4, SLOTS = 24, STEPS = 6000, SHARED = 16 };

struct held {
    larder_addr addr;
    uint64_t bytes;
    unsigned char value;
};

/* Blocks that one thread leaves for another to free. */
static _Atomic uint64_t shared[SHARED];

struct worker {
    pthread_t thread;
    larder_allocator *a;
    uint32_t seed;
    int number;
    atomic_int wrong;
    atomic_int stop;
};

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void fill(struct worker *w, struct held *h)
{
    unsigned char *p;

    h->bytes =
        1 + next_random(&w->seed) % (1u << (8 + next_random(&w->seed) % 15));
    if (larder_alloc(w->a, h->bytes, (larder_stream)(w->number % 3),
                     &h->addr) != LARDER_OK) {
        h->addr = 0;
        return;
    }
    h->value = (unsigned char)next_random(&w->seed);
    p = (unsigned char *)(uintptr_t)h->addr;
    p[0] = p[h->bytes / 2] = p[h->bytes - 1] = h->value;
}

static void check_and_drop(struct worker *w, struct held *h)
{
    const unsigned char *p = (const unsigned char *)(uintptr_t)h->addr;
    uint64_t other;

    if (p[0] != h->value || p[h->bytes / 2] != h->value ||
        p[h->bytes - 1] != h->value)
        atomic_fetch_add(&w->wrong, 1);
    other = atomic_exchange(&shared[next_random(&w->seed) % SHARED], h->addr);
    h->addr = 0;
    if (other != 0 && larder_free(w->a, other) != LARDER_OK)
        atomic_fetch_add(&w->wrong, 1);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct held held[SLOTS] = {{0}};

    for (int i = 0; i < STEPS; i++) {
        struct held *h = &held[next_random(&w->seed) % SLOTS];

        if (h->addr != 0)
            check_and_drop(w, h);
        else
            fill(w, h);
        if (w->number == 0 && i % 1000 == 999)
            (void)larder_empty_cache(w->a);
    }
    for (int i = 0; i < SLOTS; i++) {
        if (held[i].addr != 0)
            check_and_drop(w, &held[i]);
    }
    return NULL;
}

/* Checks everything while others work. */
static void *watch(void *arg)
{
    struct worker *w = arg;
    larder_stats st;

    larder_stats_init(&st);
    while (!atomic_load(&w->stop)) {
        if (larder_check(w->a) != LARDER_OK ||
            larder_stats_get(w->a, &st) != LARDER_OK ||
            st.allocation.all.current > st.allocation.all.peak)
            atomic_fetch_add(&w->wrong, 1);
        sched_yield();
    }
    return NULL;
}

static void share(const char *spec)
{
    struct rig rig = rig_up_policy(spec, LARDER_POLICY_LARDER, "");
    struct worker watcher = {.a = rig.a};
    struct worker workers[THREADS];

    assert_int_equal(pthread_create(&watcher.thread, NULL, watch, &watcher), 0);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){
            .a = rig.a, .seed = (uint32_t)i * 77 + 1, .number = i};
        assert_int_equal(
            pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_int_equal(atomic_load(&workers[i].wrong), 0);
    }
    atomic_store(&watcher.stop, 1);
    assert_int_equal(pthread_join(watcher.thread, NULL), 0);
    assert_int_equal(atomic_load(&watcher.wrong), 0);
    for (int i = 0; i < SHARED; i++)
        assert_ok(larder_free(rig.a, atomic_exchange(&shared[i], 0)));
    assert_int_equal(rig_stats(&rig).allocation.all.current, 0);
    rig_down(&rig);
}

static void threads_share_moving_pages(void **state)
{
    (void)state;
    share("sim:48MiB,backing=memory");
}

static void threads_share_plenty(void **state)
{
    (void)state;
    share("sim:4GiB,backing=memory");
}

/* So little memory that streams take it from each other. */
static void threads_share_segments(void **state)
{
    (void)state;
    share("sim:24MiB,backing=memory,vmm=off");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_moving_pages),
        cmocka_unit_test(threads_share_plenty),
        cmocka_unit_test(threads_share_segments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
