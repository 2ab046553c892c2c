/* test_sim_share.c - one simulated GPU for several processes: what each holds and
 * is charged, and what becomes of the memory of the dead. */
#include "sim_share_rig.h"

#include <signal.h>
#include <sys/time.h>

#include "device/sim_process.h"

static void allocate(larder_device *dev, uint64_t bytes)
{
    larder_addr addr;

    assert_ok(larder__device_mem_alloc(dev, bytes, &addr));
}

/* ---- other processes ------------------------------------------------------ */

/* A child that opens the device, takes memory, reports it, and then obeys a
 * one-byte command: 'c' to close and exit, or is killed. */
struct other {
    pid_t pid;
    int tell;
};

static void other_main(const char *spec, uint64_t bytes, int hear, int say)
{
    larder_device *dev;
    larder_addr addr;
    char word = 'y';

    if (larder_device_open(spec, 0, &dev) != LARDER_OK ||
        larder__device_mem_alloc(dev, bytes, &addr) != LARDER_OK)
        word = 'n';
    if (write(say, &word, 1) != 1 || read(hear, &word, 1) != 1)
        _exit(1);
    _exit(larder_device_close(dev) == LARDER_OK ? 0 : 1);
}

static struct other other_start(const char *spec, uint64_t bytes)
{
    int down[2], up[2];
    struct other o;
    char word = 0;

    assert_int_equal(pipe(down), 0);
    assert_int_equal(pipe(up), 0);
    o.pid = fork();
    assert_true(o.pid >= 0);
    if (o.pid == 0)
        other_main(spec, bytes, down[0], up[1]);
    close(down[0]);
    close(up[1]);
    o.tell = down[1];
    assert_int_equal(read(up[0], &word, 1), 1);
    assert_int_equal(word, 'y');
    close(up[0]);
    return o;
}

static void other_wait(struct other o)
{
    int status;

    assert_int_equal(waitpid(o.pid, &status, 0), o.pid);
    close(o.tell);
}

static void other_leave(struct other o)
{
    int status;

    assert_int_equal(write(o.tell, "c", 1), 1);
    assert_int_equal(waitpid(o.pid, &status, 0), o.pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(o.tell);
}

/* Dead, but not waited for. */
static void other_kill(struct other o)
{
    siginfo_t info;

    assert_int_equal(kill(o.pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)o.pid, &info, WEXITED | WNOWAIT), 0);
}

struct seen {
    int count;
    uint64_t self_bytes;
    uint64_t other_bytes;
    int64_t other_pid;
};

static void see_process(void *ctx, const larder_device_process *p)
{
    struct seen *seen = ctx;

    seen->count++;
    if (p->is_self) {
        assert_int_equal(p->pid, getpid());
        seen->self_bytes = p->bytes;
    } else {
        seen->other_pid = p->pid;
        seen->other_bytes = p->bytes;
    }
}

static struct seen processes_of(larder_device *dev)
{
    struct seen seen = {0};

    assert_ok(larder__device_processes(dev, see_process, &seen));
    return seen;
}

/* ---- memory --------------------------------------------------------------- */

static void the_capacity_counts_over_processes(void **state)
{
    larder_device *dev = open_shared("16MiB", ",context=1MiB");
    struct other o = other_start(spec_of("16MiB", ",context=1MiB"), MIB(4));
    larder_addr addr;

    (void)state;
    assert_int_equal(free_of(dev), MIB(11));
    allocate(dev, MIB(2));
    assert_int_equal(free_of(dev), MIB(8));
    assert_int_equal(rig_usage(dev).used_bytes, MIB(8));
    assert_int_equal(rig_usage(dev).self_bytes, MIB(3));
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder__device_mem_alloc(dev, MIB(10), &addr),
                   "has 8388608 of 16777216 bytes left");
    other_leave(o);
    assert_int_equal(free_of(dev), MIB(13));
    allocate(dev, MIB(10));
    assert_ok(larder_device_close(dev));
}

