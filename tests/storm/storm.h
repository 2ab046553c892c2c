/* storm.h - shared by the parts of test_api_storm: a random program over the
 * whole public interface, and a model of what it must find.
 *
 * The model knows three things of each allocation: where it is, what queued
 * kernels write to it, and which of those have not run yet.
 *
 *   contents  Kernels write a pattern and others, queued later, look for it.
 *   overlap   What is allocated overlaps nothing that is live or exported.
 *   order     What is allocated on a stream overlaps no freed memory for which
 *             kernels are still queued on another stream.
 *
 * A run is made from its seed: the device, the policy, the settings, the
 * features used (groups) and the operations.  With one thread it repeats
 * exactly, and each step draws from a seed of its own, so that steps can be
 * left out without changing the others. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <larder/account.h>
#include <larder/hint.h>
#include <larder/history.h>
#include <larder/larder.h>
#include <larder/migrate.h>
#include <larder/pinned.h>
#include <larder/region.h>
#include <larder/share.h>
#include <larder/sim.h>
#include <larder/tag.h>

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)

enum {
    STREAMS = 6,
    THREADS_MAX = 4,
    BLOCKS = 2048, /* live, or freed with kernels still queued */
    LIVE_MAX = 120,
    REGIONS = 4, /* one for each thread */
    REGION_PAGES = 14,
    TAGS = 4, /* one for each thread */
    POOLS = 4,
    EXPORTS = 4,
    CHECKPOINTS = 3,
    LOST = 8,
    OPERATIONS = 96,
    STEPS_MAX = 1 << 16
};

/* ---- features -------------------------------------------------------------- */

/* A run uses some of them; --only and --without leave out others. */
#define STORM_GROUP_MAP(X)                                                     \
    X(use)      /* kernels on other streams, recorded */                       \
    X(pool)     /* private pools */                                            \
    X(lend)     /* lent to other streams */                                    \
    X(capture)  /* streams captured meanwhile */                               \
    X(tag)      /* tags, paused and resumed */                                 \
    X(region)   /* regions */                                                  \
    X(share)    /* exports, imports */                                         \
    X(pinned)   /* page-locked host memory */                                  \
    X(migrate)  /* live memory moves */                                        \
    X(reserve)  /* pieces */                                                   \
    X(hint)     /* lifetimes */                                                \
    X(release)  /* cached memory released */                                   \
    X(minimum)  /* kept for owners */                                          \
    X(limit)    /* of owners and of everything */                              \
    X(setting)  /* changed on the way */                                       \
    X(look)     /* calls that change nothing */                                \
    X(callback) /* requests that call back, and what that calls */             \
    X(history)  /* recorded */                                                 \
    X(misuse)   /* calls that are refused */                                   \
    X(debug)    /* debug:1 to 3 */                                             \
    X(odd)      /* parameters of the policy larder, any value */               \
    X(fault)    /* driver calls and requests for host memory fail */           \
    X(threads)  /* more than one */                                            \
    X(ordering) /* the model's check of order: without it, only contents */

enum storm_group {
#define X(name) GROUP_##name,
    STORM_GROUP_MAP(X)
#undef X
        GROUP_COUNT
};
#define ALWAYS 0u
#define BIT(group) (1u << (group))

/* ---- a run's configuration --------------------------------------------------- */

struct plan {
    uint64_t seed;
    unsigned groups; /* BIT() of each */
    int threads;
    long steps; /* of each thread */
    larder_policy policy;
    bool is_manual; /* waiting for a stream runs nothing */
    uint64_t device_bytes;
    char spec[128];
    char conf[256];
};

/* Some of the allowed groups, and all that are forced. */
void plan_make(struct plan *plan, uint64_t seed, unsigned allowed,
               unsigned forced);
static inline bool plan_has(const struct plan *plan, enum storm_group group)
{
    return (plan->groups & BIT(group)) != 0;
}

