/* test_api_storm.c - random programs over the whole public interface, with real
 * bytes, queued kernels and injected faults, compared with a model (storm.h).
 *
 *   test_api_storm [--seconds N] [--seed N] [--runs N] [--steps N]
 *                  [--only GROUP,...] [--without GROUP,...]
 *                  [--omit OPERATION,...] [--trace] [--shrink]
 *
 * Each run is a process of its own, made from its seed: --seed, then the numbers
 * after it, until --runs or --seconds are used up.  A failing run is printed
 * with the command that repeats it; --shrink then leaves out steps as long as it
 * still fails, and prints the calls that remain. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "storm/storm.h"
#include "support/random.h"

enum { HANG_SECONDS = 120, SHRINK_SECONDS = 60 };

struct verdict *verdict;
bool storm_trace;

static struct settings {
    long seconds;
    uint64_t seed;
    long runs; /* 0: as time permits */
    long steps;
    unsigned groups;
    unsigned forced;     /* by --only */
    const char *omitted; /* operations */
    bool shrinks;
    const char *program;
} settings = {.seconds = 28, .steps = 0, .groups = BIT(GROUP_COUNT) - 1};

static bool left_out[STEPS_MAX]; /* steps, while shrinking */

const struct operation storm_operations[] = {
#define X(name, weight, needs, alone) {#name, weight, needs, alone, op_##name},
    STORM_OPERATIONS(X)
#undef X
};
_Static_assert(sizeof storm_operations / sizeof storm_operations[0] <=
                   OPERATIONS,
               "room for each");
const size_t storm_operation_count =
    sizeof storm_operations / sizeof storm_operations[0];

static const char *const group_names[] = {
#define X(name) #name,
    STORM_GROUP_MAP(X)
#undef X
};

/* ---- within a run ------------------------------------------------------------ */

uint64_t draw(struct worker *me, uint64_t end)
{
    return random_u64(&me->random, end);
}

void storm_fail(const char *format, ...)
{
    va_list args;

    if (atomic_exchange(&verdict->is_failed, 1) != 0)
        return;
    va_start(args, format);
    vsnprintf(verdict->text, sizeof verdict->text, format, args);
    va_end(args);
}

void storm_note(const struct worker *me, const char *format, ...)
{
    va_list args;

    if (!storm_trace)
        return;
    va_start(args, format);
    printf("%5ld/%d %s: ", me->step, me->number, verdict->operation);
    vprintf(format, args);
    putchar('\n');
    fflush(stdout);
    va_end(args);
}

/* Whether the list, with commas, has the word. */
static bool list_has(const char *list, const char *word)
{
    const size_t length = strlen(word);

    for (const char *at = list; *at != '\0'; at += *at == ',') {
        const size_t here = strcspn(at, ",");

        if (here == length && strncmp(at, word, length) == 0)
            return true;
        at += here;
    }
    return false;
}

/* What the run does, and how often: each has a taste of its own. */
static unsigned weights[sizeof storm_operations / sizeof storm_operations[0]];
static unsigned weights_total;

static void weights_set(const struct plan *plan)
{
    static const unsigned tastes[] = {1, 1, 2, 2, 2, 8, 16};
    uint64_t random = plan->seed * UINT64_C(0x2545f4914f6cdd1d) | 1;

    weights_total = 0;
    for (size_t i = 0; i < storm_operation_count; i++) {
        const struct operation *op = &storm_operations[i];
        const bool is_used = (op->needs & plan->groups) == op->needs &&
                             !list_has(settings.omitted, op->name);

        weights[i] = op->weight * tastes[random_next(&random) % 7];
        if (!is_used)
            weights[i] = 0;
        weights_total += weights[i];
    }
}

const struct operation *draw_operation(struct worker *me)
{
    uint64_t at = draw(me, weights_total);
    size_t i = 0;

    while (at >= weights[i])
        at -= weights[i++];
    return &storm_operations[i];
}

static void turn_begin(struct world *w, bool alone)
{
    if (alone)
        pthread_rwlock_wrlock(&w->turn);
    else
        pthread_rwlock_rdlock(&w->turn);
}

/* A failed call changed nothing: that is seen at once, not when luck has it. */
static void look_after_failure(struct worker *me)
{
    if (!atomic_exchange(&me->w->settling, false))
        return;
    turn_begin(me->w, true);
    if (me->w->plan.threads == 1 && chance(me, 2))
        world_settle(me);
    if (!storm_failed())
        world_audit(me);
    pthread_rwlock_unlock(&me->w->turn);
}

