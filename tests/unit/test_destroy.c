/* test_destroy.c - under debug:1 an allocator is not destroyed while another
 * call uses it, and a later call gets an error. */
#include <pthread.h>
#include <sched.h>

#include "support/policies.h"
#include "support/rig.h"

#define SPEC "sim:64MiB,backing=none"
#define SETTINGS "debug:1"

enum { THREADS = 3 };

/* ---- during a call ---------------------------------------------------------- */

struct attempt {
    larder_allocator *a;
    larder_result result;
    int calls;
};

static void try_to_destroy(struct attempt *t)
{
    t->calls++;
    t->result = larder_destroy(t->a);
}

static void on_oom(void *ctx, const larder_oom_info *info)
{
    (void)info;
    try_to_destroy(ctx);
}

static int on_block(void *ctx, const larder_segment_info *segment,
                    const larder_block_info *block)
{
    (void)segment;
    (void)block;
    try_to_destroy(ctx);
    return 1;
}

static void a_call_cannot_destroy_what_it_is_made_on(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct rig rig = rig_up_policy(SPEC, policies[i], SETTINGS);
        struct attempt t = {.a = rig.a};
        larder_addr p = rig_alloc(&rig, MIB(4)), q;

        assert_ok(larder_add_oom_observer(rig.a, on_oom, &t));
        assert_result(LARDER_ERR_OUT_OF_MEMORY,
                      larder_alloc(rig.a, MIB(100), 0, &q));
        assert_int_equal(t.calls, 1);
        assert_int_equal(t.result, LARDER_ERR_BUSY);
        for (int calls = 0; calls < 3; calls++) {
            t.result = LARDER_OK;
            (void)larder_walk(rig.a, NULL, on_block,
                              &t); /* all locks are held */
            assert_int_equal(t.result, LARDER_ERR_BUSY);
            assert_words("in progress");
            assert_ok(larder_check(rig.a));
        }
        rig_free(&rig, p);
        rig_down(&rig);
    }
}

/* ---- threads ------------------------------------------------------------------ */

/* Work until a call reports that the allocator was destroyed. */
static void *work(void *ctx)
{
    larder_allocator *a = ctx;
    larder_result r = LARDER_OK;

    while (r == LARDER_OK) {
        larder_addr p;

        r = larder_alloc(a, 4096, (larder_stream)(uintptr_t)&p % 3, &p);
        if (r == LARDER_OK)
            r = larder_free(a, p);
        sched_yield();
    }
    return r == LARDER_ERR_DESTROYED ? NULL : ctx;
}

static void threads_learn_of_the_destruction(void **state)
{
    (void)state;
    for (int i = 0; i < 3 * POLICIES; i++) {
        struct rig rig = rig_up_policy(SPEC, policies[i % POLICIES], SETTINGS);
        pthread_t threads[THREADS];
        larder_result r;

        for (int t = 0; t < THREADS; t++)
            assert_int_equal(pthread_create(&threads[t], NULL, work, rig.a), 0);
        do
            r = larder_destroy(rig.a);
        while (r == LARDER_ERR_BUSY);
        assert_int_equal(r, LARDER_OK);
        for (int t = 0; t < THREADS; t++) {
            void *failed;

            assert_int_equal(pthread_join(threads[t], &failed), 0);
            assert_null(failed);
        }
        assert_result(LARDER_ERR_DESTROYED, larder_check(rig.a));
        assert_ok(larder_device_close(rig.dev));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_cannot_destroy_what_it_is_made_on),
        cmocka_unit_test(threads_learn_of_the_destruction),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
