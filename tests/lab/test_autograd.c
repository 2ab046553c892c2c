/* test_autograd.c - what backward computes, in which order, and which memory it
 * keeps: the logs are PyTorch's for the same statements. */
#include "lab/device_log.h"
#include "lab/small_tensors.h"

#include "tensor/host_memory.h"

/* The same number a thousand times. */
static const float *all(float number)
{
    static float numbers[1000];

    for (int i = 0; i < 1000; i++)
        numbers[i] = number;
    return numbers;
}

/* ---- owners of gradients ------------------------------------------------ */

static void the_first_gradient_is_taken_over_the_next_added(void **state)
{
    lab_tensor *x = zeros_leaf(*state, 1000), *y = twice(x);

    log_start(*state);
    backward_from_sum(y);
    log_expect(*state, "+4000");
    lab_unref(y);
    y = twice(x);
    log_start(*state);
    backward_from_sum(y);
    log_expect(*state, "+4000 -4000");
    assert_elements("gradient", lab_grad(x), all(4), 1000);
    lab_unref(y);
    lab_unref(x);
}

static void an_expanded_gradient_is_copied(void **state)
{
    lab_tensor *x = zeros_leaf(*state, 1000);

    log_start(*state);
    backward_from_sum(x);
    log_expect(*state, "+4000");
    assert_true(lab_is_contiguous(lab_grad(x)));
    lab_unref(x);
}

static void a_gradient_of_two_leaves_is_copied_for_one(void **state)
{
    lab_tensor *x = zeros_leaf(*state, 1000), *y = zeros_leaf(*state, 1000);
    lab_tensor *sum, *z;

    lab_assert_ok(lab_add(x, y, &sum));
    z = twice(sum);
    lab_unref(sum);
    log_start(*state);
    backward_from_sum(z);
    log_expect(*state, "+4000 +4000");
    assert_true(lab_storage_id(lab_grad(x)) != lab_storage_id(lab_grad(y)));
    lab_unref(z);
    lab_unref(y);
    lab_unref(x);
}

static void the_gradient_given_is_not_taken_over(void **state)
{
    lab_tensor *x = zeros_leaf(*state, 1000), *g = zeros_of(*state, 1000);

    lab_assert_ok(lab_backward(x, g, false));
    assert_true(lab_storage_id(lab_grad(x)) != lab_storage_id(g));
    lab_unref(g);
    lab_unref(x);
}

static lab_tensor *sum_of_exp(lab_tensor *t)
{
    lab_tensor *e, *sum;

    lab_assert_ok(lab_exp(t, &e));
    lab_assert_ok(lab_sum(e, &sum));
    lab_unref(e);
    return sum;
}

static lab_tensor *add_up(lab_tensor *a, lab_tensor *b)
{
    lab_tensor *out;

    lab_assert_ok(lab_add(a, b, &out));
    lab_unref(a);
    lab_unref(b);
    return out;
}

/* Three gradients meet: each sum is a new tensor; the latest operation comes
 * first. */
static void gradients_that_meet_make_new_ones(void **state)
{
    lab_tensor *x = zeros_leaf(*state, 1000), *y = twice(x), *z, *other;

    z = sum_of_exp(y);
    other = sum_of_exp(y);
    z = add_up(z, other);
    other = sum_of_exp(y);
    z = add_up(z, other);
    log_start(*state);
    lab_assert_ok(lab_backward(z, NULL, false));
    log_expect(*state, "+4000 -4000 "
                       "+4000 -4000 +4000 -4000 -4000 "
                       "+4000 -4000 +4000 -4000 -4000 "
                       "+4000 -4000");
    lab_unref(z);
    lab_unref(y);
    lab_unref(x);
}

