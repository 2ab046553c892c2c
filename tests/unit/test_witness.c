/* test_witness.c - the lock order witness (base/witness.h) aborts a thread that
 * takes locks in another order.  Only where assertions are compiled in. */
#include "support/rig.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/witness.h"

enum { EXIT_SKIP = 77, HANG_S = 30 };

static pthread_mutex_t low = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t high = PTHREAD_MUTEX_INITIALIZER;

/* How a separate process that does this ends: 0, or the signal. */
static int end_of(void (*act)(void))
{
    pid_t pid = fork();
    int status = 0;

    assert_true(pid >= 0);
    if (pid == 0) {
        int silent = open("/dev/null", O_WRONLY | O_CLOEXEC);

        dup2(silent, STDERR_FILENO);
        alarm(HANG_S); /* an undetected deadlock waits for itself */
        act();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static void take_upwards(void)
{
    mutex_take(&low, RANK_PEERS);
    mutex_take(&high, RANK_LEDGER);
    mutex_leave(&low); /* in any order */
    mutex_leave(&high);
    mutex_take(&low, RANK_PEERS);
    mutex_leave(&low);
}

static void take_downwards(void)
{
    mutex_take(&high, RANK_LEDGER);
    mutex_take(&low, RANK_PEERS);
}

static void try_downwards(void)
{
    mutex_take(&high, RANK_LEDGER);
    (void)mutex_try(&low, RANK_PEERS);
}

static void take_two_of_a_rank(void)
{
    mutex_take(&low, RANK_DEVICE);
    mutex_take(&high, RANK_DEVICE);
}

static void take_twice(void)
{
    mutex_take(&low, RANK_PEERS);
    (void)mutex_take(&low, RANK_LEDGER);
}

static void leave_what_is_free(void)
{
    mutex_leave(&low);
}

static void *take_both_upwards(void *ctx)
{
    (void)ctx;
    take_upwards();
    return NULL;
}

/* A lock held by one thread does not matter to another. */
static void take_in_two_threads(void)
{
    pthread_t other;
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

    mutex_take(&own, RANK_DESCRIPTORS);
    if (pthread_create(&other, NULL, take_both_upwards, NULL) == 0)
        pthread_join(other, NULL);
    mutex_leave(&own);
}

static void take_cheap_lock_downwards(void)
{
    struct lock shard;

    lock_init(&shard, RANK_SHARD + 3);
    mutex_take(&high, RANK_TRIMMER);
    lock_take(&shard);
}

static void locks_taken_in_order_are_no_matter(void **state)
{
    (void)state;
    assert_int_equal(end_of(take_upwards), 0);
    assert_int_equal(end_of(take_in_two_threads), 0);
}

static void locks_taken_out_of_order_abort(void **state)
{
    (void)state;
    assert_int_equal(end_of(take_downwards), SIGABRT);
    assert_int_equal(end_of(try_downwards), SIGABRT);
    assert_int_equal(end_of(take_two_of_a_rank), SIGABRT);
    assert_int_equal(end_of(take_cheap_lock_downwards), SIGABRT);
}

static void lock_taken_twice_aborts(void **state)
{
    (void)state;
    assert_int_equal(end_of(take_twice), SIGABRT);
}

static void lock_left_without_having_it_aborts(void **state)
{
    (void)state;
    assert_int_equal(end_of(leave_what_is_free), SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locks_taken_in_order_are_no_matter),
        cmocka_unit_test(locks_taken_out_of_order_abort),
        cmocka_unit_test(lock_taken_twice_aborts),
        cmocka_unit_test(lock_left_without_having_it_aborts),
    };

    if (LARDER_ASSERT_LEVEL == 0)
        return EXIT_SKIP;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
