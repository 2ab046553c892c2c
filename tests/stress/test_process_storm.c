/* test_process_storm.c - eight processes on one shared device, with signals
 * that interrupt their calls, forks, exec and kills: the device is never
 * overcommitted, nobody's bytes change, no call fails because of this, and in
 * the end all memory is free again.
 *
 *   test_process_storm [SECONDS [SEED]]
 */
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "support/clock.h"
#include "support/policies.h"
#include "support/storm.h"
#include "support/unique_name.h"

enum { WORKERS = 8, SLOTS = 8, STEPS = 60, SECONDS_QUICK = 3 };

#define CAPACITY MIB(96)

/* Totals over all processes. */
struct counts {
    _Atomic unsigned long rounds;
    _Atomic unsigned long forks;
    _Atomic unsigned long programs;
    _Atomic unsigned long signals;
};

static struct counts *counts;

/* ---- a worker; it ends with the line that went wrong ------------------------ */

static void count_signal(int signal)
{
    (void)signal;
    counts->signals++;
}

static void begin_signals(void)
{
    const struct sigaction action = {.sa_handler = count_signal};
    const struct itimerval often = {.it_interval.tv_usec = 300,
                                    .it_value.tv_usec = 300};

    MUST(sigaction(SIGALRM, &action, NULL) == 0);
    MUST(setitimer(ITIMER_REAL, &often, NULL) == 0);
}

static void allocate(struct rig *rig, struct held *h)
{
    larder_result r;

    h->bytes = 1 + below(MIB(6));
    h->value = (unsigned char)below(256);
    r = larder_alloc(rig->a, h->bytes, 0, &h->addr);
    MUST(r == LARDER_OK || r == LARDER_ERR_OUT_OF_MEMORY);
    if (r != LARDER_OK) {
        h->addr = 0;
        return;
    }
    held_mark(h);
}

static void release(struct rig *rig, struct held *h)
{
    MUST(*ends_of(h, 1) == h->value);
    MUST(h->bytes == 1 || *ends_of(h, 0) == h->value);
    MUST(larder_free(rig->a, h->addr) == LARDER_OK);
    h->addr = 0;
}

/* A forked child may not use its parent's objects, and opens its own device. */
static void child_main(struct rig *rig)
{
    larder_device *own;
    larder_addr addr;

    MUST(larder_alloc(rig->a, 512, 0, &addr) == LARDER_ERR_FORKED);
    MUST(larder_destroy(rig->a) == LARDER_ERR_FORKED);
    MUST(larder_device_close(rig->dev) == LARDER_ERR_FORKED);
    MUST(larder_device_open(spec, 0, &own) == LARDER_OK);
    MUST(larder_device_close(own) == LARDER_OK);
    _exit(0);
}

static void fork_one(struct rig *rig)
{
    int status = 0;
    pid_t pid = fork();

    MUST(pid >= 0);
    if (pid == 0)
        child_main(rig);
    while (waitpid(pid, &status, 0) < 0)
        MUST(errno == EINTR);
    MUST(status == 0);
    counts->forks++;
}

static void step(struct rig *rig, struct held *held)
{
    struct held *h = &held[below(SLOTS)];
    larder_sim_usage usage = {.size = sizeof usage};

    if (h->addr == 0)
        allocate(rig, h);
    else
        release(rig, h);
    MUST(larder_sim_get_usage(rig->dev, &usage) == LARDER_OK);
    MUST(usage.used_bytes <= CAPACITY && usage.self_bytes <= CAPACITY);
    if (below(40) == 0)
        fork_one(rig);
    if (below(300) == 0) {
        counts->programs++;
        execl("/bin/true", "true", (char *)NULL);
        MUST(!"executed");
    }
}

static void round_of(larder_policy policy)
{
    struct held held[SLOTS] = {{0}};
    struct rig rig = {0};
    larder_options opt;

    larder_options_init(&opt);
    opt.policy = policy;
    opt.conf = "";
    MUST(larder_device_open(spec, 0, &rig.dev) == LARDER_OK);
    MUST(larder_create(rig.dev, &opt, &rig.a) == LARDER_OK);
    for (int i = 0; i < STEPS; i++)
        step(&rig, held);
    for (int i = 0; i < SLOTS; i++) {
        if (held[i].addr != 0)
            release(&rig, &held[i]);
    }
    MUST(larder_destroy(rig.a) == LARDER_OK);
    MUST(larder_device_close(rig.dev) == LARDER_OK);
    counts->rounds++;
}

static void worker_main(uint64_t seed)
{
    random_state = random_begin(seed);
    begin_signals();
    for (;;)
        round_of(policies[below(POLICIES)]);
}

/* ---- the storm --------------------------------------------------------------- */

static pid_t start(uint64_t seed)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        worker_main(seed);
    return pid;
}

/* The process was killed, or replaced by a program that ended or was killed; it
 * did not fail. */
static void expect_well(int status)
{
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    if (WIFSIGNALED(status))
        assert_true(WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGALRM);
}

static unsigned long storm(larder_device *dev, pid_t *pids)
{
    time_t end = time(NULL) + seconds;
    unsigned long kills = 0;
    uint64_t seed = random_state;

    for (int i = 0; i < WORKERS; i++)
        pids[i] = start(++seed);
    while (time(NULL) < end) {
        int status;
        pid_t gone;

        nap_ms(10);
        if (below(4) == 0) {
            kill(pids[below(WORKERS)], SIGKILL);
            kills++;
        }
        while ((gone = waitpid(-1, &status, WNOHANG)) > 0) {
            expect_well(status);
            for (int i = 0; i < WORKERS; i++) {
                if (pids[i] == gone)
                    pids[i] = start(++seed);
            }
        }
        assert_true(rig_usage(dev).used_bytes <= CAPACITY);
    }
    return kills;
}

static void the_card_outlives_the_storm(void **state)
{
    larder_device *dev;
    pid_t pids[WORKERS];
    unsigned long kills;

    (void)state;
    assert_ok(larder_device_open(spec, 0, &dev));
    kills = storm(dev, pids);
    for (int i = 0; i < WORKERS; i++) {
        int status;

        kill(pids[i], SIGKILL);
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        expect_well(status);
    }
    while (rig_usage(dev).used_bytes != 0)
        nap_ms(10); /* children of killed processes end by themselves */
    assert_ok(larder_device_close(dev));
    print_message("%ld s: %lu rounds, %lu kills, %lu forks, %lu programs, %lu "
                  "signals\n",
                  seconds, counts->rounds, kills, counts->forks,
                  counts->programs, counts->signals);
    assert_true(counts->rounds > 0 && counts->forks > 0 && kills > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_card_outlives_the_storm),
    };

    snprintf(spec, sizeof spec, "sim:96MiB,context=1MiB,shared=%s",
             unique_name("storm"));
    counts = storm_begin(argc, argv, SECONDS_QUICK, sizeof *counts);
    if (counts == NULL)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
