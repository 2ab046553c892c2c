/* bench_ledger.c - the cost of the ledger between processes (docs/SHARING.md).
 *
 *   bench_ledger
 *
 * Nanoseconds of CPU time per call, medians of several runs, on a simulated GPU
 * that no other process can use and on one with a ledger: hits, and requests
 * that need one driver call each.  Then the wall time to get memory that
 * another process caches, and the part of it spent in the simulated driver. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <larder/larder.h>

#include "measure.h"

#define MIB(n) ((uint64_t)(n) << 20)

enum { RUNS = 9, CALLS = 200000, ROUNDS = 51 };

static const char shared_spec[] = "sim:1GiB,backing=none,shared=bench-ledger";

struct user {
    larder_device *dev;
    larder_allocator *a;
};

static struct user up(const char *spec, larder_policy policy, const char *conf)
{
    struct user u;
    larder_options opt;

    larder_options_init(&opt);
    opt.policy = policy;
    opt.conf = conf;
    must(larder_device_open(spec, 0, &u.dev));
    must(larder_create(u.dev, &opt, &u.a));
    return u;
}

static void down(struct user *u)
{
    must(larder_destroy(u->a));
    must(larder_device_close(u->dev));
}

static larder_addr have(struct user *u, uint64_t bytes)
{
    larder_addr p;

    must(larder_alloc(u->a, bytes, 0, &p));
    return p;
}

/* ---- calls -------------------------------------------------------------- */

static double pair_ns(const char *spec, larder_policy policy, int calls)
{
    struct user u = up(spec, policy, "");
    double runs[RUNS];

    must(larder_free(u.a, have(&u, MIB(2))));
    for (int i = 0; i < RUNS; i++) {
        double begin = now_ns(CLOCK_PROCESS_CPUTIME_ID);

        for (int n = 0; n < calls; n++)
            must(larder_free(u.a, have(&u, MIB(2))));
        runs[i] = (now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) / calls / 2;
    }
    down(&u);
    return median(runs, RUNS);
}

static void print_pair(const char *what, larder_policy policy, int calls)
{
    printf("%-40s %8.1f ns alone %8.1f ns with a ledger\n", what,
           pair_ns("sim:1GiB,backing=none", policy, calls),
           pair_ns(shared_spec, policy, calls));
}

/* ---- requests ----------------------------------------------------------- */

/* Caches 512 MiB on command; a thread releases it. */
static void cacher(int hear, int say)
{
    struct user u =
        up(shared_spec, LARDER_POLICY_PYTORCH, "ledger_thread:True");
    char word;

    while (read(hear, &word, 1) == 1) {
        must(larder_free(u.a, have(&u, MIB(512))));
        if (write(say, &word, 1) != 1)
            break;
    }
    _exit(0);
}

static double ask_once(struct user *u, int tell, int hear)
{
    larder_addr p;
    double begin;
    double end;
    char word = 0;

    if (write(tell, &word, 1) != 1 || read(hear, &word, 1) != 1)
        exit(1);
    begin = now_ns(CLOCK_MONOTONIC);
    p = have(u, MIB(640));
    end = now_ns(CLOCK_MONOTONIC);
    must(larder_free(u->a, p));
    must(larder_empty_cache(u->a));
    return end - begin;
}

static void bench_asking(void)
{
    struct user u;
    double runs[ROUNDS];
    double middle;
    int down_pipe[2];
    int up_pipe[2];
    pid_t child;

    if (pipe(down_pipe) != 0 || pipe(up_pipe) != 0 || (child = fork()) < 0)
        exit(1);
    if (child == 0) {
        close(down_pipe[1]);
        close(up_pipe[0]);
        cacher(down_pipe[0], up_pipe[1]);
    }
    u = up(shared_spec, LARDER_POLICY_PYTORCH, "ask_budget_ms:60000");
    for (int i = 0; i < ROUNDS; i++)
        runs[i] = ask_once(&u, down_pipe[1], up_pipe[0]);
    down(&u);
    close(down_pipe[1]);
    waitpid(child, NULL, 0);
    middle = median(runs, ROUNDS);
    printf("%-40s %8.2f ms, %.2f at worst of %d\n",
           "512 MiB of another's cache, by its thread", middle / 1e6,
           runs[ROUNDS - 1] / 1e6, (int)ROUNDS);
}

int main(void)
{
    print_pair("a hit", LARDER_POLICY_LARDER, CALLS);
    print_pair("a driver's call each (policy direct)", LARDER_POLICY_DIRECT,
               CALLS / 40);
    bench_asking();
    return 0;
}
