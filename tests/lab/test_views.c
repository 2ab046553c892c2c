/* test_views.c - views share memory, copies are made only where necessary, and
 * gradients flow back through both. */
#include "lab/finite_differences.h"
#include "lab/device_log.h"
#include "lab/small_tensors.h"

#define SIX NUMBERS(0, 1, 2, 3, 4, 5)

/* ---- values and sharing ------------------------------------------------- */

static void expect_view(lab_tensor *base, lab_tensor *view, int ndim,
                        const int64_t *sizes, const float *values)
{
    assert_int_equal(lab_storage_id(base), lab_storage_id(view));
    assert_sizes(view, ndim, sizes);
    assert_elements("view", view, values, lab_numel(view));
    lab_unref(view);
}

static void views_share_their_base(void **state)
{
    lab_tensor *t = tensor_of(*state, DIMS(2, 3), SIX), *v;

    lab_assert_ok(lab_transpose(t, 0, 1, &v));
    expect_view(t, v, DIMS(3, 2), NUMBERS(0, 3, 1, 4, 2, 5));
    lab_assert_ok(lab_permute(t, 2, (const int[]){1, 0}, &v));
    expect_view(t, v, DIMS(3, 2), NUMBERS(0, 3, 1, 4, 2, 5));
    lab_assert_ok(lab_slice(t, 1, 0, 99, 2, &v));
    expect_view(t, v, DIMS(2, 2), NUMBERS(0, 2, 3, 5));
    lab_assert_ok(lab_slice(t, -1, -2, -1, 1, &v));
    expect_view(t, v, DIMS(2, 1), NUMBERS(1, 4));
    lab_assert_ok(lab_select(t, 0, -1, &v));
    expect_view(t, v, DIMS(3), NUMBERS(3, 4, 5));
    lab_assert_ok(lab_reshape(t, DIMS(3, -1), &v));
    expect_view(t, v, DIMS(3, 2), SIX);
    lab_assert_ok(lab_unsqueeze(t, 1, &v));
    expect_view(t, v, DIMS(2, 1, 3), SIX);
    lab_assert_ok(lab_detach(t, &v));
    expect_view(t, v, DIMS(2, 3), SIX);
    lab_unref(t);
}

static void expanded_dimensions_take_no_memory(void **state)
{
    lab_tensor *t = tensor_of(*state, DIMS(2, 1), NUMBERS(1, 2)), *v;

    lab_assert_ok(lab_expand(t, DIMS(2, 2, 3), &v));
    expect_view(t, v, DIMS(2, 2, 3),
                NUMBERS(1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2));
    lab_unref(t);
}

static void a_base_lives_as_long_as_its_views(void **state)
{
    lab_tensor *t = zeros_of(*state, 1000), *v;

    lab_assert_ok(lab_select(t, 0, 5, &v));
    log_start(*state);
    lab_unref(t);
    log_expect(*state, "");
    lab_unref(v);
    log_expect(*state, "-4000");
}

static void pieces_are_views(void **state)
{
    lab_tensor *t = tensor_of(*state, DIMS(5), SIX), *pieces[5];
    int made;

    lab_assert_ok(lab_chunk(t, 3, 0, pieces, &made));
    assert_int_equal(3, made);
    expect_view(t, pieces[0], DIMS(2), NUMBERS(0, 1));
    expect_view(t, pieces[1], DIMS(2), NUMBERS(2, 3));
    expect_view(t, pieces[2], DIMS(1), NUMBERS(4));
    lab_assert_ok(lab_unbind(t, 0, pieces));
    for (int i = 0; i < 5; i++)
        expect_view(t, pieces[i], 0, NULL, &SIX[i]);
    lab_unref(t);
}

/* ---- copies ------------------------------------------------------------- */

static void reshape_copies_only_what_no_view_can_show(void **state)
{
    lab_tensor *t = tensor_of(*state, DIMS(2, 3), SIX), *turned, *flat, *same;

    lab_assert_ok(lab_transpose(t, 0, 1, &turned));
    lab_assert_refused(LARDER_ERR_INVALID, lab_view(turned, DIMS(6), &flat),
                       "not compatible with the tensor's size and stride");
    lab_assert_ok(lab_reshape(turned, DIMS(6), &flat));
    assert_elements("flat", flat, NUMBERS(0, 3, 1, 4, 2, 5), 6);
    assert_true(lab_storage_id(flat) != lab_storage_id(t));
    lab_unref(flat);
    lab_assert_ok(lab_reshape(turned, DIMS(3, 2, 1), &flat));
    assert_int_equal(lab_storage_id(flat), lab_storage_id(t));
    lab_unref(flat);
    lab_assert_ok(lab_contiguous(t, &same));
    assert_ptr_equal(same, t);
    lab_unref(same);
    lab_unref(turned);
    lab_unref(t);
}

