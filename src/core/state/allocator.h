/* allocator.h - the allocator's parts and how they hang together.  Private to
 * core.
 *
 *   allocator
 *     pools      small and large, the default ones and each private pool's
 *       heaps    one per stream: the free blocks, and unmapped addresses
 *     segments   what the device gave, each of one heap
 *     pieces     reserved memory that segments are carved from
 *     events     blocks that wait for recorded streams
 *     map, slab  address -> header
 *     shards     one per stream: the fast path of its requests (shard.h)
 *     history    what happened, if it is recorded
 *
 * Locks: the allocator's and those of its shards.  Functions of core expect all
 * of them held unless they say otherwise.  User callbacks run without, but for
 * the filters of private pools and the visitors of larder_walk(). */
#ifndef LARDER_CORE_ALLOCATOR_H
#define LARDER_CORE_ALLOCATOR_H

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
#include "core/state/tally.h"
#include "device/device.h"

/* PyTorch's constants (CUDACachingAllocator; the same from 1.8 to 2.13). */
enum {
    UNIT_BYTES = 512,              /* every size is a multiple */
    SMALL_MAX_BYTES = 1 << 20,     /* the largest request of the small pool */
    SMALL_SEGMENT_BYTES = 2 << 20, /* its segments and pages */
    LARGE_MIN_BYTES = 10 << 20,    /* from here on a segment of one's own */
    ROUND_SEGMENT_BYTES = 2 << 20
};

struct allocator;
struct shard;
struct history;
struct larder;
struct trimmer;
struct paused;
struct peers;
struct tag;
struct pool;
struct private_pool;
struct region;

/* Free memory of one stream in one pool.  It is in `fit` where that is not
 * NULL, and `bins` is empty then; else in `bins`. */
struct heap {
    struct pool *pool;
    struct shard *shard; /* shard.h; NULL: none */
    larder_stream stream;
    struct block *unmapped; /* tree by address */
    struct bins *bins;
    struct fit *fit;
    size_t page_count;    /* in its paged segments, */
    uint64_t range_bytes; /* and their addresses */
    bool is_stocked;      /* stocked.h */
};

/* How many parts trim_age is measured in (trim_age.h). */
enum { TRIM_STEPS = 4 };

struct pool {
    struct heap **heaps; /* ascending streams */
    uint32_t heap_count;
    uint32_t heap_capacity;
    struct heap **stocked; /* those of them in stocked.h, ascending too */
    uint32_t stocked_count;
    struct heap *last_heap; /* the one asked for last */
    bool is_small;
    enum stats_pool stats;
    uint64_t searches;          /* for the age of free blocks; see gc.c */
    uint64_t marks[TRIM_STEPS]; /* what it was, for trim_age.c */
    struct private_pool *owner; /* NULL: a default pool */
};

/* POOL_LONG is for hinted requests of the policy larder (hint.h). */
enum pool_kind { POOL_SMALL, POOL_LARGE, POOL_LONG, POOL_KINDS };

/* What a private pool holds and hands out (usage.h). */
struct usage {
    uint64_t allocations;
    uint64_t allocated_bytes;
    uint64_t requested_bytes; /* of blocks handed out */
    uint64_t allocated_peak;
    uint64_t reserved_peak;
    uint64_t refused; /* requests of a tag, for its limit */
};

struct private_pool {
    larder_pool_id id;
    int users; /* 0: its memory may be released, and it goes with the last */
    struct pool pools[POOL_KINDS];
    uint16_t history_id; /* its number in the history; 0: none yet */
    struct holding holding;
    bool lends;                /* its free blocks, when memory runs out */
    uint64_t asleep_bytes;     /* of a region: committed, but without memory */
    bool is_captured;          /* requests of it were part of a capture */
    bool has_graph;            /* the same, as far as is seen: under debug:2 */
    bool is_lent;              /* its graphs do not run now (lend.h) */
    larder_stream lent_stream; /* on which they ran */
    bool is_kept_whole;        /* its blocks are never split */
    struct usage usage;
    struct tag *tag;       /* whose memory it is; NULL: a pool of the user's, */
    struct region *region; /* or a region's (region_pages.h) */
    struct route *route;   /* by which it is begun; NULL: it is not */
    size_t segment_count;  /* segments that are its */
    struct private_pool *prev; /* in the order they were made */
    struct private_pool *next;
    struct private_pool *unused_next; /* of those without users */
    struct private_pool *chained;     /* pool_index.h */
};

/* A pool allocations are routed to now. */
struct route {
    struct private_pool *to;
    larder_pool_filter *filter;
    void *ctx;
    struct route *prev; /* in the order they are asked */
    struct route *next;
};

