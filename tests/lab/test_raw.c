/* test_raw.c - operations without gradients, types with their own sizes,
 * functions defined by the caller, streams and stacks.
 * tests/python/test_lab_gradients.py tests that values and gradients are
 * right. */
#include <larder/lab_raw.h>

#include <math.h>

#include "small_tensors.h"
#include "tensor/host_memory.h"
#include "tensor/tensor.h"

/* ---- a scenario of everything ------------------------------------------- */

enum { PLACES_MAX = 400, MADE = 40 };

struct made {
    lab_tensor *t[MADE];
    int count;
};

static void drop(struct made *m)
{
    for (int i = 0; i < MADE; i++) {
        lab_unref(m->t[i]);
        m->t[i] = NULL;
    }
    m->count = 0;
}

/* The place for the next result. */
static lab_tensor **next(struct made *m)
{
    return &m->t[m->count++];
}

#define STEP(call)                                                             \
    do {                                                                       \
        larder_result step_result = (call);                                    \
                                                                               \
        if (step_result != LARDER_OK)                                          \
            return step_result;                                                \
    } while (0)

static const lab_window window = {.size = sizeof window,
                                  .kernel = {3, 3},
                                  .stride = {2, 1},
                                  .padding = {1, 1},
                                  .dilation = {1, 1},
                                  .groups = 2};

static larder_result use_windows(struct made *m, lab_tensor *image)
{
    const int64_t weight_sizes[] = {4, 1, 3, 3}, to[] = {5, 7};
    const int64_t *sizes = lab_sizes(image);
    lab *l = lab_session(image);
    lab_tensor **w = next(m), **out = next(m), **pooled = next(m);
    lab_tensor **indices = next(m), **resized = next(m);

    STEP(lab_randn(l, LAB_FLOAT32, LAB_DEVICE, 4, weight_sizes, w));
    STEP(lab_raw_conv2d(image, *w, NULL, &window, out));
    STEP(lab_raw_conv2d_input(*out, *w, &window, sizes, next(m)));
    STEP(lab_raw_conv2d_weight(*out, image, &window, weight_sizes, next(m)));
    STEP(lab_raw_max_pool2d(image, &window, pooled, indices));
    STEP(lab_raw_max_pool2d_backward(*pooled, *indices, sizes, next(m)));
    STEP(lab_raw_avg_pool2d(image, &window, next(m)));
    STEP(lab_raw_resize2d(image, to, true, false, resized));
    return lab_raw_resize2d_backward(*resized, sizes, true, false, next(m));
}

static larder_result use_indices(struct made *m, lab_tensor *matrix)
{
    const int64_t sizes[] = {3, 4}, repeats[] = {2, 1, 2};
    lab *l = lab_session(matrix);
    lab_tensor **index = next(m), **values = next(m), **order = next(m);
    lab_tensor **big = next(m);

    STEP(lab_randint(l, LAB_INT64, LAB_DEVICE, 2, sizes, 0, 3, index));
    STEP(lab_raw_gather(matrix, 0, *index, next(m)));
    STEP(lab_raw_scatter(matrix, 0, *index, NULL, 2, true));
    STEP(lab_raw_index(matrix, 0, index, 1, next(m)));
    STEP(lab_raw_sort(matrix, 1, true, 2, values, order));
    STEP(lab_raw_nonzero(matrix, next(m)));
    STEP(lab_raw_bincount(*index, NULL, 5, next(m)));
    STEP(lab_raw_triangle(matrix, 0, true, next(m)));
    STEP(lab_raw_flip(matrix, 3, next(m)));
    STEP(lab_raw_repeat(matrix, 3, repeats, big));
    return lab_raw_repeat_backward(*big, 2, sizes, next(m));
}

