/* test_trim_fork.c - a process with a thread of trim_age forks: the child can
 * use the allocator, and has such a thread when it asks for one. */
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/rig.h"
#include "support/sanitized.h"

/* So many that a look takes longer than the time between two. */
enum { BLOCKS = 60000, FORKS = 24, PATIENCE_S = 20 };

static void nap_ms(long ms)
{
    const struct timespec t = {.tv_sec = ms / 1000,
                               .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

static uint64_t trims(struct rig *rig)
{
    return (uint64_t)rig_stats(rig).num_trims;
}

/* The thread sanitizer forbids a child threads. */
static int may_have_threads(void)
{
#ifdef IS_SANITIZED
    return 0;
#else
    return 1;
#endif
}

/* What the child does; a lock that nobody leaves ends it by the alarm. */
static int child(struct rig *rig)
{
    uint64_t before;
    larder_addr addr;

    alarm(PATIENCE_S);
    if (larder_alloc(rig->a, MIB(3), 0, &addr) != LARDER_OK ||
        larder_free(rig->a, addr) != LARDER_OK)
        return 1;
    before = trims(rig);
    if (may_have_threads() &&
        larder_configure(rig->a, "trim_age:0.004") != LARDER_OK)
        return 2;
    while (may_have_threads() && trims(rig) == before)
        nap_ms(1);
    return larder_check(rig->a) == LARDER_OK &&
                   larder_destroy(rig->a) == LARDER_OK
               ? 0
               : 3;
}

static void a_child_is_not_stopped_by_its_parents_thread(void **state)
{
    struct rig rig = rig_up_policy("sim:2GiB,backing=none,events=immediate",
                                   LARDER_POLICY_LARDER, "trim_age:0.004");

    (void)state;
    for (int i = 0; i < BLOCKS; i++)
        rig_alloc(&rig, KIB(2));
    for (int i = 0; i < FORKS; i++) {
        int status = 0;
        pid_t pid;

        nap_ms(1 + i % 3);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            _exit(child(&rig));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    rig_down(&rig);
}

static bool forks_take_long;

/* Long enough that another one that forks gives up waiting for its turn.
 * Registered before the library's, so that it comes after that. */
static void prepare(void)
{
    if (forks_take_long)
        nap_ms(1600);
}

static void *fork_once(void *delay_ms)
{
    pid_t pid;

    nap_ms(*(const int *)delay_ms);
    pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    return NULL;
}

/* The thread goes on once both have forked, and ends. */
static void two_may_fork_at_once(void **state)
{
    static const int delays_ms[] = {0, 100};
    struct rig rig;
    pthread_t threads[2];
    int64_t before;

    (void)state;
    rig = rig_up_policy("sim:2GiB,backing=none,events=immediate",
                        LARDER_POLICY_LARDER, "trim_age:0.004");
    forks_take_long = true;
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, fork_once, (void *)&delays_ms[i]),
            0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    rig_free(&rig, rig_alloc(&rig, MIB(100)));
    before = (int64_t)trims(&rig);
    for (int i = 0; i < 500 && (int64_t)trims(&rig) == before; i++)
        nap_ms(10);
    assert_true((int64_t)trims(&rig) > before);
    forks_take_long = false;
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_is_not_stopped_by_its_parents_thread),
        cmocka_unit_test(two_may_fork_at_once),
    };

    if (pthread_atfork(prepare, NULL, NULL) != 0)
        return 1;
    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
