/* test_tensor.c - sessions and tensors: what is allocated, when it is freed,
 * what the observer sees, and what is refused. */
#include <math.h>

#include "lab_rig.h"
#include "tensor/tensor.h"

#define SPEC "sim:1GiB,context=64MiB"

static const int64_t two_three[] = {2, 3};

static lab_tensor *empty(lab *l, lab_dtype dtype, lab_place place, int64_t n)
{
    lab_tensor *t = NULL;

    lab_assert_ok(lab_empty(l, dtype, place, 1, &n, &t));
    return t;
}

/* ---- sessions ----------------------------------------------------------- */

static void a_session_needs_no_options(void **state)
{
    lab *l = NULL;

    (void)state;
    lab_assert_ok(lab_open(NULL, &l));
    assert_true(lab_computes(l));
    assert_true(lab_grad_enabled(l));
    assert_int_equal(lab_rig_memory(l).device_bytes, GIB(24));
    lab_assert_ok(lab_close(l));
    lab_assert_ok(lab_close(NULL));
}

static void only_a_simulated_device_will_do(void **state)
{
    lab_options opt;
    lab *l = NULL;

    (void)state;
    lab_options_init(&opt);
    opt.device = "cuda:0";
    lab_assert_refused(LARDER_ERR_UNSUPPORTED, lab_open(&opt, &l), "sim:SIZE");
    opt.device = "sim:1GiB,vmm=perhaps";
    lab_assert_refused(LARDER_ERR_INVALID, lab_open(&opt, &l), "vmm");
    opt.device = NULL;
    opt.conf = "no_such_key:1";
    lab_assert_refused(LARDER_ERR_CONF, lab_open(&opt, &l), "no_such_key");
    opt.conf = NULL;
    opt.size = 1;
    lab_assert_refused(LARDER_ERR_INVALID, lab_open(&opt, &l), "size");
    assert_null(l);
}

static void a_session_with_tensors_stays_open(void **state)
{
    lab *l = lab_rig_up(SPEC);
    lab_tensor *t = empty(l, LAB_FLOAT32, LAB_HOST, 0);

    (void)state;
    lab_assert_refused(LARDER_ERR_BUSY, lab_close(l), "1 storages");
    lab_unref(t);
    lab_assert_ok(lab_close(l));
}

static void switching_recording_returns_what_it_was(void **state)
{
    lab *l = lab_rig_up(SPEC);

    (void)state;
    assert_true(lab_set_grad_enabled(l, false));
    assert_false(lab_set_grad_enabled(l, true));
    assert_true(lab_grad_enabled(l));
    lab_assert_ok(lab_close(l));
}

/* ---- memory ------------------------------------------------------------- */

static void the_context_comes_with_the_first_device_tensor(void **state)
{
    lab *l = lab_rig_up(SPEC);
    lab_tensor *t;

    (void)state;
    assert_int_equal(lab_rig_memory(l).smi_bytes, 0);
    assert_int_equal(lab_rig_memory(l).free_bytes, GIB(1));
    t = empty(l, LAB_FLOAT32, LAB_HOST, 100);
    assert_int_equal(lab_rig_memory(l).smi_bytes, 0);
    lab_unref(t);
    t = empty(l, LAB_FLOAT32, LAB_DEVICE, 100);
    assert_int_equal(lab_rig_memory(l).context_bytes, MIB(64));
    assert_int_equal(lab_rig_memory(l).smi_bytes, MIB(66));
    assert_int_equal(lab_rig_memory(l).free_bytes, GIB(1) - MIB(66));
    lab_unref(t);
    lab_assert_ok(lab_close(l));
}

static void memory_is_counted_by_place(void **state)
{
    lab *l = lab_rig_up(SPEC);
    lab_tensor *host = empty(l, LAB_INT64, LAB_HOST, 1000000);
    lab_tensor *device = empty(l, LAB_FLOAT32, LAB_DEVICE, 100);
    lab_memory m = lab_rig_memory(l);

    (void)state;
    assert_int_equal(m.host_bytes, 8000000);
    assert_int_equal(m.requested_bytes, 400);
    assert_int_equal(m.allocated_bytes, 512);
    assert_int_equal(m.reserved_bytes, MIB(2));
    assert_int_equal(m.tensors, 2);
    lab_unref(host);
    lab_unref(device);
    m = lab_rig_memory(l);
    assert_int_equal(m.host_bytes, 0);
    assert_int_equal(m.host_peak, 8000000);
    assert_int_equal(m.requested_bytes, 0);
    assert_int_equal(m.allocated_bytes, 0);
    assert_int_equal(m.allocated_peak, 512);
    assert_int_equal(m.reserved_peak, MIB(2));
    assert_int_equal(m.tensors, 0);
    lab_assert_ok(lab_close(l));
}

