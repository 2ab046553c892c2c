/* policy.h - the interface of a policy to the rest of core.  Private to
 * core. */
#pragma once

#include <stdbool.h>

#include <larder/hint.h>
#include <larder/larder.h>

struct allocator;
struct block;
struct conf;
struct heap;
struct segment;
struct use;

/* What refused memory to a request last. */
enum refusal {
    REFUSED_BY_DEVICE, /* or nothing has */
    REFUSED_BY_LIMIT,  /* a limit, or what is owed to other owners */
    REFUSED_BY_POOL    /* the limit of its private pool or tag */
};

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
    enum refusal refused_by;
    bool takes_lent;     /* the heap belongs to a pool that lends */
    bool rejected;       /* by throw_on_cudamalloc_oom: not counted as OOM */
    bool out_of_time;    /* reclaim_budget_ms ended the waiting */
    bool reclaimed;      /* the reclaim callbacks have run */
    uint64_t give_up_ns; /* when the budget ends; 0: no wait has begun */
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
    larder_result (*lend)(struct allocator *a, struct request *q);
    /* Whether to split off what exceeds q->size from q->block. */
    bool (*should_split)(const struct allocator *a, const struct request *q);
    /* Called after a free block was inserted into its heap. */
    void (*freed)(struct allocator *a, struct block *b);
    /* Adjust the settings to the policy.  NULL: no change. */
    void (*adjust)(struct conf *conf);
    bool explain_fully; /* explain OOM errors in more detail than PyTorch */
    /* Percent above the peak in use that is held before unused segments are
     * released; 0: no bound. */
    uint32_t slack_percent;
    /* It keeps pages of its own (paged.h), and its heaps use `fit` if the device
     * maps pages. */
    bool is_paged;
    /* It tells and keeps what PyTorch does and no more, orders equal free blocks
     * as PyTorch does, and assumes, while a capture may be in progress, that its
     * end orders all recorded streams. */
    bool is_exact;
    bool is_host;        /* it allocates host memory */
    uint32_t unit_bytes; /* sizes and addresses are multiples */
};
