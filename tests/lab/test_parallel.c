/* test_parallel.c - parallel loops visit every element once, in pieces that are
 * not too small, and run on one thread if there are no others. */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab_rig.h"
#include "support/clock.h"
#include "tensor/parallel.h"

static lab *session(unsigned threads)
{
    lab_options opt;
    lab *l = NULL;

    lab_options_init(&opt);
    opt.device = "sim:64MiB,backing=none";
    opt.threads = threads;
    lab_assert_ok(lab_open(&opt, &l));
    return l;
}

struct work {
    lab *l;
    unsigned char seen[100000];
    int64_t grain, count;
    _Atomic int pieces, small, others;
    pthread_t caller;
    bool nests;
};

static void nothing(void *context, int64_t begin, int64_t end)
{
    struct work *w = context;

    if (begin != 0 || end != 1000)
        w->small++;
}

static void mark(void *context, int64_t begin, int64_t end)
{
    struct work *w = context;

    w->pieces++;
    w->small += end - begin < w->grain;
    w->others += !pthread_equal(pthread_self(), w->caller);
    for (int64_t i = begin; i < end; i++)
        w->seen[i]++;
    if (w->nests)
        lab__parallel(w->l, 1000, 1, nothing, w);
}

static void run(struct work *w, lab *l, int64_t count, int64_t grain)
{
    w->l = l;
    w->caller = pthread_self();
    w->pieces = w->small = w->others = 0;
    w->grain = grain;
    memset(w->seen, 0, sizeof w->seen);
    lab__parallel(l, count, grain, mark, w);
    for (int64_t i = 0; i < (int64_t)sizeof w->seen; i++) {
        if (w->seen[i] != (i < count))
            fail_msg("element %d was done %d times", (int)i, w->seen[i]);
    }
}

static void every_element_is_done_once(void **state)
{
    static struct work w;
    static const int64_t counts[] = {0, 1, 7, 999, 1000, 1999, 2000, 99999};

    (void)state;
    for (unsigned threads = 1; threads <= 5; threads += 2) {
        lab *l = session(threads);

        assert_int_equal(lab__threads(l), threads);
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            run(&w, l, counts[i], 1);
            assert_int_equal(w.small, 0);
            run(&w, l, counts[i], 1000);
            assert_int_equal(w.small, counts[i] > 0 && counts[i] < 1000);
            assert_true(counts[i] >= 2000 || w.others == 0);
        }
        lab_assert_ok(lab_close(l));
    }
}

static void many_short_loops_follow_each_other(void **state)
{
    static struct work w;
    lab *l = session(4);
    uint64_t end = now_ms() + 10000;
    int shared = 0;

    (void)state;
    /* On a busy machine the other threads may be late for a while. */
    for (int i = 0; i < 500 || (shared == 0 && now_ms() < end); i++) {
        run(&w, l, 64, 1);
        shared += w.others > 0;
    }
    assert_true(shared > 0);
    lab_assert_ok(lab_close(l));
}

static void a_loop_within_a_piece_runs_where_it_is(void **state)
{
    static struct work w = {.nests = true};
    lab *l = session(3);

    (void)state;
    run(&w, l, 1000, 1);
    assert_int_equal(w.small, 0);
    lab_assert_ok(lab_close(l));
}

static void a_child_process_does_without_threads(void **state)
{
    static struct work w;
    lab *l = session(3);
    int status = -1;
    pid_t child;

    (void)state;
    run(&w, l, 1000, 1);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        lab__parallel(l, 1000, 1, mark, &w);
        _exit(w.seen[0] == 2 && w.seen[999] == 2 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    lab_assert_ok(lab_close(l));
}

static int threads_now(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int n = 0;

    assert_non_null(tasks);
    while (readdir(tasks) != NULL)
        n++;
    closedir(tasks);
    return n;
}

/* The kernel lists a thread for a moment after it was joined. */
static void await_threads(int expected)
{
    for (int i = 0; i < 5000 && threads_now() != expected; i++)
        nap_ms(1);
    assert_int_equal(threads_now(), expected);
}

static void threads_start_with_the_first_long_loop_and_end(void **state)
{
    const int before = threads_now();
    lab *l = session(3);
    const int64_t few = 1, many = 1000000;
    lab_tensor *t;

    (void)state;
    lab_assert_ok(lab_randn(l, LAB_FLOAT32, LAB_HOST, 1, &few, &t));
    assert_int_equal(threads_now(), before);
    lab_unref(t);
    lab_assert_ok(lab_randn(l, LAB_FLOAT32, LAB_HOST, 1, &many, &t));
    assert_int_equal(threads_now(), before + 2);
    lab_unref(t);
    lab_assert_ok(lab_close(l));
    await_threads(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First, as it counts the process's threads. */
        cmocka_unit_test(threads_start_with_the_first_long_loop_and_end),
        cmocka_unit_test(every_element_is_done_once),
        cmocka_unit_test(many_short_loops_follow_each_other),
        cmocka_unit_test(a_loop_within_a_piece_runs_where_it_is),
        cmocka_unit_test(a_child_process_does_without_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