/* ---- the model --------------------------------------------------------------- */

enum block_state {
    BLOCK_NONE,
    BLOCK_LIVE,
    BLOCK_HELD, /* freed, but exported */
    BLOCK_GONE  /* freed; kernels may be queued */
};

enum block_kind { KIND_PLAIN = 1, KIND_REGION = 2, KIND_PINNED = 4 };

struct block {
    enum block_state state;
    bool is_leaving; /* between block_leave() and block_left() */
    enum block_kind kind;
    int owner; /* the thread that may use it */
    larder_addr addr;
    uint64_t bytes;
    larder_stream stream;
    uint64_t value; /* of its contents when all kernels have run; 0: unknown */
    int tag;        /* -1: none */
    int pool;       /* -1: the default ones */
    int exports;
    unsigned recorded;           /* 1 << stream */
    _Atomic int queued[STREAMS]; /* kernels that have not run */
};

struct pool {
    larder_pool_id id;
    int users;
    bool is_begun;
    bool has_lent; /* some of its memory may be the default pools' */
    unsigned streams;
};

struct region {
    larder_region *handle; /* NULL: none */
    char name[8];
    larder_addr addr;
    larder_stream stream;
    bool is_paused;
    bool keeps;
    struct block *pages[REGION_PAGES]; /* NULL: not committed */
};

struct tag {
    bool exists;
    bool is_paused;
};

struct export
{
    larder_export *handle;
    struct block *block;
};

struct place {
    larder_addr addr;
    uint64_t bytes;
    larder_stream stream;
};

struct checkpoint {
    larder_checkpoint *handle;
    int pool;
    size_t count;
    struct place blocks[LIVE_MAX];
};

struct world {
    struct plan plan;
    larder_device *dev;
    larder_allocator *a;
    larder_allocator *pinned; /* NULL: not used */
    pthread_rwlock_t turn;    /* written by operations that run alone */
    pthread_mutex_t lock;     /* of the model */
    struct block blocks[BLOCKS];
    struct pool pools[POOLS];
    struct region regions[REGIONS];
    struct tag tags[TAGS];
    struct export exports[EXPORTS];
    struct checkpoint checkpoints[CHECKPOINTS];
    struct place lost[LOST]; /* unmapped by a move that could not be undone */
    uint64_t next_value;
    _Atomic int live; /* read without the lock */
    int begun;        /* pools */
    int captured;     /* the stream; -1: none */
    bool reserved;    /* a piece was acquired */
    /* A failure during a capture could not be undone, which unmaps: those
     * addresses are in the way in this capture, and in later ones unless a call
     * between them wanted them. */
    _Atomic bool is_blocked;
    bool has_abandoned; /* an import failed, and undoing it too: it leaks */
    bool is_listening;  /* callbacks were added */
    /* 1 << call of the driver, by operation: which calls were observed. */
    _Atomic unsigned seen[OPERATIONS];
    _Atomic bool
        settling; /* a failed call is to be followed by a look at all */
};

/* What the parent reads when a run fails. */
struct verdict {
    _Atomic int is_failed;
    _Atomic long step;
    char operation[32];
    char text[2048];
};
extern struct verdict *verdict;
extern bool storm_trace;

/* ---- a thread ----------------------------------------------------------------- */

struct fault {
    bool is_host;
    larder_call calls[2]; /* LARDER_CALL_COUNT: none */
    uint64_t nth[2];
    uint64_t times;
    larder_result with;
};

struct worker {
    struct world *w;
    int number;
    pthread_t thread;
    uint64_t random;
    long step;
    size_t operation; /* its number */
    bool has_fault;
    struct fault fault;
    int depth;      /* of calls: one within a callback is not the first */
    bool is_called; /* in a callback */
    bool has_begun_tag;
    larder_device_counters before; /* the call */
};

