/* moment.h - the state at one moment of a recording: segments, the blocks in
 * use in them, and the gaps between. */
#pragma once

#include "snapshot/lifetimes.h"
#include "trace/arena.h"

/* A free gap in a segment. */
struct moment_gap {
    uint64_t address;
    uint64_t size;
    uint32_t area; /* the area that contains it */
};

/* Adjacent reserved addresses of one stream and pool: a segment, or adjacent
 * mapped pages of an expandable one. */
struct moment_area {
    uint64_t address;
    uint64_t size;
    uint64_t allocated; /* bytes of blocks in use */
    uint64_t pending;   /* bytes of pending blocks */
    uint64_t largest_gap;
    uint32_t stream;
    uint32_t pool;
    uint32_t stack;
    uint32_t first; /* index of its first allocation in `live` */
    uint32_t count; /* number of allocations */
    uint8_t kind;   /* enum span_kind */
};

struct moment {
    const struct lifetimes *lifetimes; /* not owned */
    uint32_t state;                    /* number of events before it */
    struct moment_area *areas;         /* sorted by address */
    size_t area_count;
    uint32_t *live; /* allocations in use or pending, by address */
    size_t live_count;
    struct moment_gap *gaps; /* sorted by address */
    size_t gap_count;
    uint64_t reserved;
    uint64_t allocated;
    uint64_t requested;
    uint64_t pending;
    uint64_t outside; /* bytes of allocations in no known segment */
};

/* Make state `state` of l, which must stay valid. */
void moment_make(struct arena *arena, const struct lifetimes *l, uint32_t state,
                 struct moment *out);

/* The next allocation in use, from live[*i] on, which becomes its index.  NULL:
 * there is none. */
const struct lifetime *moment_use(const struct moment *m, size_t *i);

/* The bytes in use of some allocations, and the number of the largest. */
struct moment_sum {
    uint64_t bytes;
    uint32_t largest; /* UINT32_MAX: there is none */
};
typedef bool moment_test(const void *ctx, uint32_t number);
struct moment_sum moment_sum_of(const struct moment *m, moment_test *counts,
                                const void *ctx);

uint64_t moment_area_free(const struct moment_area *a);

/* What is reserved, and neither in use nor pending. */
uint64_t moment_unused(const struct moment *m);

/* The bytes in all gaps, and in the largest. */
uint64_t moment_gap_bytes(const struct moment *m, uint64_t *largest);
