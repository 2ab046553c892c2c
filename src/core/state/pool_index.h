/* pool_index.h - private pools by their id, however many there are.  Private to
 * core.
 *
 * Chains in a table that doubles as it fills: a chain has one pool on average,
 * at most.
 *
 * Rules, checked by larder_check():
 *   N1  each pool of the user's is in the index, and nothing else is;
 *   N2  private pools count the segments that are theirs. */
#ifndef LARDER_CORE_STATE_POOL_INDEX_H
#define LARDER_CORE_STATE_POOL_INDEX_H

#include <stdbool.h>
#include <stddef.h>

#include <larder/larder.h>

struct private_pool;

struct pool_index {
    struct private_pool **chains; /* by private_pool.chained */
    size_t chain_count;           /* 0, or a power of two */
    size_t pool_count;
};

/* NULL: there is none. */
struct private_pool *larder__pool_index_get(const struct pool_index *index,
                                            larder_pool_id id);

/* Make room for one more.  False: no host memory. */
bool larder__pool_index_reserve(struct pool_index *index);

/* Room was made, and no other has its id. */
void larder__pool_index_add(struct pool_index *index, struct private_pool *p);
void larder__pool_index_remove(struct pool_index *index,
                               const struct private_pool *p);

/* The pools stay. */
void larder__pool_index_destroy(struct pool_index *index);

#endif
