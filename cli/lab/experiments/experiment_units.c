/* experiment_units.c - experiment 4: the smallest allocation units, and what
 * they cost. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment.h"

enum { T };

#define MEBI (INT64_C(1) << 20)

/* Steps that the verdict refers to. */
#define FIVE_HUNDRED "4 Mi tensors of 516 bytes"
#define FOUR_BYTES "8 Mi tensors of 4 bytes"
#define ABOVE_MEBI "2048 tensors of 1 MiB + 4 bytes"

/* 4.5 GiB; allocations are counted and never written. */
static const struct exp_device device = {
    .size = "4608MiB", .context = "0", .backing = "none"};

/* ---- very many tensors ---- */

struct crowd {
    lab_tensor **tensors;
    int64_t count, room;
};

static bool crowd_init(struct exp *e, struct crowd *c, int64_t room)
{
    *c = (struct crowd){.room = room};
    c->tensors = malloc((size_t)room * sizeof(lab_tensor *));
    return c->tensors != NULL || exp_fail(e, "no host memory");
}

static void crowd_drop(struct crowd *c)
{
    for (int64_t i = 0; i < c->count; i++)
        lab_unref(c->tensors[i]);
    free(c->tensors);
    *c = (struct crowd){0};
}

/* Grow until there are `room` tensors, or the device is full. */
static larder_result crowd_grow(struct exp *e, struct crowd *c, uint64_t bytes)
{
    const int64_t size = (int64_t)(bytes / sizeof(float));
    larder_result r = LARDER_OK;

    while (r == LARDER_OK && c->count < c->room) {
        r = lab_randn(e->session, LAB_FLOAT32, LAB_DEVICE, 1, &size,
                      &c->tensors[c->count]);
        if (r == LARDER_OK)
            c->count++;
    }
    return r;
}

static bool requested_is(struct exp *e, const char *what, uint64_t bytes)
{
    lab_memory m;

    return exp_memory(e, &m) &&
           exp_number(e, what, EXP_BYTES, bytes, m.requested_bytes);
}

/* ---- cases, each on its own device ----------------------- */

static bool one_tensor(struct exp *e)
{
    return exp_open(e, &device) &&
           exp_refused(e, "a request for 5 GiB fails", 5 * GIB) &&
           exp_step(e, "t = empty(5 GiB)  # %s", exp_outcome(e)) &&
           exp_expect(e, EXP_RESERVED, 0) && exp_bytes(e, T, 4 * GIB) &&
           exp_after(e, "t = empty(4 GiB)", EXP_RESERVED, 4 * GIB);
}

/* The 508 bytes behind each tensor of 516 cannot be used by others. */
static bool then_four_bytes(struct exp *e, struct crowd *little)
{
    larder_result r = crowd_grow(e, little, 4);
    lab_memory m;

    if (r != LARDER_OK && r != LARDER_ERR_OUT_OF_MEMORY)
        return exp_try(e, r);
    return exp_after(e, "then up to 2 Mi of 4 bytes", EXP_ALLOCATED,
                     4608 * MIB) &&
           exp_expect(e, EXP_RESERVED, 4608 * MIB) &&
           exp_yes(e, "in the end a tensor of 4 bytes fails",
                   r == LARDER_ERR_OUT_OF_MEMORY) &&
           exp_number(e, "number that fitted: units of 512 bytes in 512 MiB",
                      EXP_TENSORS, (uint64_t)MEBI, (uint64_t)little->count) &&
           exp_memory(e, &m) &&
           exp_number(e, "reserved but not allocated", EXP_BYTES, 0,
                      m.reserved_bytes - m.allocated_bytes);
}

static bool unfilled(struct exp *e)
{
    struct crowd many = {0}, little = {0};
    bool done;

    done = exp_open(e, &device) && crowd_init(e, &many, 4 * MEBI) &&
           crowd_init(e, &little, 2 * MEBI) &&
           exp_try(e, crowd_grow(e, &many, 516)) &&
           exp_after(e, FIVE_HUNDRED, EXP_ALLOCATED, 4 * GIB) &&
           exp_expect(e, EXP_RESERVED, 4 * GIB) &&
           requested_is(e, "requested, of the 4 GiB (2.0156 GiB)",
                        4 * MIB * 516) &&
           exp_refused(e, "then a request for 1 GiB fails", GIB) &&
           exp_step(e, "then empty(1 GiB)  # %s", exp_outcome(e)) &&
           then_four_bytes(e, &little);
    crowd_drop(&many);
    crowd_drop(&little);
    return done;
}

