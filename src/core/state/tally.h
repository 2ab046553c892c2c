/* tally.h - counts of blocks that are added to the statistics later.  Private
 * to core. */
#pragma once

#include <stdbool.h>

#include "core/state/stats.h"

/* Changes of a count in one pool since it was last added up; the current value
 * has changed by added - freed. */
struct tally_metric {
    int64_t added;
    int64_t freed;
    int64_t peak; /* as of the last free */
};

/* Without splits, events and limits, allocated blocks and active blocks are the
 * same: three counts stand for five. */
struct tally_pool {
    struct tally_metric blocks;
    struct tally_metric bytes;
    struct tally_metric requested;
};

/* Peaks of both pools together. */
struct tally_peaks {
    int64_t blocks;
    int64_t bytes;
    int64_t requested;
};

struct tally {
    struct tally_pool pools[STATS_POOLS];
    struct tally_peaks peaks;
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

static inline void tally_raise_metric(struct tally_metric *small,
                                      struct tally_metric *large, int64_t *both)
{
    int64_t of_small = tally_current(small);
    int64_t of_large = tally_current(large);

    tally_raise(&small->peak, of_small);
    tally_raise(&large->peak, of_large);
    tally_raise(both, of_small + of_large);
}

/* Between two frees counts only rise, so peaks are updated only before the next
 * free and when they are read. */
static inline void tally_settle(struct tally *t)
{
    struct tally_pool *small = &t->pools[STATS_SMALL];
    struct tally_pool *large = &t->pools[STATS_LARGE];

    tally_raise_metric(&small->blocks, &large->blocks, &t->peaks.blocks);
    tally_raise_metric(&small->bytes, &large->bytes, &t->peaks.bytes);
    tally_raise_metric(&small->requested, &large->requested,
                       &t->peaks.requested);
    t->is_rising = false;
}

/* Count an allocated block. */
static inline void tally_add(struct tally *t, unsigned pool, uint64_t bytes,
                             uint64_t requested)
{
    struct tally_pool *here = &t->pools[pool];

    larder__assert(requested > 0 && requested <= bytes);
    t->is_used = true;
    t->is_rising = true;
    here->blocks.added++;
    here->bytes.added += (int64_t)bytes;
    here->requested.added += (int64_t)requested;
}

/* Count a freed block. */
static inline void tally_sub(struct tally *t, unsigned pool, uint64_t bytes,
                             uint64_t requested)
{
    struct tally_pool *here = &t->pools[pool];

    larder__assert(requested > 0 && requested <= bytes);
    if (t->is_rising)
        tally_settle(t);
    t->is_used = true;
    here->blocks.freed++;
    here->bytes.freed += (int64_t)bytes;
    here->requested.freed += (int64_t)requested;
}

/* The change of allocated bytes since the last sum. */
static inline int64_t tally_bytes(const struct tally *t)
{
    return tally_current(&t->pools[STATS_SMALL].bytes) +
           tally_current(&t->pools[STATS_LARGE].bytes);
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
