/* test_lifetimes.c - the lab repeats steps recorded from real PyTorch: every
 * device allocation and free above 512 bytes, in order.
 *
 * Smaller ones are left out, because the recordings were made on the CPU, where
 * scalars, counters and profiler marks are tensors of their own.  The other
 * differences are listed here and explained in docs/LAB.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/lab_rig.h"
#include "lab/models.h"
#include "trace/trace.h"
#include "support/read_file.h"

enum {
    SMALL_BYTES = 512,
    MOST = 4096,
    LABEL_MAX = 24,
};

/* The state of the CPU's random number generator, which a checkpoint keeps as a
 * tensor in host memory.  The lab keeps it in the graph. */
enum { RNG_STATE_BYTES = 5056 };

/* ---- steps, of a trace or of the lab -------------------------------------- */

enum what { MADE, FREED, MARKED };

struct step {
    enum what what;
    unsigned of; /* index of the tensor, counted from 0 */
    uint64_t bytes;
    char label[LABEL_MAX];
};

struct steps {
    struct step step[MOST];
    unsigned count, made, left_out;
    uint64_t live, peak;
    /* By id: the index of the tensor, from 1; 0: a small one. */
    unsigned by_id[MOST];
    bool ended;
};

static struct step *step_add(struct steps *s, enum what what)
{
    assert_in_range(s->count, 0, MOST - 1);
    s->step[s->count].what = what;
    return &s->step[s->count++];
}

static void steps_made(struct steps *s, uint64_t id, uint64_t bytes)
{
    struct step *step;

    assert_in_range(id, 0, MOST - 1);
    if (bytes <= SMALL_BYTES)
        return;
    step = step_add(s, MADE);
    step->of = s->made++;
    step->bytes = bytes;
    s->by_id[id] = s->made;
    s->live += bytes;
    if (s->live > s->peak)
        s->peak = s->live;
}

static void steps_freed(struct steps *s, uint64_t id, uint64_t bytes)
{
    struct step *step;

    assert_in_range(id, 0, MOST - 1);
    if (s->by_id[id] == 0)
        return;
    step = step_add(s, FREED);
    step->of = s->by_id[id] - 1;
    step->bytes = bytes;
    s->live -= bytes;
}

static void steps_marked(struct steps *s, const char *label)
{
    snprintf(step_add(s, MARKED)->label, LABEL_MAX, "%s", label);
}

/* ---- the recording -------------------------------------------------------- */

static void steps_from_op(struct steps *s, const struct trace *t,
                          const struct trace_op *op, uint64_t *bytes)
{
    switch (op->kind) {
    case TRACE_ALLOC:
        bytes[op->id] = op->bytes;
        if (op->bytes == RNG_STATE_BYTES)
            s->left_out++;
        else
            steps_made(s, op->id, op->bytes);
        break;
    case TRACE_FREE:
        steps_freed(s, op->id, bytes[op->id]);
        break;
    case TRACE_MARK:
        steps_marked(s, trace_label(t, op));
        break;
    default:
        fail_msg("the recording has an operation of another kind");
    }
}

static struct steps *steps_recorded(const char *name)
{
    struct steps *s = calloc(1, sizeof *s);
    static uint64_t bytes[MOST];
    struct tool_error error;
    struct trace t;
    char path[256];

    assert_non_null(s);
    snprintf(path, sizeof path,
             LARDER_SOURCE_DIR "/tests/data/traces/%s.trace.zst", name);
    if (!trace_read(path, &t, &error))
        fail_msg("%s", error.text);
    assert_in_range(t.id_count, 1, MOST);
    for (size_t i = 0; i < t.op_count; i++)
        steps_from_op(s, &t, &t.ops[i], bytes);
    trace_free(&t);
    return s;
}

/* ---- the lab -------------------------------------------------------------- */

static void observe(void *context, const lab_event *event)
{
    struct steps *s = context;

    if (s->ended)
        return;
    if (event->freed)
        steps_freed(s, event->id, event->bytes);
    else
        steps_made(s, event->id, event->bytes);
}

static void mark(void *context, const char *label)
{
    struct steps *s = context;

    if (label == NULL)
        s->ended = true;
    else
        steps_marked(s, label);
}

enum model { BACKWARD, RETAIN, MLP, BLOCK, BLOCK_CKPT };

static void model_run(enum model model, lab *l, struct steps *s)
{
    switch (model) {
    case BACKWARD:
    case RETAIN:
        model_backward(l, model == RETAIN, mark, s);
        break;
    case MLP:
        model_mlp(l, mark, s, NULL);
        break;
    default:
        model_blocks(l, model == BLOCK_CKPT, mark, s, NULL);
    }
}

static struct steps *steps_of_lab(enum model model, const char *device)
{
    struct steps *s = calloc(1, sizeof *s);
    lab *l = lab_rig_up(device);

    assert_non_null(s);
    lab_set_observer(l, observe, s);
    model_run(model, l, s);
    assert_int_equal(lab_rig_memory(l).tensors, 0);
    lab_assert_ok(lab_close(l));
    return s;
}

