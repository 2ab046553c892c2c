/* stats.c - the allocator's statistics, cheap to update. */
#include "core/state/stats.h"

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
