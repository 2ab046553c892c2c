/* policy.h - what a policy is, to the rest of core.  Private to core. */
#ifndef LARDER_CORE_POLICY_H
#define LARDER_CORE_POLICY_H

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
    uint64_t bytes;      /* as asked; never 0 */
    uint64_t size;       /* rounded, red zones and all */
    uint64_t zone_bytes; /* both red zones (zone.h); 0: none */
    uint64_t segment_bytes;
    larder_stream stream;
    larder_hint hint;
    struct heap *heap;
    struct block *block; /* the answer, taken out of its heap */
    struct use *uses;    /* streams to be recorded for it from the start */
    bool borrows;        /* the heap is another pool's, which lends */
    bool rejected;       /* by throw_on_cudamalloc_oom: not counted as OOM */
    bool over_limit;     /* refused by a limit, not by the device */
    bool over_pool;      /* by that of a private pool */
    bool out_of_time;    /* reclaim_budget_ms ended the waiting */
    bool reclaimed;      /* the reclaim callbacks were asked */
    uint64_t give_up_ns; /* when it does; 0: nothing was waited for yet */
};

/* A policy that keeps memory of its own kind: what the rest of core asks it to
 * do with that.  Locks as for everything in core. */
struct policy_state {
    /* Make a->larder; ERR_NO_HOST_MEMORY.  All that it holds was released
     * before it is unmade. */
    larder_result (*make)(struct allocator *a);
    void (*unmake)(struct allocator *a);
    /* The settings, the limit or the device's memory may have changed. */
    void (*settings_changed)(struct allocator *a);
    /* Give the device what is free of a default pool's heap, or what is mapped
     * nowhere.  Returns the first refusal. */
    larder_result (*release_heap)(struct allocator *a, struct heap *heap);
    /* What of heaps' segments is empty then. */
    larder_result (*release_empty)(struct allocator *a);
    void (*release_loose)(struct allocator *a);
    /* Release the pages of a default pool's heap that trim_age calls old
     * (stamp.h).  Its stream has passed where it was when they last were not. */
    void (*release_old)(struct allocator *a, const struct heap *heap);
    /* Release as much, until no more than target bytes are held. */
    void (*trim)(struct allocator *a, uint64_t target);
    /* Take a handle of so many bytes out of what is mapped nowhere: neither held
     * nor counted any more, as if it came from the device now.  False: there is
     * none. */
    bool (*take_loose)(struct allocator *a, uint64_t bytes, uint64_t *out);
    /* Bytes that could be released, or moved to another heap. */
    uint64_t (*movable_bytes)(const struct allocator *a);
    bool (*has_movable)(const struct heap *heap);
    uint64_t (*loose_bytes)(const struct allocator *a);
    /* The allocator goes: release the pages and addresses of a segment of the
     * policy's own kind, whatever is in it.  It is gone even if the device
     * refuses. */
    larder_result (*destroy_segment)(struct allocator *a, struct segment *s);
    /* larder_check(): its own rules. */
    larder_result (*check)(const struct allocator *a, size_t mapped_pages);
};

/* A way to choose memory. */
struct policy {
    const char *name;
    larder_policy id; /* 0: not to be chosen */
    /* Find q->block, large enough, or say why not.  May drop and retake the
     * lock. */
    larder_result (*find)(struct allocator *a, struct request *q);
    /* Whether to cut what exceeds q->size off q->block. */
    bool (*should_split)(const struct allocator *a, const struct request *q);
    /* A free block has just gone into its heap. */
    void (*freed)(struct allocator *a, struct block *b);
    /* What the policy makes of settings.  NULL: nothing. */
    void (*adjust)(struct conf *conf);
    /* What it has for itself, beside the allocator.  NULL: nothing. */
    const struct policy_state *state;
    bool explain_fully; /* an out-of-memory, beyond PyTorch's words */
    /* While anything may be captured, its end is taken to order every stream
     * that is recorded, as in PyTorch. */
    bool captures_order_all;
    /* Segments: held above the peak in use before unused ones go; 0: all. */
    uint32_t slack_percent;
    bool is_paged;    /* where the device can map pages, its heaps have `fit` */
    bool has_serials; /* equal free blocks are in the order of its release */
    bool is_host;     /* what it hands out is memory of the host */
    uint32_t unit_bytes;      /* sizes and addresses are multiples */
    uint32_t small_max_bytes; /* the largest request of the small pool */
};

#endif
