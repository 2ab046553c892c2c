/* moment.h - what was there at one moment of a recording: which segments,
 * what in them was in use, and which free pieces lay between. */
#ifndef LARDER_REPORT_MOMENT_H
#define LARDER_REPORT_MOMENT_H

#include "snapshot/lifetimes.h"

/* A free piece of a segment. */
struct moment_gap {
    uint64_t address;
    uint64_t size;
    uint32_t area; /* number of the area it lies in */
};

/* Addresses reserved without a break, for one stream and pool: a segment, or
 * the mapped pages of an expandable one that follow each other. */
struct moment_area {
    uint64_t address;
    uint64_t size;
    uint64_t allocated; /* bytes of blocks in use */
    uint64_t pending;   /* bytes of blocks freed, waiting for streams */
    uint64_t largest_gap;
    uint32_t stream;
    uint32_t pool;
    uint32_t stack;
    uint32_t first; /* of live: the first allocation in it */
    uint32_t count; /* of live */
    uint8_t kind;   /* enum span_kind */
};

struct moment {
    const struct lifetimes *lifetimes; /* not owned */
    uint32_t state;                    /* after so many events */
    struct moment_area *areas;         /* by address */
    size_t area_count;
    uint32_t *live; /* allocations in use or pending, by address */
    size_t live_count;
    struct moment_gap *gaps; /* by address */
    size_t gap_count;
    uint64_t reserved;
    uint64_t allocated;
    uint64_t requested;
    uint64_t pending;
    uint64_t outside; /* bytes of allocations in no known segment */
};

/* State `state` of l, which has to stay.  False: no host memory. */
bool moment_make(const struct lifetimes *l, uint32_t state, struct moment *out,
                 struct tool_error *error);
void moment_free(struct moment *m);

/* Whether allocation a is in use in a state (not merely pending). */
bool moment_in_use(const struct lifetime *a, uint32_t state);

#endif
