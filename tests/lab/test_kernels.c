/* test_kernels.c - every kernel against a plain loop in double, over random
 * views: transposed, strided, broadcast, in place. */
#include <math.h>

#include "lab_rig.h"
#include "ops/op.h"
#include "windows.h"

enum { ROUNDS = 60, ELEMENTS_MAX = 4096 };

/* ---- one operand -------------------------------------------------------- */

static double unary_plain(lab__unary_op op, double x)
{
    switch (op) {
    case LAB__NEG:
        return -x;
    case LAB__EXP:
        return exp(x);
    case LAB__LOG:
        return log(x);
    case LAB__SQRT:
        return sqrt(x);
    case LAB__RELU:
        return x > 0 || isnan(x) ? x : 0;
    case LAB__GELU:
        return x * 0.5 * erfc(-x * sqrt(0.5));
    case LAB__TANH:
        return tanh(x);
    case LAB__SIGMOID:
        return 1 / (1 + exp(-x));
    }
    return 0;
}

static void unary_round(lab *l, lab__unary_op op, bool in_place)
{
    int64_t sizes[LAB_MAX_DIMS];
    int ndim = windows_sizes(sizes, 4);
    lab_tensor *a = windows_make(l, ndim, sizes, !in_place);
    lab_tensor *out =
        in_place ? lab_ref(a) : windows_make(l, ndim, sizes, false);
    double want[ELEMENTS_MAX];
    int64_t n = lab_numel(out);

    n = n < ELEMENTS_MAX ? n : ELEMENTS_MAX;
    for (int64_t i = 0; i < n; i++)
        want[i] = unary_plain(op, windows_at(a, out, i));
    lab__unary(op, out, a);
    for (int64_t i = 0; i < n; i++)
        windows_near("unary", i, windows_at(out, out, i), want[i], 1e-6);
    lab_unref(a);
    lab_unref(out);
}

static void operations_on_one_tensor(void **state)
{
    (void)state;
    for (int op = LAB__NEG; op <= LAB__SIGMOID; op++) {
        for (int i = 0; i < ROUNDS; i++)
            unary_round(*state, (lab__unary_op)op, i % 3 == 0);
    }
}

/* Over all magnitudes, and for NaN and infinities. */
static void functions_are_right_everywhere(void **state)
{
    enum { COUNT = 1 << 18, SPECIAL = 8 };
    static const float special[SPECIAL] = {0,        -0.0f,     1,   -1,
                                           INFINITY, -INFINITY, NAN, 1e-40f};
    static const double allowed[] = {0, 4e-7, 4e-7, 1e-7, 0, 6e-6, 6e-7, 6e-7};
    const int64_t size = COUNT;
    lab_tensor *a = windows_plain(*state, LAB_FLOAT32, 1, &size), *out;
    float *x = lab__floats(a);

    lab_assert_ok(lab__tensor_like(a, &out));
    for (int i = 0; i < COUNT; i++) {
        double size_of =
            exp2((double)windows_dice(1 << 20) / (1 << 20) * 40 - 33);

        x[i] = (float)(i % 2 == 0 ? size_of : -size_of);
    }
    memcpy(x, special, sizeof special);
    for (int op = LAB__NEG; op <= LAB__SIGMOID; op++) {
        const float *y = lab__floats(out);

        lab__unary((lab__unary_op)op, out, a);
        for (int i = 0; i < COUNT; i++) {
            double want = unary_plain((lab__unary_op)op, (double)x[i]);

            if (i < SPECIAL && op == LAB__GELU && isinf(x[i]))
                continue; /* -inf·0: NaN in PyTorch too */
            if ((double)y[i] == (double)(float)want ||
                (isnan(want) && isnan(y[i])))
                continue;
            /* Where cancellation makes a result nearly 0, the tolerance is
             * relative to x. */
            if (!isfinite(want) || want == 0 ||
                !(fabs((double)y[i] - want) <=
                  allowed[op] *
                          (fabs(want) + (op == LAB__GELU ? 1e-3 : 1e-30)) +
                      1.3e-38))
                fail_msg("operation %d of %.9g is %.9g, not %.9g", op,
                         (double)x[i], (double)y[i], want);
        }
    }
    lab_unref(a);
    lab_unref(out);
}

/* ---- two operands ------------------------------------------------------- */

