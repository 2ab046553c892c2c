/* made_plan.h - what a made-up program does, records and fails at, from a seed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/made_device.h"
#include "support/made_frames.h"

enum { LAYERS_MAX = 8, STEPS_MAX = 9 };

enum made_kind { TRAINING, INFERENCE, LAYERS, SOUP, STATE, KINDS };

enum made_marks { NO_MARKS, PROFILER, ITER, OTHER_MARKS, MARKS };

/* What the program writes into allocations. */
enum made_notes { NO_NOTES, STEP_NOTES, CATEGORIES, NOTES };

/* Why memory runs out, as far as the program can arrange it. */
enum made_failure {
    NO_FAILURE,
    TOO_MUCH,
    OTHER_STREAM,
    OTHER_POOL,
    WHILE_PENDING,
    OF_A_LIMIT,
    WITHOUT_A_FIGURE,
    FAILURES
};

struct made_plan {
    uint64_t seed;
    struct made_style style;
    enum made_kind kind;
    enum made_unwinding unwinding;
    enum made_marks marks;
    enum made_notes notes;
    enum made_failure failure;
    unsigned failures; /* how many */
    unsigned devices;
    unsigned layers;
    unsigned steps;
    unsigned streams;
    unsigned pools;
    unsigned library;
    uint64_t unit;
    unsigned odd_bytes; /* by which a request is smaller than its block */
    unsigned soup;      /* operations */
    unsigned cut;       /* events lost at the beginning, in percent */
    unsigned missing;   /* each so-manieth event has no stack; 0: none */
    bool leaks;
    bool grows;
    bool frees_late;
    bool defers; /* other streams use what is freed */
    bool empties_cache;
    bool goes_on; /* after the last failure */
    bool zeroes_grads;
};

struct made_plan made_plan_of(uint64_t seed);

/* The most of it, in a few words, which are valid until the next call. */
const char *made_plan_words(const struct made_plan *p);
