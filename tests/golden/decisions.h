/* decisions.h - random programs over the whole allocator, and what it decided:
 * results, driver calls, placements, statistics, accounts, history, words.
 *
 * A program is made from its number and repeats exactly: one thread, no clock
 * but the simulated one.  What it decided is a text of a few lines, in which
 * digests stand for what is long; with a log it also says each step, so that the
 * logs of two builds show where they part. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include <larder/device.h>
#include <larder/region.h>
#include <larder/share.h>

#include "support/digest.h"
#include "support/random.h"
#include "support/rig.h"

/* ---- what a program uses --------------------------------------------------- */

#define FEATURE_MAP(X)                                                         \
    X(hints)       /* lifetimes */                                             \
    X(streams)     /* recorded streams */                                      \
    X(pools)       /* private pools */                                         \
    X(lending)     /* which lend */                                            \
    X(capture)     /* captured streams */                                      \
    X(checkpoints) /* pools restored */                                        \
    X(tags)        /* paused and resumed */                                    \
    X(regions)                                                                 \
    X(migrate)   /* live memory moves */                                       \
    X(limits)    /* of owners and of everything */                             \
    X(minimums)  /* kept for owners */                                         \
    X(releases)  /* the cache emptied and trimmed */                           \
    X(pieces)    /* reserved */                                                \
    X(callbacks) /* on reclaim and on failures */                              \
    X(settings)  /* changed on the way */                                      \
    X(faults)    /* driver calls that fail */                                  \
    X(hostless)  /* requests for host memory that fail */                      \
    X(history)                                                                 \
    X(exports)                                                                 \
    X(company) /* another allocator on the device */                           \
    X(pinned)  /* page-locked host memory */                                   \
    X(misuse)  /* calls that are refused */                                    \
    X(debug)   /* debug:2, 3 */

enum feature {
#define X(name) FEATURE_##name,
    FEATURE_MAP(X)
#undef X
        FEATURE_COUNT
};
#define ALWAYS 0u
#define BIT(feature) (1u << (feature))

struct plan {
    unsigned number;
    unsigned features; /* BIT() of each */
    larder_policy policy;
    uint64_t device_bytes;
    int steps;
    uint64_t seed;
    char spec[128];
    char conf[256];
};

void plan_make(struct plan *plan, unsigned number);
static inline bool plan_has(const struct plan *plan, enum feature feature)
{
    return (plan->features & BIT(feature)) != 0;
}

/* ---- what it decided -------------------------------------------------------- */

#define DIGEST_MAP(X)                                                          \
    X(driver) /* calls with their arguments, in order */                       \
    X(placed) /* addresses handed out */                                       \
    X(blocks) /* segments and blocks */                                        \
    X(statistics)                                                              \
    X(account)  /* who holds what */                                           \
    X(owners)   /* pools, tags, regions */                                     \
    X(events)   /* the history */                                              \
    X(snapshot) /* as JSON */                                                  \
    X(words)    /* messages of failed calls */

enum digest {
#define X(name) DIGEST_##name,
    DIGEST_MAP(X)
#undef X
        DIGEST_COUNT
};

/* ---- a running program -------------------------------------------------------- */

enum {
    STREAMS = 5,
    SLOTS = 160,
    SIZES = 10,
    POOLS = 3,
    TAGS = 3,
    REGIONS = 2,
    REGION_PAGES = 14,
    CHECKPOINTS = 2,
    EXPORTS = 2,
    OTHERS = 8,
    PINS = 24,
    RESULTS = 32,
    LOOK_EVERY = 24 /* steps */
};

struct slot {
    larder_addr addr; /* 0: empty */
    uint64_t bytes;
};

struct pool {
    larder_pool_id id;
    int users;
    bool is_begun;
    unsigned streams; /* that use it */
};

struct world {
    struct plan plan;
    struct rig rig;
    larder_allocator *other; /* of company */
    larder_allocator *pinned;
    larder_addr first; /* the device's regions */
    larder_addr second;
    FILE *log;    /* NULL: none */
    FILE *driver; /* writes the driver's calls to `calls` */
    char *calls;
    size_t calls_length;
    size_t calls_mixed; /* as far as they were read */
    uint64_t seed;
    int step;
    uint64_t live_bytes;
    uint64_t wanted_bytes; /* live: as many as there is room for, roughly */
    uint64_t sizes[SIZES]; /* most requests have one of these */
    struct slot slots[SLOTS];
    struct slot others[OTHERS];
    void *pins[PINS];
    struct pool pools[POOLS];
    larder_checkpoint *checkpoints[CHECKPOINTS];
    larder_region *regions[REGIONS];
    larder_export *exports[EXPORTS];
    int tags_begun;
    int others_begun; /* tags of the other allocator */
    int migrating;
    int captured; /* the stream; -1: none */
    int annotated;
    larder_stats stats; /* at the end */
    uint64_t results[RESULTS];
    uint64_t digests[DIGEST_COUNT];
};

/* Below `end`.  At most once in an expression whose order is open. */
static inline uint64_t draw(struct world *w, uint64_t end)
{
    return random_u64(&w->seed, end);
}

static inline bool chance(struct world *w, uint64_t in)
{
    return draw(w, in) == 0;
}

void mix(struct world *w, enum digest digest, uint64_t value);
/* Addresses of the device, which are not the same in each run, are counted from
 * where its regions begin, also in words. */
uint64_t place_of(const struct world *w, larder_addr addr);
void mix_words(struct world *w, enum digest digest, const char *words);