static double normal_below(double x)
{
    return 0.5 * erfc(-x * sqrt(0.5));
}

static double binary_plain(lab__binary_op op, double a, double b, double x)
{
    switch (op) {
    case LAB__ADD:
        return a + x * b;
    case LAB__SUB:
        return a - b;
    case LAB__MUL:
        return a * b;
    case LAB__DIV:
        return a / b;
    case LAB__POW:
        return pow(a, b);
    case LAB__EQ:
        return a == b;
    case LAB__GE:
        return a >= b;
    case LAB__RELU_BACK:
        return b > 0 ? a : 0;
    case LAB__TANH_BACK:
        return a * (1 - b * b);
    case LAB__SIGMOID_BACK:
        return a * b * (1 - b);
    case LAB__GELU_BACK:
        return a * (normal_below(b) + b * exp(-b * b / 2) / sqrt(8 * atan(1)));
    case LAB__ADDCMUL:
    case LAB__ADDCDIV:
        break; /* added to the result: below */
    }
    return 0;
}

/* Some dimensions of size 1, and perhaps fewer of them. */
static lab_tensor *broadcast_window(lab *l, int ndim, const int64_t *sizes)
{
    int64_t own[LAB_MAX_DIMS];
    int drop = windows_dice(3) == 0 ? (int)windows_dice(ndim + 1) : 0;

    for (int i = drop; i < ndim; i++)
        own[i - drop] = windows_dice(3) == 0 ? 1 : sizes[i];
    return windows_make(l, ndim - drop, own, true);
}

static bool compares(lab__binary_op op)
{
    return op == LAB__EQ || op == LAB__GE;
}

static lab_tensor *binary_out(lab *l, lab__binary_op op, int ndim,
                              const int64_t *sizes)
{
    return compares(op) ? windows_plain(l, LAB_BOOL, ndim, sizes)
                        : windows_make(l, ndim, sizes, false);
}

static void binary_round(lab *l, lab__binary_op op, bool in_place)
{
    int64_t sizes[LAB_MAX_DIMS];
    int ndim = windows_sizes(sizes, 4);
    bool into_a = in_place && !compares(op);
    lab_tensor *out = binary_out(l, op, ndim, sizes);
    lab_tensor *a = into_a ? lab_ref(out) : broadcast_window(l, ndim, sizes);
    lab_tensor *b = broadcast_window(l, ndim, sizes);
    double want[ELEMENTS_MAX], x = op == LAB__ADD ? 0.5 : 1;
    int64_t n = lab_numel(out);

    n = n < ELEMENTS_MAX ? n : ELEMENTS_MAX;
    for (int64_t i = 0; i < n; i++)
        want[i] =
            binary_plain(op, windows_at(a, out, i), windows_at(b, out, i), x);
    lab__binary(op, out, a, b, x);
    for (int64_t i = 0; i < n; i++)
        windows_near("binary", i, windows_at(out, out, i), want[i], 2e-6);
    lab_unref(a);
    lab_unref(b);
    lab_unref(out);
}

static void operations_on_two_tensors(void **state)
{
    for (int op = LAB__ADD; op <= LAB__GELU_BACK; op++) {
        for (int i = 0; i < ROUNDS; i++)
            binary_round(*state, (lab__binary_op)op, i % 3 == 0);
    }
}

static void scalar_round(lab *l, lab__binary_op op, double b)
{
    int64_t sizes[LAB_MAX_DIMS];
    int ndim = windows_sizes(sizes, 3);
    lab_tensor *a = windows_make(l, ndim, sizes, true);
    lab_tensor *out = binary_out(l, op, ndim, sizes);

    lab__scalar(op, out, a, b);
    for (int64_t i = 0; i < lab_numel(out); i++)
        windows_near("scalar", i, windows_at(out, out, i),
                     binary_plain(op, windows_at(a, out, i), b, 1), 2e-6);
    if (op == LAB__SUB || op == LAB__DIV || op == LAB__POW) {
        lab__scalar_first(op, out, b, a);
        for (int64_t i = 0; i < lab_numel(out); i++)
            windows_near("scalar first", i, windows_at(out, out, i),
                         binary_plain(op, b, windows_at(a, out, i), 1), 2e-6);
    }
    lab_unref(a);
    lab_unref(out);
}

