/* block.h - a block: part of a segment, free, live, pending or unmapped.
 * Private to core.
 *
 *   segment  [ block ][ block ][      block      ]   one piece of the driver
 *              live     free          live
 *
 * Rules, checked by larder_check():
 *   B1  the blocks of a segment tile it: no gap, no overlap, in order;
 *   B2  no two neighbours are both free, nor both unmapped;
 *   B3  a block is in its heap's index of free blocks if and only if it is
 *       free, and in the tree of unmapped ones if and only if it is unmapped;
 *   B4  0 < requested <= bytes for a live or pending block;
 *   B5  a pending block has an event to wait for, or is queued to get one;
 *   B6  the address map contains exactly the live blocks.
 *
 * A header is one cache line.  When two blocks merge, the lower one's header
 * stays. */
#pragma once

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include <larder/larder.h>

#include "base/assert.h"

struct segment;
struct use;

enum block_state {
    BLOCK_UNUSED,  /* the header belongs to no segment */
    BLOCK_FREE,    /* mapped, may be handed out */
    BLOCK_LIVE,    /* handed out */
    BLOCK_PENDING, /* freed, still used by recorded streams */
    BLOCK_UNMAPPED /* addresses without memory */
};

/* Red zones (state/zone.h). */
enum block_zones {
    ZONES_NONE,
    ZONES_BARE, /* the block has room for them */
    ZONES_WRITTEN
};

struct block {
    alignas(64) larder_addr addr; /* each header in a cache line of its own */
    uint64_t bytes;
    union {
        uint64_t requested; /* live, pending: bytes the caller asked for */
        uint64_t born;      /* free: the pool's `searches` at that time */
    };
    struct segment *segment;
    uint32_t prev; /* neighbours in the segment, as slab numbers; 0: none */
    uint32_t next;
    uint32_t self; /* own slab number */
    uint8_t state; /* enum block_state */
    uint8_t shard; /* the shard whose lock guards it (shard.h); 0: none */
    bool is_lent;  /* live, pending: lent by a private pool (lend.h) */
    uint8_t zones; /* live, pending: enum block_zones */
    union {
        struct { /* free, unmapped: links of a tree or list */
            struct block *left;
            struct block *right;
        };
        struct {                    /* live, pending */
            struct use *uses;       /* recorded streams without an event yet */
            uint32_t events;        /* recorded events not yet complete */
            uint32_t next_deferred; /* next block that waits to get an event */
        };
    };
};

static_assert(sizeof(struct block) == 64, "a header fills its cache line");

/* Whether it is handed out, or was and recorded streams still use it. */
static inline bool block_is_in_use(const struct block *b)
{
    return b->state == BLOCK_LIVE || b->state == BLOCK_PENDING;
}

/* Whether there is such a block and its addresses are free, with memory or
 * without. */
static inline bool block_is_available(const struct block *b)
{
    return b != NULL && !block_is_in_use(b);
}
