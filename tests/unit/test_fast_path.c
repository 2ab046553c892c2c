/* test_fast_path.c - which requests take the fast path, and how much it
 * examines: the settings own_looks and patience, to the exact request. */
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

/* ---- own_looks -------------------------------------------------------------- */

/* Blocks of one size class, of which only the one freed first is large enough;
 * a larger class has one too.  Spacers separate them. */
enum { TOO_SMALL = 3 };

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

static struct choice choice_up(const char *conf)
{
    struct choice c = {.rig = rig_up_policy(SPEC, LARDER_POLICY_LARDER, conf)};
    larder_addr small[TOO_SMALL];

    rig_free(&c.rig, rig_alloc(&c.rig, GIB(1))); /* all are cut from it */
    c.sufficient = apart(&c.rig, SUFFICIENT);
    c.larger = apart(&c.rig, MIB(64));
    for (int i = 0; i < TOO_SMALL; i++)
        small[i] = apart(&c.rig, MIB(16));
    assert_int_equal(fit_class(MIB(16)), fit_class(SUFFICIENT));
    rig_free(&c.rig, c.sufficient);
    rig_free(&c.rig, c.larger);
    for (int i = 0; i < TOO_SMALL; i++) /* the last one in is the first out */
        rig_free(&c.rig, small[i]);
    return c;
}

static void check_looks(const char *conf, bool finds)
{
    struct choice c = choice_up(conf);
    larder_addr got = rig_alloc(&c.rig, WANTED);

    assert_int_equal(got, finds ? c.sufficient : c.larger);
    rig_down(&c.rig);
}

/* With a history every request takes the slow path. */
static void check_looks_slowly(const char *conf, bool finds)
{
    struct choice c = choice_up(conf);
    larder_history_options opt;
    larder_addr got;

    larder_history_options_init(&opt);
    assert_ok(larder_history_start(c.rig.a, &opt));
    got = rig_alloc(&c.rig, WANTED);
    assert_int_equal(got, finds ? c.sufficient : c.larger);
    rig_down(&c.rig);
}

static void own_looks_is_how_many_blocks_are_looked_at(void **state)
{
    (void)state;
    check_looks("own_looks:3", false);
    check_looks("own_looks:4", true);
    check_looks("", true);
    check_looks_slowly("own_looks:3", false);
    check_looks_slowly("own_looks:4", true);
}

/* ---- patience --------------------------------------------------------------- */

/* A block whose stream has passed is reused by exactly this request. */
static void check_patience(const char *conf, int patience)
{
    struct rig rig = rig_up_policy(MANUAL, LARDER_POLICY_LARDER, conf);
    larder_addr shared = rig_alloc(&rig, MIB(3));

    rig_free(&rig, rig_alloc(&rig, 1000));
    assert_ok(larder_record_stream(rig.a, shared, 3));
    rig_free(&rig, shared);
    assert_ok(larder_sim_complete(rig.dev, 3));
    for (int i = 1; i < patience; i++) {
        rig_free(&rig, rig_alloc(&rig, 1000));
        assert_int_equal(rig_stats(&rig).active.all.current, 1);
    }
    rig_free(&rig, rig_alloc(&rig, 1000));
    assert_int_equal(rig_stats(&rig).active.all.current, 0);
    rig_down(&rig);
}

static void patience_is_the_request_that_asks_about_streams(void **state)
{
    (void)state;
    check_patience("patience:1", 1);
    check_patience("patience:7", 7);
    check_patience("", 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_thread_needs_no_lock_but_its_streams),
        cmocka_unit_test(own_looks_is_how_many_blocks_are_looked_at),
        cmocka_unit_test(patience_is_the_request_that_asks_about_streams),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