static void operations_with_a_number(void **state)
{
    static const lab__binary_op ops[] = {LAB__ADD, LAB__SUB, LAB__MUL, LAB__DIV,
                                         LAB__POW, LAB__EQ,  LAB__GE};
    static const double numbers[] = {2, 3, 1, -0.5, 0.5, 0};

    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        for (size_t j = 0; j < sizeof numbers / sizeof numbers[0]; j++) {
            for (int round = 0; round < ROUNDS; round++)
                scalar_round(*state, ops[i], numbers[j]);
        }
    }
}

static void whole_numbers_and_masks(void **state)
{
    const int64_t sizes[] = {3, 4}, row[] = {4};
    const int64_t b_of[] = {2, INT64_MAX, -1, 0};
    const unsigned char mask_of[] = {1, 0, 1, 0};
    lab_tensor *a = windows_plain(*state, LAB_INT64, 2, sizes);
    lab_tensor *b = windows_plain(*state, LAB_INT64, 1, row);
    lab_tensor *mask = windows_plain(*state, LAB_BOOL, 1, row);
    lab_tensor *f = windows_make(*state, 2, sizes, false);
    lab_tensor *out = windows_plain(*state, LAB_INT64, 2, sizes);
    lab_tensor *same = windows_plain(*state, LAB_BOOL, 2, sizes);
    lab_tensor *kept = windows_plain(*state, LAB_FLOAT32, 2, sizes);

    lab_assert_ok(lab__fill(a, 5));
    lab_assert_ok(lab_write(b, b_of, sizeof b_of));
    lab_assert_ok(lab_write(mask, mask_of, sizeof mask_of));
    lab__binary(LAB__SUB, out, a, b, 1);
    assert_true(windows_at(out, out, 4) == 3 && windows_at(out, out, 6) == 6);
    lab__binary(LAB__ADD, out, a, b, 2);
    assert_int_equal(((const int64_t *)lab__data(out))[1], 3); /* wrapped */
    lab__scalar(LAB__MUL, out, a, 3);
    assert_true(windows_at(out, out, 11) == 15);
    lab__binary(LAB__EQ, same, a, a, 1);
    assert_true(windows_at(same, same, 11) == 1);
    lab__scalar(LAB__EQ, same, b, 2);
    assert_true(windows_at(same, same, 4) == 1 &&
                windows_at(same, same, 5) == 0);
    lab__binary(LAB__EQ, same, mask, mask, 1);
    assert_true(windows_at(same, same, 1) == 1);
    lab__binary(LAB__MUL, kept, f, mask, 1);
    for (int64_t i = 0; i < 12; i++)
        windows_near("mask", i, windows_at(kept, kept, i),
                     i % 2 ? 0 : windows_at(f, f, i), 0);
    lab_unref(a);
    lab_unref(b);
    lab_unref(mask);
    lab_unref(f);
    lab_unref(out);
    lab_unref(same);
    lab_unref(kept);
}

static void products_and_quotients_are_added(void **state)
{
    for (int round = 0; round < ROUNDS; round++) {
        int64_t sizes[LAB_MAX_DIMS];
        int ndim = windows_sizes(sizes, 3);
        lab_tensor *out = windows_make(*state, ndim, sizes, false);
        lab_tensor *b = broadcast_window(*state, ndim, sizes);
        lab_tensor *c = broadcast_window(*state, ndim, sizes);
        lab_tensor *was;

        lab_assert_ok(lab__tensor_like(out, &was));
        lab_assert_ok(lab__copy(was, out));
        lab__binary(LAB__ADDCMUL, out, b, c, -0.25);
        for (int64_t i = 0; i < lab_numel(out); i++)
            windows_near("addcmul", i, windows_at(out, out, i),
                         windows_at(was, out, i) - 0.25 *
                                                       windows_at(b, out, i) *
                                                       windows_at(c, out, i),
                         2e-6);
        lab_assert_ok(lab__copy(out, was));
        lab__binary(LAB__ADDCDIV, out, b, c, 0.5);
        for (int64_t i = 0; i < lab_numel(out); i++)
            windows_near("addcdiv", i, windows_at(out, out, i),
                         windows_at(was, out, i) + 0.5 * windows_at(b, out, i) /
                                                       windows_at(c, out, i),
                         2e-6);
        lab_unref(out);
        lab_unref(b);
        lab_unref(c);
        lab_unref(was);
    }
}

