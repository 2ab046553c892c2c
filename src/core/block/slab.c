/* slab.c - the headers of blocks, found by number. */
#include "core/block/slab.h"

#include "base/host.h"

/* Number 0 means "none" and is never handed out. */
void larder__slab_init(struct slab *slab)
{
    for (unsigned i = 0; i < SLAB_CHUNKS; i++)
        atomic_init(&slab->chunks[i], NULL);
    slab->free_first = 0;
    slab->free_count = 0;
    slab->untouched = 1;
    slab->end = 0;
    slab->has_serials = false;
    slab->last_serial = 0;
}

void larder__slab_destroy(struct slab *slab)
{
    for (unsigned i = 0; i < SLAB_CHUNKS; i++)
        larder__host_free(atomic_load(&slab->chunks[i]));
    larder__slab_init(slab);
}

static bool slab_grow(struct slab *slab)
{
    unsigned log2 = bits_log2((uint64_t)slab->end + (1u << SLAB_FIRST_LOG2));
    unsigned chunk = log2 - SLAB_FIRST_LOG2;
    size_t one =
        sizeof(struct block) + (slab->has_serials ? sizeof(uint64_t) : 0);
    struct block *blocks;

    if (chunk >= SLAB_CHUNKS)
        return false;
    blocks = larder__host_alloc_aligned(sizeof(struct block), one << log2);
    if (blocks == NULL)
        return false;
    larder__assert(slab->chunks[chunk] == NULL);
    larder__assert(slab->untouched <= slab->end || slab->end == 0);
    atomic_store_explicit(&slab->chunks[chunk], blocks, memory_order_release);
    slab->end += 1u << log2;
    return true;
}

bool larder__slab_ensure(struct slab *slab, uint32_t count)
{
    while (slab->free_count < count &&
           (slab->end < slab->untouched ||
            slab->end - slab->untouched < count - slab->free_count)) {
        if (!slab_grow(slab))
            return false;
    }
    larder__assert(slab->free_count >= count ||
                   slab->end - slab->untouched >= count - slab->free_count);
    return true;
}

struct block *larder__slab_take(struct slab *slab)
{
    struct block *block;
    uint32_t self;

    if (slab->free_first != 0) {
        block = slab_take_used(slab);
        self = block->self;
    } else {
        larder__assert(slab->untouched < slab->end);
        self = slab->untouched++;
        block = slab_at(slab, self);
    }
    *block = (struct block){.self = self};
    larder__assert(block->state == BLOCK_UNUSED && block->segment == NULL);
    return block;
}
