/* test_checkpoint.c - checkpointing keeps less memory and changes no result. */
#include "lab/device_log.h"
#include "lab/small_tensors.h"

/* A few times tanh, with a weight, like a segment of a model. */
struct segment {
    lab_tensor *w;
    int steps; /* 0: four */
    int runs, releases;
    bool fails, draws;
};

static larder_result step(struct segment *s, lab_tensor *in, lab_tensor **out)
{
    lab_tensor *product, *noise, *noisy;
    larder_result r = lab_mul(in, s->w, &product);

    if (r == LARDER_OK && s->draws) {
        r = lab_randn(lab_session(in), LAB_FLOAT32, LAB_DEVICE, lab_ndim(in),
                      lab_sizes(in), &noise);
        if (r == LARDER_OK) {
            r = lab_mul(product, noise, &noisy);
            lab_unref(noise);
        }
        lab_unref(product);
        if (r == LARDER_OK)
            product = noisy;
    }
    if (r != LARDER_OK)
        return r;
    r = lab_tanh(product, out);
    lab_unref(product);
    return r;
}

static larder_result run(void *context, lab_tensor *input, lab_tensor **out)
{
    struct segment *s = context;
    lab_tensor *at = lab_ref(input), *next;

    s->runs++;
    if (s->fails && s->runs > 1) {
        lab_unref(at);
        return LARDER_ERR_INVALID;
    }
    for (int i = 0; i < (s->steps != 0 ? s->steps : 4); i++) {
        larder_result r = step(s, at, &next);

        lab_unref(at);
        if (r != LARDER_OK)
            return r;
        at = next;
    }
    *out = at;
    return LARDER_OK;
}

static void release(void *context)
{
    ((struct segment *)context)->releases++;
}

static lab_tensor *input_of(lab *l)
{
    lab_tensor *x;
    const int64_t count = 1000;

    lab_assert_ok(lab_full(l, LAB_FLOAT32, LAB_DEVICE, 1, &count, 0.5, &x));
    lab_assert_ok(lab_set_requires_grad(x, true));
    return x;
}

/* The gradients of one run, which are dropped again; `kept`: storages alive
 * between forward and backward. */
static void gradients(lab *l, struct segment *s, lab_tensor *x, bool whole,
                      float *dx, float *dw, uint64_t *kept)
{
    lab_tensor *y, *sum;

    lab_seed(l, 5);
    lab_assert_ok(whole ? run(s, x, &y)
                        : lab_checkpoint(run, s, release, x, &y));
    lab_assert_ok(lab_sum(y, &sum));
    lab_unref(y);
    *kept = lab_rig_memory(l).tensors;
    lab_assert_ok(lab_backward(sum, NULL, false));
    lab_unref(sum);
    lab_assert_ok(lab_read(lab_grad(x), dx, 4000));
    lab_assert_ok(lab_read(lab_grad(s->w), dw, 4000));
    lab_assert_ok(lab_set_grad(x, NULL));
    lab_assert_ok(lab_set_grad(s->w, NULL));
}

static void compare(lab *l, bool draws)
{
    static float dx[2][1000], dw[2][1000];
    lab_tensor *x = input_of(l);
    struct segment s = {.w = input_of(l), .draws = draws};
    uint64_t whole, parts;

    gradients(l, &s, x, true, dx[0], dw[0], &whole);
    gradients(l, &s, x, false, dx[1], dw[1], &parts);
    assert_memory_equal(dx[0], dx[1], 4000);
    assert_memory_equal(dw[0], dw[1], 4000);
    assert_true(parts < whole);
    assert_int_equal(3, s.runs);
    assert_int_equal(1, s.releases);
    lab_unref(s.w);
    lab_unref(x);
}

static void gradients_are_the_same(void **state)
{
    compare(*state, false);
}

static void random_numbers_are_the_same_the_second_time(void **state)
{
    compare(*state, true);
}

static void only_the_input_is_kept(void **state)
{
    lab_tensor *x = input_of(*state), *y;
    struct segment s = {.w = input_of(*state)};

    log_start(*state);
    lab_assert_ok(lab_checkpoint(run, &s, release, x, &y));
    log_expect(*state, "+4000 +4000 -4000 +4000 +4000 -4000 -4000 "
                       "+4000 +4000 -4000 -4000 +4000 +4000 -4000 -4000");
    assert_string_equal("CheckpointFunctionBackward", lab_grad_fn_name(y));
    lab_unref(y);
    log_expect(*state, "-4000");
    assert_int_equal(1, s.releases);
    lab_unref(s.w);
    lab_unref(x);
}

