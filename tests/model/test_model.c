/* test_model.c - on random programs the library does exactly what the naive
 * model does: results, addresses, every statistic, every block.
 *
 *   test_model [--seed N] [--runs N] [--ops N] [--seconds N]
 *
 * Each run has its own seed (the first is N), which determines a device, a
 * configuration and --ops operations.  With --seconds, runs continue until that
 * time has passed.  A failing program is reduced to few operations and printed.
 * Many runs in which one of the rare events never happened are a failure
 * too. */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/model_pair.h"

enum {
    CHECK_ALL_OPS = 100000, /* larder_check() after each up to here */
    CHECK_BLOCKS = 64,      /* in runs with no more allocations than this */
    CHECK_EVERY = 1000,     /* and this often otherwise */
    WALK_EVERY = 61,
    MANY_RUNS = 500 /* this many runs must reach every counter */
};

struct settings {
    uint64_t seed;
    uint64_t runs;
    uint64_t ops;
    uint64_t seconds;
};

struct program {
    struct model_plan plan;
    struct model_op *ops;
    size_t count;
    uint64_t done_before; /* operations of earlier runs */
};

/* ---- totals ------------------------------------------------------------- */

#define TOTAL_MAP(X)                                                           \
    X(allocations, st->allocation.all.allocated)                               \
    X(out_of_memory, st->num_ooms)                                             \
    X(retries, st->num_alloc_retries)                                          \
    X(segments_given_back, st->segment.all.freed)                              \
    X(ranges_mapped, st->num_device_alloc - st->segment.all.allocated)         \
    X(blocks_split, st->inactive_split.all.allocated)                          \
    X(oversize_segments, st->oversize_segments.allocated)                      \
    X(blocks_that_waited, st->active.all.current - st->allocation.all.current)

struct totals {
#define X(name, value) int64_t name;
    TOTAL_MAP(X)
#undef X
};

/* At the end of a run; resets during the run have hidden some. */
static void totals_add(struct totals *t, const larder_stats *st)
{
#define X(name, value)                                                         \
    if ((value) > 0)                                                           \
        t->name += (value);
    TOTAL_MAP(X)
#undef X
}

