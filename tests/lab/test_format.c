/* test_format.c - tensors are printed as by PyTorch 1.13, which wrote the
 * expected texts. */
#include <math.h>

#include "lab_rig.h"
#include "tensor/tensor.h"

static lab *l;

static lab_tensor *floats(int ndim, const int64_t *sizes, const float *values)
{
    lab_tensor *t = NULL;

    lab_assert_ok(lab_empty(l, LAB_FLOAT32, LAB_HOST, ndim, sizes, &t));
    lab_assert_ok(lab_write(t, values, (size_t)lab_numel(t) * sizeof *values));
    return t;
}

static lab_tensor *row(int64_t n, const float *values)
{
    return floats(1, &n, values);
}

/* start, start + step, … with these sizes. */
static lab_tensor *counted(lab_dtype dtype, double step, int ndim,
                           const int64_t *sizes)
{
    lab_tensor *flat = NULL, *t = NULL;
    int64_t strides[LAB_MAX_DIMS], n = lab__count(ndim, sizes);
    double end;

    end = n > 0 ? ((double)n - 0.5) * step : 0;
    lab_assert_ok(lab_arange(l, dtype, LAB_HOST, 0, end, step, &flat));
    lab__strides_of(ndim, sizes, strides);
    lab_assert_ok(lab__tensor_window(flat, ndim, sizes, strides, 0, &t));
    lab_unref(flat);
    return t;
}

/* Releases t. */
static void printed_as(lab_tensor *t, const char *want)
{
    static char got[65536];
    size_t n = lab_format(t, got, sizeof got);

    lab_unref(t);
    if (strcmp(got, want) != 0)
        fail_msg("printed:\n%s\nexpected:\n%s", got, want);
    assert_int_equal(n, strlen(want));
}

static lab_tensor *wanting(lab_tensor *t)
{
    lab_assert_ok(lab_set_requires_grad(t, true));
    return t;
}

#define ROW(...)                                                               \
    row(sizeof((const float[]){__VA_ARGS__}) / sizeof(float),                  \
        (const float[]){__VA_ARGS__})
#define SIZES(...)                                                             \
    (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),           \
        (const int64_t[])                                                      \
    {                                                                          \
        __VA_ARGS__                                                            \
    }

/* ---- elements ----------------------------------------------------------- */

static void floats_share_a_width_and_a_style(void **state)
{
    (void)state;
    printed_as(floats(SIZES(2, 2), (const float[]){1, 2, 3, 4.5f}),
               "tensor([[1.0000, 2.0000],\n"
               "        [3.0000, 4.5000]])");
    printed_as(ROW(1e-5f, 1), "tensor([1.0000e-05, 1.0000e+00])");
    printed_as(ROW(5e-5f, 1e-3f), "tensor([5.0000e-05, 1.0000e-03])");
    printed_as(ROW(1e9f, NAN, -INFINITY),
               "tensor([1.0000e+09,        nan,       -inf])");
    printed_as(ROW(0, -1, NAN), "tensor([ 0., -1., nan])");
    printed_as(ROW(1, 1001), "tensor([1.0000e+00, 1.0010e+03])");
    printed_as(ROW(0.5f, 1000.25f), "tensor([5.0000e-01, 1.0002e+03])");
    printed_as(floats(0, NULL, (const float[]){3}), "tensor(3.)");
}

static void integers_and_booleans_are_aligned(void **state)
{
    const int64_t two = 2;
    lab_tensor *t;

    (void)state;
    printed_as(counted(LAB_INT64, 1000, SIZES(3, 10)),
               "tensor([[    0,  1000,  2000,  3000,  4000,  5000,  6000,  "
               "7000,  8000,  9000],\n"
               "        [10000, 11000, 12000, 13000, 14000, 15000, 16000, "
               "17000, 18000, 19000],\n"
               "        [20000, 21000, 22000, 23000, 24000, 25000, 26000, "
               "27000, 28000, 29000]])");
    lab_assert_ok(lab_ones(l, LAB_BOOL, LAB_HOST, 1, &two, &t));
    lab_assert_ok(lab_write(t, "\1\0", 2));
    printed_as(t, "tensor([ True, False])");
}

/* ---- lines -------------------------------------------------------------- */

