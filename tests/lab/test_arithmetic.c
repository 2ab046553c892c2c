/* test_arithmetic.c - values and gradients of the elementwise operations,
 * reductions and products, checked against PyTorch's numbers and finite
 * differences. */
#include "lab/finite_differences.h"
#include "lab/small_tensors.h"

#define A NUMBERS(0.5f, -1.25f, 2, 1.5f, -0.75f, 0.25f)
#define B NUMBERS(1.5f, 0.5f, -2)
#define POSITIVE NUMBERS(0.5f, 1.25f, 2, 1.5f, 0.75f, 0.25f)
#define W NUMBERS(1, 2, 3, 4, 5, 6)

/* ---- numbers from PyTorch ------------------------------------------------ */

typedef larder_result (*two_fn)(lab_tensor *a, lab_tensor *b, lab_tensor **out);
typedef larder_result (*one_fn)(lab_tensor *a, lab_tensor **out);

struct two_case {
    const char *name;
    two_fn fn;
    float out[6], grad_a[6], grad_b[3];
};

static const struct two_case twos[] = {
    {"add",
     lab_add,
     {2, -0.75f, 0, 3, -0.25f, -1.75f},
     {1, 2, 3, 4, 5, 6},
     {5, 7, 9}},
    {"sub",
     lab_sub,
     {-1, -1.75f, 4, 0, -1.25f, 2.25f},
     {1, 2, 3, 4, 5, 6},
     {-5, -7, -9}},
    {"mul",
     lab_mul,
     {0.75f, -0.625f, -4, 2.25f, -0.375f, -0.5f},
     {1.5f, 1, -6, 6, 2.5f, -12},
     {6.5f, -6.25f, 7.5f}},
    {"div",
     lab_div,
     {0.333333f, -2.5f, -1, 1, -1.5f, -0.125f},
     {0.666667f, 4, -1.5f, 2.666667f, 10, -3},
     {-2.888889f, 25, -1.875f}},
};

static void check_two(lab *l, const struct two_case *c)
{
    lab_tensor *a = leaf_of(l, DIMS(2, 3), A), *b = leaf_of(l, DIMS(3), B);
    lab_tensor *w = tensor_of(l, DIMS(2, 3), W), *out;

    lab_assert_ok(c->fn(a, b, &out));
    assert_elements(c->name, out, c->out, 6);
    lab_assert_ok(lab_backward(out, w, false));
    assert_elements(c->name, lab_grad(a), c->grad_a, 6);
    assert_elements(c->name, lab_grad(b), c->grad_b, 3);
    lab_unref(out);
    lab_unref(w);
    lab_unref(b);
    lab_unref(a);
}

static void two_tensors_are_broadcast_and_differentiated(void **state)
{
    for (size_t i = 0; i < sizeof twos / sizeof twos[0]; i++)
        check_two(*state, &twos[i]);
}

static larder_result two_minus(lab_tensor *a, lab_tensor **out)
{
    return lab_rsub_scalar(2, a, out);
}

static larder_result three_over(lab_tensor *a, lab_tensor **out)
{
    return lab_rdiv_scalar(3, a, out);
}

static larder_result power(lab_tensor *a, lab_tensor **out)
{
    return lab_pow_scalar(a, 2.5, out);
}

static larder_result cube(lab_tensor *a, lab_tensor **out)
{
    return lab_pow_scalar(a, 3, out);
}

struct one_case {
    const char *name;
    one_fn fn;
    bool positive;
    float out[6], grad[6];
};

