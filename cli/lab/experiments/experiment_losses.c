/* experiment_losses.c - experiment 1, continued: a training loop that keeps
 * every loss. */
#include <inttypes.h>
#include <stdlib.h>

#include "experiment.h"
#include "experiment_models.h"

enum {
    BATCH = 128,
    SEGMENT_LOSSES = 4096, /* 512 bytes each fill 2 MiB */
    ITERATIONS = 4 * SEGMENT_LOSSES,
    SETTLED = 3 /* by then gradients and momentum exist */
};

struct growth {
    uint64_t allocated; /* after iteration SETTLED */
    uint64_t reserved;  /* after the last one seen */
    int last;           /* iteration with the last growth; 0: none yet */
    /* Between two growths: */
    uint64_t shortest, longest; /* iterations */
    uint64_t min, max;          /* bytes */
};

static void widen(uint64_t *low, uint64_t *high, uint64_t x)
{
    if (*high == 0 || x < *low)
        *low = x;
    if (x > *high)
        *high = x;
}

static void growth_add(struct growth *g, int iteration, const lab_memory *m)
{
    uint64_t more = m->reserved_bytes - g->reserved;

    g->reserved = m->reserved_bytes;
    if (iteration == SETTLED)
        g->allocated = m->allocated_bytes;
    if (iteration <= SETTLED || more == 0)
        return;
    widen(&g->min, &g->max, more);
    if (g->last != 0)
        widen(&g->shortest, &g->longest, (uint64_t)(iteration - g->last));
    g->last = iteration;
}

static bool iterate(struct exp *e, struct training *t, lab_tensor **kept,
                    struct growth *g)
{
    lab_memory m;

    for (int i = 1; i <= ITERATIONS; i++) {
        if (!training_step(e, t, BATCH) || !exp_memory(e, &m))
            return false;
        kept[i - 1] = lab_ref(t->loss);
        growth_add(g, i, &m);
        if ((i == 1 || i == SETTLED || i % SEGMENT_LOSSES == 0) &&
            !exp_step(e, "iteration %d", i))
            return false;
    }
    return exp_memory(e, &m) &&
           exp_number(e,
                      "allocated grew in the 16381 iterations after the "
                      "third by 512 bytes each",
                      EXP_BYTES, (ITERATIONS - SETTLED) * UINT64_C(512),
                      m.allocated_bytes - g->allocated);
}

static bool keep(struct exp *e, lab_tensor **kept, struct growth *g)
{
    const struct exp_device counting = {.size = "1GiB", .backing = "none"};
    struct training t;
    bool done;

    if (!exp_open(e, &counting) || !training_begin(e, &t))
        return false;
    done = exp_step(e, "the model is created") && iterate(e, &t, kept, g);
    training_end(&t);
    return done;
}

static bool growth_checks(struct exp *e, const struct growth *g)
{
    return exp_number(e, "each growth of reserved is at least", EXP_BYTES,
                      2 * MIB, g->min) &&
           exp_number(e, "and by at most", EXP_BYTES, 2 * MIB, g->max) &&
           exp_number(e, "iterations between two growths, at least",
                      EXP_ITERATIONS, SEGMENT_LOSSES, g->shortest) &&
           exp_number(e, "and at most", EXP_ITERATIONS, SEGMENT_LOSSES,
                      g->longest);
}

static bool experiment_losses_run(struct exp *e)
{
    lab_tensor **kept = calloc(ITERATIONS, sizeof(lab_tensor *));
    struct growth g = {0};
    bool done;

    if (kept == NULL)
        return exp_fail(e, "no host memory");
    done = keep(e, kept, &g) && growth_checks(e, &g);
    for (int i = 0; i < ITERATIONS; i++)
        lab_unref(kept[i]);
    free(kept);
    return done;
}

const struct experiment experiment_keeping_losses = {
    .number = 1,
    .name = "keeping_losses",
    .title = "keeping every loss keeps 512 bytes of device memory",
    .text =
        "The same loop, but with `losses.append(loss)`, to plot a curve later. "
        "A loss is a tensor of 4 bytes on the device, and a tensor takes at "
        "least 512 bytes there. A segment of small tensors is 2 MiB and "
        "holds 4096 such losses. So allocated memory grows at every "
        "iteration, but what nvidia-smi shows grows by 2 MiB every 4096 "
        "iterations, which is easily overlooked.\n\n"
        "There are 16384 iterations here, without values (backing=none): "
        "nothing depends on them.",
    .verdict = "Memory leaks slowly: 512 bytes per iteration, which "
               "reserved memory shows only every 4096 iterations. "
               "`losses.append(loss.item())` keeps a number instead "
               "of a tensor.",
    .run = experiment_losses_run,
};