/* ---- reductions --------------------------------------------------------- */

/* Sums of a over the dimensions in mask, for every result; those dimensions
 * have size 1. */
static void plain_sums(const lab_tensor *a, unsigned mask, double *sums)
{
    for (int64_t i = 0; i < lab_numel(a); i++) {
        int64_t n = i, where = 0, step = 1;

        for (int d = a->ndim; d-- > 0;) {
            if ((mask >> d & 1u) == 0) {
                where += n % a->sizes[d] * step;
                step *= a->sizes[d];
            }
            n /= a->sizes[d];
        }
        sums[where] += windows_at(a, a, i);
    }
}

static void sum_round(lab *l)
{
    int64_t sizes[LAB_MAX_DIMS], left[LAB_MAX_DIMS];
    int ndim = windows_sizes(sizes, 4), kept = 0;
    unsigned mask = (unsigned)windows_dice(1 << ndim);
    lab_tensor *a = windows_make(l, ndim, sizes, true), *out;
    bool keeps = windows_dice(2) == 0;
    double *sums = calloc((size_t)lab_numel(a), sizeof *sums);

    for (int i = 0; i < ndim; i++) {
        if ((mask >> i & 1u) == 0)
            left[kept++] = sizes[i];
        else if (keeps)
            left[kept++] = 1;
    }
    out = windows_make(l, kept, left, false);
    plain_sums(a, mask, sums);
    lab__sum_dims(out, a, mask, 0.5);
    for (int64_t i = 0; i < lab_numel(out); i++)
        windows_near("sum", i, windows_at(out, out, i), sums[i] / 2, 5e-5);
    free(sums);
    lab_unref(a);
    lab_unref(out);
}

static void sums_over_any_dimensions(void **state)
{
    for (int i = 0; i < 10 * ROUNDS; i++)
        sum_round(*state);
}

static void sums_of_very_many_stay_exact(void **state)
{
    const int64_t size = 3000017, columns[] = {3000, 1000}, few[] = {1000};
    lab_tensor *a = windows_plain(*state, LAB_FLOAT32, 1, &size), *grid, *row;
    lab_tensor *out = windows_plain(*state, LAB_FLOAT32, 0, NULL);

    lab_assert_ok(lab__fill(a, 0.1));
    lab__sum_dims(out, a, 1, 1);
    windows_near("sum", 0, windows_at(out, out, 0), 300001.7, 1e-6);
    lab__sum_dims(out, a, 1, 1.0 / 3000017);
    windows_near("mean", 0, windows_at(out, out, 0), 0.1, 1e-6);
    lab_assert_ok(
        lab__tensor_window(a, 2, columns, (int64_t[]){1000, 1}, 0, &grid));
    row = windows_plain(*state, LAB_FLOAT32, 1, few);
    lab__sum_dims(row, grid, 1, 1);
    for (int64_t i = 0; i < 1000; i++)
        windows_near("column", i, windows_at(row, row, i), 300, 1e-6);
    lab_unref(grid);
    lab_unref(row);
    lab_unref(a);
    lab_unref(out);
}

static void sums_of_nothing_are_0_and_of_integers_are_integers(void **state)
{
    const int64_t sizes[] = {2, 0}, two[] = {2}, grid[] = {2, 2};
    const int64_t values[] = {1, 2, 3, INT64_MAX};
    const unsigned char truths[] = {1, 1, 0, 1};
    lab_tensor *none = windows_plain(*state, LAB_FLOAT32, 2, sizes);
    lab_tensor *row = windows_plain(*state, LAB_FLOAT32, 1, two);
    lab_tensor *ints = windows_plain(*state, LAB_INT64, 2, grid);
    lab_tensor *bools = windows_plain(*state, LAB_BOOL, 2, grid);
    lab_tensor *out = windows_plain(*state, LAB_INT64, 1, two);

    lab_assert_ok(lab__fill(row, 7));
    lab__sum_dims(row, none, 2, 1);
    assert_true(windows_at(row, row, 0) == 0 && windows_at(row, row, 1) == 0);
    lab_assert_ok(lab_write(ints, values, sizeof values));
    lab_assert_ok(lab_write(bools, truths, sizeof truths));
    lab__sum_dims(out, ints, 1, 1);
    assert_int_equal(((const int64_t *)lab__data(out))[0], 4);
    assert_true(((const int64_t *)lab__data(out))[1] == INT64_MIN + 1);
    lab__sum_dims(out, bools, 2, 1);
    assert_true(windows_at(out, out, 0) == 2 && windows_at(out, out, 1) == 1);
    lab__sum_dims(row, bools, 2, 0.5);
    assert_true(windows_at(row, row, 0) == 1 && windows_at(row, row, 1) == 0.5);
    lab_unref(none);
    lab_unref(row);
    lab_unref(ints);
    lab_unref(bools);
    lab_unref(out);
}