static void an_older_memory_struct_gets_what_it_has_room_for(void **state)
{
    lab *l = lab_rig_up(SPEC);
    lab_tensor *t = empty(l, LAB_FLOAT32, LAB_HOST, 1);
    lab_memory m;

    (void)state;
    memset(&m, 0x55, sizeof m);
    m.size = offsetof(lab_memory, host_peak);
    lab_assert_ok(lab_memory_get(l, &m));
    assert_int_equal(m.host_bytes, 4);
    assert_int_equal(m.host_peak, UINT64_C(0x5555555555555555));
    lab_unref(t);
    lab_assert_ok(lab_close(l));
}

static void out_of_memory_is_explained_and_changes_nothing(void **state)
{
    lab *l = lab_rig_up(SPEC);
    lab_tensor *t = empty(l, LAB_FLOAT32, LAB_DEVICE, 100), *none = NULL;
    lab_memory before = lab_rig_memory(l), after;
    const int64_t n = (int64_t)GIB(1);

    (void)state;
    lab_assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                       lab_zeros(l, LAB_FLOAT32, LAB_DEVICE, 1, &n, &none),
                       "4.00 GiB");
    assert_string_equal(lab_last_error(), larder_last_error());
    assert_null(none);
    after = lab_rig_memory(l);
    assert_memory_equal(&before, &after, sizeof before);
    lab_unref(t);
    lab_assert_ok(lab_close(l));
}

/* ---- the observer ------------------------------------------------------- */

struct log {
    char text[512];
};

static void log_event(void *context, const lab_event *e)
{
    struct log *log = context;
    size_t used = strlen(log->text);

    assert_true(e->addr != 0);
    snprintf(log->text + used, sizeof log->text - used, "%c%d:%d ",
             e->freed ? 'f' : 'a', (int)e->id, (int)e->bytes);
}

static void the_observer_sees_device_storages_alone(void **state)
{
    lab *l = lab_rig_up(SPEC);
    struct log log = {""};
    lab_tensor *a, *b, *c, *d;

    (void)state;
    lab_set_observer(l, log_event, &log);
    a = empty(l, LAB_FLOAT32, LAB_DEVICE, 1);
    b = empty(l, LAB_FLOAT32, LAB_HOST, 1);
    c = empty(l, LAB_FLOAT32, LAB_DEVICE, 0);
    d = empty(l, LAB_INT64, LAB_DEVICE, 2);
    assert_int_equal(lab_storage_id(d), 1);
    assert_true(lab_storage_id(b) != lab_storage_id(c));
    assert_true(lab_storage_id(b) >= LAB__UNSEEN_ID);
    lab_unref(d);
    lab_unref(c);
    lab_unref(b);
    lab_set_observer(l, NULL, NULL);
    lab_unref(a);
    assert_string_equal(log.text, "a0:4 a1:16 f1:16 ");
    lab_assert_ok(lab_close(l));
}

/* ---- lifetimes and windows ---------------------------------------------- */

static void memory_is_freed_with_the_last_window_on_it(void **state)
{
    lab *l = lab_rig_up(SPEC);
    lab_tensor *t = empty(l, LAB_FLOAT32, LAB_DEVICE, 100), *view;
    const int64_t size = 50, stride = 2;

    (void)state;
    lab_assert_ok(lab__tensor_window(t, 1, &size, &stride, 1, &view));
    assert_int_equal(lab_address(view), lab_address(t) + 4);
    assert_int_equal(lab_storage_id(view), lab_storage_id(t));
    assert_int_equal(lab_storage_bytes(view), 400);
    assert_false(lab_is_contiguous(view));
    lab_ref(t);
    lab_unref(t);
    lab_unref(t);
    assert_int_equal(lab_rig_memory(l).requested_bytes, 400);
    lab_unref(view);
    assert_int_equal(lab_rig_memory(l).requested_bytes, 0);
    lab_unref(NULL);
    lab_assert_ok(lab_close(l));
}

