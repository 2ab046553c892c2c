/* reference_state.h - the model's state.  Private to reference*.c. */
#pragma once

#include "model/reference.h"

#define REF_KIB UINT64_C(1024)
#define REF_MIB (REF_KIB * 1024)

/* ---- settings ----------------------------------------------------------- */

enum { REF_SIZE_CLASSES = 16 }; /* of roundup_power2_divisions */

struct ref_conf {
    uint64_t max_split;     /* UINT64_MAX: unlimited */
    uint64_t max_rounding;  /* slack of an oversize block that is reused */
    uint64_t large_segment; /* also the page of large expandable segments */
    double gc_threshold;    /* 0: off */
    uint64_t divisions[REF_SIZE_CLASSES];
    bool expandable;
    double fraction; /* negative: not set */
};

void ref_conf_init(struct ref_conf *c);
/* Like each configuration of PyTorch, it first resets three keys to their
 * defaults. */
void ref_conf_apply(struct ref_conf *c, const char *text);
uint64_t ref_conf_round(const struct ref_conf *c, uint64_t bytes);
uint64_t ref_conf_segment_bytes(const struct ref_conf *c, uint64_t rounded);

/* ---- the device --------------------------------------------------------- */

struct ref_range {
    uint64_t addr;
    uint64_t bytes;
};

/* Ranges in address order. */
struct ref_space {
    uint64_t base;
    struct ref_range *ranges;
    size_t count;
    size_t capacity;
};

struct ref_device {
    uint64_t capacity;
    uint64_t used;
    struct ref_space memory;
    struct ref_space reserved;
};

void ref_device_init(struct ref_device *d, uint64_t capacity);
void ref_device_free(struct ref_device *d);
bool ref_device_alloc(struct ref_device *d, uint64_t bytes, uint64_t *out);
void ref_device_release(struct ref_device *d, uint64_t addr);
uint64_t ref_device_reserve(struct ref_device *d, uint64_t bytes);
void ref_device_unreserve(struct ref_device *d, uint64_t addr);
bool ref_device_take_pages(struct ref_device *d, uint64_t bytes);
void ref_device_return_pages(struct ref_device *d, uint64_t bytes);

/* ---- blocks ------------------------------------------------------------- */

struct ref_pool {
    bool is_small;
    uint64_t searches;           /* while garbage collection is on */
    struct ref_private *private; /* NULL: a default pool */
};

/* A set of streams, as bits. */
typedef uint64_t ref_streams;

struct ref_block {
    uint64_t addr;
    uint64_t bytes;
    uint64_t requested; /* of the last request */
    bool mapped;        /* false only for parts of expandable segments */
    bool allocated;
    unsigned events;          /* still outstanding */
    ref_streams uses;         /* recorded, without an event yet */
    ref_streams capture_uses; /* the part recorded while a pool was begun */
    uint64_t born;            /* pool->searches when it became free */
};

/* One driver allocation, or one reserved range with pages. */
struct ref_segment {
    struct ref_pool *pool;
    larder_stream stream;
    uint64_t addr;
    uint64_t bytes;
    uint64_t page;            /* 0: not expandable */
    struct ref_block *blocks; /* in address order, without gaps */
    size_t count;
    size_t capacity;
};

/* A block; valid until the next change of its segment. */
struct ref_place {
    struct ref_segment *segment; /* NULL: none */
    size_t index;
};

struct ref_private {
    larder_pool_id id;
    struct ref_pool small;
    struct ref_pool large;
    unsigned users;
    size_t segments;
};

struct ref_begun {
    struct ref_private *private;
    larder_pool_filter *filter;
    void *ctx;
};

struct ref_event {
    uint64_t addr; /* of the pending block */
    bool done;
};

struct ref_queue {
    struct ref_event *events;
    size_t count;
    size_t capacity;
};

enum { REF_PRIVATE_MAX = 64 };

struct reference {
    struct ref_conf conf;
    uint64_t first_max_split; /* as it began */
    struct ref_device device;
    bool immediate;
    struct ref_pool small;
    struct ref_pool large;
    struct ref_segment **segments; /* unordered */
    size_t segment_count;
    size_t segment_capacity;
    struct ref_private *privates[REF_PRIVATE_MAX];
    size_t private_count;
    struct ref_begun begun[REF_PRIVATE_MAX]; /* in the order of beginning */
    size_t begun_count;
    struct ref_queue queues[REFERENCE_STREAMS];
    uint64_t *deferred; /* addresses of blocks freed while a pool was begun */
    size_t deferred_count;
    size_t deferred_capacity;
    larder_stats stats;
};

/* A request, as the search sees it. */
struct ref_request {
    struct ref_pool *pool;
    larder_stream stream;
    uint64_t bytes;         /* rounded */
    uint64_t segment_bytes; /* size of the driver allocation it would need */
};

/* Grow an array to hold one more element. */
void *ref_grow(void *array, size_t count, size_t *capacity, size_t bytes);

static inline struct ref_block *ref_at(struct ref_place p)
{
    return &p.segment->blocks[p.index];
}

/* Neither allocated nor pending, mapped or not. */
bool ref_block_idle(const struct ref_block *b);
/* In PyTorch's free set. */
bool ref_block_free(const struct ref_block *b);
bool ref_segment_split(const struct ref_segment *s);

/* A segment of one block, mapped unless it has pages. */
struct ref_segment *ref_segment_add(struct reference *r,
                                    const struct ref_request *q, uint64_t addr,
                                    uint64_t bytes, uint64_t page);
void ref_segment_remove(struct reference *r, struct ref_segment *s);

/* Split a block: it keeps its first `bytes`; the rest is a copy of it. */
void ref_block_cut(struct ref_place p, uint64_t bytes);
/* Merge a block with its neighbour if both are idle and both are mapped or both
 * unmapped; the first one keeps all.  Returns the neighbour's bytes, otherwise
 * 0. */
uint64_t ref_block_absorb_next(struct ref_place p);
uint64_t ref_block_absorb_previous(struct ref_place *p);
/* Call when it becomes free: its age counts from here. */
void ref_block_born(struct ref_place p);

/* The block that begins at the address; segment NULL if there is none. */
struct ref_place ref_find(const struct reference *r, uint64_t addr);
/* The first free block of the pool and stream at or after (bytes, addr) in
 * the order of size, then address. */
struct ref_place ref_next_free(const struct reference *r,
                               const struct ref_pool *pool,
                               larder_stream stream, uint64_t bytes,
                               uint64_t addr);

/* Add to a statistic of a pool. */
void ref_count(larder_stat_split *s, const struct ref_pool *pool,
               int64_t amount);
void ref_count_one(larder_stat *s, int64_t amount);

/* ---- getting from the device and releasing ---------------------------- */

/* Get a block from the device; false: out of memory. */
bool ref_obtain(struct reference *r, const struct ref_request *q, bool retry,
                struct ref_place *out);
void ref_collect_garbage(struct reference *r);
bool ref_release_available(struct reference *r, const struct ref_request *q);
void ref_release_cached(struct reference *r);

/* ---- events ------------------------------------------------------------- */

/* Record events for the streams of this block. */
void ref_insert_events(struct reference *r, struct ref_place p);
void ref_process_events(struct reference *r);
void ref_synchronize_events(struct reference *r);
/* Return a block that nothing waits for to the free ones. */
void ref_block_release(struct reference *r, struct ref_place p);