/* Say in the log what is done, and then how it ended. */
void step_says(struct world *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool step_ends(struct world *w, larder_result r);
/* Whatever the message. */
bool step_ends_silently(struct world *w, larder_result r);
/* Whether the call succeeded. */
#define CALL(w, expression) step_ends((w), (expression))

/* ---- operations ------------------------------------------------------------------ */

struct operation {
    const char *name;
    unsigned weight;
    unsigned needs; /* BIT() of a feature, or ALWAYS */
    void (*take)(struct world *w);
};

#define OPERATION_MAP(X)                                                       \
    X(allocate, 200, ALWAYS)                                                   \
    X(free, 60, ALWAYS)                                                        \
    X(sweep, 2, ALWAYS)                                                        \
    X(complete, 20, ALWAYS)                                                    \
    X(ask, 4, ALWAYS)                                                          \
    X(reset, 1, ALWAYS)                                                        \
    X(allocate_hinted, 80, BIT(FEATURE_hints))                                 \
    X(record, 60, BIT(FEATURE_streams))                                        \
    X(migrate, 10, BIT(FEATURE_migrate))                                       \
    X(guard, 2, BIT(FEATURE_migrate))                                          \
    X(empty_cache, 4, BIT(FEATURE_releases))                                   \
    X(trim, 8, BIT(FEATURE_releases))                                          \
    X(reserve, 2, BIT(FEATURE_pieces))                                         \
    X(limit, 8, BIT(FEATURE_limits))                                           \
    X(minimum, 8, BIT(FEATURE_minimums))                                       \
    X(configure, 8, BIT(FEATURE_settings))                                     \
    X(fault, 60, BIT(FEATURE_faults))                                          \
    X(host_fault, 12, BIT(FEATURE_hostless))                                   \
    X(misuse, 8, BIT(FEATURE_misuse))                                          \
    X(company, 20, BIT(FEATURE_company))                                       \
    X(pool_begin, 20, BIT(FEATURE_pools))                                      \
    X(pool_end, 20, BIT(FEATURE_pools))                                        \
    X(pool_release, 6, BIT(FEATURE_pools))                                     \
    X(pool_whole, 2, BIT(FEATURE_pools))                                       \
    X(pool_lending, 6, BIT(FEATURE_lending))                                   \
    X(pool_lend, 10, BIT(FEATURE_lending))                                     \
    X(pool_recall, 6, BIT(FEATURE_lending))                                    \
    X(capture, 12, BIT(FEATURE_capture))                                       \
    X(checkpoint, 8, BIT(FEATURE_checkpoints))                                 \
    X(restore, 8, BIT(FEATURE_checkpoints))                                    \
    X(tag_begin, 25, BIT(FEATURE_tags))                                        \
    X(tag_end, 25, BIT(FEATURE_tags))                                          \
    X(tag_pause, 12, BIT(FEATURE_tags))                                        \
    X(tag_resume, 14, BIT(FEATURE_tags))                                       \
    X(region_create, 10, BIT(FEATURE_regions))                                 \
    X(region_destroy, 3, BIT(FEATURE_regions))                                 \
    X(region_commit, 50, BIT(FEATURE_regions))                                 \
    X(region_decommit, 35, BIT(FEATURE_regions))                               \
    X(region_record, 10, BIT(FEATURE_regions))                                 \
    X(region_trim, 4, BIT(FEATURE_regions))                                    \
    X(region_pause, 8, BIT(FEATURE_regions))                                   \
    X(region_resume, 10, BIT(FEATURE_regions))                                 \
    X(annotate, 20, BIT(FEATURE_history))                                      \
    X(mark, 4, BIT(FEATURE_history))                                           \
    X(export_open, 10, BIT(FEATURE_exports))                                   \
    X(export_send, 6, BIT(FEATURE_exports))                                    \
    X(export_close, 10, BIT(FEATURE_exports))                                  \
    X(pin, 40, BIT(FEATURE_pinned))                                            \
    X(pin_record, 10, BIT(FEATURE_pinned))                                     \
    X(pin_release, 4, BIT(FEATURE_pinned))

#define X(name, weight, needs) void op_##name(struct world *w);
OPERATION_MAP(X)
#undef X

/* Shared by several of them. */
larder_stream draw_stream(struct world *w);
uint64_t draw_size(struct world *w);
uint64_t draw_wanted(struct world *w);
/* A live allocation; NULL: the slot drawn is empty. */
struct slot *draw_live(struct world *w);
/* Where to keep a new one: an empty slot, else one whose memory is freed. */
struct slot *draw_empty(struct world *w);
void slot_free(struct world *w, struct slot *slot);
/* An address is live, or no longer. */
void slot_gone(struct world *w, larder_addr addr);
const char *tag_name(uint64_t number);
/* End what the program has begun, so that all can be freed. */
void owners_end(struct world *w);
/* Parts of it. */
void capture_end(struct world *w);
void pools_end(struct world *w);
void regions_end(struct world *w);
void faults_end(struct world *w);

/* Pinned memory of the device is where it is in every run. */
void host_begin(struct world *w);
void host_end(void);

/* ---- looking ---------------------------------------------------------------------- */

/* Mix all that can be asked into the digests, and check the allocator. */
void look(struct world *w);
void look_at_history(struct world *w);
void history_begin(struct world *w);

/* ---- a whole program ---------------------------------------------------------------- */

/* Run it; the caller frees the text.  `log` may be NULL. */
char *program_run(unsigned number, FILE *log);