static void a_tensor_of_no_elements_takes_nothing(void **state)
{
    lab *l = lab_rig_up(SPEC);
    const int64_t sizes[] = {0, 3};
    lab_tensor *t;

    (void)state;
    lab_assert_ok(lab_ones(l, LAB_FLOAT32, LAB_DEVICE, 2, sizes, &t));
    assert_int_equal(lab_address(t), 0);
    assert_int_equal(lab_numel(t), 0);
    assert_true(lab_is_contiguous(t));
    assert_int_equal(lab_rig_memory(l).smi_bytes, 0);
    lab_assert_ok(lab_read(t, NULL, 0));
    lab_unref(t);
    lab_assert_ok(lab_close(l));
}

static void invalid_sizes_of_a_tensor_are_refused(void **state)
{
    lab *l = lab_rig_up(SPEC);
    const int64_t huge[] = {INT64_MAX, INT64_MAX, 2}, less[] = {2, -1};
    const int64_t seven[7] = {1, 1, 1, 1, 1, 1, 1};
    lab_tensor *t = NULL;

    (void)state;
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_empty(l, LAB_FLOAT32, LAB_DEVICE, 3, huge, &t),
                       "too many to count");
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_empty(l, LAB_FLOAT32, LAB_DEVICE, 2, less, &t),
                       "[2, -1]");
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_empty(l, LAB_FLOAT32, LAB_DEVICE, 7, seven, &t),
                       "7 dimensions");
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_empty(l, (lab_dtype)10, LAB_DEVICE, 1, seven, &t),
                       "dtype");
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_empty(l, LAB_BOOL, (lab_place)9, 1, seven, &t),
                       "place");
    assert_null(t);
    lab_assert_ok(lab_close(l));
}

/* ---- contents ----------------------------------------------------------- */

static void assert_floats(lab_tensor *t, const float *want, size_t n)
{
    float got[64];

    assert_true(n <= 64);
    lab_assert_ok(lab_read(t, got, n * sizeof *got));
    for (size_t i = 0; i < n; i++) {
        if (got[i] != want[i])
            fail_msg("element %zu is %g, not %g", i, (double)got[i],
                     (double)want[i]);
    }
}

static void tensors_hold_what_they_are_made_of(void **state)
{
    lab *l = lab_rig_up(SPEC);
    lab_tensor *t;
    int64_t ints[3];
    unsigned char bools[6];

    (void)state;
    for (int place = LAB_HOST; place <= LAB_DEVICE; place++) {
        lab_assert_ok(
            lab_full(l, LAB_FLOAT32, (lab_place)place, 2, two_three, 1.5, &t));
        assert_floats(t, (const float[]){1.5f, 1.5f, 1.5f, 1.5f, 1.5f, 1.5f},
                      6);
        lab_unref(t);
        lab_assert_ok(
            lab_ones(l, LAB_BOOL, (lab_place)place, 2, two_three, &t));
        lab_assert_ok(lab_read(t, bools, sizeof bools));
        assert_memory_equal(bools, "\1\1\1\1\1\1", 6);
        lab_unref(t);
        lab_assert_ok(
            lab_arange(l, LAB_INT64, (lab_place)place, 5, -4, -3, &t));
        lab_assert_ok(lab_read(t, ints, sizeof ints));
        assert_memory_equal(ints, ((const int64_t[]){5, 2, -1}), sizeof ints);
        lab_unref(t);
    }
    lab_assert_ok(lab_arange(l, LAB_FLOAT32, LAB_HOST, 0, 1, 0.3, &t));
    assert_floats(t, (const float[]){0, 0.3f, 0.6f, 0.9f}, 4);
    lab_unref(t);
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_arange(l, LAB_FLOAT32, LAB_HOST, 0, 1, -1, &t),
                       "steps of -1");
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab_arange(l, LAB_FLOAT32, LAB_HOST, 0, NAN, 1, &t),
                       "finite");
    lab_assert_ok(lab_close(l));
}

