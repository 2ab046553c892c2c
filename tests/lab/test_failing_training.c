/* test_failing_training.c - each device or host allocation of a training step
 * fails in turn: the step reports it, nothing is left behind, and the same step
 * succeeds afterwards. */
#include "lab/small_tensors.h"
#include "tensor/host_memory.h"

enum { PARAMS = 6, KEPT = 24, PLACES_MAX = 2000 };

struct step {
    lab_tensor *p[PARAMS]; /* convolution, linear twice, norm, table */
    lab_tensor *kept[KEPT];
    lab_optimizer *optimizer;
};

static int count(const struct step *s)
{
    int n = 0;

    while (s->kept[n] != NULL)
        n++;
    return n;
}

/* Keeps what a call created until the step is over. */
static lab_tensor **slot(struct step *s)
{
    return &s->kept[count(s)];
}

static lab_tensor *last(const struct step *s)
{
    return s->kept[count(s) - 1];
}

static void step_free(struct step *s)
{
    lab_optimizer_destroy(s->optimizer);
    for (int i = 0; i < KEPT; i++)
        lab_unref(s->kept[i]);
    for (int i = 0; i < PARAMS; i++)
        lab_unref(s->p[i]);
    *s = (struct step){.optimizer = NULL};
}

static larder_result make_param(lab *l, int ndim, const int64_t *sizes,
                                lab_tensor **out)
{
    larder_result r = lab_randn(l, LAB_FLOAT32, LAB_DEVICE, ndim, sizes, out);

    return r == LARDER_OK ? lab_set_requires_grad(*out, true) : r;
}

static larder_result params_make(lab *l, struct step *s)
{
    static const struct {
        int ndim;
        int64_t sizes[4];
    } want[PARAMS] = {{4, {3, 2, 3, 3}}, {1, {3}},      {2, {12, 12}},
                      {1, {12}},         {2, {12, 12}}, {2, {9, 12}}};
    larder_result r = LARDER_OK;

    for (int i = 0; r == LARDER_OK && i < PARAMS; i++)
        r = make_param(l, want[i].ndim, want[i].sizes, &s->p[i]);
    return r;
}

/* gelu(x·wᵀ), twice masked */
static larder_result segment(void *context, lab_tensor *x, lab_tensor **out)
{
    const struct step *s = context;
    lab_tensor *product, *gelu = NULL;
    larder_result r = lab_linear(x, s->p[2], s->p[3], &product);

    if (r != LARDER_OK)
        return r;
    r = lab_gelu(product, &gelu);
    if (r == LARDER_OK)
        r = lab_dropout(gelu, 0.5, true, out);
    lab_unref(gelu);
    lab_unref(product);
    return r;
}

/* Converts a picture to rows of 12. */
static larder_result rows_make(lab *l, struct step *s)
{
    larder_result r = lab_randn(l, LAB_FLOAT32, LAB_HOST, 4,
                                (const int64_t[]){2, 2, 5, 5}, slot(s));

    if (r == LARDER_OK)
        r = lab_to(last(s), LAB_DEVICE, slot(s));
    if (r == LARDER_OK)
        r = lab_conv2d(last(s), s->p[0], s->p[1], 1, 1, slot(s));
    if (r == LARDER_OK)
        r = lab_max_pool2d(last(s), 2, 1, slot(s));
    if (r == LARDER_OK)
        r = lab_reshape(last(s), 2, (const int64_t[]){8, 12}, slot(s));
    return r;
}

static larder_result mix(struct step *s)
{
    lab_tensor *pieces[2] = {NULL}, *joined = NULL;
    int made;
    larder_result r = lab_chunk(last(s), 2, 0, pieces, &made);

    if (r != LARDER_OK)
        return r;
    r = lab_cat(pieces, 2, 1, &joined);
    if (r == LARDER_OK)
        r = lab_reshape(joined, 2, (const int64_t[]){8, 12}, slot(s));
    lab_unref(joined);
    lab_unref(pieces[0]);
    lab_unref(pieces[1]);
    return r;
}

