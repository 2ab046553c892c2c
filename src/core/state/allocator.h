/* allocator.h - the allocator's parts and how they belong together.  Private to
 * core.
 *
 *   allocator
 *     pools      small and large: the default ones and each private pool's
 *       heaps    one per stream: the free blocks, and unmapped addresses
 *     segments   memory from the device, each for one heap
 *     pieces     reserved memory that segments are carved from
 *     events     blocks that wait for recorded streams
 *     map, slab  address -> header
 *     shards     one per stream: the fast path of its requests (shard.h)
 *     history    what happened, if it is recorded
 *
 * Locks: the allocator's and those of its shards.  Functions of core expect all
 * of them held unless they say otherwise.  User callbacks run without locks,
 * except for the filters of private pools, the visitors of larder_walk() and
 * what holds work back during a migration. */
#pragma once

#include <stdbool.h>

#include <larder/hint.h>
#include <larder/history.h>

#include "base/assert.h"
#include "base/lock.h"
#include "core/block/map.h"
#include "core/block/slab.h"
#include "core/heap/bins.h"
#include "core/heap/fit.h"
#include "core/settings/conf.h"
#include "core/state/holding.h"
#include "core/state/policy.h"
#include "core/state/pool_index.h"
#include "core/state/stats.h"
#include "device/device.h"

/* PyTorch's constants (CUDACachingAllocator; the same from 1.8 to 2.13). */
enum {
    UNIT_BYTES = 512,              /* every size is a multiple */
    SMALL_MAX_BYTES = 1 << 20,     /* the largest request of the small pool */
    SMALL_SEGMENT_BYTES = 2 << 20, /* size of its segments and pages */
    LARGE_MIN_BYTES = 10 << 20,    /* from here on one segment per request */
    ROUND_SEGMENT_BYTES = 2 << 20
};

/* The granularity of a device's memory, and the pages of the policy larder. */
enum { PAGE_BYTES = 2 << 20 };

struct allocator;
struct shard;
struct history;
struct larder;
struct trimmer;
struct peers;
struct tag;
struct pool;
struct private_pool;
struct region;

/* Free memory of one stream in one pool.  If `fit` is not NULL the free blocks
 * are in `fit` and `bins` is empty; otherwise they are in `bins`. */
struct heap {
    struct pool *pool;
    struct shard *shard; /* shard.h; NULL: none */
    larder_stream stream;
    struct block *unmapped; /* tree by address */
    struct bins *bins;
    struct fit *fit;
    size_t page_count;    /* of its paged segments */
    uint64_t range_bytes; /* total length of their addresses */
    bool is_stocked;      /* pool.h */
};

/* The number of steps that trim_age is divided into (trim.h). */
enum { TRIM_STEPS = 4 };

struct pool {
    struct heap **heaps; /* sorted by stream */
    uint32_t heap_count;
    uint32_t heap_capacity;
    struct heap **stocked; /* the stocked ones (pool.h), sorted as well */
    uint32_t stocked_count;
    struct heap *last_heap; /* the heap found last */
    bool is_small;
    enum stats_pool stats;
    uint64_t searches;          /* for the age of free blocks (unused.c) */
    uint64_t marks[TRIM_STEPS]; /* earlier values of it, for trim_age.c */
    struct private_pool *owner; /* NULL: a default pool */
};

/* POOL_LONG is for hinted requests under the policy larder (hint.h). */
enum pool_kind { POOL_SMALL, POOL_LARGE, POOL_LONG, POOL_KINDS };

/* What a private pool has allocated (held.h). */
struct usage {
    uint64_t allocations;
    uint64_t allocated_bytes;
    uint64_t requested_bytes; /* of live blocks */
    uint64_t allocated_peak;
    uint64_t reserved_peak;
    uint64_t refused; /* requests refused because of a tag's limit */
};

/* Host memory with the contents of a paused pool (pause/pause.h). */
struct kept {
    char *host; /* NULL: empty */
    uint64_t bytes;
    bool is_pinned;       /* `host` was allocated by the device */
    bool is_in_flight;    /* a copy may still read or write it */
    struct kept *spare;   /* to note in if the device does not free it */
    struct kept *refused; /* earlier memory that the device did not free */
};

/* All host memory that it has. */
static inline uint64_t kept_bytes(const struct kept *k)
{
    uint64_t bytes = 0;

    for (; k != NULL; k = k->refused)
        bytes += k->bytes;
    return bytes;
}

