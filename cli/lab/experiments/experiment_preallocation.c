/* experiment_preallocation.c - experiment 2: preallocated memory, and the cost
 * of driver calls. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "experiment.h"

enum { X, PIECES /* and more */ };

static const int64_t square[] = {10000, 10000};

struct three_sizes {
    uint64_t made, deleted, emptied; /* MiB */
};

static bool three_steps(struct exp *e, const struct three_sizes *reserved)
{
    return exp_after(e, "at the start", EXP_RESERVED, 0) &&
           exp_randn(e, X, 2, square) &&
           exp_after(e, "x = randn(10000, 10000)", EXP_RESERVED,
                     reserved->made * MIB) &&
           exp_drop(e, X) &&
           exp_after(e, "del x", EXP_RESERVED, reserved->deleted * MIB) &&
           exp_empty_cache(e) &&
           exp_after(e, "empty_cache()", EXP_RESERVED, reserved->emptied * MIB);
}

/* ---- ten rounds ---- */

struct rounds {
    uint64_t allocations, frees, ns;
};

static bool ten_rounds(struct exp *e, larder_policy policy, struct rounds *out)
{
    const struct exp_device want = {.backing = "none", .policy = policy};
    larder_device_counters counters = {.size = sizeof counters};

    if (!exp_open(e, &want) || !exp_memory(e, &e->before))
        return false;
    for (int i = 0; i < 10; i++) {
        if (!exp_randn(e, X, 2, square))
            return false;
        exp_drop(e, X);
    }
    if (!exp_try_larder(
            e, larder_device_get_counters(lab_device(e->session), &counters)))
        return false;
    out->allocations = counters.calls[LARDER_CALL_mem_alloc];
    out->frees = counters.calls[LARDER_CALL_mem_free];
    out->ns = counters.time_ns;
    return true;
}

/* From the price table: 60 us for each call, and for an allocation 0.1 us for
 * each MiB beyond 2. */
enum { CALL_NS = 60000 };

static uint64_t alloc_ns(uint64_t bytes)
{
    return CALL_NS + (bytes - 2 * MIB) * 100 / MIB;
}

static bool rounds_checks(struct exp *e, const struct rounds *cached,
                          const struct rounds *direct)
{
    const uint64_t segment = 382 * MIB, tensor = 400000000;
    bool own_prices = strstr(e->spec, "costs=") != NULL;

    if (!exp_number(e, "driver allocations in ten rounds, cached", EXP_CALLS, 1,
                    cached->allocations) ||
        !exp_number(e, "driver frees in ten rounds, cached", EXP_CALLS, 0,
                    cached->frees) ||
        !exp_number(e, "driver allocations in ten rounds, direct", EXP_CALLS,
                    10, direct->allocations) ||
        !exp_number(e, "driver frees in ten rounds, direct", EXP_CALLS, 10,
                    direct->frees))
        return false;
    if (own_prices)
        return exp_yes(e, "the driver takes less time when memory is cached",
                       cached->ns < direct->ns);
    return exp_number(e, "estimated driver time, cached", EXP_NS,
                      alloc_ns(segment), cached->ns) &&
           exp_number(e, "estimated driver time, direct", EXP_NS,
                      10 * (alloc_ns(tensor) + CALL_NS), direct->ns);
}

static bool rounds(struct exp *e, struct rounds *cached, struct rounds *direct)
{
    return exp_heading(e, "Ten times `x = randn(10000, 10000); del x`, cached "
                          "and then under the policy direct, which makes a "
                          "driver call for each:") &&
           ten_rounds(e, 0, cached) &&
           exp_after(e, "ten rounds, cached", EXP_RESERVED, 382 * MIB) &&
           ten_rounds(e, LARDER_POLICY_DIRECT, direct) &&
           exp_after(e, "ten rounds, direct", EXP_RESERVED, 0) &&
           rounds_checks(e, cached, direct);
}

/* ---- finding fragments ------ */