enum segment_kind {
    SEGMENT_DRIVER,     /* one allocation of the driver */
    SEGMENT_CARVED,     /* a part of a reserved piece */
    SEGMENT_EXPANDABLE, /* a range of addresses that pages are mapped into */
    SEGMENT_PAGED       /* the same of the policy larder, whose pages move */
};

struct segment {
    larder_addr addr;
    uint64_t bytes; /* of addresses; an expandable one has fewer mapped */
    struct heap *heap;
    struct block *head; /* the block at addr, for the segment's whole life */
    enum segment_kind kind;
    bool is_asleep;       /* a region's: its live blocks have no pages */
    struct segment *prev; /* in the allocator's list */
    struct segment *next;

    union {
        struct { /* SEGMENT_CARVED */
            struct piece *piece;
            struct segment *piece_next; /* its next part, by address */
        };
        size_t page_count; /* SEGMENT_PAGED: pages there are */
    };

    /* SEGMENT_EXPANDABLE, SEGMENT_PAGED: the handle mapped at each page, 0:
     * none; of the latter, when each was last in use, NULL: unknown */
    uint64_t page_bytes;
    uint64_t *pages;
    uint32_t *stamps;

    /* Of a private pool: what blocks were handed out of to captures lies in
     * between; the same: nothing. */
    larder_addr graph_begin;
    larder_addr graph_end;

    struct paused *paused; /* NULL: it is not (pause.h) */
};

/* Memory of the device: a handle of some pages, mapped whole or not at all. */
struct physical {
    uint64_t handle;
    size_t pages;
};

/* Memory that the device refused to take back (orphan.h): a driver
 * allocation, or a page. */
struct orphan {
    larder_addr memory; /* 0: a page */
    uint64_t page;
    larder_addr mapped_at; /* of a page; 0: only to be released */
    uint64_t bytes;
};

/* Memory from larder_reserve() or preallocate:SIZE. */
struct piece {
    larder_addr addr;
    uint64_t bytes;
    struct segment *parts; /* by address; what lies between is free */
    struct piece *next;
};

/* A stream recorded for a block; once the block is freed, the event that
 * says the stream has passed. */
struct use {
    larder_stream stream;
    struct use *next;
    struct block *block; /* with an event */
    uint64_t event;
    bool captured; /* the end of a capture orders it: no event is needed */
    bool is_hold;  /* no stream but a hold (events.h), */
    bool is_held;  /* counted by its block, which was freed */
};

/* The events recorded on one stream, in order. */
struct event_queue {
    larder_stream stream;
    struct use *first;
    struct use *last;
};

struct events {
    struct event_queue *queues; /* ascending streams */
    uint32_t queue_count;
    uint32_t queue_capacity;
    uint64_t waiting; /* in all queues */
    uint64_t held;    /* holds that pending blocks count */
    struct use *free_uses;
    struct use_chunk *chunks;
    uint64_t *idle; /* events of the device, to be recorded again */
    size_t idle_count;
    size_t idle_capacity; /* never below the number of events made */
    size_t made;
    uint32_t deferred_first; /* blocks that wait for an event; 0: none */
    uint32_t deferred_last;
};

struct callback {
    void (*fn)(void); /* larder_reclaim_fn or larder_oom_fn */
    void *ctx;
};

struct callbacks {
    struct callback *list;
    uint32_t count;
    uint32_t capacity;
};

enum { SHARD_SLOTS_LOG2 = 8, SHARD_SLOTS = 1 << SHARD_SLOTS_LOG2 };

/* Shards of streams, and what one thread alone counts in all of them. */
struct shards {
    uint64_t max_bytes; /* what may be asked for there (fast.h); 0: nothing */
    uint32_t looks;     /* own_looks and patience, of tuning.h */
    uint32_t patience;
    bool has_waiting;             /* blocks wait for recorded streams */
    bool is_watching;             /* has_waiting, or there is a bell */
    const _Atomic uint32_t *bell; /* not 0 while others ask (peers.h); NULL:
                                     there are none */
    bool is_shared;               /* two threads have allocated or freed */
    uint8_t count;
    uintptr_t owner;   /* the thread, until there are two; 0: none yet */
    int64_t allowance; /* bytes a shard may count for itself */
    _Atomic(struct shard *) slots[SHARD_SLOTS]; /* by stream */
    struct shard *list[UINT8_MAX + 1];          /* by number, from 1 */
    struct tally tally;
};

/* Private pools, in the order they were made; tags' and regions' too. */
struct privates {
    struct private_pool *first;
    struct private_pool *last;
    struct private_pool *unused; /* without users, the first to lose them
                                    first */
    struct private_pool *unused_last;
    struct pool_index index; /* the user's */
    size_t regions;          /* how many are of regions */
};