uint64_t draw(struct worker *me, uint64_t end); /* below end */
static inline bool chance(struct worker *me, uint64_t in)
{
    return draw(me, in) == 0;
}
static inline larder_stream draw_stream(struct worker *me)
{
    return draw(me, STREAMS);
}

/* The run has failed; only the first failure counts. */
void storm_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline bool storm_failed(void)
{
    return atomic_load(&verdict->is_failed) != 0;
}
void storm_note(const struct worker *me, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- calls ----------------------------------------------------------------------- */

#define MAY(name) (1u << LARDER_ERR_##name)

void fault_draw(struct worker *me);
/* Around what a callback does: the call that it is called by goes on. */
void fault_pause(const struct worker *me);
void fault_resume(const struct worker *me);
/* Callbacks in this thread are this worker's. */
void callbacks_begin(struct worker *me);

/* The result must be OK, one of `may`, or what an injected fault explains. */
void call_begin(struct worker *me);
larder_result call_end(struct worker *me, larder_result r, unsigned may,
                       const char *call);
#define CALL(me, may, expression)                                              \
    (call_begin(me), call_end((me), (expression), (may), #expression))

/* ---- blocks ------------------------------------------------------------------------ */

/* A block that was just allocated: checks overlap and order, fills it. */
struct block *block_add(struct worker *me, const struct block *like);
/* Before memory is freed: another thread may get it at once. */
void block_leave(struct worker *me, struct block *b);
/* After that; if it was not freed, the block is live again. */
void block_left(struct worker *me, struct block *b, bool is_freed);
/* A random live block of the thread; NULL: none.  kinds: KIND_... */
struct block *block_pick(struct worker *me, unsigned kinds);
/* Another thread's from now on. */
void block_give(struct worker *me, struct block *b, int owner);
/* False while its memory is known to be away. */
bool block_is_usable(const struct world *w, const struct block *b);
/* Freed or not: everything queued for it has run. */
bool block_is_idle(const struct block *b);

/* Queue kernels. */
void kernel_write(struct worker *me, struct block *b, larder_stream stream);
void kernel_look(struct worker *me, struct block *b, larder_stream stream);
/* `then` goes on when `first` has come this far. */
void stream_follow(struct worker *me, larder_stream first, larder_stream then);
void stream_complete(struct worker *me, larder_stream stream);
void streams_complete(struct worker *me);
/* By the host, now. */
void contents_look(const struct block *b, larder_addr addr, const char *why);

/* Everything is where and what the model says.  Alone. */
void world_settle(struct worker *me);
void world_audit(struct worker *me);
/* A failed move left memory unmapped. */
void world_note_lost(struct worker *me);
bool world_is_lost(const struct world *w, larder_addr addr, uint64_t bytes);

bool world_up(struct world *w, const struct plan *plan);
void world_down(struct worker *me);

/* ---- operations ------------------------------------------------------------------------ */

struct operation {
    const char *name;
    unsigned weight;
    unsigned needs;  /* BIT() of a group, or ALWAYS */
    bool runs_alone; /* no other thread is in an operation */
    void (*take)(struct worker *me);
};
extern const struct operation storm_operations[];
extern const size_t storm_operation_count;

/* As often as the run's taste has it. */
const struct operation *draw_operation(struct worker *me);

/* A size of any order of magnitude. */
uint64_t draw_bytes(struct worker *me);

#define STORM_OPERATIONS(X)                                                    \
    X(allocate, 80, ALWAYS, false)                                             \
    X(free, 60, ALWAYS, false)                                                 \
    X(rewrite, 25, ALWAYS, false)                                              \
    X(look_at, 20, ALWAYS, false)                                              \
    X(complete, 25, ALWAYS, false)                                             \
    X(wait, 10, ALWAYS, false)                                                 \
    X(give, 10, BIT(GROUP_threads), false)                                     \
    X(audit, 6, ALWAYS, true)                                                  \
    X(settle, 4, ALWAYS, true)                                                 \
    X(use_elsewhere, 40, BIT(GROUP_use), false)                                \
    X(allocate_hinted, 60, BIT(GROUP_hint), false)                             \
    X(empty_cache, 15, BIT(GROUP_release), false)                              \
    X(trim, 12, BIT(GROUP_release), false)                                     \
    X(reserve, 4, BIT(GROUP_reserve), false)                                   \
    X(migrate, 25, BIT(GROUP_migrate), true)                                   \
    X(guard, 4, BIT(GROUP_migrate), true)                                      \
    X(pool_begin, 20, BIT(GROUP_pool), true)                                   \
    X(pool_end, 20, BIT(GROUP_pool), true)                                     \
    X(pool_release, 8, BIT(GROUP_pool), true)                                  \
    X(pool_set, 10, BIT(GROUP_pool), true)                                     \
    X(pool_minimum, 8, BIT(GROUP_minimum), true)                               \
    X(pool_lend, 15, BIT(GROUP_lend), true)                                    \
    X(pool_recall, 10, BIT(GROUP_lend), true)                                  \
    X(checkpoint, 10, BIT(GROUP_pool), true)                                   \
    X(restore, 8, BIT(GROUP_pool), true)                                       \
    X(capture, 12, BIT(GROUP_capture), true)                                   \
    X(tag_allocate, 40, BIT(GROUP_tag), false)                                 \
    X(tag_pause, 20, BIT(GROUP_tag), false)                                    \
    X(tag_resume, 25, BIT(GROUP_tag), false)                                   \
    X(tag_limit, 4, BIT(GROUP_limit), false)                                   \
    X(tag_minimum, 4, BIT(GROUP_minimum), false)                               \
    X(region_create, 15, BIT(GROUP_region), false)                             \
    X(region_destroy, 6, BIT(GROUP_region), false)                             \
    X(region_commit, 60, BIT(GROUP_region), false)                             \
    X(region_decommit, 45, BIT(GROUP_region), false)                           \
    X(region_use, 20, BIT(GROUP_region), false)                                \
    X(region_pause, 25, BIT(GROUP_region), false)                              \
    X(region_resume, 15, BIT(GROUP_region), false)                             \
    X(region_trim, 5, BIT(GROUP_region), false)                                \
    X(region_bounds, 8, BIT(GROUP_region), false)                              \
    X(export_open, 20, BIT(GROUP_share), true)                                 \
    X(import, 20, BIT(GROUP_share), true)                                      \
    X(export_close, 15, BIT(GROUP_share), true)                                \
    X(pinned_allocate, 60, BIT(GROUP_pinned), false)                           \
    X(pinned_free, 40, BIT(GROUP_pinned), false)                               \
    X(pinned_look, 8, BIT(GROUP_pinned), false)                                \
    X(host_memory, 8, BIT(GROUP_pinned), false)                                \
    X(listen, 4, BIT(GROUP_callback), true)                                    \
    X(pinned_other, 8, BIT(GROUP_pinned), true)                                \
    X(configure, 12, BIT(GROUP_setting), true)                                 \
    X(fraction, 4, BIT(GROUP_limit), true)                                     \
    X(cache_bounds, 6, BIT(GROUP_limit), true)                                 \
    X(statistics, 6, BIT(GROUP_look), false)                                   \
    X(account, 6, BIT(GROUP_look), false)                                      \
    X(walk, 4, BIT(GROUP_look), false)                                         \
    X(device_look, 4, BIT(GROUP_look), false)                                  \
    X(words, 2, BIT(GROUP_look), false)                                        \
    X(history, 6, BIT(GROUP_history), true)                                    \
    X(annotate, 10, BIT(GROUP_history), false)                                 \
    X(snapshot, 2, BIT(GROUP_history), false)                                  \
    X(misuse, 12, BIT(GROUP_misuse), true)

#define X(name, weight, needs, alone) void op_##name(struct worker *me);
STORM_OPERATIONS(X)
#undef X