static int add_free_bytes(void *context, const larder_segment_info *segment,
                          const larder_block_info *block)
{
    uint64_t *bytes = context;

    (void)segment;
    if (block->state == LARDER_BLOCK_FREE)
        *bytes += block->bytes;
    return 0;
}

static bool holes(struct exp *e)
{
    for (int i = 0; i < 5; i++) {
        if (!exp_bytes(e, PIECES + i, 4 * MIB))
            return false;
    }
    return exp_after(e, "five tensors of 4 MiB", EXP_RESERVED, 20 * MIB) &&
           exp_drop(e, PIECES + 1) && exp_drop(e, PIECES + 3) &&
           exp_after(e, "the 2nd and 4th deleted", EXP_ALLOCATED, 12 * MIB) &&
           exp_bytes(e, PIECES + 5, 8 * MIB) &&
           exp_after(e, "t = empty(8 MiB)", EXP_RESERVED, 40 * MIB) &&
           exp_empty_cache(e) &&
           exp_after(e, "empty_cache()", EXP_RESERVED, 40 * MIB);
}

static bool fragments(struct exp *e)
{
    uint64_t inside = 0;
    lab_memory m;

    return exp_open(e, NULL) &&
           exp_heading(
               e,
               "Fragments: five tensors in one segment of 20 MiB, "
               "two deleted, and one of 8 MiB that fits into neither gap:") &&
           holes(e) && exp_memory(e, &m) &&
           exp_try_larder(e, larder_walk(lab_allocator(e->session), NULL,
                                         add_free_bytes, &inside)) &&
           exp_number(e, "free blocks inside segments", EXP_BYTES, 20 * MIB,
                      inside) &&
           exp_number(e, "reserved and not allocated: the same bytes",
                      EXP_BYTES, inside,
                      m.reserved_bytes - m.allocated_bytes) &&
           exp_number(e, "what the device has lost: whole segments", EXP_BYTES,
                      m.reserved_bytes + m.context_bytes,
                      m.device_bytes - m.free_bytes);
}

static bool experiment_preallocation_run(struct exp *e)
{
    static const struct three_sizes plain = {382, 382, 0};
    static const struct three_sizes piece = {512, 512, 512};
    const struct exp_device preallocating = {.conf = "preallocate:512MiB"};
    struct rounds cached, direct;

    return exp_open(e, NULL) && three_steps(e, &plain) &&
           exp_heading(e, "The same with the setting preallocate:512MiB:") &&
           exp_open(e, &preallocating) && three_steps(e, &piece) &&
           rounds(e, &cached, &direct) && fragments(e) &&
           exp_verdict(e,
                       "Nothing is reserved in advance, and then only what is "
                       "needed, in steps of 2 MiB. Caching turns %" PRIu64
                       " driver calls into %" PRIu64
                       ", %.2f ms into %.2f ms. Fragments are free blocks "
                       "inside segments, which the driver knows nothing of.",
                       direct.allocations + direct.frees,
                       cached.allocations + cached.frees,
                       (double)direct.ns / 1e6, (double)cached.ns / 1e6);
}

const struct experiment experiment_preallocation = {
    .number = 2,
    .name = "preallocation",
    .title = "nothing is reserved in advance, and what caching saves",
    .text =
        "Does PyTorch reserve a large piece of memory when it starts? Reserved "
        "memory says no: 0 before the first tensor, 382 MiB for one of 400 000 "
        "000 bytes (381.5 MiB, rounded up to a multiple of 2 MiB), the same "
        "after it is deleted, 0 after empty_cache(). Sources that say 512 "
        "would be right if a piece of that size were reserved first; the "
        "setting preallocate:512MiB does so, and keeps it.\n\n"
        "Then the purpose of caching: the number of driver calls, and the time "
        "they would take according to the price table. And where fragmentation "
        "occurs: not in the device's memory, which is paged, but inside "
        "segments, whose free blocks neither the driver nor another process "
        "can use.",
    .run = experiment_preallocation_run,
};