static void long_rows_are_broken(void **state)
{
    const int64_t sizes[] = {2, 2, 2};
    lab_tensor *t;

    (void)state;
    printed_as(counted(LAB_FLOAT32, 0.37, SIZES(50)),
               "tensor([ 0.0000,  0.3700,  0.7400,  1.1100,  1.4800,  1.8500,  "
               "2.2200,  2.5900,\n"
               "         2.9600,  3.3300,  3.7000,  4.0700,  4.4400,  4.8100,  "
               "5.1800,  5.5500,\n"
               "         5.9200,  6.2900,  6.6600,  7.0300,  7.4000,  7.7700,  "
               "8.1400,  8.5100,\n"
               "         8.8800,  9.2500,  9.6200,  9.9900, 10.3600, 10.7300, "
               "11.1000, 11.4700,\n"
               "        11.8400, 12.2100, 12.5800, 12.9500, 13.3200, 13.6900, "
               "14.0600, 14.4300,\n"
               "        14.8000, 15.1700, 15.5400, 15.9100, 16.2800, 16.6500, "
               "17.0200, 17.3900,\n"
               "        17.7600, 18.1300])");
    printed_as(counted(LAB_FLOAT32, 1 / 7.0, SIZES(1, 2, 3, 4)),
               "tensor([[[[0.0000, 0.1429, 0.2857, 0.4286],\n"
               "          [0.5714, 0.7143, 0.8571, 1.0000],\n"
               "          [1.1429, 1.2857, 1.4286, 1.5714]],\n"
               "\n"
               "         [[1.7143, 1.8571, 2.0000, 2.1429],\n"
               "          [2.2857, 2.4286, 2.5714, 2.7143],\n"
               "          [2.8571, 3.0000, 3.1429, 3.2857]]]])");
    lab_assert_ok(lab_zeros(l, LAB_FLOAT32, LAB_HOST, 3, sizes, &t));
    printed_as(t, "tensor([[[0., 0.],\n"
                  "         [0., 0.]],\n"
                  "\n"
                  "        [[0., 0.],\n"
                  "         [0., 0.]]])");
}

