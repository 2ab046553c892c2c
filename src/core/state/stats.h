/* stats.h - the allocator's statistics, cheap to update.  Private to core.
 *
 * Each pool has the current value, its peak and the sum of decreases; the peak
 * of both pools together is kept as well, because it is not the sum of their
 * peaks.  The sum of increases follows from these.  All calls need the
 * allocator's lock. */
#pragma once

#include <stdint.h>
#include <stdbool.h>

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

/* ---- counts that are added up later ----------------------------------------- */

/* What is counted.  Without splits, events and limits, allocated blocks and
 * active blocks are the same: three counts stand for five. */
enum tally_count { TALLY_BLOCKS, TALLY_BYTES, TALLY_REQUESTED, TALLY_COUNTS };

/* Changes of a count in one pool since it was last added up; the current value
 * has changed by added - freed. */
struct tally_metric {
    int64_t added;
    int64_t freed;
    int64_t peak; /* as of the last free */
};

struct tally {
    struct tally_metric pools[STATS_POOLS][TALLY_COUNTS];
    int64_t peaks[TALLY_COUNTS]; /* of both pools together */
    bool is_used;
    bool is_rising; /* something was allocated since the last free */
};

static inline void tally_raise(int64_t *peak, int64_t value)
{
    if (value > *peak)
        *peak = value;
}

static inline int64_t tally_current(const struct tally_metric *m)
{
    return m->added - m->freed;
}

/* Between two frees counts only rise, so peaks are updated only before the next
 * free and when they are read. */
static inline void tally_settle(struct tally *t)
{
    for (int i = 0; i < TALLY_COUNTS; i++) {
        struct tally_metric *small = &t->pools[STATS_SMALL][i];
        struct tally_metric *large = &t->pools[STATS_LARGE][i];

        tally_raise(&small->peak, tally_current(small));
        tally_raise(&large->peak, tally_current(large));
        tally_raise(&t->peaks[i], tally_current(small) + tally_current(large));
    }
    t->is_rising = false;
}

/* Count an allocated block. */
static inline void tally_add(struct tally *t, unsigned pool, uint64_t bytes,
                             uint64_t requested)
{
    struct tally_metric *here = t->pools[pool];

    larder__assert(requested > 0 && requested <= bytes);
    t->is_used = true;
    t->is_rising = true;
    here[TALLY_BLOCKS].added++;
    here[TALLY_BYTES].added += (int64_t)bytes;
    here[TALLY_REQUESTED].added += (int64_t)requested;
}

/* Count a freed block. */
static inline void tally_sub(struct tally *t, unsigned pool, uint64_t bytes,
                             uint64_t requested)
{
    struct tally_metric *here = t->pools[pool];

    larder__assert(requested > 0 && requested <= bytes);
    if (t->is_rising)
        tally_settle(t);
    t->is_used = true;
    here[TALLY_BLOCKS].freed++;
    here[TALLY_BYTES].freed += (int64_t)bytes;
    here[TALLY_REQUESTED].freed += (int64_t)requested;
}

/* The change of allocated bytes since the last sum. */
static inline int64_t tally_bytes(const struct tally *t)
{
    return tally_current(&t->pools[STATS_SMALL][TALLY_BYTES]) +
           tally_current(&t->pools[STATS_LARGE][TALLY_BYTES]);
}

/* Whether the sum is off by no more than `allowance` after another `change`
 * bytes. */
static inline bool tally_stays_within(const struct tally *t, int64_t change,
                                      int64_t allowance)
{
    int64_t now = tally_bytes(t) + change;

    return now <= allowance && now >= -allowance;
}

/* Raise the peaks by what `t` counts, as if nothing else had changed since. */
void larder__tally_peaks(struct stats *st, struct tally *t);

/* Add the changes to the current values and sums, and reset t. */
void larder__tally_currents(struct stats *st, struct tally *t);