static void every_process_is_named_with_what_it_holds(void **state)
{
    larder_device *dev = open_shared("16MiB", ",context=1MiB");
    struct other o = other_start(spec_of("16MiB", ",context=1MiB"), MIB(4));
    struct seen seen = processes_of(dev);

    (void)state;
    assert_int_equal(seen.count, 1);
    allocate(dev, MIB(2));
    seen = processes_of(dev);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.self_bytes, MIB(3));
    assert_int_equal(seen.other_bytes, MIB(5));
    assert_int_equal(seen.other_pid, o.pid);
    other_leave(o);
    assert_int_equal(processes_of(dev).count, 1);
    assert_ok(larder_device_close(dev));
}

static void memory_of_a_killed_process_is_reclaimed_when_needed(void **state)
{
    larder_device *dev = open_shared("16MiB", "");
    struct other o = other_start(spec_of("16MiB", ""), MIB(12));
    larder_addr addr;

    (void)state;
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder__device_mem_alloc(dev, MIB(6), &addr));
    other_kill(o);
    assert_ok(larder__device_mem_alloc(dev, MIB(6), &addr));
    other_wait(o);
    assert_ok(larder_device_close(dev));
}

static void memory_of_a_killed_process_is_reclaimed(void **state)
{
    larder_device *dev = open_shared("16MiB", "");
    struct other o = other_start(spec_of("16MiB", ""), MIB(12));

    (void)state;
    assert_int_equal(free_of(dev), MIB(4));
    other_kill(o);
    assert_int_equal(free_of(dev), MIB(16));
    other_wait(o);
    o = other_start(spec_of("16MiB", ""), MIB(12));
    assert_int_equal(processes_of(dev).count, 1);
    other_kill(o);
    assert_int_equal(processes_of(dev).count, 0);
    other_wait(o);
    assert_ok(larder_device_close(dev));
}

static void the_last_process_removes_the_shared_object(void **state)
{
    larder_device *dev = open_shared("16MiB", "");
    struct other o = other_start(spec_of("16MiB", ""), MIB(2));

    (void)state;
    assert_true(object_exists(0));
    assert_ok(larder_device_close(dev));
    assert_true(object_exists(0));
    other_leave(o);
    assert_false(object_exists(0));
}

static void an_object_of_dead_processes_is_taken_over(void **state)
{
    struct other o = other_start(spec_of("16MiB", ""), MIB(2));
    larder_device *dev;

    (void)state;
    other_kill(o);
    assert_true(object_exists(0));
    dev = open_shared("32MiB", "");
    assert_int_equal(free_of(dev), MIB(32));
    other_wait(o);
    assert_ok(larder_device_close(dev));
    assert_false(object_exists(0));
}

static void another_capacity_is_refused(void **state)
{
    larder_device *dev = open_shared("16MiB", ""), *other = NULL;

    (void)state;
    assert_refused(LARDER_ERR_INVALID,
                   larder_device_open(spec_of("32MiB", ""), 0, &other),
                   "is in use with 16777216 bytes: it cannot be opened with "
                   "33554432");
    assert_null(other);
    assert_ok(larder_device_close(dev));
    assert_false(object_exists(0));
}

static void one_process_pays_one_context(void **state)
{
    larder_device *a = open_shared("16MiB", ",context=1MiB");
    larder_device *b = open_shared("16MiB", ",context=1MiB");

    (void)state;
    allocate(a, MIB(14));
    allocate(a, MIB(1) - 512);
    allocate(a, 512);
    assert_int_equal(free_of(a), 0);
    assert_ok(larder_device_stream_sync(b, 0)); /* b's first use */
    assert_int_equal(processes_of(b).count, 1);
    assert_int_equal(processes_of(b).self_bytes, MIB(16));
    assert_ok(larder_device_close(a));
    assert_int_equal(free_of(b), MIB(15));
    assert_ok(larder_device_close(b));
    assert_false(object_exists(0));
}

