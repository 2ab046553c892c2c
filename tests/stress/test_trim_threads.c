/* test_trim_threads.c - threads allocate while others trim and one trims by
 * age: nobody's bytes change, and every rule holds afterwards. */
#include <pthread.h>
#include <stdatomic.h>

#include <larder/pinned.h>

#include "support/clock.h"
#include "support/rig.h"

enum { THREADS = 3, SLOTS = 16, STEPS = 3000 };

struct held {
    unsigned char *at;
    uint64_t bytes;
    unsigned char value;
};

struct worker {
    pthread_t thread;
    larder_allocator *a;
    int is_pinned;
    uint32_t seed;
    larder_stream stream;
    int wrong;
};

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void allocate(struct worker *w, struct held *h)
{
    uint32_t scale = 8 + next_random(&w->seed) % 15;
    larder_stream stream = w->is_pinned ? LARDER_PINNED_STREAM : w->stream;
    larder_addr addr;

    h->bytes = 1 + next_random(&w->seed) % (1u << scale);
    if (larder_alloc(w->a, h->bytes, stream, &addr) != LARDER_OK)
        return;
    h->at = (unsigned char *)(uintptr_t)addr;
    h->value = (unsigned char)next_random(&w->seed);
    h->at[0] = h->at[h->bytes / 2] = h->at[h->bytes - 1] = h->value;
}

static void put(struct worker *w, struct held *h)
{
    larder_addr addr = (larder_addr)(uintptr_t)h->at;

    w->wrong += h->at[0] != h->value || h->at[h->bytes / 2] != h->value ||
                h->at[h->bytes - 1] != h->value;
    if (next_random(&w->seed) % 4 == 0)
        w->wrong += larder_record_stream(w->a, addr, 9) != LARDER_OK;
    w->wrong += larder_free(w->a, addr) != LARDER_OK;
    h->at = NULL;
}

static void *work(void *ctx)
{
    struct worker *w = ctx;
    struct held held[SLOTS] = {{0}};

    for (int i = 0; i < STEPS; i++) {
        struct held *h = &held[next_random(&w->seed) % SLOTS];

        if (h->at == NULL)
            allocate(w, h);
        else
            put(w, h);
        if (i % 64 == 0)
            w->wrong += larder_trim(w->a, MIB(next_random(&w->seed) % 64),
                                    NULL) != LARDER_OK;
        if (i % 500 == 0)
            nap_ms(3); /* time for a pass or two */
    }
    for (int i = 0; i < SLOTS; i++) {
        if (held[i].at != NULL)
            put(w, &held[i]);
    }
    return NULL;
}

static void run_threads(larder_allocator *a, int is_pinned)
{
    struct worker workers[THREADS] = {{0}};

    for (int i = 0; i < THREADS; i++) {
        workers[i].a = a;
        workers[i].is_pinned = is_pinned;
        workers[i].seed = (uint32_t)i * 77 + 1;
        workers[i].stream = (larder_stream)i % 2;
        assert_int_equal(
            pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_int_equal(workers[i].wrong, 0);
    }
}

static void check_policy(const char *spec, larder_policy policy)
{
    struct rig rig = rig_up_policy(spec, policy, "trim_age:0.004");

    run_threads(rig.a, 0);
    assert_true(rig_stats(&rig).num_trims > 0);
    rig_down(&rig);
}

static void trimming_beside_threads_changes_no_bytes(void **state)
{
    (void)state;
    check_policy("sim:256MiB", LARDER_POLICY_LARDER);
    check_policy("sim:256MiB,vmm=off", LARDER_POLICY_LARDER);
    check_policy("sim:256MiB", LARDER_POLICY_PYTORCH);
}

static void pinned_memory_is_safe_for_threads(void **state)
{
    struct rig rig = {0};
    larder_options opt;

    (void)state;
    larder_options_init(&opt);
    opt.conf = "trim_age:0.004";
    assert_ok(larder_device_open("sim:64MiB", 0, &rig.dev));
    assert_ok(larder_pinned_create(rig.dev, &opt, &rig.a));
    run_threads(rig.a, 1);
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trimming_beside_threads_changes_no_bytes),
        cmocka_unit_test(pinned_memory_is_safe_for_threads),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