/* As in torch: in each row, whether that view is possible. */
static void views_are_possible_where_pytorch_has_them(void **state)
{
    lab_tensor *t, *p, *v;
    int64_t count = 24;

    lab_assert_ok(
        lab_arange(*state, LAB_FLOAT32, LAB_DEVICE, 0, (double)count, 1, &v));
    lab_assert_ok(lab_view(v, DIMS(2, 3, 4), &t));
    lab_unref(v);
    lab_assert_ok(lab_permute(t, 3, (const int[]){1, 0, 2}, &p)); /* 3, 2, 4 */
    lab_assert_result(LARDER_ERR_INVALID, lab_view(p, DIMS(6, 4), &v));
    lab_assert_ok(lab_view(p, DIMS(3, 2, 2, 2), &v));
    lab_unref(v);
    lab_assert_result(LARDER_ERR_INVALID, lab_view(p, DIMS(3, 8), &v));
    lab_assert_ok(lab_view(p, DIMS(1, 3, 1, 2, 4, 1), &v));
    lab_unref(v);
    lab_unref(p);
    lab_assert_ok(lab_slice(t, 2, 0, 2, 1, &p)); /* 2, 3, 2 of 24 */
    lab_assert_ok(lab_view(p, DIMS(6, 2), &v));
    lab_unref(v);
    lab_assert_result(LARDER_ERR_INVALID, lab_view(p, DIMS(2, 6), &v));
    lab_unref(p);
    lab_assert_refused(LARDER_ERR_INVALID, lab_view(t, DIMS(5, -1), &v),
                       "is invalid for input of size 24");
    lab_unref(t);
}

static void clone_keeps_the_order_of_dimensions(void **state)
{
    lab_tensor *t = tensor_of(*state, DIMS(2, 3), SIX), *turned, *copy;

    lab_assert_ok(lab_transpose(t, 0, 1, &turned));
    lab_assert_ok(lab_clone(turned, &copy));
    assert_int_equal(1, lab_strides(copy)[0]);
    assert_int_equal(3, lab_strides(copy)[1]);
    assert_elements("copy", copy, NUMBERS(0, 3, 1, 4, 2, 5), 6);
    lab_unref(copy);
    lab_unref(turned);
    lab_unref(t);
}

static void moving_between_places_keeps_values_and_gradients(void **state)
{
    lab_tensor *t = leaf_of(*state, DIMS(3), NUMBERS(1, 2, 3));
    lab_tensor *host, *same, *back, *sum;

    lab_assert_ok(lab_to(t, LAB_DEVICE, &same));
    assert_ptr_equal(same, t);
    lab_unref(same);
    lab_assert_ok(lab_to(t, LAB_HOST, &host));
    lab_assert_ok(lab_to(host, LAB_DEVICE, &back));
    assert_elements("back", back, NUMBERS(1, 2, 3), 3);
    lab_assert_ok(lab_sum(back, &sum));
    lab_assert_ok(lab_backward(sum, NULL, false));
    assert_elements("gradient", lab_grad(t), NUMBERS(1, 1, 1), 3);
    assert_int_equal(LAB_DEVICE, lab_place_of(lab_grad(t)));
    lab_unref(sum);
    lab_unref(back);
    lab_unref(host);
    lab_unref(t);
}

static void cat_and_stack_join_tensors(void **state)
{
    lab_tensor *a = tensor_of(*state, DIMS(1, 2), NUMBERS(1, 2)), *out;
    lab_tensor *b = tensor_of(*state, DIMS(2, 2), NUMBERS(3, 4, 5, 6));
    lab_tensor *nothing = zeros_of(*state, 0);

    lab_assert_ok(lab_cat((lab_tensor *[]){nothing, a, b}, 3, 0, &out));
    assert_sizes(out, DIMS(3, 2));
    assert_elements("cat", out, NUMBERS(1, 2, 3, 4, 5, 6), 6);
    lab_unref(out);
    lab_assert_ok(lab_stack((lab_tensor *[]){b, b}, 2, -1, &out));
    assert_sizes(out, DIMS(2, 2, 2));
    assert_elements("stack", out, NUMBERS(3, 3, 4, 4, 5, 5, 6, 6), 8);
    lab_unref(out);
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_cat((lab_tensor *[]){a, b}, 2, 1, &out),
                       "Sizes of tensors must match except in dimension 1");
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_stack((lab_tensor *[]){a, b}, 2, 0, &out),
                       "of equal size");
    lab_unref(nothing);
    lab_unref(b);
    lab_unref(a);
}

static void index_rows_picks_rows_and_adds_gradients(void **state)
{
    lab_tensor *t = leaf_of(*state, DIMS(3, 2), SIX), *index, *out, *sum;
    const int64_t rows[] = {2, 0, -1};

    lab_assert_ok(lab_empty(*state, LAB_INT64, LAB_HOST, DIMS(3), &index));
    lab_assert_ok(lab_write(index, rows, sizeof rows));
    lab_assert_ok(lab_index_rows(t, index, &out));
    assert_elements("rows", out, NUMBERS(4, 5, 0, 1, 4, 5), 6);
    lab_assert_ok(lab_sum(out, &sum));
    lab_assert_ok(lab_backward(sum, NULL, false));
    assert_elements("gradient", lab_grad(t), NUMBERS(1, 1, 0, 0, 2, 2), 6);
    lab_unref(sum);
    lab_unref(out);
    lab_assert_ok(lab_write(index, (const int64_t[]){0, 3, 0}, sizeof rows));
    lab_assert_refused(LARDER_ERR_INVALID, lab_index_rows(t, index, &out),
                       "index 3 is out of bounds for dimension 0 with size 3");
    lab_unref(index);
    lab_unref(t);
}

