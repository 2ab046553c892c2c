/* stats.h - the allocator's statistics, cheap to update.  Private to core.
 *
 * Each pool has the current value, its peak and the sum of decreases; the peak
 * of both pools together is kept as well, because it is not the sum of their
 * peaks.  The sum of increases follows from these.  All calls need the
 * allocator's lock. */
#pragma once

#include <stdint.h>

#include <larder/larder.h>

#include "base/assert.h"

enum stats_pool { STATS_SMALL, STATS_LARGE, STATS_POOLS };

struct metric {
    int64_t current[STATS_POOLS];
    int64_t peak[STATS_POOLS];
    int64_t freed[STATS_POOLS];
    int64_t base[STATS_POOLS]; /* current value when the sums were last reset */
    int64_t peak_all;
};

struct stats {
#define X(name, text) struct metric name;
    LARDER_METRIC_MAP(X)
#undef X
    struct metric oversize_allocations; /* counted as in the large pool */
    struct metric oversize_segments;
#define X(name, text) int64_t name;
    LARDER_COUNTER_MAP(X)
    LARDER_OWN_COUNTER_MAP(X)
#undef X
};

/* Count an increase or a decrease of one pool. */
static inline void metric_add(struct metric *m, unsigned pool, uint64_t amount)
{
    int64_t now = m->current[pool] += (int64_t)amount;
    int64_t all = m->current[STATS_SMALL] + m->current[STATS_LARGE];

    larder__assert(pool < STATS_POOLS && (int64_t)amount >= 0);
    if (now > m->peak[pool])
        m->peak[pool] = now;
    if (all > m->peak_all)
        m->peak_all = all;
}

static inline void metric_sub(struct metric *m, unsigned pool, uint64_t amount)
{
    larder__assert(pool < STATS_POOLS && (int64_t)amount >= 0);
    m->current[pool] -= (int64_t)amount;
    m->freed[pool] += (int64_t)amount;
}

/* The current value of both pools together. */
static inline int64_t metric_all(const struct metric *m)
{
    return m->current[STATS_SMALL] + m->current[STATS_LARGE];
}

/* Add a net change, positive or negative; 0 does not change the sums either. */
void larder__metric_move(struct metric *m, unsigned pool, int64_t change);

/* Peaks become the current values; sums and counters become 0. */
void larder__stats_reset_peak(struct stats *st);
void larder__stats_reset_accumulated(struct stats *st);

/* Fill in all fields except `size` and `max_split_size`. */
void larder__stats_copy(const struct stats *st, larder_stats *out);