static void a_retained_gradient_is_a_copy_made_first(void **state)
{
    lab_tensor *x = zeros_leaf(*state, 1000), *y = twice(x), *m;

    lab_assert_ok(lab_retain_grad(y));
    lab_assert_ok(lab_retain_grad(x));
    lab_assert_ok(lab_mean(y, &m));
    log_start(*state);
    lab_assert_ok(lab_backward(m, NULL, false));
    log_expect(*state, "+4000 +4000 +4000 -4000");
    assert_elements("y", lab_grad(y), all(0.001f), 1000);
    assert_elements("x", lab_grad(x), all(0.002f), 1000);
    lab_unref(m);
    lab_unref(y);
    lab_unref(x);
}

static void without_retain_grad_only_leaves_keep_theirs(void **state)
{
    lab_tensor *x = zeros_leaf(*state, 1000), *y = twice(x), *gone;

    lab_assert_ok(lab_retain_grad(y));
    lab_assert_ok(lab_exp(y, &gone));
    lab_assert_ok(lab_retain_grad(gone));
    backward_from_sum(gone);
    assert_non_null(lab_grad(gone));
    lab_unref(gone);
    lab_unref(y);
    y = twice(x);
    lab_assert_ok(lab_retain_grad(y));
    lab_assert_ok(lab_gelu(y, &gone));
    lab_unref(y); /* its last reference */
    backward_from_sum(gone);
    assert_null(lab_grad(gone));
    lab_unref(gone);
    lab_unref(x);
}

/* ---- what operations save ----------------------------------------------- */

static void only_what_a_gradient_needs_is_saved(void **state)
{
    lab_tensor *w = zeros_leaf(*state, 1000), *x = zeros_of(*state, 1000), *y;

    lab_assert_ok(lab_mul(x, w, &y));
    log_start(*state);
    lab_unref(w); /* the graph holds the leaf, */
    lab_unref(x); /* and x for its gradient */
    log_expect(*state, "");
    lab_unref(y);
    log_expect(*state, "-4000 -4000 -4000");
    w = zeros_leaf(*state, 1000);
    y = twice(w);
    lab_assert_ok(lab_exp(y, &x));
    log_start(*state);
    lab_unref(y); /* exp keeps only its result */
    log_expect(*state, "-4000");
    backward_from_sum(x);
    log_expect(*state, "+4000 +4000 -4000");
    lab_unref(x);
    lab_unref(w);
}

static void saved_tensors_are_freed_during_backward(void **state)
{
    lab_tensor *x = zeros_leaf(*state, 1000), *y, *z;

    lab_assert_ok(lab_sigmoid(x, &y));
    lab_assert_ok(lab_tanh(y, &z));
    lab_unref(y);
    lab_assert_ok(lab_sum(z, &y));
    lab_unref(z);
    log_start(*state);
    lab_assert_ok(lab_backward(y, NULL, true));
    log_expect(*state, "+4000 +4000 -4000");
    lab_assert_ok(lab_backward(y, NULL, false));
    log_expect(*state, "+4000 -4000 +4000 -4000 -4000 -4000");
    lab_assert_refused(LARDER_ERR_INVALID, lab_backward(y, NULL, false),
                       "through the graph a second time");
    lab_unref(y);
    lab_unref(x);
}

/* ---- recording or not --------------------------------------------------- */

static void nothing_is_recorded_where_it_is_off(void **state)
{
    lab_tensor *x = zeros_leaf(*state, 10), *y, *d;

    assert_true(lab_set_grad_enabled(*state, false));
    y = twice(x);
    assert_false(lab_requires_grad(y));
    lab_unref(y);
    assert_false(lab_set_grad_enabled(*state, true));
    y = twice(x);
    assert_string_equal("MulBackward0", lab_grad_fn_name(y));
    assert_false(lab_is_leaf(y));
    lab_assert_ok(lab_detach(y, &d));
    assert_false(lab_requires_grad(d));
    assert_int_equal(lab_storage_id(d), lab_storage_id(y));
    lab_unref(d);
    lab_unref(y);
    lab_unref(x);
}