static void step(struct worker *me)
{
    struct world *w = me->w;
    const struct operation *op;

    me->random = (w->plan.seed * 1000003 + (uint64_t)me->step * 4 +
                  (uint64_t)me->number + 1) *
                 UINT64_C(0x9e3779b97f4a7c15);
    me->random = me->random != 0 ? me->random : 1;
    random_next(&me->random);
    op = draw_operation(me);
    me->operation = (size_t)(op - storm_operations);
    fault_draw(me);
    if (w->plan.threads == 1) {
        snprintf(verdict->operation, sizeof verdict->operation, "%s", op->name);
        atomic_store(&verdict->step, me->step);
    }
    turn_begin(w, op->runs_alone);
    op->take(me);
    pthread_rwlock_unlock(&w->turn);
    me->has_fault = false;
    look_after_failure(me);
}

static void *worker_run(void *ctx)
{
    struct worker *me = ctx;

    callbacks_begin(me);
    for (me->step = 0; me->step < me->w->plan.steps && !storm_failed();
         me->step++) {
        if (!left_out[me->step % STEPS_MAX])
            step(me);
    }
    return NULL;
}

static void threads_run(struct worker *workers, struct world *w)
{
    for (int i = 0; i < w->plan.threads; i++)
        workers[i] = (struct worker){.w = w, .number = i};
    if (w->plan.threads == 1) {
        worker_run(&workers[0]);
        return;
    }
    snprintf(verdict->operation, sizeof verdict->operation, "one of %d threads",
             w->plan.threads);
    for (int i = 0; i < w->plan.threads; i++) {
        if (pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]) !=
            0)
            abort();
    }
    for (int i = 0; i < w->plan.threads; i++)
        pthread_join(workers[i].thread, NULL);
}

/* Status of the process: 0 fine, 1 failed, 2 the settings were refused. */
static int child(const struct plan *plan)
{
    static struct world w;
    static struct worker workers[THREADS_MAX];

    alarm(HANG_SECONDS);
    weights_set(plan);
    mallopt(M_PERTURB, 0x5c); /* freed memory has no meaning */
    if (!world_up(&w, plan))
        return storm_failed() ? 1 : 2;
    threads_run(workers, &w);
    if (!storm_failed()) {
        snprintf(verdict->operation, sizeof verdict->operation, "the end");
        world_down(&workers[0]);
    }
    return storm_failed() ? 1 : 0;
}

/* ---- runs --------------------------------------------------------------------- */

static struct plan plan_of(uint64_t seed)
{
    struct plan plan;

    plan_make(&plan, seed, settings.groups, settings.forced & settings.groups);
    if (settings.steps > 0)
        plan.steps = settings.steps;
    return plan;
}

/* The process's wait status. */
static int run(const struct plan *plan, bool is_quiet)
{
    int status = -1;
    pid_t pid;

    memset(verdict, 0, sizeof *verdict);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        if (is_quiet && (freopen("/dev/null", "w", stderr) == NULL))
            _exit(3);
        exit(child(plan));
    }
    if (pid < 0)
        return -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static bool is_failure(int status)
{
    return !WIFEXITED(status) || WEXITSTATUS(status) == 1 ||
           WEXITSTATUS(status) > 2;
}

static void print_groups(unsigned groups)
{
    for (int g = 0; g < GROUP_COUNT; g++) {
        if (groups & BIT(g))
            printf(" %s", group_names[g]);
    }
}

static void print_options(void)
{
    const unsigned all = BIT(GROUP_COUNT) - 1;
    const bool is_forced = settings.forced != 0;
    const char *before = is_forced ? " --only " : " --without ";

    for (int g = 0; g < GROUP_COUNT; g++) {
        if ((is_forced ? settings.groups : all & ~settings.groups) & BIT(g)) {
            printf("%s%s", before, group_names[g]);
            before = ",";
        }
    }
    if (is_forced && !(settings.groups & BIT(GROUP_ordering)))
        printf(" --without ordering");
    if (settings.omitted[0] != '\0')
        printf(" --omit %s", settings.omitted);
}

static void print_failure(const struct plan *plan, int status)
{
    if (verdict->is_failed)
        printf("FAILED: %s\n", verdict->text);
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        printf("FAILED: no end after %d s\n", HANG_SECONDS);
    else if (WIFSIGNALED(status))
        printf("FAILED: signal %d (%s)\n", WTERMSIG(status),
               strsignal(WTERMSIG(status)));
    else
        printf("FAILED: exit status %d\n", WEXITSTATUS(status));
    printf("  in step %ld, %s\n  device %s, policy %s, settings '%s', %d "
           "thread%s\n  features:",
           atomic_load(&verdict->step), verdict->operation, plan->spec,
           larder_policy_name(plan->policy), plan->conf, plan->threads,
           plan->threads > 1 ? "s" : "");
    print_groups(plan->groups);
    printf("\n  repeat: %s --runs 1 --seed %llu", settings.program,
           (unsigned long long)plan->seed);
    print_options();
    if (settings.steps > 0)
        printf(" --steps %ld", settings.steps);
    printf("%s\n", plan->threads == 1 ? " --shrink" : "");
}

