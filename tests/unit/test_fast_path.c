/* test_fast_path.c - which requests take the fast path, and how much it
 * examines: the blocks looked at, and when streams are asked about, to the exact
 * request. */
#include <pthread.h>
#include <stdatomic.h>

#include "support/clock.h"
#include "support/rig.h"

#include "core/entry/handle.h"

#define SPEC "sim:8GiB,backing=none"
#define MANUAL SPEC ",events=manual"

/* ---- threads ---------------------------------------------------------------- */

enum { OWN_STREAM = 5, REQUESTS = 100, PATIENCE_MS = 10000 };

struct user {
    larder_allocator *a;
    atomic_int is_done;
};

static void *use_own_stream(void *ctx)
{
    struct user *u = ctx;

    for (int i = 0; i < REQUESTS; i++) {
        larder_addr addr = 0;

        if (larder_alloc(u->a, 1000, OWN_STREAM, &addr) != LARDER_OK ||
            larder_free(u->a, addr) != LARDER_OK)
            return u;
    }
    atomic_store(&u->is_done, 1);
    return NULL;
}

static void await(const struct user *u)
{
    for (int ms = 0; ms < PATIENCE_MS && !atomic_load(&u->is_done); ms++)
        nap_ms(1);
}

static void run_to_end(struct user *u)
{
    pthread_t thread;
    void *failed;

    assert_int_equal(pthread_create(&thread, NULL, use_own_stream, u), 0);
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
}

/* The slow path begins with the allocator's own lock: while that is held, only
 * the fast path can make progress. */
static void a_second_thread_needs_no_lock_but_its_streams(void **state)
{
    struct rig rig = rig_up_policy(SPEC, LARDER_POLICY_LARDER, "");
    struct allocator *a = handle_allocator(rig.a);
    struct user u = {.a = rig.a};
    pthread_t thread;
    int got_through;

    (void)state;
    rig_free(&rig, rig_alloc(&rig, 1000)); /* this thread is the first */
    run_to_end(&u);
    atomic_store(&u.is_done, 0);
    lock_take(&a->lock);
    assert_int_equal(pthread_create(&thread, NULL, use_own_stream, &u), 0);
    await(&u);
    got_through = atomic_load(&u.is_done);
    lock_leave(&a->lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(got_through);
    rig_down(&rig);
}

/* ---- blocks looked at ------------------------------------------------------- */

#define WANTED (MIB(16) + KIB(512))
#define SUFFICIENT (MIB(16) + KIB(768))

struct choice {
    struct rig rig;
    larder_addr sufficient;
    larder_addr larger;
};

static larder_addr apart(struct rig *rig, uint64_t bytes)
{
    larder_addr addr = rig_alloc(rig, bytes);

    (void)rig_alloc(rig, MIB(2));
    return addr;
}

/* Blocks of one size class, of which only the one freed first, before
 * `too_small` others, is large enough; a larger class has one too.  Spacers
 * separate them. */
static struct choice choice_up(int too_small)
{
    struct choice c = {.rig = rig_up_policy(SPEC, LARDER_POLICY_LARDER, "")};
    larder_addr small[FIT_LOOKS];

    assert_true(too_small <= FIT_LOOKS);
    rig_free(&c.rig, rig_alloc(&c.rig, GIB(1))); /* all are cut from it */
    c.sufficient = apart(&c.rig, SUFFICIENT);
    c.larger = apart(&c.rig, MIB(64));
    for (int i = 0; i < too_small; i++)
        small[i] = apart(&c.rig, MIB(16));
    assert_int_equal(fit_class(MIB(16)), fit_class(SUFFICIENT));
    rig_free(&c.rig, c.sufficient);
    rig_free(&c.rig, c.larger);
    for (int i = 0; i < too_small; i++) /* the last one in is the first out */
        rig_free(&c.rig, small[i]);
    return c;
}

/* With a history every request takes the slow path. */
static void check_looks(int too_small, bool is_slow, bool finds)
{
    struct choice c = choice_up(too_small);
    larder_history_options opt;
    larder_addr got;

    larder_history_options_init(&opt);
    if (is_slow)
        assert_ok(larder_history_start(c.rig.a, &opt));
    got = rig_alloc(&c.rig, WANTED);
    assert_int_equal(got, finds ? c.sufficient : c.larger);
    rig_down(&c.rig);
}

static void four_blocks_of_the_request_s_class_are_looked_at(void **state)
{
    (void)state;
    for (int is_slow = 0; is_slow < 2; is_slow++) {
        check_looks(3, is_slow != 0, true);
        check_looks(4, is_slow != 0, false);
    }
}

/* ---- patience --------------------------------------------------------------- */

/* A block whose stream has passed is reused by exactly this request. */
static void the_32nd_request_asks_about_streams(void **state)
{
    struct rig rig = rig_up_policy(MANUAL, LARDER_POLICY_LARDER, "");
    larder_addr shared = rig_alloc(&rig, MIB(3));

    (void)state;
    rig_free(&rig, rig_alloc(&rig, 1000));
    assert_ok(larder_record_stream(rig.a, shared, 3));
    rig_free(&rig, shared);
    assert_ok(larder_sim_complete(rig.dev, 3));
    for (int i = 1; i < 32; i++) {
        rig_free(&rig, rig_alloc(&rig, 1000));
        assert_int_equal(rig_stats(&rig).active.all.current, 1);
    }
    rig_free(&rig, rig_alloc(&rig, 1000));
    assert_int_equal(rig_stats(&rig).active.all.current, 0);
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_thread_needs_no_lock_but_its_streams),
        cmocka_unit_test(four_blocks_of_the_request_s_class_are_looked_at),
        cmocka_unit_test(the_32nd_request_asks_about_streams),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