static const struct one_case ones[] = {
    {"2 - a",
     two_minus,
     false,
     {1.5f, 3.25f, 0, 0.5f, 2.75f, 1.75f},
     {-1, -2, -3, -4, -5, -6}},
    {"3 / p",
     three_over,
     true,
     {6, 2.4f, 1.5f, 2, 4, 12},
     {-12, -3.84f, -2.25f, -5.333334f, -26.666668f, -288}},
    {"p ** 2.5",
     power,
     true,
     {0.176777f, 1.746928f, 5.656854f, 2.755676f, 0.487139f, 0.03125f},
     {0.883883f, 6.987712f, 21.213203f, 18.371174f, 8.118988f, 1.875f}},
    {"a ** 3",
     cube,
     false,
     {0.125f, -1.953125f, 8, 3.375f, -0.421875f, 0.015625f},
     {0.75f, 9.375f, 36, 27, 8.4375f, 1.125f}},
    {"exp",
     lab_exp,
     false,
     {1.648721f, 0.286505f, 7.389056f, 4.481689f, 0.472367f, 1.284025f},
     {1.648721f, 0.57301f, 22.167168f, 17.926756f, 2.361833f, 7.704153f}},
    {"tanh",
     lab_tanh,
     false,
     {0.462117f, -0.848284f, 0.964028f, 0.905148f, -0.635149f, 0.244919f},
     {0.786448f, 0.56083f, 0.211952f, 0.722826f, 2.982929f, 5.640089f}},
    {"sigmoid",
     lab_sigmoid,
     false,
     {0.622459f, 0.2227f, 0.880797f, 0.817574f, 0.320821f, 0.562177f},
     {0.235004f, 0.34621f, 0.314981f, 0.596586f, 1.089475f, 1.476804f}},
    {"relu", lab_relu, false, {0.5f, 0, 2, 1.5f, 0, 0.25f}, {1, 0, 3, 4, 0, 6}},
    {"gelu",
     lab_gelu,
     false,
     {0.345731f, -0.132062f, 1.9545f, 1.399789f, -0.16997f, 0.149677f},
     {0.867495f, -0.245323f, 3.255696f, 4.509877f, 0.003871f, 4.17224f}},
    {"log",
     lab_log,
     true,
     {-0.693147f, 0.223144f, 0.693147f, 0.405465f, -0.287682f, -1.386294f},
     {2, 1.6f, 1.5f, 2.666667f, 6.666667f, 24}},
    {"sqrt",
     lab_sqrt,
     true,
     {0.707107f, 1.118034f, 1.414214f, 1.224745f, 0.866025f, 0.5f},
     {0.707107f, 0.894427f, 1.06066f, 1.632993f, 2.886751f, 6}},
    {"neg",
     lab_neg,
     false,
     {-0.5f, 1.25f, -2, -1.5f, 0.75f, -0.25f},
     {-1, -2, -3, -4, -5, -6}},
};

static void check_one(lab *l, const struct one_case *c)
{
    lab_tensor *a = leaf_of(l, DIMS(2, 3), c->positive ? POSITIVE : A);
    lab_tensor *w = tensor_of(l, DIMS(2, 3), W), *out;

    lab_assert_ok(c->fn(a, &out));
    assert_elements(c->name, out, c->out, 6);
    lab_assert_ok(lab_backward(out, w, false));
    assert_elements(c->name, lab_grad(a), c->grad, 6);
    lab_unref(out);
    lab_unref(w);
    lab_unref(a);
}

static void one_tensor_is_mapped_and_differentiated(void **state)
{
    for (size_t i = 0; i < sizeof ones / sizeof ones[0]; i++)
        check_one(*state, &ones[i]);
}

/* ---- reductions --------------------------------------------------------- */

static void sums_and_means(void **state)
{
    lab_tensor *a = leaf_of(*state, DIMS(2, 3), A), *out;

    lab_assert_ok(lab_sum(a, &out));
    assert_sizes(out, 0, NULL);
    assert_elements("sum", out, NUMBERS(2.25f), 1);
    lab_unref(out);
    lab_assert_ok(lab_mean(a, &out));
    assert_elements("mean", out, NUMBERS(0.375f), 1);
    lab_assert_ok(lab_backward(out, NULL, false));
    assert_elements("mean's gradient", lab_grad(a),
                    NUMBERS(0.166667f, 0.166667f, 0.166667f, 0.166667f,
                            0.166667f, 0.166667f),
                    6);
    lab_unref(out);
    lab_assert_ok(lab_sum_dim(a, 1, false, &out));
    assert_sizes(out, DIMS(2));
    assert_elements("sum over 1", out, NUMBERS(1.25f, 1), 2);
    lab_unref(out);
    lab_assert_ok(lab_mean_dim(a, 0, true, &out));
    assert_sizes(out, DIMS(1, 3));
    assert_elements("mean over 0", out, NUMBERS(1, -1, 1.125f), 3);
    lab_unref(out);
    lab_assert_ok(lab_argmax(a, 1, &out));
    assert_elements("argmax", out, NUMBERS(2, 0), 2);
    lab_unref(out);
    lab_unref(a);
}