static void a_shared_context_that_does_not_fit_fails(void **state)
{
    larder_device *dev = open_shared("4MiB", ",context=1MiB");
    struct other o = other_start(spec_of("4MiB", ""), MIB(4));
    larder_addr addr;

    (void)state;
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder__device_mem_alloc(dev, 512, &addr),
                   "the context needs 1048576 bytes, and the simulated GPU "
                   "has 0 of 4194304 bytes left");
    other_leave(o);
    assert_ok(larder__device_mem_alloc(dev, 512, &addr));
    assert_ok(larder_device_close(dev));
}

static void devices_of_a_shared_set_are_apart(void **state)
{
    larder_device *dev[2];

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_ok(larder_device_open(spec_of("4MiB", ",count=2"), i, &dev[i]));
    allocate(dev[0], MIB(4));
    assert_int_equal(free_of(dev[1]), MIB(4));
    assert_true(object_exists(0) && object_exists(1));
    for (int i = 0; i < 2; i++)
        assert_ok(larder_device_close(dev[i]));
    assert_false(object_exists(0) || object_exists(1));
}

static void a_child_that_closes_leaves_its_parents_memory(void **state)
{
    larder_device *dev = open_shared("16MiB", "");
    int status;
    pid_t pid;

    (void)state;
    allocate(dev, MIB(2));
    pid = fork();
    if (pid == 0)
        _exit(larder_device_close(dev) == LARDER_ERR_FORKED ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(free_of(dev), MIB(14));
    assert_true(object_exists(0));
    assert_ok(larder_device_close(dev));
}

/* Many processes at once come and go, and no byte is lost or invented. */
static unsigned churn_seed;

static void churn_main(void)
{
    unsigned seed = churn_seed;

    for (int round = 0; round < 40; round++) {
        larder_device *dev;

        if (larder_device_open(spec_of("64MiB", ",context=512KiB"), 0, &dev) !=
            LARDER_OK)
            _exit(1);
        for (int i = 0; i < 50; i++) {
            larder_addr addr;

            seed = seed * 1664525u + 1013904223u;
            if (larder__device_mem_alloc(dev, MIB(2) * (1 + (seed >> 30)),
                                         &addr) == LARDER_OK &&
                (seed & 1 << 20) &&
                larder__device_mem_free(dev, addr) != LARDER_OK)
                _exit(2);
        }
        if (seed & 1 << 25)
            kill(getpid(), SIGKILL);
        if (larder_device_close(dev) != LARDER_OK)
            _exit(3);
    }
    _exit(0);
}

static void no_byte_is_lost_when_processes_come_and_die(void **state)
{
    larder_device *dev = open_shared("64MiB", ",context=512KiB");

    (void)state;
    allocate(dev, MIB(2));
    for (unsigned round = 0; round < 10; round++) {
        pid_t pids[4];

        for (unsigned i = 0; i < 4; i++) {
            churn_seed = round * 4 + i;
            pids[i] = child_start(churn_main);
        }
        for (int i = 0; i < 4; i++)
            assert_true(child_status(pids[i]) <= 0);
        assert_int_equal(free_of(dev), MIB(62) - KIB(512));
    }
    assert_ok(larder_device_close(dev));
    assert_false(object_exists(0));
}

/* ---- signals, programs ----------------------------------------------------- */

static void do_nothing(int signal)
{
    (void)signal;
}

/* Opens the device, takes 6 of 8 MiB, closes; a signal every 100 us interrupts
 * its system calls. */
static void interrupted_main(void)
{
    const struct sigaction action = {.sa_handler = do_nothing};
    const struct itimerval often = {.it_interval.tv_usec = 100,
                                    .it_value.tv_usec = 100};

    if (sigaction(SIGALRM, &action, NULL) != 0 ||
        setitimer(ITIMER_REAL, &often, NULL) != 0)
        _exit(1);
    for (int i = 0; i < 300; i++) {
        larder_device *dev;
        larder_addr addr;

        if (larder_device_open(spec_of("8MiB", ""), 0, &dev) != LARDER_OK)
            _exit(2);
        if (larder__device_mem_alloc(dev, MIB(6), &addr) == LARDER_OK) {
            larder_sim_usage usage = {.size = sizeof usage};

            if (larder_sim_get_usage(dev, &usage) != LARDER_OK ||
                usage.used_bytes != MIB(6))
                _exit(3);
        }
        if (larder_device_close(dev) != LARDER_OK)
            _exit(4);
    }
    _exit(0);
}

static void signals_neither_fail_an_open_nor_let_two_have_too_much(void **state)
{
    (void)state;
    run_at_once(3, interrupted_main);
    assert_false(object_exists(0));
}

static void memory_of_a_process_is_reclaimed_after_exec(void **state)
{
    larder_device *dev = open_shared("8MiB", "");
    int down[2], up[2];
    char word = 0;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(down), 0);
    assert_int_equal(pipe(up), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        larder_device *own;
        larder_addr addr;

        if (larder_device_open(spec_of("8MiB", ""), 0, &own) != LARDER_OK ||
            larder__device_mem_alloc(own, MIB(6), &addr) != LARDER_OK)
            _exit(1);
        dup2(down[0], STDIN_FILENO);
        dup2(up[1], STDOUT_FILENO);
        execl("/bin/sh", "sh", "-c", "echo y; read line", (char *)NULL);
        _exit(2);
    }
    assert_int_equal(read(up[0], &word, 1), 1);
    assert_int_equal(word, 'y');
    assert_int_equal(kill(pid, 0), 0);
    assert_int_equal(free_of(dev), MIB(8));
    allocate(dev, MIB(8));
    assert_int_equal(write(down[1], "\n", 1), 1);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    for (int i = 0; i < 2; i++) {
        close(down[i]);
        close(up[i]);
    }
    assert_ok(larder_device_close(dev));
}