/* ---- gradients ---------------------------------------------------------- */

typedef larder_result (*step_fn)(lab_tensor *t, lab_tensor **out);

static larder_result by_transpose(lab_tensor *t, lab_tensor **out)
{
    return lab_transpose(t, 0, 2, out);
}

static larder_result by_permute(lab_tensor *t, lab_tensor **out)
{
    return lab_permute(t, 3, (const int[]){1, 2, 0}, out);
}

static larder_result by_slice(lab_tensor *t, lab_tensor **out)
{
    return lab_slice(t, 1, 1, 3, 2, out);
}

static larder_result by_select(lab_tensor *t, lab_tensor **out)
{
    return lab_select(t, 2, 1, out);
}

static larder_result by_reshape(lab_tensor *t, lab_tensor **out)
{
    lab_tensor *turned;
    larder_result r = lab_transpose(t, 0, 1, &turned);

    if (r != LARDER_OK)
        return r;
    r = lab_reshape(turned, DIMS(6, 2), out);
    lab_unref(turned);
    return r;
}

static larder_result by_expand(lab_tensor *t, lab_tensor **out)
{
    lab_tensor *column;
    larder_result r = lab_slice(t, 2, 0, 1, 1, &column);

    if (r != LARDER_OK)
        return r;
    r = lab_expand(column, DIMS(2, 2, 3, 4), out);
    lab_unref(column);
    return r;
}

static larder_result by_squeezing(lab_tensor *t, lab_tensor **out)
{
    lab_tensor *wide;
    larder_result r = lab_unsqueeze(t, 1, &wide);

    if (r != LARDER_OK)
        return r;
    r = lab_squeeze(wide, 1, out);
    lab_unref(wide);
    return r;
}

/* The middle piece is not used: zeros stand for its gradient. */
static larder_result by_chunk(lab_tensor *t, lab_tensor **out)
{
    lab_tensor *pieces[3];
    int made;
    larder_result r = lab_chunk(t, 3, 1, pieces, &made);

    if (r != LARDER_OK)
        return r;
    r = lab_mul(pieces[0], pieces[2], out);
    for (int i = 0; i < made; i++)
        lab_unref(pieces[i]);
    return r;
}

static larder_result by_unbind(lab_tensor *t, lab_tensor **out)
{
    lab_tensor *pieces[3];
    larder_result r = lab_unbind(t, 1, pieces);

    if (r != LARDER_OK)
        return r;
    r = lab_mul(pieces[0], pieces[1], out);
    for (int i = 0; i < 3; i++)
        lab_unref(pieces[i]);
    return r;
}

static larder_result by_cat(lab_tensor *t, lab_tensor **out)
{
    lab_tensor *part, *twice;
    larder_result r = lab_slice(t, 1, 0, 2, 1, &part);

    if (r != LARDER_OK)
        return r;
    r = lab_cat((lab_tensor *[]){t, part}, 2, 1, &twice);
    if (r == LARDER_OK) {
        r = lab_stack((lab_tensor *[]){twice, twice}, 2, 1, out);
        lab_unref(twice);
    }
    lab_unref(part);
    return r;
}

static larder_result then_square(void *context, lab_tensor **in,
                                 lab_tensor **out)
{
    lab_tensor *made;
    larder_result r = (*(const step_fn *)context)(in[0], &made);

    if (r != LARDER_OK)
        return r;
    r = lab_mul(made, made, out);
    lab_unref(made);
    return r;
}

static void gradients_go_back_through_views(void **state)
{
    static step_fn steps[] = {by_transpose, by_permute, by_slice,     by_select,
                              by_reshape,   by_expand,  by_squeezing, by_chunk,
                              by_unbind,    by_cat};
    lab_tensor *t = leaf_between(*state, DIMS(2, 3, 2), -1.5, 1.5, 7);

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        check_gradients(*state, then_square, &steps[i], &t, 1);
    lab_unref(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_SMALL_SESSION(views_share_their_base),
        ON_SMALL_SESSION(expanded_dimensions_take_no_memory),
        ON_SMALL_SESSION(a_base_lives_as_long_as_its_views),
        ON_SMALL_SESSION(pieces_are_views),
        ON_SMALL_SESSION(reshape_copies_only_what_no_view_can_show),
        ON_SMALL_SESSION(views_are_possible_where_pytorch_has_them),
        ON_SMALL_SESSION(clone_keeps_the_order_of_dimensions),
        ON_SMALL_SESSION(moving_between_places_keeps_values_and_gradients),
        ON_SMALL_SESSION(cat_and_stack_join_tensors),
        ON_SMALL_SESSION(index_rows_picks_rows_and_adds_gradients),
        ON_SMALL_SESSION(gradients_go_back_through_views),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
