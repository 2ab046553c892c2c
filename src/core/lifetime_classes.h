/* lifetime_classes.h - which requests ask for memory that will be in use for long: as
 * their hints say (hint.h), or as others of their size were before.  Private to
 * core.
 *
 * Learning.  A heap counts, while memory is tight, its requests and how many of
 * them were given back soon, by classes of sizes, a quarter of a power of two
 * each.  Time goes in eras of so many requests: at the end of each, what the
 * era before it made is old enough to tell.  A block remembers the era it is
 * from, so that giving it back is one comparison where nothing is learned and
 * one count where something is. */
#ifndef LARDER_CORE_LIFETIME_CLASSES_H
#define LARDER_CORE_LIFETIME_CLASSES_H

#include "base/bits.h"
#include "core/block.h"

enum {
    LIFETIME_SHARE_LOG2 = 2, /* classes for each power of two */
    LIFETIME_UNIT_LOG2 = 8,  /* the smallest step between two sizes */
    LIFETIME_CLASSES = (64 - LIFETIME_UNIT_LOG2) << LIFETIME_SHARE_LOG2
};

/* What was asked for in this era, and in the one before it; an era has fewer
 * requests than a uint16_t can count. */
struct lifetime_class {
    uint16_t made[2]; /* by the era's lowest bit */
    uint16_t died[2]; /* of these */
    bool is_long;     /* few did */
};

struct lifetimes {
    uint32_t era;      /* from 1 on; 0: nothing was counted yet */
    uint32_t requests; /* in it */
    struct lifetime_class classes[LIFETIME_CLASSES];
};

static inline unsigned lifetime_class(uint64_t bytes)
{
    uint64_t units = bytes >> LIFETIME_UNIT_LOG2;
    unsigned log2 = units == 0 ? 0 : bits_log2(units);
    uint64_t part = units << LIFETIME_SHARE_LOG2 >> log2;

    return (log2 << LIFETIME_SHARE_LOG2) +
           (unsigned)part % (1u << LIFETIME_SHARE_LOG2);
}

/* b, out of any index and about to be handed out, is from no era. */
static inline void lifetimes_forget(struct block *b)
{
    b->era = 0;
    b->is_long = false;
}

/* Whether blocks of that size have stayed. */
static inline bool lifetimes_is_long(const struct lifetimes *l, uint64_t bytes)
{
    return l->classes[lifetime_class(bytes)].is_long;
}

/* b is handed out, and counted as of this era. */
void larder__lifetimes_make(struct lifetimes *l, struct block *b);

/* b, of a paged segment, was given back and is kept for nobody. */
void larder__lifetimes_count(struct lifetimes *l, const struct block *b);

static inline void lifetimes_give(struct lifetimes *l, const struct block *b)
{
    if (b->era != 0)
        larder__lifetimes_count(l, b);
}

#endif
