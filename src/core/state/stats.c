/* stats.c - the allocator's statistics, cheap to update. */
#include "core/state/stats.h"

#include <stddef.h>
#include <string.h>

void larder__metric_move(struct metric *m, unsigned pool, int64_t change)
{
    if (change > 0)
        metric_add(m, pool, (uint64_t)change);
    else if (change < 0)
        metric_sub(m, pool, (uint64_t)-change);
}

static void metric_reset_peak(struct metric *m)
{
    for (unsigned p = 0; p < STATS_POOLS; p++)
        m->peak[p] = m->current[p];
    m->peak_all = metric_all(m);
}

static void metric_reset_accumulated(struct metric *m)
{
    for (unsigned p = 0; p < STATS_POOLS; p++) {
        m->base[p] = m->current[p];
        m->freed[p] = 0;
    }
}

void larder__stats_reset_peak(struct stats *st)
{
#define X(name, text) metric_reset_peak(&st->name);
    LARDER_METRIC_MAP(X)
#undef X
    metric_reset_peak(&st->oversize_allocations);
    metric_reset_peak(&st->oversize_segments);
}

void larder__stats_reset_accumulated(struct stats *st)
{
#define X(name, text) metric_reset_accumulated(&st->name);
    LARDER_METRIC_MAP(X)
#undef X
    metric_reset_accumulated(&st->oversize_allocations);
    metric_reset_accumulated(&st->oversize_segments);
#define X(name, text) st->name = 0;
    LARDER_COUNTER_MAP(X)
    LARDER_OWN_COUNTER_MAP(X)
#undef X
}

static larder_stat metric_pool(const struct metric *m, unsigned pool)
{
    return (larder_stat){
        .current = m->current[pool],
        .peak = m->peak[pool],
        .allocated = m->current[pool] - m->base[pool] + m->freed[pool],
        .freed = m->freed[pool],
    };
}

static larder_stat_split metric_split(const struct metric *m)
{
    larder_stat_split s = {
        .small_pool = metric_pool(m, STATS_SMALL),
        .large_pool = metric_pool(m, STATS_LARGE),
    };

    s.all.current = s.small_pool.current + s.large_pool.current;
    s.all.peak = m->peak_all;
    s.all.allocated = s.small_pool.allocated + s.large_pool.allocated;
    s.all.freed = s.small_pool.freed + s.large_pool.freed;
    return s;
}

void larder__stats_copy(const struct stats *st, larder_stats *out)
{
#define X(name, text) out->name = metric_split(&st->name);
    LARDER_METRIC_MAP(X)
#undef X
    out->oversize_allocations =
        metric_pool(&st->oversize_allocations, STATS_LARGE);
    out->oversize_segments = metric_pool(&st->oversize_segments, STATS_LARGE);
#define X(name, text) out->name = st->name;
    LARDER_COUNTER_MAP(X)
    LARDER_OWN_COUNTER_MAP(X)
#undef X
}

/* ---- counts that are added up later -------------------------------------- */

/* Which counts stand for which statistics, those at an offset in struct stats. */
static const struct pair {
    size_t metric;
    enum tally_count count;
} pairs[] = {
    {offsetof(struct stats, allocation), TALLY_BLOCKS},
    {offsetof(struct stats, active), TALLY_BLOCKS},
    {offsetof(struct stats, allocated_bytes), TALLY_BYTES},
    {offsetof(struct stats, active_bytes), TALLY_BYTES},
    {offsetof(struct stats, requested_bytes), TALLY_REQUESTED},
};

enum { PAIRS = sizeof pairs / sizeof pairs[0] };

static struct metric *pair_metric(struct stats *st, const struct pair *pair)
{
    return (struct metric *)((char *)st + pair->metric);
}

void larder__tally_peaks(struct stats *st, struct tally *t)
{
    if (!t->is_used)
        return;
    if (t->is_rising)
        tally_settle(t);
    for (int i = 0; i < PAIRS; i++) {
        struct metric *m = pair_metric(st, &pairs[i]);
        unsigned count = pairs[i].count;

        for (unsigned p = 0; p < STATS_POOLS; p++)
            tally_raise(&m->peak[p], m->current[p] + t->pools[p][count].peak);
        tally_raise(&m->peak_all, metric_all(m) + t->peaks[count]);
    }
}

void larder__tally_currents(struct stats *st, struct tally *t)
{
    if (!t->is_used)
        return;
    for (int i = 0; i < PAIRS; i++) {
        struct metric *m = pair_metric(st, &pairs[i]);

        for (unsigned p = 0; p < STATS_POOLS; p++) {
            const struct tally_metric *count = &t->pools[p][pairs[i].count];

            larder__assert(count->added >= 0 && count->freed >= 0);
            larder__assert(m->current[p] + tally_current(count) >= 0);
            m->current[p] += tally_current(count);
            m->freed[p] += count->freed;
        }
    }
    memset(t, 0, sizeof *t);
}