static void equal_elements_are_counted(void **state)
{
    lab_tensor *a = tensor_of(*state, DIMS(4), NUMBERS(1, 2, 3, 4));
    lab_tensor *b = tensor_of(*state, DIMS(4), NUMBERS(1, 0, 3, 4));
    lab_tensor *same, *count;

    lab_assert_ok(lab_eq(a, b, &same));
    assert_int_equal(LAB_BOOL, lab_dtype_of(same));
    lab_assert_ok(lab_sum(same, &count));
    assert_int_equal(LAB_INT64, lab_dtype_of(count));
    assert_elements("equal", count, NUMBERS(3), 1);
    lab_unref(count);
    lab_unref(same);
    lab_unref(b);
    lab_unref(a);
}

/* ---- products ----------------------------------------------------------- */

static void products_of_matrices_and_vectors(void **state)
{
    lab_tensor *a = leaf_of(*state, DIMS(2, 3), A);
    lab_tensor *b = leaf_of(*state, DIMS(3), B), *out;
    lab_tensor *m = leaf_of(*state, DIMS(3, 2), NUMBERS(1, -2, 0.5f, 3, -1, 1));

    lab_assert_ok(lab_matmul(a, m, &out));
    assert_elements("a @ m", out, NUMBERS(-2.125f, -2.75f, 0.875f, -5), 4);
    lab_unref(out);
    lab_assert_ok(lab_matmul(a, b, &out));
    assert_sizes(out, DIMS(2));
    assert_elements("a @ b", out, NUMBERS(-3.875f, 1.375f), 2);
    lab_unref(out);
    lab_assert_ok(lab_matmul(b, m, &out));
    assert_sizes(out, DIMS(2));
    assert_elements("b @ m", out, NUMBERS(3.75f, -3.5f), 2);
    lab_unref(out);
    lab_assert_ok(lab_matmul(b, b, &out));
    assert_sizes(out, 0, NULL);
    assert_elements("b @ b", out, NUMBERS(6.5f), 1);
    lab_unref(out);
    lab_unref(m);
    lab_unref(b);
    lab_unref(a);
}

static void linear_is_pytorchs(void **state)
{
    lab_tensor *a = leaf_of(*state, DIMS(2, 3), A), *out, *sum;
    lab_tensor *w =
        leaf_of(*state, DIMS(2, 3), NUMBERS(1, -2, 0.5f, 0.25f, 3, -1));
    lab_tensor *b = leaf_of(*state, DIMS(2), NUMBERS(0.5f, -0.5f));

    lab_assert_ok(lab_linear(a, w, b, &out));
    assert_elements("linear", out, NUMBERS(4.5f, -6.125f, 3.625f, -2.625f), 4);
    assert_string_equal("AddmmBackward0", lab_grad_fn_name(out));
    lab_assert_ok(lab_sum(out, &sum));
    lab_assert_ok(lab_backward(sum, NULL, false));
    assert_elements("input", lab_grad(a),
                    NUMBERS(1.25f, 1, -0.5f, 1.25f, 1, -0.5f), 6);
    assert_elements("weight", lab_grad(w), NUMBERS(2, -2, 2.25f, 2, -2, 2.25f),
                    6);
    assert_elements("bias", lab_grad(b), NUMBERS(2, 2), 2);
    lab_unref(sum);
    lab_unref(out);
    lab_unref(b);
    lab_unref(w);
    lab_unref(a);
}

/* ---- against differences ------------------------------------------------ */

static larder_result product(void *context, lab_tensor **in, lab_tensor **out)
{
    (void)context;
    return lab_matmul(in[0], in[1], out);
}

static larder_result layer(void *context, lab_tensor **in, lab_tensor **out)
{
    (void)context;
    return lab_linear(in[0], in[1], in[2], out);
}

static larder_result attention(void *context, lab_tensor **in, lab_tensor **out)
{
    return lab_attention(in[0], in[1], in[2], *(const bool *)context, out);
}