static void the_largest_is_the_first_of_equals_or_nan(void **state)
{
    const int64_t sizes[] = {3, 4}, rows[] = {3}, columns[] = {1, 4};
    const float values[] = {1, 5, 5, 2, NAN, 9, NAN, 1, -3, -2, -1, -1};
    const int64_t want_rows[] = {1, 0, 2}, want_columns[] = {1, 1, 1, 0};
    int64_t got[4];
    lab_tensor *a = windows_plain(*state, LAB_FLOAT32, 2, sizes), *ints;
    lab_tensor *by_row = windows_plain(*state, LAB_INT64, 1, rows);
    lab_tensor *by_column = windows_plain(*state, LAB_INT64, 2, columns);

    lab_assert_ok(lab_write(a, values, sizeof values));
    lab__extreme(NULL, by_row, a, 1, true);
    lab_assert_ok(lab_read(by_row, got, sizeof want_rows));
    assert_memory_equal(got, want_rows, sizeof want_rows);
    lab__extreme(NULL, by_column, a, 0, true);
    lab_assert_ok(lab_read(by_column, got, sizeof want_columns));
    assert_memory_equal(got, want_columns, sizeof want_columns);
    ints = windows_plain(*state, LAB_INT64, 2, sizes);
    lab_assert_ok(lab__fill(ints, 3));
    *(int64_t *)lab__data(ints) = 2;
    lab__extreme(NULL, by_row, ints, 1, true);
    assert_true(windows_at(by_row, by_row, 0) == 1 &&
                windows_at(by_row, by_row, 1) == 0);
    lab_unref(a);
    lab_unref(ints);
    lab_unref(by_row);
    lab_unref(by_column);
}

/* ---- without memory ----------------------------------------------------- */

static void nothing_is_touched_where_there_is_no_memory(void **state)
{
    lab *l = lab_rig_up("sim:1GiB,backing=none");
    const int64_t sizes[] = {4, 4}, four[] = {4};
    lab_tensor *a = windows_plain(l, LAB_FLOAT32, 2, sizes);
    lab_tensor *indices = windows_plain(l, LAB_INT64, 1, four), *host;

    (void)state;
    lab__unary(LAB__EXP, a, a);
    lab__binary(LAB__ADD, a, a, a, 1);
    lab__scalar(LAB__MUL, a, a, 2);
    lab__scalar_first(LAB__DIV, a, 1, a);
    lab__binary(LAB__ADDCMUL, a, a, a, 1);
    lab__binary(LAB__ADDCDIV, a, a, a, 1);
    lab__sum_dims(a, a, 0, 1);
    lab__extreme(NULL, indices, a, 1, true);
    lab_assert_ok(lab__matmul(a, a, a));
    lab_assert_ok(lab__fill(a, 1));
    lab_assert_ok(lab_zeros(l, LAB_FLOAT32, LAB_HOST, 2, sizes, &host));
    lab_assert_ok(lab__copy(a, host));
    lab_unref(host);
    lab_unref(a);
    lab_unref(indices);
    lab_assert_ok(lab_close(l));
}

static int up(void **state)
{
    *state = lab_rig_up(NULL);
    return 0;
}

static int down(void **state)
{
    return lab_close(*state) == LARDER_OK ? 0 : -1;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(operations_on_one_tensor),
        TEST(functions_are_right_everywhere),
        TEST(operations_on_two_tensors),
        TEST(operations_with_a_number),
        TEST(whole_numbers_and_masks),
        TEST(products_and_quotients_are_added),
        TEST(sums_over_any_dimensions),
        TEST(sums_of_very_many_stay_exact),
        TEST(sums_of_nothing_are_0_and_of_integers_are_integers),
        TEST(the_largest_is_the_first_of_equals_or_nan),
        cmocka_unit_test(nothing_is_touched_where_there_is_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