static larder_result layers(struct step *s)
{
    lab_tensor *rows;
    larder_result r = mix(s);

    if (r == LARDER_OK)
        r = lab_layer_norm(last(s), s->p[3], s->p[3], 1e-5, slot(s));
    rows = last(s);
    if (r == LARDER_OK)
        r = lab_retain_grad(rows);
    if (r == LARDER_OK)
        r = lab_checkpoint(segment, s, NULL, rows, slot(s));
    if (r == LARDER_OK)
        r = lab_add(last(s), rows, slot(s));
    if (r == LARDER_OK)
        r = lab_relu_inplace(last(s));
    rows = last(s);
    if (r == LARDER_OK)
        r = lab_attention(rows, rows, rows, true, slot(s));
    if (r == LARDER_OK)
        r = lab_matmul(last(s), s->p[4], slot(s));
    if (r == LARDER_OK)
        r = lab_mul_inplace(last(s), rows);
    return r;
}

static larder_result loss(lab *l, struct step *s)
{
    lab_tensor *logits = last(s), *index = NULL, *rows = NULL;
    larder_result r = lab_randint(l, LAB_INT64, LAB_DEVICE, 1,
                                  (const int64_t[]){8}, 0, 9, &index);

    if (r == LARDER_OK)
        r = lab_embedding(s->p[5], index, &rows);
    if (r == LARDER_OK)
        r = lab_sub(logits, rows, slot(s));
    if (r == LARDER_OK)
        r = lab_cross_entropy(last(s), index, slot(s));
    lab_unref(rows);
    lab_unref(index);
    return r;
}

static larder_result train(lab *l, struct step *s)
{
    larder_result r = params_make(l, s);

    if (r == LARDER_OK)
        r = lab_optimizer_create(l, LAB_ADAM, NULL, s->p, PARAMS,
                                 &s->optimizer);
    if (r == LARDER_OK)
        r = rows_make(l, s);
    if (r == LARDER_OK)
        r = layers(s);
    if (r == LARDER_OK)
        r = loss(l, s);
    if (r == LARDER_OK)
        r = lab_backward(last(s), NULL, true);
    if (r == LARDER_OK)
        r = lab_backward(last(s), NULL, false);
    if (r == LARDER_OK)
        r = lab_optimizer_step(s->optimizer);
    return r == LARDER_OK ? lab_optimizer_zero_grad(s->optimizer, false) : r;
}

/* Every allocation is a device call. */
static lab *open_direct(void)
{
    lab_options opt;
    lab *l;

    lab_options_init(&opt);
    opt.device = "sim:1GiB";
    opt.policy = LARDER_POLICY_DIRECT;
    opt.threads = 1;
    lab_assert_ok(lab_open(&opt, &l));
    return l;
}

static void goes_on(lab *l)
{
    struct step s = {.optimizer = NULL};
    lab_memory m = lab_rig_memory(l);

    assert_int_equal(m.tensors, 0);
    assert_int_equal(m.allocated_bytes, 0);
    assert_int_equal(m.host_bytes, 0);
    assert_true(lab_grad_enabled(l));
    lab_assert_ok(train(l, &s));
    step_free(&s);
}

static void every_device_allocation_may_fail(void **state)
{
    lab *l = open_direct();
    int i = 1;

    (void)state;
    for (; i < PLACES_MAX; i++) {
        struct step s = {.optimizer = NULL};
        larder_result r;

        assert_ok(larder_device_fail(lab_device(l), LARDER_CALL_mem_alloc,
                                     (uint64_t)i, 0, LARDER_ERR_OUT_OF_MEMORY));
        r = train(l, &s);
        assert_ok(larder_device_fail(lab_device(l), LARDER_CALL_mem_alloc, 0, 0,
                                     LARDER_ERR_OUT_OF_MEMORY));
        step_free(&s);
        goes_on(l);
        if (r == LARDER_OK)
            break;
        assert_int_equal(r, LARDER_ERR_OUT_OF_MEMORY);
    }
    assert_in_range(i, 80, PLACES_MAX - 1);
    lab_assert_ok(lab_close(l));
}

static void host_sweep(void (*plan)(long passes))
{
    lab *l = open_direct();
    int i = 0;

    for (; i < PLACES_MAX; i++) {
        struct step s = {.optimizer = NULL};
        larder_result r;

        plan(i);
        r = train(l, &s);
        plan(-1);
        step_free(&s);
        goes_on(l);
        if (r == LARDER_OK)
            break;
        assert_int_equal(r, LARDER_ERR_NO_HOST_MEMORY);
    }
    assert_in_range(i, 200, PLACES_MAX - 1);
    lab_assert_ok(lab_close(l));
}

static void every_host_allocation_may_fail(void **state)
{
    (void)state;
    host_sweep(lab__host_fail_after);
    host_sweep(lab__host_fail_from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_device_allocation_may_fail),
        cmocka_unit_test(every_host_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