static larder_result mixture(void *context, lab_tensor **in, lab_tensor **out)
{
    lab_tensor *a = NULL, *b = NULL, *c = NULL;
    larder_result r = lab_mul(in[0], in[1], &a);

    (void)context;
    if (r == LARDER_OK)
        r = lab_sigmoid(a, &b);
    if (r == LARDER_OK)
        r = lab_div(b, in[1], &c);
    if (r == LARDER_OK)
        r = lab_mean_dim(c, 1, true, out);
    lab_unref(c);
    lab_unref(b);
    lab_unref(a);
    return r;
}

#define LEAF(seed, ...) leaf_between(*state, DIMS(__VA_ARGS__), 0.5, 1.5, seed)

static void check_and_drop(lab *l, output_fn fn, void *context,
                           lab_tensor **inputs, int count)
{
    check_gradients(l, fn, context, inputs, count);
    for (int i = 0; i < count; i++)
        lab_unref(inputs[i]);
}

static void gradients_of_products_of_every_shape(void **state)
{
    lab_tensor *shapes[][2] = {
        {LEAF(1, 3, 4), LEAF(2, 4, 2)},
        {LEAF(3, 4), LEAF(4, 4)},
        {LEAF(5, 4), LEAF(6, 4, 3)},
        {LEAF(7, 2, 4), LEAF(8, 4)},
        {LEAF(9, 2, 3, 4), LEAF(10, 4, 2)},
        {LEAF(11, 3, 4), LEAF(12, 2, 4, 2)},
        {LEAF(13, 2, 3, 4), LEAF(14, 2, 4, 2)},
        {LEAF(15, 2, 1, 3, 4), LEAF(16, 3, 4, 2)},
        {LEAF(17, 4), LEAF(18, 2, 4, 3)},
        {LEAF(19, 2, 3, 4), LEAF(20, 4)},
    };

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        check_and_drop(*state, product, NULL, shapes[i], 2);
}

static void gradients_of_layers_of_every_shape(void **state)
{
    lab_tensor *shapes[][3] = {
        {LEAF(1, 3, 4), LEAF(2, 2, 4), LEAF(3, 2)},
        {LEAF(4, 2, 3, 4), LEAF(5, 2, 4), LEAF(6, 2)},
        {LEAF(7, 4), LEAF(8, 2, 4), LEAF(9, 2)},
        {LEAF(10, 2, 1, 3, 4), LEAF(11, 2, 4), LEAF(12, 2)},
    };

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        check_and_drop(*state, layer, NULL, shapes[i], 3);
}

static void gradients_of_attention(void **state)
{
    static bool causal[] = {false, true};

    for (int i = 0; i < 2; i++) {
        lab_tensor *in[] = {LEAF(1, 2, 3, 4), LEAF(2, 2, 3, 4),
                            LEAF(3, 2, 3, 4)};

        check_and_drop(*state, attention, &causal[i], in, 3);
    }
}

/* The first position attends to itself only, the last one to all. */
static void causal_attention_sees_nothing_later(void **state)
{
    const float values[] = {1, 2, 3, 4};
    lab_tensor *t = tensor_of(*state, DIMS(2, 2), values), *free_to, *causal;
    float all[4], some[4];

    lab_assert_ok(lab_attention(t, t, t, false, &free_to));
    lab_assert_ok(lab_attention(t, t, t, true, &causal));
    lab_assert_ok(lab_read(free_to, all, sizeof all));
    lab_assert_ok(lab_read(causal, some, sizeof some));
    assert_memory_equal(values, some, 2 * sizeof *values);
    assert_true(all[0] > 1.5f);
    assert_memory_equal(all + 2, some + 2, 2 * sizeof *values);
    lab_unref(causal);
    lab_unref(free_to);
    lab_unref(t);
}

static void gradients_of_a_chain_with_broadcasting(void **state)
{
    lab_tensor *in[] = {LEAF(1, 2, 3), LEAF(2, 3)};

    check_and_drop(*state, mixture, NULL, in, 2);
}

/* ---- dtypes, places, refusals ------------------------------------------- */