/* A reused block is dirty: the zeros are written all the same. */
static void zeros_are_zero_in_reused_memory(void **state)
{
    lab *l = lab_rig_up(SPEC);
    lab_tensor *t;

    (void)state;
    for (int place = LAB_HOST; place <= LAB_DEVICE; place++) {
        for (int again = 0; again < 2; again++) {
            lab_assert_ok(
                lab_zeros(l, LAB_FLOAT32, (lab_place)place, 2, two_three, &t));
            assert_floats(t, (const float[6]){0}, 6);
            lab_assert_ok(lab__fill(t, 7));
            lab_unref(t);
        }
    }
    lab_assert_ok(lab_close(l));
}

static void reading_and_writing_go_in_row_major_order(void **state)
{
    lab *l = lab_rig_up(SPEC);
    const float numbers[] = {1, 2, 3, 4, 5, 6};
    const int64_t turned[] = {3, 2}, strides[] = {1, 3};
    lab_tensor *t, *view;
    unsigned version;

    (void)state;
    lab_assert_ok(lab_empty(l, LAB_FLOAT32, LAB_DEVICE, 2, two_three, &t));
    version = t->storage->version;
    lab_assert_ok(lab_write(t, numbers, sizeof numbers));
    assert_int_equal(t->storage->version, version + 1);
    lab_assert_ok(lab__tensor_window(t, 2, turned, strides, 0, &view));
    assert_floats(view, (const float[]){1, 4, 2, 5, 3, 6}, 6);
    lab_assert_ok(lab_write(view, numbers, sizeof numbers));
    assert_floats(t, (const float[]){1, 3, 5, 2, 4, 6}, 6);
    lab_assert_refused(LARDER_ERR_INVALID, lab_read(t, NULL, 20),
                       "24 bytes, not 20");
    lab_unref(view);
    lab_unref(t);
    lab_assert_ok(lab_close(l));
}

static void copies_convert_between_types(void **state)
{
    lab *l = lab_rig_up(SPEC);
    const float numbers[] = {-1.75f, 0, 9.3e18f};
    const int64_t want[] = {-1, 0, INT64_MAX};
    int64_t ints[3];
    lab_tensor *f = empty(l, LAB_FLOAT32, LAB_HOST, 3);
    lab_tensor *i = empty(l, LAB_INT64, LAB_DEVICE, 3);
    lab_tensor *b = empty(l, LAB_BOOL, LAB_DEVICE, 3);

    (void)state;
    lab_assert_ok(lab_write(f, numbers, sizeof numbers));
    lab_assert_ok(lab__copy(i, f));
    lab_assert_ok(lab_read(i, ints, sizeof ints));
    assert_memory_equal(ints, want, sizeof want);
    lab_assert_ok(lab__copy(b, i));
    lab_assert_ok(lab__copy(f, b));
    assert_floats(f, (const float[]){1, 0, 1}, 3);
    lab_unref(f);
    lab_unref(i);
    lab_unref(b);
    lab_assert_ok(lab_close(l));
}

static void an_item_is_one_element(void **state)
{
    lab *l = lab_rig_up(SPEC);
    lab_tensor *t;
    double x = 0;

    (void)state;
    lab_assert_ok(lab_full(l, LAB_INT64, LAB_DEVICE, 0, NULL, -3, &t));
    lab_assert_ok(lab_item(t, &x));
    assert_true(x == -3);
    lab_unref(t);
    t = empty(l, LAB_FLOAT32, LAB_HOST, 2);
    lab_assert_refused(LARDER_ERR_INVALID, lab_item(t, &x), "[2]");
    lab_unref(t);
    lab_assert_ok(lab_close(l));
}

/* ---- accounting only ---------------------------------------------------- */

