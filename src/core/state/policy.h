/* policy.h - the interface of a policy to the rest of core.  Private to
 * core. */
#ifndef LARDER_CORE_STATE_POLICY_H
#define LARDER_CORE_STATE_POLICY_H

#include <stdbool.h>

#include <larder/hint.h>
#include <larder/larder.h>

struct allocator;
struct block;
struct conf;
struct heap;
struct segment;
struct use;

/* A request on its way through the allocator. */
struct request {
    uint64_t bytes;      /* as requested; never 0 */
    uint64_t size;       /* rounded, including red zones */
    uint64_t zone_bytes; /* both red zones together (zone.h); 0: none */
    uint64_t segment_bytes;
    larder_stream stream;
    larder_hint hint;
    struct heap *heap;
    struct block *block; /* the result, removed from its heap */
    struct use *uses;    /* streams to record for it from the start */
    bool borrows;        /* the heap belongs to a pool that lends */
    bool rejected;       /* by throw_on_cudamalloc_oom: not counted as OOM */
    bool over_limit;     /* refused by a limit, not by the device */
    bool over_pool;      /* refused by a private pool's limit */
    bool out_of_time;    /* reclaim_budget_ms ended the waiting */
    bool reclaimed;      /* the reclaim callbacks have run */
    uint64_t give_up_ns; /* when the budget ends; 0: no wait has begun */
};

/* The state of a policy that keeps memory of its own kind, and what the rest of
 * core does with it.  All locks are held, as everywhere in core. */
struct policy_state {
    /* Make a->larder; ERR_NO_HOST_MEMORY.  Everything it held must be released
     * before `unmake`. */
    larder_result (*make)(struct allocator *a);
    void (*unmake)(struct allocator *a);
    /* The settings, the limit or the device's memory may have changed. */
    void (*settings_changed)(struct allocator *a);
    /* Release the free memory of a default pool's heap, or what is mapped
     * nowhere.  Returns the first error. */
    larder_result (*release_heap)(struct allocator *a, struct heap *heap);
    /* Release segments of heaps that are empty after that. */
    larder_result (*release_empty)(struct allocator *a);
    void (*release_loose)(struct allocator *a);
    /* Map live pages that a failed move left without memory; OK if there are
     * none. */
    larder_result (*settle)(struct allocator *a);
    /* Release those pages of a default pool's heap that trim_age considers old
     * (stamp.h).  Its stream has passed the point where it was when they were
     * last in use. */
    void (*release_old)(struct allocator *a, const struct heap *heap);
    /* Release memory until no more than `target` bytes are held. */
    void (*trim)(struct allocator *a, uint64_t target);
    /* Take an unmapped handle of `bytes`, no longer held or counted, as if the
     * device had just created it.  False: there is none. */
    bool (*take_loose)(struct allocator *a, uint64_t bytes, uint64_t *out);
    /* Bytes that could be released or moved to another heap. */
    uint64_t (*movable_bytes)(const struct allocator *a);
    bool (*has_movable)(const struct heap *heap);
    uint64_t (*loose_bytes)(const struct allocator *a);
    /* When the allocator is destroyed: release the pages and addresses of a
     * segment of the policy's own kind, whatever it contains.  The segment is
     * freed even if the device reports an error. */
    larder_result (*destroy_segment)(struct allocator *a, struct segment *s);
    /* Check its own rules, for larder_check(). */
    larder_result (*check)(const struct allocator *a, size_t mapped_pages);
};

/* A policy: how memory is chosen. */
struct policy {
    const char *name;
    larder_policy id; /* 0: cannot be chosen by users */
    /* Find q->block, large enough, or return why not.  May drop and retake the
     * lock. */
    larder_result (*find)(struct allocator *a, struct request *q);
    /* Serve a request to a default pool, which is in segments, from what private
     * pools lend.  NULL: the policy has its own place for that. */
    larder_result (*borrow)(struct allocator *a, struct request *q);
    /* Whether to split off what exceeds q->size from q->block. */
    bool (*should_split)(const struct allocator *a, const struct request *q);
    /* Called after a free block was inserted into its heap. */
    void (*freed)(struct allocator *a, struct block *b);
    /* Adjust the settings to the policy.  NULL: no change. */
    void (*adjust)(struct conf *conf);
    /* Its own state, beside the allocator.  NULL: none. */
    const struct policy_state *state;
    bool explain_fully; /* explain OOM errors in more detail than PyTorch */
    /* While a capture may be in progress, assume that its end orders all
     * recorded streams, as PyTorch does. */
    bool captures_order_all;
    /* Percent above the peak in use that is held before unused segments are
     * released; 0: no bound. */
    uint32_t slack_percent;
    bool is_paged;            /* its heaps use `fit` if the device maps pages */
    bool has_serials;         /* equal free blocks are ordered as in PyTorch */
    bool is_exact;            /* tells and keeps what PyTorch does, no more */
    bool is_host;             /* it allocates host memory */
    uint32_t unit_bytes;      /* sizes and addresses are multiples */
    uint32_t small_max_bytes; /* largest request of the small pool */
};

#endif