static void dtypes_meet_in_the_wider_one(void **state)
{
    lab_tensor *whole, *half, *out;

    lab_assert_ok(lab_arange(*state, LAB_INT64, LAB_DEVICE, 0, 3, 1, &whole));
    half = tensor_of(*state, DIMS(3), NUMBERS(0.5f, 0.5f, 0.5f));
    lab_assert_ok(lab_add(whole, half, &out));
    assert_int_equal(LAB_FLOAT32, lab_dtype_of(out));
    assert_elements("sum", out, NUMBERS(0.5f, 1.5f, 2.5f), 3);
    lab_unref(out);
    lab_assert_ok(lab_mul_scalar(whole, 2, &out));
    assert_int_equal(LAB_INT64, lab_dtype_of(out));
    assert_elements("product", out, NUMBERS(0, 2, 4), 3);
    lab_unref(out);
    lab_assert_ok(lab_div_scalar(whole, 2, &out));
    assert_int_equal(LAB_FLOAT32, lab_dtype_of(out));
    assert_elements("quotient", out, NUMBERS(0, 0.5f, 1), 3);
    lab_unref(out);
    lab_unref(half);
    lab_unref(whole);
}

static void arithmetic_that_fails_says_why(void **state)
{
    lab_tensor *a = tensor_of(*state, DIMS(2, 3), A), *out, *far;
    lab_tensor *b = tensor_of(*state, DIMS(2), NUMBERS(1, 2));
    lab_tensor *row = tensor_of(*state, DIMS(3), B);

    lab_assert_refused(LARDER_ERR_INVALID, lab_add(a, b, &out),
                       "The size of tensor a (3) must match the size of tensor "
                       "b (2) at non-singleton dimension 1");
    lab_assert_refused(LARDER_ERR_INVALID, lab_matmul(a, a, &out),
                       "shapes cannot be multiplied (2x3 and 2x3)");
    lab_assert_refused(LARDER_ERR_INVALID, lab_sum_dim(a, 2, false, &out),
                       "Dimension out of range");
    lab_assert_ok(lab_to(a, LAB_HOST, &far));
    lab_assert_refused(LARDER_ERR_INVALID, lab_mul(a, far, &out),
                       "on the same device");
    lab_assert_refused(LARDER_ERR_INVALID, lab_mul_inplace(row, a),
                       "doesn't match the broadcast shape [2, 3]");
    lab_unref(far);
    lab_unref(row);
    lab_unref(b);
    lab_unref(a);
}

static void a_number_in_host_memory_meets_the_device(void **state)
{
    lab_tensor *a = leaf_of(*state, DIMS(2), NUMBERS(1, 2)), *n, *out, *sum;

    lab_assert_ok(lab_full(*state, LAB_FLOAT32, LAB_HOST, 0, NULL, 3, &n));
    lab_assert_ok(lab_set_requires_grad(n, true));
    lab_assert_ok(lab_mul(n, a, &out));
    assert_int_equal(LAB_DEVICE, lab_place_of(out));
    assert_elements("product", out, NUMBERS(3, 6), 2);
    lab_assert_ok(lab_sum(out, &sum));
    lab_assert_ok(lab_backward(sum, NULL, false));
    assert_int_equal(LAB_HOST, lab_place_of(lab_grad(n)));
    assert_elements("its gradient", lab_grad(n), NUMBERS(3), 1);
    lab_unref(sum);
    lab_unref(out);
    lab_unref(n);
    lab_unref(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_SMALL_SESSION(two_tensors_are_broadcast_and_differentiated),
        ON_SMALL_SESSION(one_tensor_is_mapped_and_differentiated),
        ON_SMALL_SESSION(sums_and_means),
        ON_SMALL_SESSION(equal_elements_are_counted),
        ON_SMALL_SESSION(products_of_matrices_and_vectors),
        ON_SMALL_SESSION(linear_is_pytorchs),
        ON_SMALL_SESSION(gradients_of_products_of_every_shape),
        ON_SMALL_SESSION(gradients_of_layers_of_every_shape),
        ON_SMALL_SESSION(gradients_of_attention),
        ON_SMALL_SESSION(causal_attention_sees_nothing_later),
        ON_SMALL_SESSION(gradients_of_a_chain_with_broadcasting),
        ON_SMALL_SESSION(dtypes_meet_in_the_wider_one),
        ON_SMALL_SESSION(arithmetic_that_fails_says_why),
        ON_SMALL_SESSION(a_number_in_host_memory_meets_the_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
