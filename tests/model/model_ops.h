/* model_ops.h - random operations on an allocator.  Each is valid whatever came
 * before it, so that any of them may be left out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    MODEL_SLOTS = 512,   /* allocations have numbers below this */
    MODEL_STREAMS = 6,   /* streams too */
    MODEL_POOLS = 6,     /* and private pools */
    MODEL_CONF_MAX = 256 /* bytes of a configuration's text */
};

enum model_kind {
    MODEL_ALLOC,    /* into a slot, if it is empty */
    MODEL_FREE,     /* the slot's allocation, if it has one */
    MODEL_FREE_BAD, /* the address the slot had before, if it is not live */
    MODEL_RECORD,
    MODEL_COMPLETE,
    MODEL_EMPTY_CACHE,
    MODEL_POOL_BEGIN,
    MODEL_POOL_END,
    MODEL_POOL_RELEASE,
    MODEL_CONFIGURE,
    MODEL_FRACTION,
    MODEL_RESET_PEAK,
    MODEL_RESET_ACCUMULATED,
    MODEL_KIND_COUNT
};

struct model_op {
    enum model_kind kind;
    unsigned slot;   /* or number of the pool */
    unsigned stream; /* BEGIN: set of streams, as bits */
    uint64_t value;  /* ALLOC: bytes; CONFIGURE: what makes the text;
                        FRACTION: percent */
};

/* xorshift64*: the same numbers everywhere. */
struct model_random {
    uint64_t state;
};

void model_random_init(struct model_random *r, uint64_t seed);
/* Below n; n > 0. */
uint64_t model_random_below(struct model_random *r, uint64_t n);
bool model_random_chance(struct model_random *r, unsigned percent);

/* The kind of program of a run, derived from its seed. */
struct model_plan {
    uint64_t seed;
    uint64_t capacity;
    uint64_t conf; /* determines the text of the first configuration */
    unsigned slots;
    unsigned streams;
    unsigned sizes; /* number of the mixture of sizes */
    unsigned record_percent;
    bool with_pools;
    bool with_configure;
    unsigned fill_percent;    /* share of slots in use; changes over time */
    bool in_use[MODEL_SLOTS]; /* as far as the generator knows */
    bool begun[MODEL_POOLS];
    bool held[MODEL_POOLS];
    struct model_random random;
};

void model_plan_init(struct model_plan *p, uint64_t seed);
struct model_op model_plan_next(struct model_plan *p);

/* The same text for the same value, always well formed. */
void model_conf_text(uint64_t value, char out[MODEL_CONF_MAX]);

/* One line, in the trace grammar as far as it covers the operation. */
void model_op_print(const struct model_op *op, FILE *out);
