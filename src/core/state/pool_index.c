/* pool_index.c - finds private pools by id, however many there are. */
#include "core/state/pool_index.h"

#include "base/host.h"
#include "core/state/allocator.h"

enum { CHAINS_MIN = 16 };

static bool id_equal(larder_pool_id x, larder_pool_id y)
{
    return x.first == y.first && x.second == y.second;
}

/* Ids are often consecutive small numbers, so the high bits of the product,
 * which differ most, are used. */
static uint64_t pool_index_mix(larder_pool_id id)
{
    uint64_t x = (id.first + UINT64_C(0x632be59bd9b4e019)) *
                 UINT64_C(0x9e3779b97f4a7c15);

    return ((x ^ x >> 32) + id.second) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

static struct private_pool **chain_of(const struct pool_index *index,
                                      larder_pool_id id)
{
    return &index->chains[pool_index_mix(id) & (index->chain_count - 1)];
}

static void pool_index_put(struct pool_index *index, struct private_pool *p)
{
    struct private_pool **chain = chain_of(index, p->id);

    p->chained = *chain;
    *chain = p;
}

struct private_pool *larder__pool_index_get(const struct pool_index *index,
                                            larder_pool_id id)
{
    struct private_pool *p =
        index->chain_count == 0 ? NULL : *chain_of(index, id);

    while (p != NULL && !id_equal(p->id, id))
        p = p->chained;
    return p;
}

static void put_all(struct pool_index *index, struct private_pool *chain)
{
    while (chain != NULL) {
        struct private_pool *next = chain->chained;

        pool_index_put(index, chain);
        chain = next;
    }
}

bool larder__pool_index_reserve(struct pool_index *index)
{
    struct pool_index next = *index;

    if (index->pool_count < index->chain_count)
        return true;
    next.chain_count =
        index->chain_count == 0 ? CHAINS_MIN : index->chain_count * 2;
    next.chains = larder__host_alloc(next.chain_count, sizeof *next.chains);
    if (next.chains == NULL)
        return false;
    for (size_t i = 0; i < index->chain_count; i++)
        put_all(&next, index->chains[i]);
    larder__host_free(index->chains);
    *index = next;
    return true;
}

void larder__pool_index_add(struct pool_index *index, struct private_pool *p)
{
    larder__assert(index->pool_count < index->chain_count);
    larder__assert(larder__pool_index_get(index, p->id) == NULL);
    pool_index_put(index, p);
    index->pool_count++;
}

void larder__pool_index_remove(struct pool_index *index,
                               const struct private_pool *p)
{
    struct private_pool **link = chain_of(index, p->id);

    larder__assert(index->pool_count > 0);
    while (*link != p) {
        larder__assert(*link != NULL);
        link = &(*link)->chained;
    }
    *link = p->chained;
    index->pool_count--;
}

void larder__pool_index_destroy(struct pool_index *index)
{
    larder__host_free(index->chains);
    *index = (struct pool_index){.chains = NULL};
}