/* Pools that allocations are routed to now, in the order they are asked. */
struct routes {
    struct route *first;
    struct route *last;
};

/* What trim_age has seen (trim_age.h). */
struct trim {
    struct trimmer *thread; /* NULL: trim_age was never set */
    int64_t activity;       /* allocations at the last look */
    uint32_t idle;          /* looks since that changed */
    uint32_t now;           /* looks there were */
};

/* What the device refused to take back (orphan.h). */
struct orphans {
    struct orphan *list;
    size_t count;
    size_t capacity; /* above the number of pages held */
};

/* Who names the frames of an interpreter, for the history. */
struct frame_namer {
    larder_frame_fn *fn; /* NULL: nobody */
    void *ctx;
};

/* dump_on_oom. */
struct dumps {
    uint64_t count; /* tried */
    uint64_t failed;
    bool is_under_way;
};

/* The public call under way, for the history: where it came from. */
struct history_call {
    const void *caller; /* it returns to; NULL: not known */
    uint32_t stack;     /* if captured */
    bool captured;
};

/* ERR_CORRUPT, with the words, if a rule is broken. */
typedef larder_result allocator_checker(struct allocator *a);

/* When the rules are walked on the way (audit.h). */
struct audit {
    allocator_checker *check; /* NULL: not yet */
    uint64_t calls;           /* since the last walk */
};

struct allocator {
    struct lock lock;
    larder_allocator *handle;
    bool owns_device;  /* it is closed with the allocator */
    bool preallocated; /* preallocate:SIZE was taken */
    const struct policy *policy;
    struct history *history; /* NULL: off; asked for at each call */
    struct history_call call;
    larder_device *device;
    larder_device_props props;
    struct conf conf;

    struct slab slab;
    struct map map;
    struct pool pools[POOL_KINDS];
    struct privates privates;
    struct routes routes;
    uint32_t captures; /* under way, by larder_capture_begin() */
    bool routes_lend;  /* all routes are to pools without graphs, that lend */
    struct segment *segments;
    struct piece *pieces;
    struct events events;
    struct stats stats;
    struct shards shards;

    uint64_t held_bytes;    /* from the device, without the context */
    struct account account; /* whose that is */
    uint64_t allowed_bytes; /* the most to hold; CONF_UNLIMITED: no limit */
    double fraction;        /* of the device's memory; part of allowed_bytes */
    bool fraction_is_set;   /* garbage is collected only then, as in PyTorch */

    struct tag *tags;
    uint32_t tag_frames; /* tags begun by any thread and not ended */

    bool has_pages; /* the device can map pages of 2 MiB */
    bool is_paged;  /* the larder policy on such a device */
    bool is_fast;   /* and settings that leave the fast path open (fast.h) */
    uint64_t small_max_bytes; /* of requests of the small pool, for good */
    uint64_t quiet_points;    /* begun and not ended (migrate.h) */
    struct larder *larder;    /* the policy's own; NULL: it is another */

    struct trim trim;
    struct orphans orphans;
    size_t page_count; /* held */

    struct peers *peers;          /* processes on the device; NULL: none */
    struct allocator *peers_next; /* of this process, on the same device */
    int64_t told_use;             /* bytes that others know are in use */
    const char *ledger_refusal;   /* what its ledger refused the request under
                                     way for; NULL: nothing */

    struct callbacks reclaims;
    struct callbacks oom_observers;

    struct frame_namer frames;
    struct dumps dumps;
#if LARDER_ASSERT_LEVEL > 1
    struct audit audit;
#endif

    struct debug *debug; /* of debug:2 and above (debug/debug.h); NULL: off */
    /* Let go of freed blocks that it keeps from reuse.  Whether there were any;
     * NULL: never. */
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

/* Whether nothing waits for a recorded stream. */
static inline bool events_are_idle(const struct events *e)
{
    return e->waiting == 0 && e->deferred_first == 0;
}

/* Whether its memory is given back for a while. */
static inline bool segment_is_paused(const struct segment *s)
{
    return s->paused != NULL || s->is_asleep;
}

/* What sizes are rounded up to.  Where segments are had as PyTorch has them,
 * so are the sizes. */
static inline uint32_t allocator_unit(const struct allocator *a)
{
    return a->is_paged || a->larder == NULL ? a->policy->unit_bytes
                                            : UNIT_BYTES;
}

/* Whether a stream may be captured now, so that no event is polled and nothing
 * released: PyTorch's "captures underway", for which its older releases take
 * any pool that is begun; but for those that lend under the policy larder. */
static inline bool allocator_is_capturing(const struct allocator *a)
{
    return a->captures > 0 || (a->routes.first != NULL && !a->routes_lend &&
                               !a->conf.rules->scope_is_no_capture);
}

#endif
