/* test_products.c - matrix products against plain sums in double, over views of
 * any strides and sizes near the block sizes. */
#include <math.h>

#include "kernels/kernels.h"
#include "lab_rig.h"
#include "windows.h"

enum { ROUNDS = 60 };

static void product_compare(const lab_tensor *out, const lab_tensor *a,
                            const lab_tensor *b)
{
    int64_t rows = out->sizes[out->ndim - 2], depth = a->sizes[a->ndim - 1];
    int64_t columns = out->sizes[out->ndim - 1];

    for (int64_t i = 0; i < lab_numel(out); i++) {
        int64_t column = i % columns, row = i / columns % rows;
        int64_t batch = i / columns / rows;
        double sum = 0;

        for (int64_t k = 0; k < depth; k++)
            sum += windows_at(a, a, (batch * rows + row) * depth + k) *
                   windows_at(b, b, (batch * depth + k) * columns + column);
        windows_near("product", i, windows_at(out, out, i), sum, 1e-4);
    }
}

static void product_round(lab *l, int leading, const int64_t *sizes,
                          int64_t rows, int64_t depth, int64_t columns)
{
    int64_t all[LAB_MAX_DIMS];
    lab_tensor *out, *a, *b;
    int ndim = leading + 2;

    for (int i = 0; i < leading; i++)
        all[i] = sizes[i];
    all[leading] = rows;
    all[leading + 1] = depth;
    a = windows_make(l, ndim, all, true);
    all[leading] = depth;
    all[leading + 1] = columns;
    b = windows_make(l, ndim, all, true);
    all[leading] = rows;
    out = windows_make(l, ndim, all, false);
    lab_assert_ok(lab__matmul(out, a, b));
    product_compare(out, a, b);
    lab_unref(a);
    lab_unref(b);
    lab_unref(out);
}

static void products_of_any_size_and_stride(void **state)
{
    static const int64_t shapes[][3] = {
        {1, 1, 1},   {1, 7, 1},      {6, 3, 16},    {7, 300, 17},
        {97, 5, 33}, {193, 20, 100}, {20, 40, 600}, {5, 0, 3},
        {0, 4, 3},   {30, 257, 30},  {400, 30, 30}};

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (int round = 0; round < 3; round++)
            product_round(*state, 0, NULL, shapes[i][0], shapes[i][1],
                          shapes[i][2]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        const int64_t sizes[] = {1 + windows_dice(3), 1 + windows_dice(20)};

        product_round(*state, (int)windows_dice(3), sizes, 1 + windows_dice(20),
                      1 + windows_dice(20), 1 + windows_dice(20));
    }
}

static void nothing_times_nan_is_nan(void **state)
{
    const int64_t sizes[] = {2, 2};
    const float zeros[] = {0, 0, 0, 0}, nans[] = {NAN, 1, INFINITY, 1};
    lab_tensor *a = windows_plain(*state, LAB_FLOAT32, 2, sizes);
    lab_tensor *b = windows_plain(*state, LAB_FLOAT32, 2, sizes);
    lab_tensor *out = windows_plain(*state, LAB_FLOAT32, 2, sizes);

    lab_assert_ok(lab_write(a, zeros, sizeof zeros));
    lab_assert_ok(lab_write(b, nans, sizeof nans));
    lab_assert_ok(lab__matmul(out, a, b));
    assert_true(isnan(windows_at(out, out, 0)) &&
                isnan(windows_at(out, out, 2)));
    assert_true(windows_at(out, out, 1) == 0 && windows_at(out, out, 3) == 0);
    lab_unref(a);
    lab_unref(b);
    lab_unref(out);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_any_size_and_stride),
        cmocka_unit_test(nothing_times_nan_is_nan),
    };

    return cmocka_run_group_tests(tests, up, down);
}