static void without_memory_numbers_are_nan(void **state)
{
    lab *l = lab_rig_up("sim:80GiB,backing=none");
    const int64_t n = (int64_t)GIB(8);
    lab_tensor *t;
    float numbers[2];
    int64_t ints[2] = {1, 1};
    double x = 0;

    (void)state;
    assert_false(lab_computes(l));
    lab_assert_ok(lab_randn(l, LAB_FLOAT32, LAB_DEVICE, 1, &n, &t));
    assert_int_equal(lab_rig_memory(l).requested_bytes, GIB(32));
    lab_unref(t);
    t = empty(l, LAB_FLOAT32, LAB_DEVICE, 2);
    lab_assert_ok(lab_write(t, (const float[]){1, 2}, sizeof numbers));
    lab_assert_ok(lab_read(t, numbers, sizeof numbers));
    assert_true(isnan(numbers[0]) && isnan(numbers[1]));
    lab_unref(t);
    lab_assert_ok(lab_ones(l, LAB_FLOAT32, LAB_DEVICE, 0, NULL, &t));
    lab_assert_ok(lab_item(t, &x));
    assert_true(isnan(x));
    lab_unref(t);
    t = empty(l, LAB_INT64, LAB_DEVICE, 2);
    lab_assert_ok(lab_read(t, ints, sizeof ints));
    assert_true(ints[0] == 0 && ints[1] == 0);
    lab_unref(t);
    lab_assert_ok(lab_close(l));
}

/* ---- shapes ------------------------------------------------------------- */

static void shapes_broadcast_from_the_end(void **state)
{
    lab *l = lab_rig_up(SPEC);
    const int64_t left[] = {4, 1, 3}, right[] = {5, 1}, wrong[] = {2};
    int64_t sizes[LAB_MAX_DIMS];
    lab_tensor *a, *b, *c;
    int ndim = 0;

    (void)state;
    lab_assert_ok(lab_empty(l, LAB_FLOAT32, LAB_HOST, 3, left, &a));
    lab_assert_ok(lab_empty(l, LAB_FLOAT32, LAB_DEVICE, 2, right, &b));
    lab_assert_ok(lab_empty(l, LAB_INT64, LAB_HOST, 1, wrong, &c));
    lab_assert_ok(lab__broadcast("add", a, b, &ndim, sizes));
    assert_int_equal(ndim, 3);
    assert_memory_equal(sizes, ((const int64_t[]){4, 5, 3}), 24);
    lab_assert_refused(LARDER_ERR_INVALID,
                       lab__broadcast("add", a, c, &ndim, sizes),
                       "size of tensor a (3) must match the size of tensor b "
                       "(2) at non-singleton dimension 2");
    lab_assert_refused(LARDER_ERR_INVALID, lab__check_place("add", a, b),
                       "same device");
    lab_assert_refused(LARDER_ERR_INVALID, lab__check_float("add", c), "int64");
    ndim = -3;
    lab_assert_ok(lab__check_dim("sum", a, &ndim));
    assert_int_equal(ndim, 0);
    ndim = 3;
    lab_assert_refused(LARDER_ERR_INVALID, lab__check_dim("sum", a, &ndim),
                       "[-3, 2], but got 3");
    lab_unref(a);
    lab_unref(b);
    lab_unref(c);
    lab_assert_ok(lab_close(l));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_needs_no_options),
        cmocka_unit_test(only_a_simulated_device_will_do),
        cmocka_unit_test(a_session_with_tensors_stays_open),
        cmocka_unit_test(switching_recording_returns_what_it_was),
        cmocka_unit_test(the_context_comes_with_the_first_device_tensor),
        cmocka_unit_test(memory_is_counted_by_place),
        cmocka_unit_test(an_older_memory_struct_gets_what_it_has_room_for),
        cmocka_unit_test(out_of_memory_is_explained_and_changes_nothing),
        cmocka_unit_test(the_observer_sees_device_storages_alone),
        cmocka_unit_test(memory_is_freed_with_the_last_window_on_it),
        cmocka_unit_test(a_tensor_of_no_elements_takes_nothing),
        cmocka_unit_test(invalid_sizes_of_a_tensor_are_refused),
        cmocka_unit_test(tensors_hold_what_they_are_made_of),
        cmocka_unit_test(zeros_are_zero_in_reused_memory),
        cmocka_unit_test(reading_and_writing_go_in_row_major_order),
        cmocka_unit_test(copies_convert_between_types),
        cmocka_unit_test(an_item_is_one_element),
        cmocka_unit_test(without_memory_numbers_are_nan),
        cmocka_unit_test(shapes_broadcast_from_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
