/* experiment_reuse.c - experiment 1, continued: which free block is used, and
 * how often empty_cache() must be called. */
#include <stdio.h>

#include "experiment.h"

/* ---- best fit ---- */

/* Blocks of these sizes in MiB are freed in this order; each is a whole
 * segment. */
enum { BLOCKS = 4 };
static const uint64_t block_mib[BLOCKS] = {64, 36, 48, 40};

struct question {
    uint64_t mib;
    int answer; /* the block that must be used */
};

static bool make_and_free(struct exp *e, uint64_t address[BLOCKS])
{
    for (int i = 0; i < BLOCKS; i++) {
        if (!exp_bytes(e, i, block_mib[i] * MIB))
            return false;
        address[i] = lab_address(e->t[i]);
    }
    for (int i = 0; i < BLOCKS; i++)
        exp_drop(e, i);
    return exp_after(e, "64, 36, 48, 40 MiB created and freed", EXP_RESERVED,
                     188 * MIB);
}

static bool ask(struct exp *e, const struct question *q,
                const uint64_t address[BLOCKS])
{
    char what[96];

    snprintf(what, sizeof what, "%d MiB are placed where the %d MiB were",
             (int)q->mib, (int)block_mib[q->answer]);
    return exp_bytes(e, BLOCKS, q->mib * MIB) &&
           exp_step(e, "t = empty(%d MiB)", (int)q->mib) &&
           exp_expect(e, EXP_RESERVED, 188 * MIB) &&
           exp_yes(e, what, lab_address(e->t[BLOCKS]) == address[q->answer]) &&
           exp_drop(e, BLOCKS);
}

static bool run_best_fit(struct exp *e)
{
    /* First-in-first-out would use 64 each time; last-in-first-out 40, or the
     * last that is large enough. */
    static const struct question questions[] = {
        {36, 1}, {38, 3}, {42, 2}, {50, 0}, {34, 1}};
    uint64_t address[BLOCKS];

    if (!exp_open(e, NULL) || !make_and_free(e, address))
        return false;
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        if (!ask(e, &questions[i], address))
            return false;
    }
    return true;
}

const struct experiment experiment_best_fit = {
    .number = 1,
    .name = "best_fit",
    .title = "which free block is reused: the best fitting, not the oldest",
    .text =
        "Some sources say that cached memory is reused first in, first out. "
        "Four tensors are freed, the largest first. If the oldest block were "
        "reused, every request below would be placed where the 64 MiB were; if "
        "the youngest, where the 40 MiB were whenever it fits. The addresses "
        "show that the smallest block that is large enough is reused.",
    .verdict = "The smallest free block that is large enough is "
               "reused, no matter when it was freed: best fit.",
    .run = run_best_fit,
};

/* ---- empty_cache, once ---- */

enum { TENSORS = 12 };

static bool make_many(struct exp *e)
{
    static const uint64_t kib[TENSORS] = {
        1, 300, 700, 1024, 1500, 4096, 9000, 12288, 20480, 65536, 131072, 3};

    for (int i = 0; i < TENSORS; i++) {
        if (!exp_bytes(e, i, kib[i] * KIB))
            return false;
    }
    return exp_step(e, "12 tensors created");
}

/* The remaining ones pin a segment of each kind. */
static bool free_most(struct exp *e)
{
    for (int i = 0; i < TENSORS; i++) {
        if (i != 0 && i != 4 && i != 10)
            exp_drop(e, i);
    }
    return exp_step(e, "9 of them freed");
}

static bool empty_twice(struct exp *e, const char *first, uint64_t expected)
{
    lab_memory once;

    return exp_empty_cache(e) && exp_memory(e, &once) &&
           exp_after(e, first, EXP_RESERVED, expected) && exp_empty_cache(e) &&
           exp_after(e, "empty_cache()  # once more", EXP_RESERVED,
                     once.reserved_bytes);
}

static bool run_one_empty_cache(struct exp *e)
{
    if (!exp_open(e, NULL) || !make_many(e) || !free_most(e) ||
        !empty_twice(e, "empty_cache()", (2 + 20 + 128) * MIB))
        return false;
    for (int i = 0; i < TENSORS; i++)
        exp_drop(e, i);
    return exp_step(e, "the rest freed") && empty_twice(e, "empty_cache()", 0);
}

const struct experiment experiment_one_empty_cache = {
    .number = 1,
    .name = "one_empty_cache",
    .title = "one call of empty_cache() is enough",
    .text =
        "Some programs call empty_cache() two or three times in a row, to be "
        "sure. The first call releases all segments that contain no tensors. A "
        "segment with one small tensor in it stays, however often it is "
        "called; and so do tensors that a variable still refers to.",
    .verdict = "One call releases every segment without tensors; a "
               "second one finds nothing to release. What stays "
               "reserved is pinned by live tensors.",
    .run = run_one_empty_cache,
};
