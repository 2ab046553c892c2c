/* test_two_trainers.c - two trainers on one GPU, one of them idle.  Under the
 * policy `pytorch` without a ledger, as in PyTorch, the other cannot use what
 * the idle one caches; with larder and a ledger it can. docs/SHARING.md has the
 * figures.
 *
 * A trainer's step allocates and frees blocks that add up to 40 of 64 GiB; none
 * of them is in use between two steps. */
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/rig.h"
#include "support/unique_name.h"

enum { BLOCKS = 40, STEPS = 3 };

static char spec[96];

struct trainer {
    larder_device *dev;
    larder_allocator *a;
};

static bool trainer_open(struct trainer *t, larder_policy policy,
                         const char *conf)
{
    larder_options opt;

    larder_options_init(&opt);
    opt.policy = policy;
    opt.conf = conf;
    return larder_device_open(spec, 0, &t->dev) == LARDER_OK &&
           larder_create(t->dev, &opt, &t->a) == LARDER_OK;
}

/* Returns how many of its blocks it could allocate. */
static int trainer_step(const struct trainer *t)
{
    larder_addr addr[BLOCKS];
    int count = 0;

    while (count < BLOCKS &&
           larder_alloc(t->a, GIB(1), 0, &addr[count]) == LARDER_OK)
        count++;
    for (int i = 0; i < count; i++) {
        if (larder_free(t->a, addr[i]) != LARDER_OK)
            return -1;
    }
    return count;
}

/* Runs a few steps and reports it; then idles until the pipe is closed. */
static pid_t idle_trainer(larder_policy policy, const char *conf, int *tell)
{
    int up[2], down[2];
    char word = 0;
    pid_t pid;

    assert_int_equal(pipe(up), 0);
    assert_int_equal(pipe(down), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct trainer t;
        int ok = trainer_open(&t, policy, conf);

        close(down[1]);
        for (int i = 0; ok && i < STEPS; i++)
            ok = trainer_step(&t) == BLOCKS;
        word = ok ? 'y' : 'n';
        if (write(up[1], &word, 1) != 1 || read(down[0], &word, 1) != 0)
            _exit(1);
        _exit(0);
    }
    close(down[0]);
    assert_int_equal(read(up[0], &word, 1), 1);
    assert_int_equal(word, 'y');
    close(up[0]);
    close(up[1]);
    *tell = down[1];
    return pid;
}

/* How much of its 40 GiB the second trainer gets while the first idles. */
static int second_gets(larder_policy policy, const char *conf)
{
    struct trainer t = {0};
    int tell;
    pid_t first = idle_trainer(policy, conf, &tell);
    int got;

    assert_true(trainer_open(&t, policy, conf));
    got = trainer_step(&t);
    print_message("second trainer, policy %s, %s: %d of %d GiB\n",
                  larder_policy_name(policy), conf, got, BLOCKS);
    close(tell);
    assert_int_equal(waitpid(first, NULL, 0), first);
    assert_ok(larder_destroy(t.a));
    assert_ok(larder_device_close(t.dev));
    return got;
}

static void memory_cached_by_an_idle_trainer_serves_the_other(void **state)
{
    static const char on[] = "ledger_thread:True,ask_budget_ms:20000";

    (void)state;
    assert_int_equal(second_gets(LARDER_POLICY_PYTORCH, "ledger:off"), 24);
    assert_int_equal(second_gets(LARDER_POLICY_PYTORCH, on), BLOCKS);
    assert_int_equal(second_gets(LARDER_POLICY_LARDER, on), BLOCKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_cached_by_an_idle_trainer_serves_the_other),
    };

    unsetenv("LARDER_CONF");
    snprintf(spec, sizeof spec, "sim:64GiB,backing=none,shared=%s",
             unique_name("trainers"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
