/* pool_index.h - finds private pools by id, however many there are.  Private to
 * core.
 *
 * A hash table with chains that doubles as it fills, so that a chain has at
 * most one pool on average.
 *
 * Rules, checked by larder_check():
 *   N1  the index contains exactly the pools of the user;
 *   N2  private pools list the segments that belong to them;
 *   N3  regions are counted;
 *   N4  the list of pools without users contains exactly those, once each. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <larder/larder.h>

struct private_pool;

struct pool_index {
    struct private_pool **chains; /* linked by private_pool.chained */
    size_t chain_count;           /* 0, or a power of two */
    size_t pool_count;
};

/* NULL: there is no such pool. */
struct private_pool *larder__pool_index_get(const struct pool_index *index,
                                            larder_pool_id id);

/* Make room for one more pool.  False: no host memory. */
bool larder__pool_index_reserve(struct pool_index *index);

/* Add a pool; room was made, and its id is not in the index. */
void larder__pool_index_add(struct pool_index *index, struct private_pool *p);
void larder__pool_index_remove(struct pool_index *index,
                               const struct private_pool *p);

/* Free the table; the pools stay. */
void larder__pool_index_destroy(struct pool_index *index);
