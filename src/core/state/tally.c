/* tally.c - counts of blocks that are added to the statistics later. */
#include "core/state/stats.h"

#include <stddef.h>
#include <string.h>

/* Which counts stand for which statistics: offsets in struct stats, struct
 * tally_pool and struct tally_peaks. */
static const struct pair {
    size_t metric;
    size_t count;
    size_t peak;
} pairs[] = {
#define PAIR(metric, count)                                                    \
    {                                                                          \
        offsetof(struct stats, metric), offsetof(struct tally_pool, count),    \
            offsetof(struct tally_peaks, count)                                \
    }
    PAIR(allocation, blocks),         PAIR(active, blocks),
    PAIR(allocated_bytes, bytes),     PAIR(active_bytes, bytes),
    PAIR(requested_bytes, requested),
#undef PAIR
};

enum { PAIRS = sizeof pairs / sizeof pairs[0] };

static struct metric *pair_metric(struct stats *st, const struct pair *pair)
{
    return (struct metric *)((char *)st + pair->metric);
}

static const struct tally_metric *pair_count(const struct tally *t,
                                             const struct pair *pair,
                                             unsigned pool)
{
    const char *counts = (const char *)&t->pools[pool];

    return (const struct tally_metric *)(counts + pair->count);
}

static int64_t pair_peak(const struct tally *t, const struct pair *pair)
{
    const char *peaks = (const char *)&t->peaks;

    return *(const int64_t *)(peaks + pair->peak);
}

void larder__tally_peaks(struct stats *st, struct tally *t)
{
    if (t->is_rising)
        tally_settle(t);
    for (int i = 0; t->is_used && i < PAIRS; i++) {
        struct metric *m = pair_metric(st, &pairs[i]);

        for (unsigned p = 0; p < STATS_POOLS; p++)
            tally_raise(&m->peak[p],
                        m->current[p] + pair_count(t, &pairs[i], p)->peak);
        tally_raise(&m->peak_all, metric_all(m) + pair_peak(t, &pairs[i]));
    }
}

void larder__tally_currents(struct stats *st, struct tally *t)
{
    if (!t->is_used)
        return;
    for (int i = 0; i < PAIRS; i++) {
        struct metric *m = pair_metric(st, &pairs[i]);

        for (unsigned p = 0; p < STATS_POOLS; p++) {
            const struct tally_metric *count = pair_count(t, &pairs[i], p);

            larder__assert(count->added >= 0 && count->freed >= 0);
            larder__assert(m->current[p] + tally_current(count) >= 0);
            m->current[p] += tally_current(count);
            m->freed[p] += count->freed;
        }
    }
    memset(t, 0, sizeof *t);
}