static larder_result use_rnn(struct made *m, lab *l)
{
    const int64_t x_sizes[] = {2, 2, 3}, w_sizes[] = {8, 3}, h_sizes[] = {2, 2};
    const int64_t wh_sizes[] = {8, 2}, out_sizes[] = {2, 2, 2};
    const int64_t kept_sizes[] = {2, 2, 10};
    struct lab_rnn rnn = {.size = sizeof rnn, .cell = LAB_LSTM};
    lab_rnn_grads to = {.size = sizeof to};
    lab_tensor **x = next(m), **out = next(m), **kept = next(m);
    lab_tensor **h = next(m), **c = next(m), **w = next(m), **wh = next(m);

    STEP(lab_randn(l, LAB_FLOAT32, LAB_DEVICE, 3, x_sizes, x));
    STEP(lab_zeros(l, LAB_FLOAT32, LAB_DEVICE, 3, out_sizes, out));
    STEP(lab_zeros(l, LAB_FLOAT32, LAB_DEVICE, 3, kept_sizes, kept));
    STEP(lab_zeros(l, LAB_FLOAT32, LAB_DEVICE, 2, h_sizes, h));
    STEP(lab_zeros(l, LAB_FLOAT32, LAB_DEVICE, 2, h_sizes, c));
    STEP(lab_randn(l, LAB_FLOAT32, LAB_DEVICE, 2, w_sizes, w));
    STEP(lab_randn(l, LAB_FLOAT32, LAB_DEVICE, 2, wh_sizes, wh));
    rnn.w_x = *w;
    rnn.w_h = *wh;
    rnn.h = *h;
    rnn.c = *c;
    STEP(lab_raw_rnn(&rnn, *x, *out, *h, *c, *kept));
    return lab_raw_rnn_backward(&rnn, *x, *out, *kept, *out, NULL, NULL, &to);
}

static larder_result nothing_back(void *context, lab_tensor *const *saved,
                                  lab_tensor *const *grads,
                                  lab_tensor **results)
{
    (void)context;
    assert_non_null(saved[8]);
    results[0] = lab_ref(grads[0]);
    return LARDER_OK;
}

static void count_release(void *context)
{
    ++*(int *)context;
}

/* Nine saved tensors: more than fit into a node itself. */
static larder_result use_function(struct made *m, lab *l, int *released)
{
    const int64_t size = 3;
    lab_tensor **x = next(m), **y = next(m), *saved[9];
    lab_function f = {.size = sizeof f,
                      .name = "MineBackward",
                      .backward = nothing_back,
                      .context = released,
                      .release = count_release,
                      .input_count = 1,
                      .inputs = x,
                      .output_count = 1,
                      .outputs = y,
                      .saved_count = 9,
                      .saved = saved};

    STEP(lab_zeros(l, LAB_FLOAT16, LAB_DEVICE, 1, &size, x));
    STEP(lab_set_requires_grad(*x, true));
    STEP(lab_zeros(l, LAB_FLOAT16, LAB_DEVICE, 1, &size, y));
    for (int i = 0; i < 9; i++)
        saved[i] = *x;
    STEP(lab_function_record(l, &f));
    STEP(lab_backward(*y, *y, true));
    STEP(lab_gradients(*y, *y, false, x, 1, next(m)));
    return LARDER_OK;
}

static larder_result use_all(lab *l, struct made *m, int *released)
{
    const int64_t image_sizes[] = {2, 2, 5, 6}, sizes[] = {3, 4};
    lab_tensor **image = next(m), **matrix = next(m), **mean = next(m);
    lab_tensor **rstd = next(m), **normal = next(m), *two[2];

    *mean = *rstd = NULL;
    STEP(lab_randn(l, LAB_FLOAT32, LAB_DEVICE, 4, image_sizes, image));
    STEP(lab_rand(l, LAB_BFLOAT16, LAB_DEVICE, 2, sizes, matrix));
    STEP(lab_raw_normalize(*image, 2, NULL, NULL, 1e-5, mean, rstd, normal));
    two[0] = two[1] = *matrix;
    STEP(lab_raw_map(lab_raw_find("maximum"), two, 0, 0, next(m)));
    STEP(lab_raw_reduce(LAB_VAR, *matrix, 1, false, 1, next(m)));
    STEP(lab_raw_scan(LAB_PROD, *matrix, 0, next(m)));
    STEP(use_indices(m, *matrix));
    STEP(use_windows(m, *image));
    drop(m);
    STEP(use_rnn(m, l));
    return use_function(m, l, released);
}

