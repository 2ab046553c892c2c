/* test_hooks.c - hooks on gradients: what they see, replace, remove and end, and
 * what becomes of a walk when one fails. */
#include "lab/device_log.h"
#include "lab/small_tensors.h"

/* The same number a thousand times. */
static const float *all(float number)
{
    static float numbers[1000];

    for (int i = 0; i < 1000; i++)
        numbers[i] = number;
    return numbers;
}

struct watch {
    int calls, released;
    float seen;
    double factor; /* if not 0, the replacement is this times the gradient */
    bool fails, shrinks;
    lab_hook *removes[2]; /* removed in its next call */
};

static larder_result watch_run(void *context, lab_tensor *grad,
                               lab_tensor **replacement)
{
    struct watch *w = context;
    double first;

    w->calls++;
    for (int i = 0; i < 2; i++) {
        lab_hook_remove(w->removes[i]);
        w->removes[i] = NULL;
    }
    assert_int_equal(0, w->released);
    if (w->fails)
        return LARDER_ERR_UNSUPPORTED;
    if (w->shrinks)
        return lab_slice(grad, 0, 0, 1, 1, replacement);
    lab_assert_ok(lab_slice(grad, 0, 0, 1, 1, replacement));
    lab_assert_ok(lab_item(*replacement, &first));
    w->seen = (float)first;
    lab_unref(*replacement);
    *replacement = NULL;
    return w->factor != 0 ? lab_mul_scalar(grad, w->factor, replacement)
                          : LARDER_OK;
}

static void watch_end(void *context)
{
    struct watch *w = context;

    w->released++;
}

static lab_hook *watched(lab_tensor *t, struct watch *w)
{
    lab_hook *hook;

    lab_assert_ok(lab_register_hook(t, watch_run, w, watch_end, &hook));
    return hook;
}

static void a_hook_sees_a_gradient_and_keeps_none(void **state)
{
    lab_tensor *x = zeros_leaf(*state, 1000), *y = twice(x);
    struct watch of_x = {.calls = 0}, of_y = {.calls = 0};

    lab_hook_leave(watched(x, &of_x));
    lab_hook_leave(watched(y, &of_y));
    log_start(*state);
    backward_from_sum(y);
    /* x's gradient is still taken over. */
    log_expect(*state, "+4000");
    assert_int_equal(1, of_x.calls);
    assert_int_equal(1, of_y.calls);
    assert_float_equal(2, of_x.seen, 0);
    assert_float_equal(1, of_y.seen, 0);
    lab_unref(y);
    assert_int_equal(1, of_y.released);
    lab_unref(x);
    assert_int_equal(1, of_x.released);
}

static void a_hook_replaces_what_is_passed_on(void **state)
{
    lab_tensor *x = zeros_leaf(*state, 1000), *y = twice(x), *z = twice(y);
    struct watch first = {.factor = 3}, second = {.calls = 0};
    struct watch of_x = {.factor = -1};

    lab_assert_ok(lab_retain_grad(y));
    lab_hook_leave(watched(y, &first));
    lab_hook_leave(watched(y, &second));
    lab_hook_leave(watched(x, &of_x));
    backward_from_sum(z);
    assert_float_equal(6, second.seen, 0);
    assert_elements("retained", lab_grad(y), all(6), 1000);
    assert_elements("gradient", lab_grad(x), all(-12), 1000);
    lab_unref(z);
    lab_unref(y);
    lab_unref(x);
}

static void a_hook_is_released_with_its_graph_or_leaf(void **state)
{
    lab_tensor *x = zeros_leaf(*state, 1000), *y = twice(x);
    lab_tensor *moved = zeros_leaf(*state, 1000);
    struct watch of_x = {.calls = 0}, of_y = {.calls = 0};
    lab_hook *hook = watched(y, &of_y);

    lab_hook_leave(watched(x, &of_x));
    lab_unref(y);
    assert_int_equal(1, of_y.released);
    lab_hook_remove(hook);
    assert_int_equal(1, of_y.released);
    /* A leaf's hooks stay for its next graph, and are freed with it. */
    backward_from_sum(x);
    backward_from_sum(x);
    assert_int_equal(2, of_x.calls);
    lab_assert_ok(lab_move_hooks(x, moved));
    lab_unref(x);
    assert_int_equal(0, of_x.released);
    backward_from_sum(moved);
    assert_int_equal(3, of_x.calls);
    lab_unref(moved);
    assert_int_equal(1, of_x.released);
}