/* ---- shrinking ------------------------------------------------------------------ */

static bool fails_without(const struct plan *plan, long first, long count)
{
    bool kept[STEPS_MAX];
    bool fails;

    memcpy(kept, left_out, sizeof kept);
    for (long i = first; i < first + count && i < plan->steps; i++)
        left_out[i] = true;
    fails = is_failure(run(plan, true));
    if (!fails)
        memcpy(left_out, kept, sizeof kept);
    return fails;
}

static void shrink(struct plan *plan)
{
    const time_t end = time(NULL) + SHRINK_SECONDS;
    const char *operation = verdict->operation;
    long left = 0;

    if (strcmp(operation, "the end") != 0)
        plan->steps = atomic_load(&verdict->step) + 1;
    for (long size = plan->steps / 2; size > 0 && time(NULL) < end; size /= 2) {
        for (long at = 0; at < plan->steps && time(NULL) < end; at += size) {
            bool is_there = false;

            for (long i = at; i < at + size && i < plan->steps; i++)
                is_there |= !left_out[i];
            if (is_there)
                (void)fails_without(plan, at, size);
        }
    }
    for (long i = 0; i < plan->steps; i++)
        left += !left_out[i];
    printf("with %ld steps:\n", left);
    storm_trace = true;
    print_failure(plan, run(plan, false));
}

/* ---- the program ------------------------------------------------------------------ */

static int usage(void)
{
    fprintf(stderr,
            "usage: test_api_storm [--seconds N] [--seed N] [--runs N] "
            "[--steps N]\n         [--only GROUP,...] [--without GROUP,...] "
            "[--omit OPERATION,...]\n         [--trace] [--shrink]\ngroups:");
    for (int g = 0; g < GROUP_COUNT; g++)
        fprintf(stderr, " %s", group_names[g]);
    fputc('\n', stderr);
    return 2;
}

/* The groups of a list with commas; 0: one is unknown. */
static unsigned groups_of(const char *list)
{
    unsigned groups = 0;

    while (*list != '\0') {
        size_t length = strcspn(list, ",");
        int g = 0;

        while (g < GROUP_COUNT && (strlen(group_names[g]) != length ||
                                   strncmp(group_names[g], list, length) != 0))
            g++;
        if (g == GROUP_COUNT)
            return 0;
        groups |= BIT(g);
        list += length + (list[length] == ',');
    }
    return groups;
}

static bool option_take(const char *name, const char *value)
{
    const unsigned groups = groups_of(value);
    const long number = strtol(value, NULL, 10);

    if (strcmp(name, "--only") == 0)
        settings.groups = settings.forced = groups | BIT(GROUP_ordering);
    else if (strcmp(name, "--without") == 0)
        settings.groups &= ~groups;
    else if (strcmp(name, "--omit") == 0)
        settings.omitted = value;
    else if (strcmp(name, "--seed") == 0)
        settings.seed = strtoull(value, NULL, 10);
    else if (strcmp(name, "--seconds") == 0)
        settings.seconds = number;
    else if (strcmp(name, "--runs") == 0)
        settings.runs = number;
    else if (strcmp(name, "--steps") == 0 && number <= STEPS_MAX)
        settings.steps = number;
    else
        return false;
    return groups != 0 || (name[3] != 'n' && name[2] != 'w');
}

static bool options_read(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--trace") == 0)
            storm_trace = true;
        else if (strcmp(argv[i], "--shrink") == 0)
            settings.shrinks = true;
        else if (i + 1 == argc || !option_take(argv[i], argv[i + 1]))
            return false;
        else
            i++;
    }
    return true;
}

int main(int argc, char **argv)
{
    const time_t begin = time(NULL);
    long runs = 0, refused = 0;

    settings.program = argv[0];
    settings.seed = 1;
    settings.omitted = "";
    if (!options_read(argc, argv))
        return usage();
    unsetenv("LARDER_CONF");
    verdict = mmap(NULL, sizeof *verdict, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (verdict == MAP_FAILED)
        return 2;
    for (uint64_t seed = settings.seed;; seed++, runs++) {
        struct plan plan = plan_of(seed);
        int status;

        if (settings.runs > 0 ? runs == settings.runs
                              : time(NULL) - begin >= settings.seconds)
            break;
        status = run(&plan, false);
        if (is_failure(status)) {
            print_failure(&plan, status);
            printf("after %ld runs, %ld s\n", runs + 1,
                   (long)(time(NULL) - begin));
            if (settings.shrinks)
                shrink(&plan);
            return 1;
        }
        refused += WEXITSTATUS(status) == 2;
    }
    printf(
        "%ld runs from seed %llu, %ld of them with refused settings, %ld s\n",
        runs, (unsigned long long)settings.seed, refused,
        (long)(time(NULL) - begin));
    return refused * 2 > runs && runs > 4; /* most have to run */
}