/* ---- failures ------------------------------------------------------------ */

static void goes_on(lab *l)
{
    struct made m = {.count = 0};
    int released = 0;
    lab_memory now = lab_rig_memory(l);

    assert_int_equal(now.tensors, 0);
    assert_int_equal(now.requested_bytes, 0);
    lab_assert_ok(use_all(l, &m, &released));
    drop(&m);
    assert_int_equal(released, 1);
    lab_assert_ok(lab_close(l));
}

static int host_sweep(void (*plan)(long passes))
{
    for (int i = 0; i < PLACES_MAX; i++) {
        struct made m = {.count = 0};
        int released = 0;
        lab *l = lab_rig_up("sim:1GiB");
        larder_result r;

        plan(i);
        r = use_all(l, &m, &released);
        plan(-1);
        drop(&m);
        goes_on(l);
        if (r == LARDER_OK)
            return i;
        assert_int_equal(r, LARDER_ERR_NO_HOST_MEMORY);
    }
    return PLACES_MAX;
}

static void any_request_for_host_memory_may_fail(void **state)
{
    int places = host_sweep(lab__host_fail_after);

    (void)state;
    assert_in_range(places, 50, PLACES_MAX - 1);
    assert_int_equal(host_sweep(lab__host_fail_from), places);
}

static void the_device_may_have_no_more(void **state)
{
    int i = 1;
    larder_result r;

    (void)state;
    do {
        struct made m = {.count = 0};
        int released = 0;
        lab *l = lab_rig_up("sim:1GiB");

        /* Without a cache every tensor is a device call. */
        lab_assert_ok(lab_close(l));
        {
            lab_options opt;

            lab_options_init(&opt);
            opt.policy = LARDER_POLICY_DIRECT;
            lab_assert_ok(lab_open(&opt, &l));
        }
        assert_ok(larder_device_fail(lab_device(l), LARDER_CALL_mem_alloc,
                                     (uint64_t)i, 0, LARDER_ERR_OUT_OF_MEMORY));
        r = use_all(l, &m, &released);
        assert_ok(larder_device_fail(lab_device(l), LARDER_CALL_mem_alloc, 0, 0,
                                     LARDER_ERR_OUT_OF_MEMORY));
        drop(&m);
        goes_on(l);
        assert_true(r == LARDER_OK || r == LARDER_ERR_OUT_OF_MEMORY);
    } while (r != LARDER_OK && ++i < PLACES_MAX);
    assert_in_range(i, 30, PLACES_MAX - 1);
}

/* A row of one step of two: relu(x + 2·h). */
static void a_row_ends_where_its_length_says(void **state)
{
    lab *l = *state;
    lab_tensor *x = tensor_of(l, DIMS(2, 1, 1), NUMBERS(3, 100));
    lab_tensor *out = tensor_of(l, DIMS(2, 1, 1), NUMBERS(7, 7));
    lab_tensor *one = tensor_of(l, DIMS(1, 1), NUMBERS(1));
    lab_tensor *two = tensor_of(l, DIMS(1, 1), NUMBERS(2));
    lab_tensor *last = tensor_of(l, DIMS(1, 1), NUMBERS(0));
    int64_t length = 3;
    lab_rnn rnn = {.size = sizeof rnn,
                   .cell = LAB_RNN_RELU,
                   .w_x = one,
                   .w_h = two,
                   .h = one,
                   .lengths = &length};
    float found[2];

    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_raw_rnn(&rnn, x, out, last, NULL, NULL),
                       "a row has 3 steps; expected 1 to 2");
    length = 1;
    assert_int_equal(lab_raw_rnn(&rnn, x, out, last, NULL, NULL), LARDER_OK);
    assert_int_equal(lab_read(out, found, sizeof found), LARDER_OK);
    assert_true(found[0] == 5 && found[1] == 0);
    assert_int_equal(lab_read(last, found, sizeof found[0]), LARDER_OK);
    assert_true(found[0] == 5);
    lab_unref(x);
    lab_unref(out);
    lab_unref(one);
    lab_unref(two);
    lab_unref(last);
}

