/* block.h - a block: a piece of a segment, free or handed out.  Private to
 * core.
 *
 *   segment  [ block ][ block ][      block      ]   one piece of the driver
 *              live     free          live
 *
 * Rules, checked by larder_check():
 *   B1  the blocks of a segment tile it: no gap, no overlap, in order;
 *   B2  no two neighbours are both free, nor both unmapped;
 *   B3  a block is in its heap's index if and only if it is free, among its
 *       heap's unmapped ones if and only if it is unmapped;
 *   B4  0 < requested <= bytes for a live or pending block;
 *   B5  a pending block waits for something: an event, or to be given one;
 *   B6  the address map names exactly the live blocks.
 *
 * A header is one cache line.  Merging keeps the lower block's. */
#ifndef LARDER_CORE_BLOCK_H
#define LARDER_CORE_BLOCK_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <larder/larder.h>

#include "base/assert.h"

struct segment;
struct use;

enum block_state {
    BLOCK_UNUSED,  /* the header is in no segment */
    BLOCK_FREE,    /* mapped, may be handed out */
    BLOCK_LIVE,    /* handed out */
    BLOCK_PENDING, /* freed, still used by recorded streams */
    BLOCK_UNMAPPED /* addresses of an expandable segment without memory */
};

/* Red zones (state/zone.h). */
enum block_zones {
    ZONES_NONE,
    ZONES_BARE, /* there is room for them */
    ZONES_WRITTEN
};

struct block {
    larder_addr addr;
    uint64_t bytes;
    union {
        uint64_t requested; /* live, pending: what the caller asked */
        uint64_t born;      /* free: the pool's search count at that time */
    };
    struct segment *segment;
    uint32_t prev; /* neighbours in the segment, as slab numbers; 0: none */
    uint32_t next;
    uint32_t self;    /* own slab number */
    uint8_t state;    /* enum block_state */
    uint8_t shard;    /* whose lock guards it (shard.h); 0: none */
    bool is_borrowed; /* live, pending: out of a pool that is lent (lend.h) */
    uint8_t zones;    /* live, pending: enum block_zones */
    union {
        struct { /* free, unmapped: links of a tree, or of a list */
            struct block *left;
            struct block *right;
        };
        struct {                    /* live, pending */
            struct use *uses;       /* recorded streams without an event yet */
            uint32_t events;        /* events not seen completed */
            uint32_t next_deferred; /* block that waits for an event */
        };
    };
};

static_assert(sizeof(struct block) == 64, "a header is one cache line");

#endif
