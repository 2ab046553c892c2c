/* tally.h - counts of blocks, to be added to the statistics later.  Private to
 * core. */
#ifndef LARDER_CORE_TALLY_H
#define LARDER_CORE_TALLY_H

#include <stdbool.h>

#include "core/stats.h"

/* Changes of a count in one pool since they were last added up: of what is
 * there now by added - freed. */
struct tally_metric {
    int64_t added;
    int64_t freed;
    int64_t peak;
};

/* Without splits, events and limits, blocks that are allocated are active and
 * the other way round: three counts stand for five. */
struct tally_pool {
    struct tally_metric blocks;
    struct tally_metric bytes;
    struct tally_metric requested;
};

/* Of both pools together. */
struct tally_peaks {
    int64_t blocks;
    int64_t bytes;
    int64_t requested;
};

struct tally {
    struct tally_pool pools[STATS_POOLS];
    struct tally_peaks peaks;
    bool is_used;
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

static inline int64_t tally_metric_add(struct tally_metric *m, uint64_t amount)
{
    int64_t current;

    m->added += (int64_t)amount;
    current = tally_current(m);
    tally_raise(&m->peak, current);
    return current;
}

/* A block is allocated. */
static inline void tally_add(struct tally *t, unsigned pool, uint64_t bytes,
                             uint64_t requested)
{
    struct tally_pool *here = &t->pools[pool];
    const struct tally_pool *other = &t->pools[pool ^ 1];

    t->is_used = true;
    tally_raise(&t->peaks.blocks, tally_metric_add(&here->blocks, 1) +
                                      tally_current(&other->blocks));
    tally_raise(&t->peaks.bytes, tally_metric_add(&here->bytes, bytes) +
                                     tally_current(&other->bytes));
    tally_raise(&t->peaks.requested,
                tally_metric_add(&here->requested, requested) +
                    tally_current(&other->requested));
}

/* A block is given back. */
static inline void tally_sub(struct tally *t, unsigned pool, uint64_t bytes,
                             uint64_t requested)
{
    struct tally_pool *here = &t->pools[pool];

    t->is_used = true;
    here->blocks.freed++;
    here->bytes.freed += (int64_t)bytes;
    here->requested.freed += (int64_t)requested;
}

/* How much more is allocated than when it was last added up. */
static inline int64_t tally_bytes(const struct tally *t)
{
    return tally_current(&t->pools[STATS_SMALL].bytes) +
           tally_current(&t->pools[STATS_LARGE].bytes);
}

/* Raise the peaks of what `t` counts, as if nothing else had changed since. */
void larder__tally_peaks(struct stats *st, const struct tally *t);

/* Add the changes to the current values and sums; t is 0 then. */
void larder__tally_currents(struct stats *st, struct tally *t);

#endif