static void triangle_check(lab_tensor *t, const int64_t values[12],
                           int64_t diagonal, bool upper)
{
    int64_t found[12];
    lab_tensor *out;

    lab_assert_ok(lab_raw_triangle(t, diagonal, upper, &out));
    lab_assert_ok(lab_read(out, found, sizeof found));
    lab_unref(out);
    for (int i = 0; i < 12; i++) {
        int over = i % 3 - i / 3 % 2;
        bool stays = upper ? over >= diagonal : over <= diagonal;

        assert_int_equal(found[i], stays ? values[i] : 0);
    }
}

/* Two matrices of 2 × 3, of numbers that a double does not hold. */
static void a_triangle_keeps_numbers_exactly(void **state)
{
    const int64_t diagonals[] = {INT64_MIN, -2, -1, 0, 1, 2, 3, INT64_MAX};
    const int64_t sizes[] = {2, 2, 3};
    int64_t values[12];
    lab_tensor *t;

    for (int i = 0; i < 12; i++)
        values[i] = (INT64_C(1) << 60) + 1 + i;
    lab_assert_ok(lab_zeros(*state, LAB_INT64, LAB_DEVICE, 3, sizes, &t));
    lab_assert_ok(lab_write(t, values, sizeof values));
    for (size_t i = 0; i < sizeof diagonals / sizeof diagonals[0]; i++) {
        triangle_check(t, values, diagonals[i], true);
        triangle_check(t, values, diagonals[i], false);
    }
    lab_unref(t);
}

/* ---- errors -------------------------------------------------------------- */

/* Its elements beyond the end were read. */
static void conv2d_checks_its_bias(lab *l, lab_tensor *three)
{
    lab_tensor *image = tensor_of(l, DIMS(1, 1, 1, 1), NUMBERS(1));
    lab_tensor *w = tensor_of(l, DIMS(1, 4, 1, 1), NUMBERS(1, 2, 3, 4));
    lab_tensor *out = NULL;
    lab_window up = {.size = sizeof up,
                     .kernel = {1, 1},
                     .stride = {1, 1},
                     .dilation = {1, 1},
                     .groups = 1,
                     .transposed = true};

    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_raw_conv2d(image, w, three, &up, &out),
                       "conv2d: a bias of 3 for 4 output channels");
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_raw_conv2d(image, w, w, &up, &out),
                       "conv2d: the bias must have 1 dimension");
    assert_null(out);
    lab_unref(image);
    lab_unref(w);
}

static void mistakes_are_refused_in_words(void **state)
{
    lab *l = *state;
    lab_tensor *a = tensor_of(l, DIMS(2, 2), NUMBERS(1, 2, 3, 4));
    lab_tensor *b = tensor_of(l, DIMS(3), NUMBERS(1, 2, 3));
    lab_tensor *two[] = {a, b}, *out = NULL, *more = NULL;
    lab_window wrong = window;
    lab_rnn rnn = {.size = 1};

    lab_assert_refused(LARDER_ERR_INVALID, lab_raw_map(-1, two, 0, 0, &out),
                       "not the number of an operation");
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_raw_map(lab_raw_find("lt"), two, 0, 0, &out), "lt");
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_raw_map_into(lab_raw_find("abs"), &a, 0, 0, b),
                       "for a tensor of [3]");
    lab_assert_refused(LARDER_ERR_INVALID, lab_raw_gather(a, 0, b, &out),
                       "must be int64");
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_raw_sort(a, 1, false, 3, &out, &more), "3 of the 2");
    lab_assert_refused(LARDER_ERR_INVALID, lab_raw_scan(LAB_AMAX, a, 0, &out),
                       "only sums and products");
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_raw_conv2d(a, a, NULL, &window, &out), "dimensions");
    wrong.size = 8;
    lab_assert_refused(LARDER_ERR_INVALID, lab_raw_avg_pool2d(a, &wrong, &out),
                       "lab_window has 8");
    lab_assert_refused(LARDER_ERR_INVALID, lab_raw_rnn(&rnn, a, a, a, a, NULL),
                       "lab_rnn has 1");
    lab_assert_refused(LARDER_ERR_INVALID, lab_raw_triangle(b, 0, true, &out),
                       "at least 2");
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_raw_multinomial(b, 4, false, &out), "4 cannot");
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_raw_reduce((lab_reduction)99, a, 1, false, 0, &out),
                       "99 is not a reduction");
    conv2d_checks_its_bias(l, b);
    assert_null(out);
    assert_int_equal(lab_raw_find("no_such_thing"), -1);
    assert_int_equal(lab_raw_arity(lab_raw_find("where")), 3);
    lab_unref(a);
    lab_unref(b);
}