/* A leaf outside and inside of a segment: two backward passes meet in it. */
static larder_result nested(void *context, lab_tensor *input, lab_tensor **out)
{
    return lab_checkpoint(run, context, NULL, input, out);
}

static void segments_nest_and_share_their_leaves(void **state)
{
    lab_tensor *x = input_of(*state), *y, *z, *sum;
    struct segment s = {.w = input_of(*state)};
    static float once[1000], twice[1000];
    uint64_t kept;

    gradients(*state, &s, x, true, twice, once, &kept);
    lab_assert_ok(lab_checkpoint(nested, &s, NULL, x, &y));
    lab_assert_ok(lab_add(y, s.w, &z));
    lab_assert_ok(lab_sum(z, &sum));
    lab_assert_ok(lab_backward(sum, NULL, false));
    for (int i = 0; i < 1000; i++)
        once[i] += 1;
    assert_elements("w", lab_grad(s.w), once, 1000);
    lab_unref(sum);
    lab_unref(z);
    lab_unref(y);
    lab_unref(s.w);
    lab_unref(x);
}

/* The leaf is also used before the segment: the outer pass waits for that while
 * the inner one adds gradients to it.  The log is PyTorch's. */
static void a_walk_in_a_walk_leaves_the_outer_alone(void **state)
{
    lab_tensor *x = input_of(*state), *p, *y, *sum;
    struct segment s = {.w = input_of(*state), .steps = 2};

    lab_assert_ok(lab_mul(x, s.w, &p));
    lab_assert_ok(lab_checkpoint(run, &s, NULL, p, &y));
    lab_unref(p);
    lab_assert_ok(lab_sum(y, &sum));
    lab_unref(y);
    log_start(*state);
    lab_assert_ok(lab_backward(sum, NULL, false));
    log_expect(*state, "+4000 +4000 -4000 +4000 +4000 -4000 "
                       "+4000 +4000 +4000 -4000 +4000 -4000 -4000 "
                       "+4000 +4000 -4000 +4000 -4000 -4000 -4000 -4000 "
                       "+4000 +4000 -4000 -4000");
    lab_unref(sum);
    lab_unref(s.w);
    lab_unref(x);
}

static void a_segment_that_fails_leaves_nothing_behind(void **state)
{
    lab_tensor *x = input_of(*state), *y, *sum;
    struct segment s = {.w = input_of(*state), .fails = true};

    lab_assert_ok(lab_checkpoint(run, &s, release, x, &y));
    lab_assert_ok(lab_sum(y, &sum));
    lab_unref(y);
    lab_assert_result(LARDER_ERR_INVALID, lab_backward(sum, NULL, false));
    assert_true(lab_grad_enabled(*state));
    lab_unref(sum);
    assert_int_equal(1, s.releases);
    lab_assert_result(LARDER_ERR_INVALID,
                      lab_checkpoint(run, &s, release, x, &y));
    assert_int_equal(2, s.releases);
    assert_int_equal(2, lab_rig_memory(*state).tensors);
    lab_unref(s.w);
    lab_unref(x);
}

static void an_input_without_gradient_makes_an_output_without(void **state)
{
    lab_tensor *x = zeros_of(*state, 1000), *y;
    struct segment s = {.w = input_of(*state)};

    lab_assert_ok(lab_checkpoint(run, &s, release, x, &y));
    assert_false(lab_requires_grad(y));
    assert_int_equal(1, s.releases);
    lab_unref(y);
    lab_unref(s.w);
    lab_unref(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_SMALL_SESSION(gradients_are_the_same),
        ON_SMALL_SESSION(random_numbers_are_the_same_the_second_time),
        ON_SMALL_SESSION(only_the_input_is_kept),
        ON_SMALL_SESSION(segments_nest_and_share_their_leaves),
        ON_SMALL_SESSION(a_walk_in_a_walk_leaves_the_outer_alone),
        ON_SMALL_SESSION(a_segment_that_fails_leaves_nothing_behind),
        ON_SMALL_SESSION(an_input_without_gradient_makes_an_output_without),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