static void long_tensors_are_shortened(void **state)
{
    (void)state;
    printed_as(counted(LAB_FLOAT32, 1, SIZES(1200)),
               "tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.1970e+03, "
               "1.1980e+03,\n"
               "        1.1990e+03])");
    printed_as(counted(LAB_INT64, 1, SIZES(50, 50)),
               "tensor([[   0,    1,    2,  ...,   47,   48,   49],\n"
               "        [  50,   51,   52,  ...,   97,   98,   99],\n"
               "        [ 100,  101,  102,  ...,  147,  148,  149],\n"
               "        ...,\n"
               "        [2350, 2351, 2352,  ..., 2397, 2398, 2399],\n"
               "        [2400, 2401, 2402,  ..., 2447, 2448, 2449],\n"
               "        [2450, 2451, 2452,  ..., 2497, 2498, 2499]])");
    printed_as(
        counted(LAB_FLOAT32, 1, SIZES(20, 10, 10)),
        "tensor([[[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 7.0000e+00,\n"
        "          8.0000e+00, 9.0000e+00],\n"
        "         [1.0000e+01, 1.1000e+01, 1.2000e+01,  ..., 1.7000e+01,\n"
        "          1.8000e+01, 1.9000e+01],\n"
        "         [2.0000e+01, 2.1000e+01, 2.2000e+01,  ..., 2.7000e+01,\n"
        "          2.8000e+01, 2.9000e+01],\n"
        "         ...,\n"
        "         [7.0000e+01, 7.1000e+01, 7.2000e+01,  ..., 7.7000e+01,\n"
        "          7.8000e+01, 7.9000e+01],\n"
        "         [8.0000e+01, 8.1000e+01, 8.2000e+01,  ..., 8.7000e+01,\n"
        "          8.8000e+01, 8.9000e+01],\n"
        "         [9.0000e+01, 9.1000e+01, 9.2000e+01,  ..., 9.7000e+01,\n"
        "          9.8000e+01, 9.9000e+01]],\n"
        "\n"
        "        [[1.0000e+02, 1.0100e+02, 1.0200e+02,  ..., 1.0700e+02,\n"
        "          1.0800e+02, 1.0900e+02],\n"
        "         [1.1000e+02, 1.1100e+02, 1.1200e+02,  ..., 1.1700e+02,\n"
        "          1.1800e+02, 1.1900e+02],\n"
        "         [1.2000e+02, 1.2100e+02, 1.2200e+02,  ..., 1.2700e+02,\n"
        "          1.2800e+02, 1.2900e+02],\n"
        "         ...,\n"
        "         [1.7000e+02, 1.7100e+02, 1.7200e+02,  ..., 1.7700e+02,\n"
        "          1.7800e+02, 1.7900e+02],\n"
        "         [1.8000e+02, 1.8100e+02, 1.8200e+02,  ..., 1.8700e+02,\n"
        "          1.8800e+02, 1.8900e+02],\n"
        "         [1.9000e+02, 1.9100e+02, 1.9200e+02,  ..., 1.9700e+02,\n"
        "          1.9800e+02, 1.9900e+02]],\n"
        "\n"
        "        [[2.0000e+02, 2.0100e+02, 2.0200e+02,  ..., 2.0700e+02,\n"
        "          2.0800e+02, 2.0900e+02],\n"
        "         [2.1000e+02, 2.1100e+02, 2.1200e+02,  ..., 2.1700e+02,\n"
        "          2.1800e+02, 2.1900e+02],\n"
        "         [2.2000e+02, 2.2100e+02, 2.2200e+02,  ..., 2.2700e+02,\n"
        "          2.2800e+02, 2.2900e+02],\n"
        "         ...,\n"
        "         [2.7000e+02, 2.7100e+02, 2.7200e+02,  ..., 2.7700e+02,\n"
        "          2.7800e+02, 2.7900e+02],\n"
        "         [2.8000e+02, 2.8100e+02, 2.8200e+02,  ..., 2.8700e+02,\n"
        "          2.8800e+02, 2.8900e+02],\n"
        "         [2.9000e+02, 2.9100e+02, 2.9200e+02,  ..., 2.9700e+02,\n"
        "          2.9800e+02, 2.9900e+02]],\n"
        "\n"
        "        ...,\n"
        "\n"
        "        [[1.7000e+03, 1.7010e+03, 1.7020e+03,  ..., 1.7070e+03,\n"
        "          1.7080e+03, 1.7090e+03],\n"
        "         [1.7100e+03, 1.7110e+03, 1.7120e+03,  ..., 1.7170e+03,\n"
        "          1.7180e+03, 1.7190e+03],\n"
        "         [1.7200e+03, 1.7210e+03, 1.7220e+03,  ..., 1.7270e+03,\n"
        "          1.7280e+03, 1.7290e+03],\n"
        "         ...,\n"
        "         [1.7700e+03, 1.7710e+03, 1.7720e+03,  ..., 1.7770e+03,\n"
        "          1.7780e+03, 1.7790e+03],\n"
        "         [1.7800e+03, 1.7810e+03, 1.7820e+03,  ..., 1.7870e+03,\n"
        "          1.7880e+03, 1.7890e+03],\n"
        "         [1.7900e+03, 1.7910e+03, 1.7920e+03,  ..., 1.7970e+03,\n"
        "          1.7980e+03, 1.7990e+03]],\n"
        "\n"
        "        [[1.8000e+03, 1.8010e+03, 1.8020e+03,  ..., 1.8070e+03,\n"
        "          1.8080e+03, 1.8090e+03],\n"
        "         [1.8100e+03, 1.8110e+03, 1.8120e+03,  ..., 1.8170e+03,\n"
        "          1.8180e+03, 1.8190e+03],\n"
        "         [1.8200e+03, 1.8210e+03, 1.8220e+03,  ..., 1.8270e+03,\n"
        "          1.8280e+03, 1.8290e+03],\n"
        "         ...,\n"
        "         [1.8700e+03, 1.8710e+03, 1.8720e+03,  ..., 1.8770e+03,\n"
        "          1.8780e+03, 1.8790e+03],\n"
        "         [1.8800e+03, 1.8810e+03, 1.8820e+03,  ..., 1.8870e+03,\n"
        "          1.8880e+03, 1.8890e+03],\n"
        "         [1.8900e+03, 1.8910e+03, 1.8920e+03,  ..., 1.8970e+03,\n"
        "          1.8980e+03, 1.8990e+03]],\n"
        "\n"
        "        [[1.9000e+03, 1.9010e+03, 1.9020e+03,  ..., 1.9070e+03,\n"
        "          1.9080e+03, 1.9090e+03],\n"
        "         [1.9100e+03, 1.9110e+03, 1.9120e+03,  ..., 1.9170e+03,\n"
        "          1.9180e+03, 1.9190e+03],\n"
        "         [1.9200e+03, 1.9210e+03, 1.9220e+03,  ..., 1.9270e+03,\n"
        "          1.9280e+03, 1.9290e+03],\n"
        "         ...,\n"
        "         [1.9700e+03, 1.9710e+03, 1.9720e+03,  ..., 1.9770e+03,\n"
        "          1.9780e+03, 1.9790e+03],\n"
        "         [1.9800e+03, 1.9810e+03, 1.9820e+03,  ..., 1.9870e+03,\n"
        "          1.9880e+03, 1.9890e+03],\n"
        "         [1.9900e+03, 1.9910e+03, 1.9920e+03,  ..., 1.9970e+03,\n"
        "          1.9980e+03, 1.9990e+03]]])");
}

/* ---- the suffix --------------------------------------------------------- */