static void gradients_can_be_given_and_dropped(void **state)
{
    lab_tensor *x = zeros_leaf(*state, 1000), *g = zeros_of(*state, 1000);
    lab_tensor *wrong = zeros_of(*state, 10);

    lab_assert_ok(lab_set_grad(x, g));
    assert_ptr_equal(g, lab_grad(x));
    lab_unref(g);
    lab_assert_refused(LARDER_ERR_INVALID, lab_set_grad(x, wrong),
                       "has sizes [10], the tensor [1000]");
    log_start(*state);
    lab_assert_ok(lab_set_grad(x, NULL));
    log_expect(*state, "-4000");
    lab_unref(wrong);
    lab_unref(x);
}

/* ---- in place ----------------------------------------------------------- */

static void in_place_operations_go_on_the_record(void **state)
{
    lab_tensor *x = leaf_of(*state, DIMS(3), NUMBERS(1, -2, 3));
    lab_tensor *b = leaf_of(*state, DIMS(3), NUMBERS(1, 1, 2)), *y = twice(x);

    lab_assert_ok(lab_mul_scalar_inplace(y, 3));
    lab_assert_ok(lab_add_inplace(y, b, 1));
    lab_assert_ok(lab_mul_inplace(y, b));
    lab_assert_ok(lab_add_scalar_inplace(y, 1));
    lab_assert_ok(lab_relu_inplace(y));
    assert_elements("y", y, NUMBERS(8, 0, 41), 3);
    backward_from_sum(y); /* y = relu((6x + b)·b + 1) */
    assert_elements("x", lab_grad(x), NUMBERS(6, 0, 12), 3);
    assert_elements("b", lab_grad(b), NUMBERS(8, 0, 22), 3);
    lab_unref(y);
    lab_unref(b);
    lab_unref(x);
}

static void a_running_total_takes_up_the_history(void **state)
{
    lab_tensor *x = leaf_of(*state, DIMS(2), NUMBERS(1, 2));
    lab_tensor *total = zeros_of(*state, 2), *y = twice(x);

    lab_assert_ok(lab_add_inplace(total, y, 1));
    lab_assert_ok(lab_add_inplace(total, y, 0.5));
    lab_unref(y);
    assert_string_equal("AddBackward0", lab_grad_fn_name(total));
    backward_from_sum(total);
    assert_elements("x", lab_grad(x), NUMBERS(3, 3), 2);
    lab_unref(total);
    lab_unref(x);
}

static void writing_over_cuts_the_history(void **state)
{
    lab_tensor *x = leaf_of(*state, DIMS(2), NUMBERS(1, 2)), *y = twice(x);
    lab_tensor *w = leaf_of(*state, DIMS(2), NUMBERS(5, 6));

    lab_assert_ok(lab_copy_inplace(y, w));
    assert_elements("y", y, NUMBERS(5, 6), 2);
    backward_from_sum(y);
    assert_elements("x", lab_grad(x), NUMBERS(0, 0), 2);
    assert_elements("w", lab_grad(w), NUMBERS(1, 1), 2);
    lab_unref(w);
    lab_unref(y);
    lab_unref(x);
}

static void writing_where_it_would_go_wrong_is_refused(void **state)
{
    lab_tensor *x = zeros_leaf(*state, 4), *y = twice(x), *v, *e;

    lab_assert_refused(LARDER_ERR_INVALID, lab_add_scalar_inplace(x, 1),
                       "leaf that requires grad");
    lab_set_grad_enabled(*state, false);
    lab_assert_ok(lab_add_scalar_inplace(x, 1));
    lab_set_grad_enabled(*state, true);
    lab_assert_ok(lab_slice(y, 0, 0, 2, 1, &v));
    lab_assert_refused(LARDER_ERR_UNSUPPORTED, lab_mul_scalar_inplace(v, 1),
                       "shares its memory");
    lab_unref(v);
    lab_assert_ok(lab_exp(y, &e));
    lab_assert_ok(lab_mul_scalar_inplace(e, 2)); /* exp had saved it */
    lab_assert_ok(lab_sum(e, &v));
    lab_assert_refused(LARDER_ERR_INVALID, lab_backward(v, NULL, false),
                       "modified in place: of sizes [4], saved by "
                       "ExpBackward0 at version 0, now at version 1");
    lab_unref(v);
    lab_unref(e);
    lab_unref(y);
    lab_unref(x);
}

