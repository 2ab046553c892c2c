/* careful.c - the careful path: hits and frees while a tag, a route, a piece or a
 * history exists. */

#include "core/history/recording.h"
#include "core/policy_larder/fast.h"
#include "core/pools/pool.h"

/* Whether a request of this thread on this stream is for the default pools. */
static bool is_for_default(struct allocator *a, larder_stream stream)
{
    const struct private_pool *owner;

    if (a->routes == NULL)
        return a->tag_frames == 0 || larder__tag_pool(a) == NULL;
    lock_take(&a->shards.common);
    owner = larder__pool_routed(a, stream);
    lock_leave(&a->shards.common);
    return owner == NULL;
}

typedef void note_fn(struct allocator *a, const struct block *b);

static void record(struct allocator *a, note_fn *note, const struct block *b,
                   const void *caller)
{
    lock_take(&a->shards.common);
    history_enter(a, caller);
    note(a, b);
    lock_leave(&a->shards.common);
}

bool larder__careful_alloc(struct allocator *a, uint64_t bytes,
                           larder_stream stream, larder_addr *out,
                           const void *caller)
{
    struct shard *f = shard_of(a, stream);
    const struct block *b = NULL;

    if (f == NULL)
        return false;
    lock_take(&f->lock);
    if (shards_are_careful(a) && is_for_default(a, stream))
        b = fast_take(a, f, a->props.total_bytes, bytes, true);
    if (b != NULL) {
        *out = b->addr;
        if (a->history != NULL)
            record(a, history_alloc, b, caller);
    }
    lock_leave(&f->lock);
    return b != NULL;
}

/* Without a history the fast path takes the frees. */
bool larder__careful_free(struct allocator *a, larder_addr addr,
                          const void *caller)
{
    const map_granule *granule = map_low_granule(&a->map, addr);
    struct shard *f =
        granule == NULL ? NULL : shard_numbered(a, map_shard(granule));
    struct block *b = NULL;

    if (f == NULL)
        return false;
    lock_take(&f->lock);
    if (shards_are_careful(a) && a->history != NULL)
        b = fast_find(a, f, granule, addr);
    if (b != NULL && shard_tally(a, f, -(int64_t)b->bytes) == NULL)
        b = NULL;
    if (b != NULL) {
        record(a, history_freed, b, caller);
        (void)fast_free(a, f, granule, b);
    }
    lock_leave(&f->lock);
    return b != NULL;
}