/* Whether every event happened at least once. */
static bool totals_print(const struct totals *t)
{
    bool all = true;

#define X(name, value)                                                         \
    printf("  %-20s %12" PRId64 "\n", #name, t->name);                         \
    all = all && t->name > 0;
    TOTAL_MAP(X)
#undef X
    return all;
}

/* ---- running ------------------------------------------------------------ */

static bool inspect(struct model_pair *m, const struct program *p, size_t i)
{
    bool check_each =
        p->plan.slots <= CHECK_BLOCKS && p->done_before + i < CHECK_ALL_OPS;

    if ((check_each || i % CHECK_EVERY == 0) && !model_pair_check(m))
        return false;
    if (i % WALK_EVERY == 0 || i + 1 == p->count)
        return model_pair_compare_blocks(m);
    return true;
}

/* The number of operations that succeeded; p->count if all did.  `why`
 * describes the failure. */
static size_t program_run(const struct program *p, struct totals *totals,
                          char why[MODEL_WHY_MAX])
{
    static struct model_pair m;
    size_t i = 0;
    bool ok = model_pair_open(&m, p->plan.capacity, p->plan.conf);

    while (ok && i < p->count) {
        ok = model_pair_step(&m, &p->ops[i]) && inspect(&m, p, i);
        i += ok;
    }
    totals_add(totals, &m.stats);
    if (!model_pair_close(&m) && ok) {
        i = p->count - 1;
        ok = false;
    }
    memcpy(why, m.why, MODEL_WHY_MAX);
    return ok ? p->count : i;
}

/* ---- cutting a failure down --------------------------------------------- */

static bool fails_without(struct program *p, size_t from, size_t count)
{
    struct program less = *p;
    struct totals ignored = {0};
    char why[MODEL_WHY_MAX];
    size_t failed_at;

    less.ops = malloc((p->count + 1) * sizeof *less.ops);
    if (less.ops == NULL)
        return false;
    memcpy(less.ops, p->ops, from * sizeof *less.ops);
    memcpy(less.ops + from, p->ops + from + count,
           (p->count - from - count) * sizeof *less.ops);
    less.count = p->count - count;
    failed_at = program_run(&less, &ignored, why);
    if (failed_at < less.count) {
        less.count = failed_at + 1;
        memcpy(p->ops, less.ops, less.count * sizeof *p->ops);
        p->count = less.count;
        free(less.ops);
        return true;
    }
    free(less.ops);
    return false;
}

/* Remove ever smaller pieces as long as the program still fails. */
static void program_shrink(struct program *p)
{
    for (size_t piece = p->count / 2; piece > 0; piece /= 2) {
        for (size_t from = 0; from + piece <= p->count;) {
            if (!fails_without(p, from, piece))
                from += piece;
        }
    }
}

static void report(struct program *p, size_t failed_at, const char *why)
{
    char text[MODEL_CONF_MAX];
    char shrunk_why[MODEL_WHY_MAX];
    struct totals ignored = {0};

    model_conf_text(p->plan.conf, text);
    printf("seed %" PRIu64 ", device %" PRIu64 " bytes, conf '%s'\n",
           p->plan.seed, p->plan.capacity, text);
    printf("operation %zu of %zu: ", failed_at, p->count);
    model_op_print(&p->ops[failed_at], stdout);
    printf("  %s\n", why);
    printf("again: test_model --seed %" PRIu64 " --runs 1 --ops %zu\n",
           p->plan.seed, p->count);
    fflush(stdout);
    p->count = failed_at + 1;
    p->done_before = 0;
    program_shrink(p);
    program_run(p, &ignored, shrunk_why);
    printf("the same with %zu operations:\n", p->count);
    for (size_t i = 0; i < p->count; i++)
        model_op_print(&p->ops[i], stdout);
    printf("  %s\n", shrunk_why);
}

static bool run_seed(uint64_t seed, size_t ops, uint64_t done_before,
                     struct totals *totals)
{
    struct program *p = calloc(1, sizeof *p);
    char why[MODEL_WHY_MAX];
    size_t went_well;

    if (p == NULL || (p->ops = calloc(ops, sizeof *p->ops)) == NULL)
        exit(2);
    model_plan_init(&p->plan, seed);
    for (p->count = 0; p->count < ops; p->count++)
        p->ops[p->count] = model_plan_next(&p->plan);
    p->done_before = done_before;
    went_well = program_run(p, totals, why);
    if (went_well < ops)
        report(p, went_well, why);
    free(p->ops);
    free(p);
    return went_well == ops;
}

/* ---- options ------------------------------------------------------------ */

static bool read_settings(struct settings *s, int argc, char **argv)
{
    static const struct option options[] = {
        {"seed", required_argument, NULL, 's'},
        {"runs", required_argument, NULL, 'r'},
        {"ops", required_argument, NULL, 'o'},
        {"seconds", required_argument, NULL, 't'},
        {NULL, 0, NULL, 0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        char *end = NULL;
        uint64_t value = optarg == NULL ? 0 : strtoull(optarg, &end, 10);

        if (c == '?' || end == NULL || *end != '\0')
            return false;
        if (c == 's')
            s->seed = value;
        else if (c == 'r')
            s->runs = value;
        else if (c == 'o')
            s->ops = value;
        else
            s->seconds = value;
    }
    return optind == argc && s->ops > 0;
}

int main(int argc, char **argv)
{
    struct settings s = {.seed = 1, .runs = 2500, .ops = 4000};
    struct totals totals = {0};
    bool reached;
    time_t began = time(NULL);
    uint64_t run = 0;

    if (!read_settings(&s, argc, argv)) {
        fputs("usage: test_model [--seed N] [--runs N] [--ops N] "
              "[--seconds N]\n",
              stderr);
        return 2;
    }
    while (s.seconds > 0 ? (uint64_t)(time(NULL) - began) < s.seconds
                         : run < s.runs) {
        if (!run_seed(s.seed + run, s.ops, run * s.ops, &totals))
            return 1;
        run++;
    }
    printf("seeds %" PRIu64 " to %" PRIu64 ": %" PRIu64
           " operations, library and model agree\n",
           s.seed, s.seed + run - 1, run * s.ops);
    reached = totals_print(&totals);
    if (run >= MANY_RUNS && !reached) {
        puts("one of these never happened: the programs are too tame");
        return 1;
    }
    return 0;
}
