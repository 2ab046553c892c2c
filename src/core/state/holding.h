/* holding.h - what each owner of a device's memory holds, what is reserved for
 * it, and what it may hold at most.  Private to core.
 *
 * The owners in an allocator are the cache (the default pools and everything
 * unmapped), each private pool, each tag and each region.  They share one
 * account: the part of an owner's minimum that it does not hold is room that
 * others do not have.
 *
 * Rules, checked by larder_check():
 *   A1  the owners together hold what the allocator holds;
 *   A2  what is owed to them is the sum of what each lacks of its minimum;
 *   A3  each private pool, tag and region holds what its segments have from the
 *       device; with A1, the cache holds everything else;
 *   A4  what no owner holds is the sum over the orphans. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"

struct holding {
    uint64_t held_bytes;    /* from the device; only the cache counts pieces */
    uint64_t minimum_bytes; /* reserved for the owner */
    uint64_t limit_bytes;   /* 0: none */
};

struct account {
    struct holding cache;
    struct holding *drawer; /* whom handles are for; NULL: the cache */
    uint64_t owed_bytes;    /* the parts of all minimums that are not held */
    uint64_t refused_bytes; /* orphans (segment.h), which no owner holds */
};

/* The part of its minimum that the owner does not hold. */
static inline uint64_t holding_owed(const struct holding *h)
{
    return h->minimum_bytes > h->held_bytes ? h->minimum_bytes - h->held_bytes
                                            : 0;
}

/* What it holds beyond its minimum: others may take that if it is free. */
static inline uint64_t holding_spare(const struct holding *h)
{
    return h->held_bytes > h->minimum_bytes ? h->held_bytes - h->minimum_bytes
                                            : 0;
}

/* Change what an owner holds and its minimum, and with them what is owed. */
static inline void holding_set(struct account *account, struct holding *h,
                               uint64_t held, uint64_t minimum)
{
    larder__assert(account->owed_bytes >= holding_owed(h));
    account->owed_bytes -= holding_owed(h);
    h->held_bytes = held;
    h->minimum_bytes = minimum;
    account->owed_bytes += holding_owed(h);
}

static inline void holding_add(struct account *account, struct holding *h,
                               uint64_t bytes)
{
    holding_set(account, h, h->held_bytes + bytes, h->minimum_bytes);
}

static inline void holding_sub(struct account *account, struct holding *h,
                               uint64_t bytes)
{
    larder__assert(bytes <= h->held_bytes);
    holding_set(account, h, h->held_bytes - bytes, h->minimum_bytes);
}

/* The owner that handles are created for now. */
static inline const struct holding *account_drawer(const struct account *a)
{
    return a->drawer != NULL ? a->drawer : &a->cache;
}

/* The parts of minimums that all other owners do not hold. */
static inline uint64_t account_owed_to_others(const struct account *account,
                                              const struct holding *h)
{
    larder__assert(account->owed_bytes >= holding_owed(h));
    return account->owed_bytes - holding_owed(h);
}

/* Whether the owner's own limit allows it to hold `bytes` more. */
static inline bool holding_is_within(const struct holding *h, uint64_t bytes)
{
    return h->limit_bytes == 0 ||
           (bytes <= h->limit_bytes && h->held_bytes <= h->limit_bytes - bytes);
}