struct private_pool {
    larder_pool_id id;
    const char *name; /* of its tag or region; NULL: neither */
    int users;        /* 0: its memory may be released, and the pool with it */
    struct pool pools[POOL_KINDS];
    uint16_t history_id; /* number in the history; 0: none yet */
    struct holding holding;
    uint64_t counted_bytes;    /* of its segments, for larder_check() (A3) */
    bool lends;                /* its free blocks may serve others */
    bool is_captured;          /* some of its requests were part of a capture */
    bool has_graph;            /* the same, as seen by the checks of debug:2 */
    bool is_lent;              /* its graphs do not run now (lend.h) */
    bool has_lent;             /* and it has lent a block since (order.h) */
    larder_stream lent_stream; /* on which they ran; it may be lent to */
    bool is_kept_whole;        /* its blocks are never split */
    bool is_paused;            /* its memory is released (pause.h), */
    uint64_t paused_bytes;     /* so much of it */
    struct kept kept;
    struct usage usage;
    struct tag *tag;           /* NULL: a pool of the user's, or */
    struct region *region;     /* of a region (region_pages.h) */
    struct route *route;       /* in effect for these allocations; NULL: none */
    struct segment *segments;  /* that belong to it, newest first */
    struct private_pool *next; /* in the order of creation */
    struct private_pool **link;       /* what points to it there */
    struct private_pool *unused_next; /* in the list of pools without users */
    struct private_pool *chained;     /* pool_index.h */
};

/* A private pool that allocations are routed to. */
struct route {
    struct private_pool *to;
    larder_pool_filter *filter;
    void *ctx;
    struct route *next; /* in the order in which they are tried */
};

enum segment_kind {
    SEGMENT_DRIVER,     /* one allocation of the driver */
    SEGMENT_CARVED,     /* a part of a reserved piece */
    SEGMENT_EXPANDABLE, /* addresses that pages are mapped into */
    SEGMENT_PAGED       /* the same under the policy larder: pages can move */
};

/* The pages that a handle is mapped at: [begin, end) of its segment. */
struct page_extent {
    uint32_t begin;
    uint32_t end;
};

/* Pages [begin, end) of a segment that are unmapped but still have their
 * handles: those before `mapped` are mapped again, without access.  All 0:
 * none. */
struct detached {
    size_t begin;
    size_t mapped;
    size_t end;
};

struct segment {
    larder_addr addr;
    uint64_t bytes; /* length of the addresses, mapped or not */
    struct heap *heap;
    struct block *head; /* the block at addr */
    enum segment_kind kind;
    uint32_t stack;            /* in the history, where it last grew; 0: none */
    struct segment *next;      /* in the allocator's list */
    struct segment **link;     /* what points to it there */
    struct segment *pool_next; /* in the list of its private pool, */
    struct segment **pool_link; /* and what points to it there */

    union {
        struct { /* SEGMENT_CARVED */
            struct piece *piece;
            struct segment *piece_next; /* next part of the piece, by address */
        };
        size_t page_count; /* SEGMENT_PAGED: mapped pages */
    };

    /* SEGMENT_EXPANDABLE, SEGMENT_PAGED: the handle mapped at each page (0:
     * none).  SEGMENT_PAGED: when each page was last in use (NULL: unknown), and
     * where the handle mapped there begins and ends. */
    uint64_t page_bytes;
    uint64_t *pages;
    uint32_t *stamps;
    struct page_extent *extents;

    /* In a private pool: the range that contains all blocks handed out during
     * captures; empty if both are equal. */
    larder_addr graph_begin;
    larder_addr graph_end;

    struct detached detached; /* between calls only in a paused pool (P3) */
};

/* Memory of the device: a handle of one or more pages, mapped as a whole or not
 * at all. */
struct page_handle {
    uint64_t handle;
    size_t pages;
    size_t at; /* the page it is to be mapped at, while fill.c plans */
};

/* Memory that the device failed to take back (segment.h): a driver allocation or
 * a handle. */
struct orphan {
    larder_addr memory; /* 0: it is a handle */
    uint64_t handle;
    larder_addr mapped_at; /* of a handle; 0: not mapped, only to be released */
    uint64_t bytes;
};

/* Memory from larder_reserve() or preallocate:SIZE. */
struct piece {
    larder_addr addr;
    uint64_t bytes;
    struct segment *parts; /* by address; free memory between them */
    struct piece *next;
};

/* A stream recorded for a block and, once the block is freed, the event that
 * shows that the stream has passed. */