static bool four_bytes(struct exp *e)
{
    struct crowd many = {0};
    bool done;

    done = exp_open(e, &device) && crowd_init(e, &many, 8 * MEBI) &&
           exp_try(e, crowd_grow(e, &many, 4)) &&
           exp_after(e, FOUR_BYTES, EXP_ALLOCATED, 4 * GIB) &&
           requested_is(e, "requested, of the 4 GiB", 32 * MIB);
    crowd_drop(&many);
    return done;
}

struct mebis {
    uint64_t bytes, reserved_mib, segments;
    const char *statement;
};

static bool mebibyte_tensors(struct exp *e, const struct mebis *mebis)
{
    struct crowd many = {0};
    larder_stats stats;
    bool done;

    larder_stats_init(&stats);
    done = exp_open(e, &device) && crowd_init(e, &many, 2048) &&
           exp_try(e, crowd_grow(e, &many, mebis->bytes)) &&
           exp_after(e, mebis->statement, EXP_RESERVED,
                     mebis->reserved_mib * MIB) &&
           exp_try_larder(
               e, larder_stats_get(lab_allocator(e->session), &stats)) &&
           exp_number(e, mebis->statement, EXP_SEGMENTS, mebis->segments,
                      (uint64_t)stats.segment.all.current);
    crowd_drop(&many);
    return done;
}

static bool all_cases(struct exp *e)
{
    static const struct mebis exact = {2 * MIB, 4100, 205,
                                       "2048 tensors of 2 MiB"};
    static const struct mebis above = {MIB + 4, 2160, 108, ABOVE_MEBI};

    return one_tensor(e) && unfilled(e) && four_bytes(e) &&
           mebibyte_tensors(e, &exact) && mebibyte_tensors(e, &above);
}

/* The expectations are PyTorch's; other policies are shown for comparison. */
static bool other_policies(struct exp *e)
{
    larder_policy asked = e->policy;
    bool done = true;
    int p = LARDER_POLICY_DIRECT + 1;

    for (; done && larder_policy_name((larder_policy)p)[0] != '?'; p++) {
        if ((larder_policy)p == asked)
            continue;
        e->policy = (larder_policy)p;
        done = exp_heading(e, "The same under the policy %s:",
                           larder_policy_name(e->policy)) &&
               all_cases(e);
    }
    e->policy = asked;
    return done;
}

/* What a step had under the last policy shown, which is larder. */
static uint64_t seen_last(const struct exp *e, const char *statement,
                          enum exp_figure figure)
{
    for (size_t i = e->step_count; i-- > 0;) {
        if (strcmp(e->steps[i].statement, statement) == 0)
            return exp_figure_of(&e->steps[i].memory, figure) / MIB;
    }
    return 0;
}

static bool conclude(struct exp *e)
{
    return exp_verdict(
        e,
        "The unit is 512 bytes: a tensor of 516 takes two units and one of 4 "
        "takes one. Segments are 2 MiB for requests of up to 1 MiB, 20 MiB for "
        "requests of less than 10 MiB, and are reserved whole, even if they "
        "are not filled. Under the "
        "policy larder the unit is 256: the 4 Mi tensors of 516 bytes take "
        "%" PRIu64 " MiB and the 1 GiB after them %s; 8 Mi of 4 bytes take "
        "%" PRIu64 ", and 2048 of 1 MiB + 4 bytes reserve %" PRIu64 ".",
        seen_last(e, FIVE_HUNDRED, EXP_ALLOCATED),
        e->refused ? "does not fit" : "fits",
        seen_last(e, FOUR_BYTES, EXP_ALLOCATED),
        seen_last(e, ABOVE_MEBI, EXP_RESERVED));
}

static bool experiment_units_run(struct exp *e)
{
    if (!all_cases(e))
        return false;
    e->only_shown = true;
    return other_policies(e) && conclude(e);
}

const struct experiment experiment_units = {
    .number = 4,
    .name = "units",
    .title = "the smallest units, and the memory lost to rounding",
    .text = "A device with 4.5 GiB free. 5 GiB do not fit, 4 GiB do. But a "
            "tensor takes more than it requests: requests are rounded up to "
            "512 bytes, so 4 Mi tensors of 516 bytes take 4 GiB for 2.0156 GiB "
            "requested. Then 1 GiB does not fit, and only as many tensors of 4 "
            "bytes as the last 512 MiB have units: none is placed in the 508 "
            "bytes that each of the others leaves unused.\n\n"
            "Segments are the second unit. A segment of 20 MiB holds ten "
            "tensors of 2 MiB, so 2048 of them need 205 segments, the last one "
            "nearly empty. Of tensors of 1 MiB + 4 bytes it holds nineteen, "
            "since 20 do not fit.\n\n"
            "These tensors have no memory behind them (backing=none): nothing "
            "here depends on their contents.",
    .run = experiment_units_run,
};
