/* experiment_checkpointing.c - experiment 5: the peak memory of training a
 * small transformer, with and without activation checkpointing. */
#include <inttypes.h>
#include <stdio.h>

#include "experiment.h"
#include "experiment_models.h"
#include "lab_try.h"

enum {
    WIDTH = 256,
    HEADS = 4,
    POSITIONS = 64,
    BLOCKS_MAX = 12,
    UNIT = 512 /* smaller tensors, scalars, do not count */
};

struct transformer {
    int count;
    struct block blocks[BLOCKS_MAX];
    lab_optimizer *optimizer;
};

/* The peak of tensors above 512 bytes. */
struct meter {
    uint64_t now, peak;
};

static void meter_event(void *context, const lab_event *event)
{
    uint64_t bytes = (event->bytes + UNIT - 1) / UNIT * UNIT;
    struct meter *meter = context;

    if (event->bytes <= UNIT)
        return;
    if (event->freed)
        meter->now -= bytes;
    else
        meter->now += bytes;
    meter->peak = meter->now > meter->peak ? meter->now : meter->peak;
}

/* ---- the model ---- */

static void transformer_drop(struct transformer *m)
{
    lab_optimizer_destroy(m->optimizer);
    for (int i = 0; i < m->count; i++)
        block_drop(&m->blocks[i]);
    *m = (struct transformer){0};
}

static bool transformer_create(struct exp *e, int count, struct transformer *m)
{
    lab_tensor *all[BLOCKS_MAX * BLOCK_PARAMETERS];
    lab_optimizer_options opt;
    int n = 0;

    for (; m->count < count; m->count++) {
        struct block *b = &m->blocks[m->count];

        if (!exp_try(e, block_create(e->session, WIDTH, HEADS, b)))
            return false;
        for (int i = 0; i < BLOCK_PARAMETERS; i++)
            all[n++] = b->parameter[i];
    }
    lab_optimizer_options_init(&opt);
    opt.lr = 1e-3;
    return exp_try(e, lab_optimizer_create(e->session, LAB_ADAMW, &opt, all, n,
                                           &m->optimizer));
}

/* *h = each block of it, dropping the previous value. */
static larder_result through_blocks(struct transformer *m, bool checkpoint,
                                    lab_tensor **h)
{
    for (int i = 0; i < m->count; i++) {
        struct block *b = &m->blocks[i];

        LAB_REBIND(h, checkpoint
                          ? lab_checkpoint(block_forward, b, NULL, *h, &made)
                          : block_forward(b, *h, &made));
    }
    return LARDER_OK;
}

static larder_result loss_of(lab_tensor *h, lab_tensor **out)
{
    LAB_OWNED lab_tensor *square = NULL;

    LAB_TRY(lab_mul(h, h, &square));
    return lab_mean(square, out);
}

static larder_result forward_and_back(lab *l, struct transformer *m,
                                      int64_t batch, bool checkpoint)
{
    const int64_t sizes[] = {batch, POSITIONS, WIDTH};
    LAB_OWNED lab_tensor *h = NULL, *loss = NULL;

    LAB_TRY(lab_randn(l, LAB_FLOAT32, LAB_DEVICE, 3, sizes, &h));
    if (checkpoint)
        LAB_TRY(lab_set_requires_grad(h, true));
    LAB_TRY(lab_optimizer_zero_grad(m->optimizer, true));
    LAB_TRY(through_blocks(m, checkpoint, &h));
    LAB_TRY(loss_of(h, &loss));
    return lab_backward(loss, NULL, false);
}

static larder_result train_step(lab *l, struct transformer *m, int64_t batch,
                                bool checkpoint)
{
    LAB_TRY(forward_and_back(l, m, batch, checkpoint));
    return lab_optimizer_step(m->optimizer);
}

/* ---- the measurements ---- */

struct shape {
    int blocks;
    int64_t batch;
};

static bool train(struct exp *e, const struct shape *shape, bool checkpoint)
{
    struct transformer m = {0};
    bool done = transformer_create(e, shape->blocks, &m);

    for (int i = 0; done && i < 2; i++)
        done = exp_try(e, train_step(e->session, &m, shape->batch, checkpoint));
    if (done)
        done = exp_step(e, "%d blocks, batch of %d, 2 steps%s", shape->blocks,
                        (int)shape->batch, checkpoint ? ", checkpointed" : "");
    transformer_drop(&m);
    return done;
}

static bool peak_of(struct exp *e, const struct shape *shape, bool checkpoint,
                    uint64_t *peak)
{
    const struct exp_device counting = {.backing = "none"};
    struct meter meter = {0};
    bool done;

    if (!exp_open(e, &counting))
        return false;
    lab_set_observer(e->session, meter_event, &meter);
    done = train(e, shape, checkpoint);
    lab_set_observer(e->session, NULL, NULL);
    *peak = meter.peak;
    return done;
}

static bool experiment_checkpointing_run(struct exp *e)
{
    static const struct shape small = {2, 8}, deep = {BLOCKS_MAX, 32};
    /* Recorded from the same program in PyTorch. */
    const uint64_t whole = 40991744, parts = 35753984;
    uint64_t peaks[4];

    return peak_of(e, &small, false, &peaks[0]) &&
           exp_number(e, "peak of 2 blocks, in tensors above 512 bytes",
                      EXP_BYTES, whole, peaks[0]) &&
           peak_of(e, &small, true, &peaks[1]) &&
           exp_number(e, "the same, with checkpointing", EXP_BYTES, parts,
                      peaks[1]) &&
           peak_of(e, &deep, false, &peaks[2]) &&
           peak_of(e, &deep, true, &peaks[3]) &&
           exp_yes(e, "with 12 blocks the peak is less than half",
                   peaks[3] < peaks[2] / 2) &&
           exp_verdict(
               e,
               "The peaks are those of PyTorch, to the byte. Checkpointing "
               "reduces %.1f MiB to %.1f with two blocks, where most of it is "
               "weights, and %.0f MiB to %.0f with twelve.",
               (double)peaks[0] / (double)MIB, (double)peaks[1] / (double)MIB,
               (double)peaks[2] / (double)MIB, (double)peaks[3] / (double)MIB);
}

const struct experiment experiment_checkpointing = {
    .number = 5,
    .name = "checkpointing",
    .title = "the peak of a small transformer, with and without",
    .text =
        "What a forward pass saves for the backward pass grows with every "
        "block. With checkpointing a block saves only its input, and is run "
        "again in the backward pass: this trades time for memory.\n\n"
        "Two training steps of two pre-norm transformer blocks (width 256, 4 "
        "heads, 64 positions, batch of 8), the loss the mean of squares, "
        "AdamW. The peaks expected were recorded from PyTorch, in tensors of "
        "more than 512 bytes (below that, its recording includes scalars in "
        "host memory). Then twelve blocks and a batch of 32, where "
        "checkpointing pays off. Nothing is computed (backing=none).",
    .run = experiment_checkpointing_run,
};