struct use {
    larder_stream stream;
    struct use *next;
    struct block *block; /* set once there is an event */
    uint64_t event;
    bool captured; /* the end of a capture orders it: no event needed */
    bool is_hold;  /* not a stream but a hold (events.h), */
    bool is_held;  /* which the freed block counts */
};

/* The events recorded on one stream, oldest first. */
struct event_queue {
    larder_stream stream;
    struct use *first;
    struct use *last;
};

struct events {
    struct event_queue *queues; /* sorted by stream */
    uint32_t queue_count;
    uint32_t queue_capacity;
    uint64_t waiting; /* events in all queues */
    uint64_t held;    /* holds that pending blocks count */
    struct use *free_uses;
    struct use_chunk *chunks;
    uint64_t *idle; /* events of the device that can be reused */
    size_t idle_count;
    size_t idle_capacity; /* at least the number of events created */
    size_t made;
    uint32_t deferred_first; /* blocks that wait to get an event; 0: none */
    uint32_t deferred_last;
};

struct callback {
    void (*fn)(void); /* larder_reclaim_fn or larder_oom_fn */
    void *ctx;
};

/* Holds the program's work back while live memory moves (migrate.h). */
struct guard {
    larder_result (*hold)(void *ctx); /* NULL: none */
    void (*release)(void *ctx);
    void *ctx;
};

struct callbacks {
    struct callback *list;
    size_t count;
    size_t capacity;
};

enum { SHARD_SLOTS_LOG2 = 8, SHARD_SLOTS = 1 << SHARD_SLOTS_LOG2 };

/* The shards, and what is counted once for all of them while only one thread
 * allocates. */
struct shards {
    uint64_t max_bytes; /* largest request on the fast path (fast.h); 0: none */
    bool takes_frees;   /* whether frees take it */
    atomic_bool is_careful; /* whether hits take the careful path (fast.h) */
    bool has_waiting;       /* blocks wait for recorded streams */
    bool is_watching;       /* has_waiting, or there is a bell */
    /* Not 0 while other processes ask for memory (peers.h); NULL: no peers. */
    const _Atomic uint32_t *bell;
    bool is_shared; /* two threads have allocated or freed */
    uint8_t count;
    uintptr_t owner;   /* the only thread so far; 0: none yet */
    int64_t allowance; /* bytes that a shard may count by itself */
    _Atomic(struct shard *) slots[SHARD_SLOTS]; /* by stream */
    struct shard *list[UINT8_MAX + 1];          /* by number, from 1 */
    struct tally tally;
    struct lock common; /* taken after a shard's, on the careful path */
};

/* All private pools, also those of tags and regions, in the order of
 * creation. */
struct privates {
    struct private_pool *first;
    struct private_pool **end;   /* the NULL behind the last; NULL: none yet */
    struct private_pool *unused; /* without users, oldest first */
    struct private_pool *unused_last;
    struct pool_index index; /* only pools of the user */
    size_t regions;          /* how many belong to regions */
};

/* What trim_age has observed (trim.h). */
struct trim {
    struct trimmer *thread; /* NULL: trim_age was never set */
    int64_t activity;       /* allocations at the last look */
    uint32_t idle;          /* looks since that number changed */
    uint32_t now;           /* number of looks so far */
};

/* Memory that the device failed to take back (segment.h). */
struct orphans {
    struct orphan *list;
    size_t count;
    size_t capacity; /* greater than the number of pages held */
};

/* The function that names an interpreter's frames, for the history. */
struct frame_namer {
    larder_frame_fn *fn; /* NULL: none */
    void *ctx;
};

/* State of dump_on_oom. */
struct dumps {
    uint64_t count; /* dumps attempted */
    uint64_t failed;
    bool is_under_way;
};

/* The public call in progress, for the history: where it came from. */
struct history_call {
    const void *caller; /* return address; NULL: there is none */
    uint32_t stack;     /* set once it is captured */
    bool captured;
};

/* Returns ERR_CORRUPT, with a message, if a rule is broken. */
typedef larder_result allocator_checker(struct allocator *a);

/* When the rules are checked between calls (audit.h). */
struct audit {
    allocator_checker *check; /* NULL: not yet set */
    uint64_t calls;           /* since the last check */
};

struct allocator {
    struct lock lock;
    larder_allocator *handle;
    bool owns_device;  /* close it with the allocator */
    bool preallocated; /* preallocate:SIZE has been acquired */
    const struct policy *policy;
    struct history *history; /* NULL: off; tested in each call */
    struct history_call call;
    larder_device *device;
    larder_device_props props;
    struct conf conf;