static void a_retained_gradient_follows_its_tensor(void **state)
{
    lab_tensor *x = leaf_of(*state, DIMS(1), NUMBERS(1)), *y = twice(x);

    lab_assert_ok(lab_retain_grad(y));
    lab_assert_ok(lab_mul_scalar_inplace(y, 10));
    backward_from_sum(y);
    assert_elements("y", lab_grad(y), NUMBERS(1), 1);
    assert_elements("x", lab_grad(x), NUMBERS(20), 1);
    lab_unref(y);
    lab_unref(x);
}

/* ---- refusals ----------------------------------------------------------- */

static void a_backward_that_is_refused_says_why(void **state)
{
    lab_tensor *x = zeros_leaf(*state, 10), *y = twice(x), *n, *g;

    lab_assert_refused(LARDER_ERR_INVALID, lab_backward(y, NULL, false),
                       "only for tensors of one element");
    g = zeros_of(*state, 9);
    lab_assert_refused(LARDER_ERR_INVALID, lab_backward(y, g, false),
                       "the gradient has sizes [9], the tensor [10]");
    lab_assert_refused(LARDER_ERR_INVALID, lab_backward(g, NULL, false),
                       "does not require a gradient");
    lab_assert_refused(LARDER_ERR_INVALID, lab_retain_grad(g), "require");
    lab_assert_refused(LARDER_ERR_INVALID, lab_set_requires_grad(y, false),
                       "leaves only; this tensor comes from MulBackward0");
    lab_assert_ok(lab_arange(*state, LAB_INT64, LAB_DEVICE, 0, 3, 1, &n));
    lab_assert_refused(LARDER_ERR_INVALID, lab_set_requires_grad(n, true),
                       "not int64");
    lab_unref(n);
    lab_unref(g);
    lab_unref(y);
    lab_unref(x);
}

/* ---- long chains, failures ---------------------------------------------- */

static void a_chain_of_a_million_operations(void **state)
{
    lab_tensor *x = zeros_leaf(*state, 1), *y = lab_ref(x), *next;

    for (int i = 0; i < 1000000; i++) {
        lab_assert_ok(lab_add_scalar(y, 1, &next));
        lab_unref(y);
        y = next;
    }
    lab_assert_ok(lab_backward(y, NULL, false));
    assert_elements("gradient", lab_grad(x), NUMBERS(1), 1);
    lab_unref(y); /* the stack holds */
    lab_unref(x);
}

static larder_result small_step(lab *l, lab_tensor *w, lab_tensor *b)
{
    lab_tensor *x = NULL, *h = NULL, *s = NULL, *y = NULL, *sum = NULL;
    lab_tensor *parts[2] = {NULL, NULL};
    int made;
    larder_result r = lab_ones(l, LAB_FLOAT32, LAB_DEVICE, DIMS(4, 4), &x);

    if (r == LARDER_OK)
        r = lab_linear(x, w, b, &h);
    if (r == LARDER_OK)
        r = lab_relu_inplace(h);
    if (r == LARDER_OK)
        r = lab_retain_grad(h);
    if (r == LARDER_OK)
        r = lab_chunk(h, 2, 1, parts, &made);
    if (r == LARDER_OK)
        r = lab_cat(parts, 2, 0, &s);
    else
        parts[0] = parts[1] = NULL;
    if (r == LARDER_OK)
        r = lab_div(s, s, &y);
    if (r == LARDER_OK)
        r = lab_mean(y, &sum);
    if (r == LARDER_OK)
        r = lab_backward(sum, NULL, false);
    lab_unref(sum);
    lab_unref(y);
    lab_unref(s);
    lab_unref(parts[0]);
    lab_unref(parts[1]);
    lab_unref(h);
    lab_unref(x);
    return r;
}

