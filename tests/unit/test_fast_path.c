/* test_fast_path.c - which requests take the fast or the careful path, and how
 * much these examine: the blocks looked at, and when streams are asked about, to
 * the exact request. */
#include <pthread.h>
#include <stdatomic.h>

#include <larder/tag.h>

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
 * the fast and the careful path can make progress.  `begin` is called before. */
static void get_through_beside(void (*begin)(struct rig *rig))
{
    struct rig rig = rig_up_policy(SPEC, LARDER_POLICY_LARDER, "");
    struct allocator *a = handle_allocator(rig.a);
    struct user u = {.a = rig.a};
    pthread_t thread;
    int got_through;

    rig_free(&rig, rig_alloc(&rig, 1000)); /* this thread is the first */
    run_to_end(&u);
    begin(&rig);
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

static void begin_nothing(struct rig *rig)
{
    (void)rig;
}

static void begin_history(struct rig *rig)
{
    assert_ok(larder_history_start(rig->a, NULL));
}

static void begin_tag(struct rig *rig)
{
    assert_ok(larder_tag_begin(rig->a, "weights"));
}

static int is_not_own_stream(void *ctx, larder_stream stream)
{
    (void)ctx;
    return stream != OWN_STREAM;
}

static void begin_route(struct rig *rig)
{
    assert_ok(larder_pool_begin(rig->a, (larder_pool_id){1, 1},
                                is_not_own_stream, NULL));
}

static void begin_capture(struct rig *rig)
{
    assert_ok(larder_capture_begin(rig->a));
}

static void begin_piece(struct rig *rig)
{
    assert_ok(larder_reserve(rig->a, MIB(2)));
}

static void a_second_thread_needs_no_lock_but_its_streams(void **state)
{
    static void (*const begins[])(struct rig * rig) = {
        begin_nothing, begin_history, begin_tag,
        begin_route,   begin_capture, begin_piece};

    (void)state;
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        get_through_beside(begins[i]);
}

/* ---- the careful path ------------------------------------------------------- */

struct filtered {
    struct rig rig;
    pthread_t threads[2];
    atomic_uint streams;
    atomic_int inside;
    atomic_int together; /* times that two threads were in the filter */
};

static int note_company(void *ctx, larder_stream stream)
{
    struct filtered *f = ctx;

    (void)stream;
    if (atomic_fetch_add(&f->inside, 1) > 0)
        atomic_fetch_add(&f->together, 1);
    nap_ms(1); /* long enough for the other thread to come */
    atomic_fetch_sub(&f->inside, 1);
    return 0;
}

static void *allocate_filtered(void *ctx)
{
    struct filtered *f = ctx;
    larder_stream stream = atomic_fetch_add(&f->streams, 1) + 1u;

    for (int i = 0; i < REQUESTS; i++) {
        larder_addr addr;

        if (larder_alloc(f->rig.a, 1000, stream, &addr) != LARDER_OK ||
            larder_free(f->rig.a, addr) != LARDER_OK)
            return f;
    }
    return NULL;
}

/* Before the pool is begun each stream gets its memory, and a second thread makes
 * itself known: what follows needs no lock but its stream's and the common one. */
static void a_filter_is_called_by_one_thread_at_a_time(void **state)
{
    struct filtered f = {.rig = rig_up_policy(SPEC, LARDER_POLICY_LARDER, "")};
    struct user u = {.a = f.rig.a};

    (void)state;
    for (larder_stream stream = 1; stream <= 2; stream++) {
        larder_addr addr;

        assert_ok(larder_alloc(f.rig.a, 1000, stream, &addr));
        assert_ok(larder_free(f.rig.a, addr));
    }
    run_to_end(&u);
    assert_ok(
        larder_pool_begin(f.rig.a, (larder_pool_id){1, 1}, note_company, &f));
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            pthread_create(&f.threads[i], NULL, allocate_filtered, &f), 0);
    for (int i = 0; i < 2; i++) {
        void *failed;

        assert_int_equal(pthread_join(f.threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(atomic_load(&f.together), 0);
    rig_down(&f.rig);
}

/* A piece is carved for the first request, and what follows fits into it. */
static void a_part_of_a_piece_is_found_and_counted(void **state)
{
    struct rig rig = rig_up_policy(SPEC, LARDER_POLICY_LARDER, "");
    larder_addr first;
    larder_addr second;

    (void)state;
    assert_ok(larder_reserve(rig.a, MIB(2)));
    first = rig_alloc(&rig, 1000);
    second = rig_alloc(&rig, 1000);
    assert_int_equal(second, first + 1024);
    assert_int_equal(rig_stats(&rig).inactive_split.all.current, 1);
    rig_free(&rig, first);
    assert_int_equal(rig_stats(&rig).inactive_split.all.current, 2);
    rig_free(&rig, second);
    assert_int_equal(rig_stats(&rig).inactive_split.all.current, 0);
    assert_ok(larder_check(rig.a));
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
static struct choice choice_up(int too_small, const char *conf)
{
    struct choice c = {.rig = rig_up_policy(SPEC, LARDER_POLICY_LARDER, conf)};
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

/* With debug:1 every request takes the slow path. */
static void check_looks(int too_small, bool is_slow, bool finds)
{
    struct choice c = choice_up(too_small, is_slow ? "debug:1" : "");
    larder_addr got = rig_alloc(&c.rig, WANTED);

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
static void ask_at_the_32nd(void (*begin)(struct rig *rig))
{
    struct rig rig = rig_up_policy(MANUAL, LARDER_POLICY_LARDER, "");
    larder_addr shared = rig_alloc(&rig, MIB(3));

    begin(&rig);
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

/* With a history too: what is recorded is what happens without one. */
static void the_32nd_request_asks_about_streams(void **state)
{
    (void)state;
    ask_at_the_32nd(begin_nothing);
    ask_at_the_32nd(begin_history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_thread_needs_no_lock_but_its_streams),
        cmocka_unit_test(a_filter_is_called_by_one_thread_at_a_time),
        cmocka_unit_test(a_part_of_a_piece_is_found_and_counted),
        cmocka_unit_test(four_blocks_of_the_request_s_class_are_looked_at),
        cmocka_unit_test(the_32nd_request_asks_about_streams),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