static void a_hook_removes_itself_and_others(void **state)
{
    lab_tensor *x = zeros_leaf(*state, 1000);
    struct watch one = {.calls = 0}, two = {.calls = 0}, three = {.calls = 0};

    one.removes[0] = watched(x, &one);
    one.removes[1] = watched(x, &two);
    lab_hook_leave(watched(x, &three));
    backward_from_sum(x);
    assert_int_equal(1, one.calls);
    assert_int_equal(0, two.calls);
    assert_int_equal(1, three.calls);
    assert_int_equal(1, one.released);
    assert_int_equal(1, two.released);
    backward_from_sum(x);
    assert_int_equal(1, one.calls);
    assert_int_equal(2, three.calls);
    lab_unref(x);
}

/* What a hook does to its leaf during the backward pass. */
struct meddling {
    lab_tensor *leaf;
    lab_tensor *sum; /* of the same graph; its backward pass begins inside */
    lab_tensor *heir;
    struct watch late; /* registered on the leaf at that point */
    int calls;
};

static larder_result meddle(void *context, lab_tensor *grad,
                            lab_tensor **replacement)
{
    struct meddling *m = context;
    lab_tensor *sum = m->sum;

    (void)grad;
    *replacement = NULL;
    m->calls++;
    if (sum == NULL)
        return LARDER_OK;
    m->sum = NULL;
    lab_hook_leave(watched(m->leaf, &m->late));
    lab_assert_ok(lab_backward(sum, NULL, true));
    if (m->heir != NULL)
        lab_assert_ok(lab_move_hooks(m->leaf, m->heir));
    lab_unref(sum);
    lab_unref(m->leaf);
    return LARDER_OK;
}

/* A nested backward pass sees the new hook, and the outer one continues with
 * the hooks it began with.  The leaf lives as long as its graph, and a hook
 * that was moved belongs to the other leaf. */
static void a_hook_may_end_its_leaf_and_walk_its_graph(void **state)
{
    for (int moves = 0; moves < 2; moves++) {
        lab_tensor *x = zeros_leaf(*state, 1000);
        lab_tensor *heir = zeros_leaf(*state, 1000), *sum;
        struct meddling m = {.leaf = x, .heir = moves ? heir : NULL};

        lab_assert_ok(lab_sum(x, &sum));
        m.sum = lab_ref(sum);
        lab_assert_ok(lab_register_hook(x, meddle, &m, NULL, NULL));
        lab_assert_ok(lab_backward(sum, NULL, true));
        assert_int_equal(2, m.calls);
        assert_int_equal(moves ? 1 : 2, m.late.calls);
        assert_int_equal(0, m.late.released);
        lab_unref(sum);
        assert_int_equal(moves ? 0 : 1, m.late.released);
        lab_unref(heir);
        assert_int_equal(1, m.late.released);
    }
}

static void a_hook_that_fails_ends_the_walk(void **state)
{
    lab_tensor *x = zeros_leaf(*state, 1000), *plain, *sum;
    struct watch w = {.fails = true};

    lab_hook_leave(watched(x, &w));
    lab_assert_ok(lab_sum(x, &sum));
    assert_int_equal(LARDER_ERR_UNSUPPORTED, lab_backward(sum, NULL, true));
    w = (struct watch){.shrinks = true};
    lab_assert_refused(
        LARDER_ERR_INVALID, lab_backward(sum, NULL, true),
        "a hook returned a gradient of sizes [1] from one of [1000]");
    assert_null(lab_grad(x));
    w = (struct watch){.calls = 0};
    lab_assert_ok(lab_detach(x, &plain));
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_register_hook(plain, watch_run, &w, watch_end, NULL),
                       "a hook is for tensors that require a gradient");
    assert_int_equal(1, w.released);
    lab_unref(plain);
    lab_unref(sum);
    lab_unref(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_SMALL_SESSION(a_hook_sees_a_gradient_and_keeps_none),
        ON_SMALL_SESSION(a_hook_replaces_what_is_passed_on),
        ON_SMALL_SESSION(a_hook_is_released_with_its_graph_or_leaf),
        ON_SMALL_SESSION(a_hook_removes_itself_and_others),
        ON_SMALL_SESSION(a_hook_may_end_its_leaf_and_walk_its_graph),
        ON_SMALL_SESSION(a_hook_that_fails_ends_the_walk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