/* ---- dead processes ------------------------------------------------------- */

static void a_process_is_known_by_number_and_start(void **state)
{
    uint64_t start = larder__sim_process_start(getpid());
    struct other o;

    (void)state;
    assert_int_not_equal(start, 0);
    assert_true(larder__sim_process_lives(getpid(), start));
    assert_true(larder__sim_process_lives(getpid(), 0));
    assert_false(larder__sim_process_lives(getpid(), start + 1));
    o = other_start(spec_of("16MiB", ""), MIB(2));
    start = larder__sim_process_start(o.pid);
    assert_true(larder__sim_process_lives(o.pid, start));
    other_kill(o);
    assert_false(larder__sim_process_lives(o.pid, start));
    other_wait(o);
    assert_false(larder__sim_process_lives(o.pid, 0));
    assert_int_equal(larder__sim_process_start(o.pid), 0);
    assert_ok(larder_device_close(open_shared("16MiB", "")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_capacity_counts_over_processes),
        cmocka_unit_test(every_process_is_named_with_what_it_holds),
        cmocka_unit_test(memory_of_a_killed_process_is_reclaimed_when_needed),
        cmocka_unit_test(memory_of_a_killed_process_is_reclaimed),
        cmocka_unit_test(the_last_process_removes_the_shared_object),
        cmocka_unit_test(an_object_of_dead_processes_is_taken_over),
        cmocka_unit_test(another_capacity_is_refused),
        cmocka_unit_test(one_process_pays_one_context),
        cmocka_unit_test(a_shared_context_that_does_not_fit_fails),
        cmocka_unit_test(devices_of_a_shared_set_are_apart),
        cmocka_unit_test(a_child_that_closes_leaves_its_parents_memory),
        cmocka_unit_test(no_byte_is_lost_when_processes_come_and_die),
        cmocka_unit_test(
            signals_neither_fail_an_open_nor_let_two_have_too_much),
        cmocka_unit_test(memory_of_a_process_is_reclaimed_after_exec),
        cmocka_unit_test(a_process_is_known_by_number_and_start),
    };

    sim_share_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