    struct slab slab;
    struct map map;
    struct pool pools[POOL_KINDS];
    struct privates privates;
    struct route *routes; /* in effect, in the order in which they are tried */
    uint32_t captures;    /* begun by larder_capture_begin(), not ended */
    bool routes_lend;     /* all routed pools lend and have no graph */
    struct segment *segments;
    struct piece *pieces;
    struct events events;
    struct stats stats;
    struct shards shards;

    uint64_t held_bytes;    /* from the device, without the context */
    struct account account; /* the owners of those bytes */
    uint64_t allowed_bytes; /* maximum to hold; CONF_UNLIMITED: no limit */
    double fraction;        /* of the device; part of allowed_bytes */
    bool fraction_is_set;   /* garbage collection needs it, as in PyTorch */

    struct tag *tags;
    uint32_t tag_frames; /* tags begun by any thread and not ended */

    bool has_pages; /* the device can map pages of 2 MiB */
    bool is_paged;  /* under the policy larder, on such a device */
    bool is_fast;   /* and the settings allow the fast path (fast.h) */
    uint64_t small_max_bytes; /* largest request of the small pool; fixed */
    /* max_split_size_mb in the statistics; -1: unlimited.  PyTorch tells the one
     * that it started with. */
    int64_t told_max_split_bytes;
    uint64_t quiet_points; /* begun and not ended (migrate.h) */
    struct guard guard;    /* the same */
    struct larder *larder; /* empty under another policy */
    /* A move is in progress, or failed and left addresses without pages, which no
     * request may get (carry.h). */
    bool has_withheld;

    struct trim trim;
    struct orphans orphans;
    size_t page_count; /* pages held */

    struct peers *peers;          /* others on the device; NULL: none */
    struct allocator *peers_next; /* in this process, on the same device */
    int64_t told_use;             /* in use, as last reported to others */
    /* Why its ledger refused the current request; NULL: it did not. */
    const char *ledger_refusal;

    struct callbacks reclaims;
    struct callbacks oom_observers;

    struct frame_namer frames;
    struct dumps dumps;
#if LARDER_ASSERT_LEVEL > 1
    struct audit audit;
#endif

    struct debug *debug; /* state of debug:2 and 3 (debug/debug.h); NULL: off */
    /* Release the freed blocks that it keeps from reuse.  Returns whether there
     * were any.  NULL: it never keeps any. */
    bool (*make_room)(struct allocator *a);
};

static inline bool allocator_make_room(struct allocator *a)
{
    return a->make_room != NULL && a->make_room(a);
}

/* Whether the calling thread holds all locks; at assertion level 0: true. */
static inline bool allocator_is_locked(const struct allocator *a)
{
    return larder__witness_holds(&a->lock);
}

/* Whether no block waits for a recorded stream. */
static inline bool events_are_idle(const struct events *e)
{
    return e->waiting == 0 && e->deferred_first == 0;
}

/* The blocks behind and before b in its segment.  NULL: there is none. */
static inline struct block *block_next(struct allocator *a,
                                       const struct block *b)
{
    return slab_get(&a->slab, b->next);
}

static inline struct block *block_prev(struct allocator *a,
                                       const struct block *b)
{
    return slab_get(&a->slab, b->prev);
}

/* The i-th heap of POOL_KINDS pools, the allocator's or a private pool's.  NULL:
 * there are fewer. */
static inline struct heap *pools_heap(const struct pool *pools, size_t i)
{
    for (int kind = 0; kind < POOL_KINDS; kind++) {
        if (i < pools[kind].heap_count)
            return pools[kind].heaps[i];
        i -= pools[kind].heap_count;
    }
    return NULL;
}

/* Whether its memory is released for a while. */
static inline bool segment_is_paused(const struct segment *s)
{
    return s->heap->pool->owner != NULL && s->heap->pool->owner->is_paused;
}

/* The unit that sizes are rounded up to.  Where segments are as in PyTorch,
 * sizes are too. */
static inline uint32_t allocator_unit(const struct allocator *a)
{
    return a->is_paged == a->policy->is_paged ? a->policy->unit_bytes
                                              : UNIT_BYTES;
}

/* Whether a stream may be capturing now, so that no event is polled and nothing
 * is released: PyTorch's "captures underway".  PyTorch's older releases assume
 * this while any pool is begun; under the policy larder pools that lend are
 * excepted. */
static inline bool allocator_is_capturing(const struct allocator *a)
{
    return a->captures > 0 || (a->routes != NULL && !a->routes_lend &&
                               !a->conf.rules->scope_is_no_capture);
}