static void gradient_notes_stand_where_they_fit(void **state)
{
    const int64_t sizes[] = {2, 3};
    lab_tensor *x, *y;

    (void)state;
    lab_assert_ok(lab_ones(l, LAB_FLOAT32, LAB_HOST, 2, sizes, &x));
    lab_assert_ok(lab_mul_scalar(wanting(x), 2.5, &y));
    printed_as(x, "tensor([[1., 1., 1.],\n"
                  "        [1., 1., 1.]], requires_grad=True)");
    printed_as(y, "tensor([[2.5000, 2.5000, 2.5000],\n"
                  "        [2.5000, 2.5000, 2.5000]], grad_fn=<MulBackward0>)");
    printed_as(
        wanting(counted(LAB_FLOAT32, 1, SIZES(40))),
        "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., "
        "12., 13.,\n"
        "        14., 15., 16., 17., 18., 19., 20., 21., 22., 23., 24., 25., "
        "26., 27.,\n"
        "        28., 29., 30., 31., 32., 33., 34., 35., 36., 37., 38., 39.],\n"
        "       requires_grad=True)");
    printed_as(
        wanting(counted(LAB_FLOAT32, 1, SIZES(10))),
        "tensor([0., 1., 2., 3., 4., 5., 6., 7., 8., 9.], requires_grad=True)");
    printed_as(wanting(counted(LAB_FLOAT32, 1, SIZES(15))),
               "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., "
               "11., 12., 13.,\n"
               "        14.], requires_grad=True)");
    printed_as(wanting(counted(LAB_FLOAT32, 1, SIZES(13))),
               "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., "
               "11., 12.],\n"
               "       requires_grad=True)");
}

/* A line has 80 columns, of which two stay free. */
static void gradient_notes_go_to_the_next_line_if_they_must(void **state)
{
    const int64_t twelve = 12, thirteen = 13;
    lab_tensor *t;

    (void)state;
    lab_assert_ok(lab_zeros(l, LAB_FLOAT32, LAB_HOST, 1, &twelve, &t));
    printed_as(wanting(t), "tensor([0., 0., 0., 0., 0., 0., 0., 0., 0., 0., "
                           "0., 0.], requires_grad=True)");
    lab_assert_ok(lab_zeros(l, LAB_FLOAT32, LAB_HOST, 1, &thirteen, &t));
    printed_as(wanting(t), "tensor([0., 0., 0., 0., 0., 0., 0., 0., 0., 0., "
                           "0., 0., 0.],\n       requires_grad=True)");
}

static void empty_tensors_show_their_size_and_type(void **state)
{
    (void)state;
    printed_as(floats(SIZES(0, 3), NULL), "tensor([], size=(0, 3))");
    printed_as(counted(LAB_INT64, 1, SIZES(0)),
               "tensor([], dtype=torch.int64)");
}

static void the_device_is_shown(void **state)
{
    const int64_t two = 2;
    lab_tensor *t;

    (void)state;
    lab_assert_ok(lab_zeros(l, LAB_FLOAT32, LAB_DEVICE, 1, &two, &t));
    printed_as(t, "tensor([0., 0.], device='cuda:0')");
}

static void without_memory_sizes_are_shown(void **state)
{
    lab *none = lab_rig_up("sim:1GiB,backing=none");
    const int64_t sizes[] = {2, 3};
    lab_tensor *t;

    (void)state;
    lab_assert_ok(lab_ones(none, LAB_INT64, LAB_DEVICE, 2, sizes, &t));
    printed_as(t, "tensor(..., device='cuda:0', size=(2, 3), "
                  "dtype=torch.int64)");
    lab_assert_ok(lab_ones(none, LAB_FLOAT32, LAB_DEVICE, 1, sizes, &t));
    printed_as(t, "tensor(..., device='cuda:0', size=(2,))");
    lab_assert_ok(lab_close(none));
}

static void text_beyond_the_buffer_is_cut_and_counted(void **state)
{
    lab_tensor *t = ROW(1, 2);
    char text[10];

    (void)state;
    memset(text, 'x', sizeof text);
    assert_int_equal(lab_format(t, text, 9), strlen("tensor([1., 2.])"));
    assert_string_equal(text, "tensor([");
    assert_int_equal(text[9], 'x');
    assert_int_equal(lab_format(t, NULL, 0), strlen("tensor([1., 2.])"));
    lab_unref(t);
}

static int up(void **state)
{
    (void)state;
    l = lab_rig_up(NULL);
    return 0;
}

static int down(void **state)
{
    (void)state;
    return lab_close(l) == LARDER_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_share_a_width_and_a_style),
        cmocka_unit_test(integers_and_booleans_are_aligned),
        cmocka_unit_test(long_rows_are_broken),
        cmocka_unit_test(long_tensors_are_shortened),
        cmocka_unit_test(gradient_notes_stand_where_they_fit),
        cmocka_unit_test(gradient_notes_go_to_the_next_line_if_they_must),
        cmocka_unit_test(empty_tensors_show_their_size_and_type),
        cmocka_unit_test(the_device_is_shown),
        cmocka_unit_test(without_memory_sizes_are_shown),
        cmocka_unit_test(text_beyond_the_buffer_is_cut_and_counted),
    };

    return cmocka_run_group_tests(tests, up, down);
}
