/* experiment_loops.c - experiment 1, continued: reserved memory over the
 * batches of a training loop. */
#include <inttypes.h>

#include "experiment.h"
#include "experiment_models.h"

enum { EPOCHS = 3, BATCH = 128, BATCHES = TRAINING_ROWS / BATCH };

/* Results are computed, so there must be memory behind the addresses. */
static const struct exp_device computing = {.size = "1GiB",
                                            .backing = "memory"};

/* Figures recorded by the loops. */
struct course {
    uint64_t allocated;       /* after the third iteration */
    uint64_t settled;         /* reserved at that time */
    uint64_t lowest, highest; /* of reserved bytes afterwards */
    double first, last;       /* mean loss of the first and the last epoch */
};

static void course_add(struct course *c, int iteration, const lab_memory *m)
{
    uint64_t reserved = m->reserved_bytes;

    if (iteration == 3)
        c->allocated = m->allocated_bytes;
    if (iteration == 3)
        c->settled = c->lowest = c->highest = reserved;
    if (iteration <= 3)
        return;
    c->lowest = reserved < c->lowest ? reserved : c->lowest;
    c->highest = reserved > c->highest ? reserved : c->highest;
}

static bool iterate(struct exp *e, struct training *t, int iteration,
                    int64_t batch, struct course *c)
{
    lab_memory m;
    double loss;

    if (!training_step(e, t, batch) || !exp_memory(e, &m) ||
        !exp_try(e, lab_item(t->loss, &loss)))
        return false;
    course_add(c, iteration, &m);
    if (iteration <= BATCHES)
        c->first += loss / BATCHES;
    if (iteration > (EPOCHS - 1) * BATCHES)
        c->last += loss / BATCHES;
    if (iteration <= 3)
        return exp_step(e, "iteration %d, batch of %d", iteration, (int)batch);
    if (iteration % BATCHES == 0)
        return exp_step(e, "iteration %d, batch of %d", iteration, (int)batch);
    return true;
}

static bool course_checks(struct exp *e, const struct course *c)
{
    return exp_expect(e, EXP_ALLOCATED, c->allocated) &&
           exp_number(e, "lowest reserved after the third iteration", EXP_BYTES,
                      c->settled, c->lowest) &&
           exp_number(e, "highest reserved after the third iteration",
                      EXP_BYTES, c->settled, c->highest) &&
           exp_yes(e, "the model learns: its loss falls by at least a tenth",
                   c->last < c->first * 9 / 10);
}

/* Batches between 1 and 128 rows, from a fixed sequence; the largest is the
 * second, and the last as large as the third. */
static int64_t batch_of(int iteration)
{
    uint32_t x = (uint32_t)(iteration == EPOCHS * BATCHES ? 3 : iteration);

    x *= 2654435761u;
    return iteration == 2 ? BATCH : 1 + (int64_t)(x >> 16) % BATCH;
}

static bool loop(struct exp *e, bool varying, struct course *c)
{
    struct training t;
    bool done;

    *c = (struct course){0};
    if (!exp_open(e, &computing) || !training_begin(e, &t))
        return false;
    done = exp_step(e, "the model is created");
    for (int i = 1; done && i <= EPOCHS * BATCHES; i++)
        done = iterate(e, &t, i, varying ? batch_of(i) : BATCH, c);
    training_end(&t);
    return done;
}

static bool run_training_loop(struct exp *e)
{
    struct course c;

    return loop(e, false, &c) && exp_expect(e, EXP_RESERVED, 24 * MIB) &&
           course_checks(e, &c) &&
           exp_verdict(e,
                       "Reserved memory is the same from the third "
                       "iteration to the last, while the loss falls from "
                       "%.2f to %.2f: each batch reuses the memory of the "
                       "previous one.",
                       c.first, c.last);
}

const struct experiment experiment_training_loop = {
    .number = 1,
    .name = "training_loop",
    .title = "reserved memory stays constant over the batches",
    .text =
        "Linear(784, 512), ReLU, Linear(512, 256), ReLU, Linear(256, 10) is "
        "trained on 2048 rows for three epochs, 128 shuffled rows to a batch, "
        "by SGD with momentum. Every iteration creates dozens of tensors. Does "
        "memory grow?\n\n"
        "It does not. After the first iteration there are gradients, after "
        "it the optimizer's momentum; from then on every tensor takes the "
        "place of one from the previous iteration. (The values are computed, "
        "so this runs on a small device with memory, whatever --device says.)",
    .run = run_training_loop,
};

static bool run_varying_batches(struct exp *e)
{
    struct course c;

    return loop(e, true, &c) && course_checks(e, &c);
}

const struct experiment experiment_varying_batches = {
    .number = 1,
    .name = "varying_batches",
    .title = "the same with batches of varying size",
    .text = "The last batch of an epoch is often smaller, and sentences differ "
            "in length. Does a cache that reuses blocks by their size then "
            "keep one block for each size it has ever seen? Here each batch "
            "has a different number of rows, 1 to 128, the largest second.\n\n"
            "No: blocks are split and merged again.",
    .verdict = "Also constant once the largest batch has been seen: smaller "
               "tensors take parts of the blocks of larger ones.",
    .run = run_varying_batches,
};