static void backing_none_computes_shapes_alone(void **state)
{
    lab *l = lab_rig_up("sim:8GiB,backing=none");
    struct made m = {.count = 0};
    const int64_t sizes[] = {64, 1024, 1024};
    lab_tensor *x, *y;

    (void)state;
    lab_assert_ok(lab_zeros(l, LAB_FLOAT16, LAB_DEVICE, 3, sizes, &x));
    assert_int_equal(lab_rig_memory(l).allocated_bytes, 128 << 20);
    assert_int_equal(lab_rig_memory(l).host_bytes, 0);
    lab_assert_ok(lab_raw_map(lab_raw_find("silu"), &x, 0, 0, &y));
    assert_int_equal(lab_rig_memory(l).allocated_bytes, 256 << 20);
    lab_assert_refused(LARDER_ERR_UNSUPPORTED, lab_raw_nonzero(x, next(&m)),
                       "backing=memory");
    lab_unref(x);
    lab_unref(y);
    lab_assert_ok(lab_close(l));
}

/* ---- types ---------------------------------------------------------------- */

static void every_float_of_two_bytes_comes_back(void **state)
{
    static uint16_t bits[65536], back[65536];
    static float values[65536];
    const lab_dtype dtypes[] = {LAB_FLOAT16, LAB_BFLOAT16};

    (void)state;
    for (int i = 0; i < 65536; i++)
        bits[i] = (uint16_t)i;
    for (int k = 0; k < 2; k++) {
        lab__unpack(dtypes[k], values, bits, 65536);
        lab__pack(dtypes[k], back, values, 65536);
        for (int i = 0; i < 65536; i++) {
            if (!isnan(values[i]))
                assert_int_equal(back[i], bits[i]);
        }
    }
}

static void floats_are_rounded_to_the_nearest(void **state)
{
    /* Halves round to even; 65520 is the first value that is too large. */
    const float given[] = {1.00048828125f, 1.00146484375f, 65519.9f, 65520.0f,
                           3e-8f,          2.9e-8f,        -0.0f};
    const uint16_t want[] = {0x3c00, 0x3c02, 0x7bff, 0x7c00, 1, 0, 0x8000};
    uint16_t got[7];

    (void)state;
    lab__pack(LAB_FLOAT16, got, given, 7);
    assert_memory_equal(got, want, sizeof got);
}

static void values_are_read_and_written_as_the_type(void **state)
{
    lab *l = *state;
    const int8_t given[] = {-128, 0, 127};
    int8_t got[3];
    lab_tensor *t, *sum;
    const int64_t size = 3;

    lab_assert_ok(lab_empty(l, LAB_INT8, LAB_DEVICE, 1, &size, &t));
    lab_assert_ok(lab_write(t, given, sizeof given));
    lab_assert_ok(lab_read(t, got, sizeof got));
    assert_memory_equal(got, given, sizeof got);
    assert_int_equal(lab_storage_bytes(t), 3);
    lab_assert_ok(lab_add(t, t, &sum));
    lab_assert_ok(lab_read(sum, got, sizeof got));
    assert_int_equal(got[0], 0); /* -256 */
    assert_int_equal(got[2], -2);
    lab_unref(t);
    lab_unref(sum);
}

/* ---- functions of the caller's --------------------------------------------- */

