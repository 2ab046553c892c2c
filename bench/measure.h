/* measure.h - shared by the benchmarks.
 *
 * Header only. */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <larder/larder.h>

/* Ends the program with the reason if a call fails. */
static inline void must(larder_result r)
{
    if (r == LARDER_OK)
        return;
    fprintf(stderr, "%s: %s\n", program_invocation_short_name,
            larder_last_error());
    exit(1);
}

static inline double now_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline int compare_doubles(const void *x, const void *y)
{
    double a = *(const double *)x;
    double b = *(const double *)y;

    return (a > b) - (a < b);
}

/* Sorts the values. */
static inline double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return values[count / 2];
}