/* Each request for host memory fails once; nothing leaks, and the session stays
 * usable. */
static void failing_host_memory_leaves_nothing_behind(void **state)
{
    const float *ones = all(1);
    lab_tensor *w = leaf_of(*state, DIMS(4, 4), ones);
    lab_tensor *b = leaf_of(*state, DIMS(4), ones);
    uint64_t before = lab_rig_memory(*state).tensors;
    larder_result r = LARDER_ERR_NO_HOST_MEMORY;
    long passes = 0;

    while (r == LARDER_ERR_NO_HOST_MEMORY) {
        lab__host_fail_after(passes++);
        r = small_step(*state, w, b);
        lab__host_fail_after(-1);
        lab_assert_ok(lab_set_grad(w, NULL));
        lab_assert_ok(lab_set_grad(b, NULL));
        assert_int_equal(before, lab_rig_memory(*state).tensors);
        assert_true(lab_grad_enabled(*state));
    }
    lab_assert_ok(r);
    assert_true(passes > 60);
    lab_unref(b);
    lab_unref(w);
}

static void running_out_in_backward_leaves_the_session_usable(void **state)
{
    const int64_t count = 64 << 20; /* 256 MiB of a device of 1 GiB */
    lab_tensor *x = zeros_leaf(*state, count), *y, *e, *sum;

    lab_assert_ok(lab_tanh(x, &y));
    lab_assert_ok(lab_exp(y, &e));
    lab_unref(y);
    lab_assert_ok(lab_sum(e, &sum));
    lab_unref(e);
    lab_assert_refused(LARDER_ERR_OUT_OF_MEMORY, lab_backward(sum, NULL, false),
                       "out of memory");
    assert_null(lab_grad(x));
    lab_unref(sum);
    assert_int_equal(1, lab_rig_memory(*state).tensors);
    backward_from_sum(x);
    lab_unref(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_SMALL_SESSION(the_first_gradient_is_taken_over_the_next_added),
        ON_SMALL_SESSION(an_expanded_gradient_is_copied),
        ON_SMALL_SESSION(a_gradient_of_two_leaves_is_copied_for_one),
        ON_SMALL_SESSION(the_gradient_given_is_not_taken_over),
        ON_SMALL_SESSION(gradients_that_meet_make_new_ones),
        ON_SMALL_SESSION(a_retained_gradient_is_a_copy_made_first),
        ON_SMALL_SESSION(without_retain_grad_only_leaves_keep_theirs),
        ON_SMALL_SESSION(only_what_a_gradient_needs_is_saved),
        ON_SMALL_SESSION(saved_tensors_are_freed_during_backward),
        ON_SMALL_SESSION(nothing_is_recorded_where_it_is_off),
        ON_SMALL_SESSION(gradients_can_be_given_and_dropped),
        ON_SMALL_SESSION(in_place_operations_go_on_the_record),
        ON_SMALL_SESSION(a_running_total_takes_up_the_history),
        ON_SMALL_SESSION(writing_over_cuts_the_history),
        ON_SMALL_SESSION(writing_where_it_would_go_wrong_is_refused),
        ON_SMALL_SESSION(a_retained_gradient_follows_its_tensor),
        ON_SMALL_SESSION(a_backward_that_is_refused_says_why),
        ON_SMALL_SESSION(a_chain_of_a_million_operations),
        ON_SMALL_SESSION(failing_host_memory_leaves_nothing_behind),
        ON_SMALL_SESSION(running_out_in_backward_leaves_the_session_usable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
