/* bench_fit.c - the search of the policy larder alone, without an allocator: a
 * free block is found, removed, and reinserted with another size.
 *
 *   bench_fit [--csv]
 *
 * Nanoseconds for each such turn, with lists by size class (core/heap/fit.h)
 * and, as the baseline, with the exact best fit by size and address of the
 * policy pytorch (core/heap/bins.h).  The two alternate, round by round, and
 * the median of the rounds counts.  Time is CPU time. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/heap/bins.h"

#include "measure.h"
#include "core/heap/fit.h"

enum { ROUNDS = 11, TURNS = 200000 };

static const uint32_t counts[] = {64, 1000, 10000, 100000};

enum { COUNTS = sizeof counts / sizeof counts[0] };

struct scene {
    struct fit fit;
    struct bins bins;
    struct block *blocks;
    uint32_t count;
    uint64_t seed;
};

static uint64_t next_random(struct scene *s)
{
    s->seed = s->seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return s->seed >> 20;
}

/* 512 bytes to 8 MiB, small ones more often, as models request them. */
static uint64_t any_size(struct scene *s)
{
    uint64_t top = UINT64_C(512) << next_random(s) % 15;

    return (top + next_random(s) % top) >> FIT_UNIT_LOG2 << FIT_UNIT_LOG2;
}

static bool scene_up(struct scene *s, uint32_t count)
{
    memset(s, 0, sizeof *s);
    s->count = count;
    s->seed = 1;
    s->blocks = calloc(count, sizeof *s->blocks);
    if (s->blocks == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        s->blocks[i].addr = (uint64_t)(i + 1) << 24;
        s->blocks[i].bytes = any_size(s);
    }
    return true;
}

static double run_fit(struct scene *s)
{
    double begin = now_ns(CLOCK_THREAD_CPUTIME_ID);

    for (int i = 0; i < TURNS; i++) {
        struct block *b = fit_find(&s->fit, any_size(s), FIT_LOOKS);

        if (b == NULL)
            continue;
        fit_remove(&s->fit, b);
        b->bytes = any_size(s);
        fit_insert(&s->fit, b);
    }
    return (now_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / TURNS;
}

static double run_bins(struct scene *s)
{
    double begin = now_ns(CLOCK_THREAD_CPUTIME_ID);

    for (int i = 0; i < TURNS; i++) {
        struct block *b = larder__bins_fit(&s->bins, any_size(s));

        if (b == NULL)
            continue;
        larder__bins_remove(&s->bins, b);
        b->bytes = any_size(s);
        larder__bins_insert(&s->bins, b);
    }
    return (now_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / TURNS;
}

/* The median of both, with `count` free blocks. */
static bool measure(uint32_t count, double *fit, double *bins)
{
    double with_fit[ROUNDS];
    double with_bins[ROUNDS];
    struct scene lists;
    struct scene trees;

    if (!scene_up(&lists, count) || !scene_up(&trees, count))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        fit_insert(&lists.fit, &lists.blocks[i]);
        larder__bins_insert(&trees.bins, &trees.blocks[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        with_fit[round] = run_fit(&lists);
        with_bins[round] = run_bins(&trees);
    }
    *fit = median(with_fit, ROUNDS);
    *bins = median(with_bins, ROUNDS);
    free(lists.blocks);
    free(trees.blocks);
    return true;
}

int main(int argc, char **argv)
{
    bool is_csv = argc == 2 && strcmp(argv[1], "--csv") == 0;

    if (argc > 1 && !is_csv) {
        fprintf(stderr, "Usage: bench_fit [--csv]\n");
        return 2;
    }
    puts(is_csv ? "free blocks,lists ns,trees ns,ratio"
                : "free blocks   lists, ns   trees, ns   ratio");
    for (int i = 0; i < COUNTS; i++) {
        double fit;
        double bins;

        if (!measure(counts[i], &fit, &bins)) {
            fprintf(stderr, "bench_fit: no memory\n");
            return 1;
        }
        printf(is_csv ? "%" PRIu32 ",%.1f,%.1f,%.2f\n"
                      : "%11" PRIu32 " %11.1f %11.1f %7.2f\n",
               counts[i], fit, bins, fit / bins);
    }
    return 0;
}