/* ---- comparing ------------------------------------------------------------ */

static const char *step_text(const struct step *step, char *to, size_t cap)
{
    if (step->what == MARKED)
        snprintf(to, cap, "mark %s", step->label);
    else
        snprintf(to, cap, "%s %u of %llu bytes",
                 step->what == MADE ? "make" : "free", step->of,
                 (unsigned long long)step->bytes);
    return to;
}

static bool step_same(const struct step *a, const struct step *b)
{
    return a->what == b->what && a->of == b->of && a->bytes == b->bytes &&
           strcmp(a->label, b->label) == 0;
}

/* Prints a few of the preceding steps, so that a failure can be understood. */
static void steps_differ(const struct steps *want, const struct steps *got,
                         unsigned at)
{
    char text[2][80];

    for (unsigned i = at > 6 ? at - 6 : 0; i < at + 6; i++)
        print_error(
            "  %4u  %-36s %s\n", i,
            i < want->count ? step_text(&want->step[i], text[0], sizeof text[0])
                            : "-",
            i < got->count ? step_text(&got->step[i], text[1], sizeof text[1])
                           : "-");
    fail_msg("step %u is not as recorded (left: recorded, right: lab)", at);
}

static void steps_compare(const struct steps *want, const struct steps *got)
{
    unsigned count = want->count > got->count ? want->count : got->count;

    for (unsigned i = 0; i < count; i++) {
        if (i >= want->count || i >= got->count ||
            !step_same(&want->step[i], &got->step[i]))
            steps_differ(want, got, i);
    }
}

/* Equal step by step except for `left_out` requests of the recording that are
 * not device memory; those are at most 2 %, and the peak is the same. */
static void compare(const char *name, enum model model, const char *device,
                    unsigned left_out, uint64_t peak)
{
    struct steps *want = steps_recorded(name);
    struct steps *got = steps_of_lab(model, device);

    steps_compare(want, got);
    assert_int_equal(want->left_out, left_out);
    assert_true(want->left_out * 50 <= want->made + want->left_out);
    assert_int_equal(got->peak, want->peak);
    assert_int_equal(got->peak, peak);
    print_message("%s: %u requests above %d bytes, %u differ; peak %.2f MiB\n",
                  name, want->made + want->left_out, SMALL_BYTES,
                  want->left_out, (double)got->peak / (double)MIB(1));
    free(want);
    free(got);
}

#define COMPUTING "sim:1GiB,backing=memory"
#define COUNTING "sim:1GiB,backing=none"

static void backward_is_as_recorded(void **state)
{
    (void)state;
    compare("lab_backward", BACKWARD, COMPUTING, 0, MIB(64));
    compare("lab_backward", BACKWARD, COUNTING, 0, MIB(64));
}

static void retained_gradient_is_as_recorded(void **state)
{
    (void)state;
    compare("lab_retain", RETAIN, COMPUTING, 0, MIB(80));
    compare("lab_retain", RETAIN, COUNTING, 0, MIB(80));
}

static void perceptron_is_as_recorded(void **state)
{
    (void)state;
    compare("lab_mlp", MLP, COMPUTING, 0, 7238656);
    compare("lab_mlp", MLP, COUNTING, 0, 7238656);
}

static void transformer_is_as_recorded(void **state)
{
    (void)state;
    compare("lab_block", BLOCK, COMPUTING, 0, 40991744);
    compare("lab_block", BLOCK, COUNTING, 0, 40991744);
}

static void checkpointed_transformer_is_as_recorded(void **state)
{
    (void)state;
    compare("lab_block_ckpt", BLOCK_CKPT, COMPUTING, 8, 35753984);
    compare("lab_block_ckpt", BLOCK_CKPT, COUNTING, 8, 35753984);
}

/* ---- the results ---------------------------------------------------------- */

static void mark_nothing(void *context, const char *label)
{
    (void)context;
    (void)label;
}

static void checkpointing_changes_no_number(void **state)
{
    double losses[2][2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        lab *l = lab_rig_up(COMPUTING);

        model_blocks(l, i == 1, mark_nothing, NULL, losses[i]);
        lab_assert_ok(lab_close(l));
    }
    assert_true(losses[0][0] > 0);
    assert_true(losses[0][0] == losses[1][0]);
    assert_true(losses[0][1] == losses[1][1]);
}

static void training_makes_the_loss_smaller(void **state)
{
    lab *l = lab_rig_up(COMPUTING);
    double losses[3];

    (void)state;
    model_mlp(l, mark_nothing, NULL, losses);
    assert_true(losses[1] < losses[0]);
    assert_true(losses[2] < losses[1]);
    lab_assert_ok(lab_close(l));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(backward_is_as_recorded),
        cmocka_unit_test(retained_gradient_is_as_recorded),
        cmocka_unit_test(perceptron_is_as_recorded),
        cmocka_unit_test(transformer_is_as_recorded),
        cmocka_unit_test(checkpointed_transformer_is_as_recorded),
        cmocka_unit_test(checkpointing_changes_no_number),
        cmocka_unit_test(training_makes_the_loss_smaller),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
