/* holding.h - what each owner of a device's memory holds of it, what is kept
 * for the owner, and what it may hold at most.  Private to core.
 *
 * The owners of an allocator are its default pools with all that is mapped
 * nowhere (the cache), each private pool, each tag and each region.  They draw
 * on one account: what one does not hold of its minimum is room that the others
 * do not have.
 *
 * Rules, checked by larder_check():
 *   A1  what the owners hold is what the allocator holds;
 *   A2  what is kept for them is what each lacks of its minimum. */
#ifndef LARDER_CORE_STATE_HOLDING_H
#define LARDER_CORE_STATE_HOLDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"

struct holding {
    uint64_t held_bytes;    /* of the device, reserved pieces not among them,
                               but for the cache */
    uint64_t minimum_bytes; /* kept for the owner */
    uint64_t limit_bytes;   /* 0: none */
};

struct account {
    struct holding cache;
    struct holding *drawer; /* for whom handles are got now; NULL: the cache */
    uint64_t kept_bytes;    /* of all minimums, what is not held */
    uint64_t refused_bytes; /* held all the same (orphan.h); nobody's */
};

/* What is kept for the owner and not held. */
static inline uint64_t holding_kept(const struct holding *h)
{
    return h->minimum_bytes > h->held_bytes ? h->minimum_bytes - h->held_bytes
                                            : 0;
}

/* What it holds beyond its minimum: others may have that if it is free. */
static inline uint64_t holding_spare(const struct holding *h)
{
    return h->held_bytes > h->minimum_bytes ? h->held_bytes - h->minimum_bytes
                                            : 0;
}

static inline void holding_set(struct account *account, struct holding *h,
                               uint64_t held, uint64_t minimum)
{
    larder__assert(account->kept_bytes >= holding_kept(h));
    account->kept_bytes -= holding_kept(h);
    h->held_bytes = held;
    h->minimum_bytes = minimum;
    account->kept_bytes += holding_kept(h);
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

static inline const struct holding *account_drawer(const struct account *a)
{
    return a->drawer != NULL ? a->drawer : &a->cache;
}

/* What is kept for all owners but this one. */
static inline uint64_t account_kept_from(const struct account *account,
                                         const struct holding *h)
{
    larder__assert(account->kept_bytes >= holding_kept(h));
    return account->kept_bytes - holding_kept(h);
}

static inline bool holding_is_within(const struct holding *h, uint64_t bytes)
{
    return h->limit_bytes == 0 ||
           (bytes <= h->limit_bytes && h->held_bytes <= h->limit_bytes - bytes);
}

#endif