static void the_context_of_an_unrecorded_function_is_released_at_once(
    void **state)
{
    lab *l = *state;
    lab_tensor *x = leaf_of(l, DIMS(1), NUMBERS(2));
    int released = 0;
    lab_function f = {.size = sizeof f,
                      .name = "MineBackward",
                      .backward = nothing_back,
                      .context = &released,
                      .release = count_release,
                      .input_count = 1,
                      .inputs = &x,
                      .output_count = 1,
                      .outputs = &x};
    bool was = lab_set_grad_enabled(l, false);

    lab_assert_ok(lab_function_record(l, &f));
    assert_int_equal(released, 1);
    lab_set_grad_enabled(l, was);
    lab_assert_refused(LARDER_ERR_INVALID, lab_function_record(l, &f),
                       "a leaf that requires grad");
    assert_int_equal(released, 2);
    f.size = 1;
    lab_assert_refused(LARDER_ERR_INVALID, lab_function_record(l, &f),
                       "lab_function has 1 bytes");
    assert_int_equal(released, 3);
    lab_unref(x);
}

/* ---- streams and stacks ----------------------------------------------------- */

static void a_streams_memory_is_its_own(void **state)
{
    lab *l = *state;
    const int64_t size = 1000;
    lab_tensor *t;
    uint64_t first;

    assert_int_equal(lab_set_stream(l, 3), 0);
    assert_int_equal(lab_stream(l), 3);
    lab_assert_ok(lab_empty(l, LAB_FLOAT32, LAB_DEVICE, 1, &size, &t));
    first = lab_address(t);
    lab_assert_ok(lab_record_stream(t, 5));
    lab_unref(t);
    lab_set_stream(l, 4);
    lab_assert_ok(lab_empty(l, LAB_FLOAT32, LAB_DEVICE, 1, &size, &t));
    assert_true(lab_address(t) != first);
    lab_unref(t);
    lab_set_stream(l, 0);
}

static size_t two_frames(void *context, uint64_t *frames, size_t capacity)
{
    lab_tensor *t;
    const int64_t size = 4;

    /* It may use the lab, but on the host: on the device it would be called
     * again. */
    lab_assert_ok(lab_empty(context, LAB_FLOAT32, LAB_HOST, 1, &size, &t));
    lab_unref(t);
    assert_true(capacity >= 2);
    frames[0] = 7;
    frames[1] = 8;
    return 2;
}

static int frame_name(void *context, uint64_t frame, larder_frame *out)
{
    (void)context;
    snprintf(out->filename, sizeof out->filename, "mine.py");
    snprintf(out->name, sizeof out->name, "frame_%d", (int)frame);
    out->line = (uint32_t)frame * 10;
    return 1;
}

static void stacks_of_the_program_are_kept(void **state)
{
    lab *l = *state;
    lab_tensor *t;
    const int64_t size = 1000;
    size_t length;
    char *text;

    lab_assert_ok(lab_history_start(l, NULL, two_frames, frame_name, l));
    lab_assert_ok(lab_empty(l, LAB_FLOAT32, LAB_DEVICE, 1, &size, &t));
    length = lab_snapshot_json(l, NULL, 0);
    text = malloc(length + 1);
    assert_non_null(text);
    lab_snapshot_json(l, text, length + 1);
    assert_non_null(strstr(text, "\"frame_7\""));
    assert_non_null(strstr(text, "\"line\":80"));
    free(text);
    lab_assert_ok(lab_history_stop(l));
    lab_unref(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_request_for_host_memory_may_fail),
        cmocka_unit_test(the_device_may_have_no_more),
        ON_SMALL_SESSION(mistakes_are_refused_in_words),
        ON_SMALL_SESSION(a_row_ends_where_its_length_says),
        ON_SMALL_SESSION(a_triangle_keeps_numbers_exactly),
        cmocka_unit_test(backing_none_computes_shapes_alone),
        cmocka_unit_test(every_float_of_two_bytes_comes_back),
        cmocka_unit_test(floats_are_rounded_to_the_nearest),
        ON_SMALL_SESSION(values_are_read_and_written_as_the_type),
        ON_SMALL_SESSION(
            the_context_of_an_unrecorded_function_is_released_at_once),
        ON_SMALL_SESSION(a_streams_memory_is_its_own),
        ON_SMALL_SESSION(stacks_of_the_program_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
