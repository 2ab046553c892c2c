/* slab.h - the headers of blocks, found by number.  Private to core.
 *
 * Numbers have 32 bits, so that a block's neighbours and the address map's
 * entries take four bytes.  Headers live in chunks that double in size and
 * never move: a header found without a lock stays valid.  Growing costs one
 * host allocation of as many headers as there already are. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/bits.h"
#include "core/block/block.h"

enum {
    SLAB_FIRST_LOG2 = 12,
    SLAB_CHUNKS = 20,
    /* Code that takes headers during a request leaves this many: the request
     * may end with a split, which then cannot fail. */
    SLAB_SPARE = 1
};

struct slab {
    _Atomic(struct block *) chunks[SLAB_CHUNKS]; /* of 4096, 8192, ... */
    uint32_t free_first; /* unused headers, linked by `next` */
    uint32_t free_count;
    uint32_t untouched; /* the lowest number never handed out */
    uint32_t end;       /* the lowest number no chunk holds */
    /* Each block has a serial beside its header. */
    bool has_serials;
    uint64_t last_serial;
};

void larder__slab_init(struct slab *slab);
void larder__slab_destroy(struct slab *slab);

/* Make sure that the next `count` calls of larder__slab_take() succeed. */
bool larder__slab_ensure(struct slab *slab, uint32_t count);

/* Take a header that is zero except for `self`.  Call larder__slab_ensure()
 * first. */
struct block *larder__slab_take(struct slab *slab);

/* The header with this number; number > 0. */
static inline struct block *slab_at(struct slab *slab, uint32_t number)
{
    uint32_t biased = number + (1u << SLAB_FIRST_LOG2);
    unsigned log2;
    struct block *chunk;

    larder__assert(number > 0 && number < slab->untouched);
    /* Most programs never need a second chunk, and this test does not depend on
     * the number. */
    if (number < 1u << SLAB_FIRST_LOG2)
        return &atomic_load_explicit(&slab->chunks[0],
                                     memory_order_acquire)[number];
    log2 = bits_log2(biased);
    chunk = atomic_load_explicit(&slab->chunks[log2 - SLAB_FIRST_LOG2],
                                 memory_order_acquire);
    return &chunk[biased - (1u << log2)];
}

/* Take a header that was used before; only its `self` is valid.  There must be
 * one. */
static inline struct block *slab_take_used(struct slab *slab)
{
    struct block *block = slab_at(slab, slab->free_first);

    larder__assert(slab->free_count > 0);
    larder__assert(block->state == BLOCK_UNUSED);
    slab->free_first = block->next;
    slab->free_count--;
    larder__assert((slab->free_first == 0) == (slab->free_count == 0));
    return block;
}

/* slab_at(), NULL for 0. */
static inline struct block *slab_get(struct slab *slab, uint32_t number)
{
    return number == 0 ? NULL : slab_at(slab, number);
}

/* Whether b is linked with its neighbours both ways, adjoins them and shares
 * their segment: rule B1 for b alone. */
static inline bool slab_is_linked(struct slab *slab, const struct block *b)
{
    const struct block *low = slab_get(slab, b->prev);
    const struct block *high = slab_get(slab, b->next);

    return (low == NULL ||
            (low->next == b->self && low->segment == b->segment &&
             low->addr + low->bytes == b->addr)) &&
           (high == NULL ||
            (high->prev == b->self && high->segment == b->segment &&
             b->addr + b->bytes == high->addr));
}

static inline void slab_give(struct slab *slab, struct block *block)
{
    larder__assert(slab_at(slab, block->self) == block);
    larder__assert(slab->free_first != block->self);
    larder__assert(slab->free_count < slab->untouched - 1);
    block->state = BLOCK_UNUSED;
    block->next = slab->free_first;
    slab->free_first = block->self;
    slab->free_count++;
}

/* The serial of a block, in a slab that has serials: stored behind the headers
 * of the chunk, and kept until it is set again. */
static inline uint64_t *slab_serial_of(const struct block *b)
{
    uint32_t size = 1u << SLAB_FIRST_LOG2;
    uint32_t place = b->self; /* index in the chunk */

    if (place >= size) { /* as in slab_at(): most have one chunk */
        size = 1u << bits_log2(place + size);
        place = place + (1u << SLAB_FIRST_LOG2) - size;
    }
    return (uint64_t *)(uintptr_t)(b + (size - place)) + place;
}

static inline uint64_t slab_serial(const struct block *b)
{
    return *slab_serial_of(b);
}

static inline void slab_set_serial(struct block *b, uint64_t serial)
{
    *slab_serial_of(b) = serial;
}
