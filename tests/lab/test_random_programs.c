/* test_random_programs.c - random programs from fixed seeds, run with memory
 * that computes and with memory that is only counted.  Both allocate and free
 * the same; allocated bytes are those of the live tensors, in whole units of
 * 512 bytes; and nothing is left when all tensors are released. */
#include "lab/small_tensors.h"

enum { HELD = 10, STEPS = 160, PROGRAMS = 120, UNIT = 512, OPS = 38 };

struct machine {
    lab *l;
    lab_tensor *held[HELD];
    uint64_t alive;  /* bytes of live storages, in whole units */
    uint64_t digest; /* of everything allocated, freed and returned */
    uint64_t random;
};

static void note(struct machine *m, uint64_t value)
{
    m->digest = (m->digest ^ value) * UINT64_C(1099511628211);
}

static void observe(void *context, const lab_event *event)
{
    struct machine *m = context;
    uint64_t bytes = (event->bytes + UNIT - 1) / UNIT * UNIT;

    m->alive += event->freed ? 0 - bytes : bytes;
    note(m, event->id * 2 + event->freed);
    note(m, event->bytes);
}

static unsigned below(struct machine *m, unsigned n)
{
    m->random =
        m->random * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return (unsigned)(m->random >> 33) % n;
}

static lab_tensor *any(struct machine *m)
{
    return m->held[below(m, HELD)];
}

/* 0 now and then. */
static int sizes_draw(struct machine *m, int64_t sizes[LAB_MAX_DIMS])
{
    int ndim = (int)below(m, 4);

    for (int i = 0; i < ndim; i++)
        sizes[i] = below(m, 24) == 0 ? 0 : 1 + below(m, 3) * 3;
    return ndim;
}

static larder_result make(struct machine *m, lab_tensor **out)
{
    int64_t sizes[LAB_MAX_DIMS];
    int ndim = sizes_draw(m, sizes);
    lab_place place = below(m, 8) == 0 ? LAB_HOST : LAB_DEVICE;
    larder_result r;

    if (below(m, 6) == 0)
        return lab_randint(m->l, LAB_INT64, place, ndim, sizes, 0, 2, out);
    r = lab_randn(m->l, LAB_FLOAT32, place, ndim, sizes, out);
    if (r == LARDER_OK && below(m, 3) != 0)
        r = lab_set_requires_grad(*out, true);
    return r;
}

/* ---- one statement ------------------------------------------------------ */

static larder_result run_view(struct machine *m, unsigned op, lab_tensor *a,
                              lab_tensor **out)
{
    const int64_t sizes[] = {-1, 3, 3};
    int dim = (int)below(m, 4) - 2, ndim = (int)below(m, 3);

    switch (op) {
    case 0:
        return lab_transpose(a, dim, 0, out);
    case 1:
        return lab_slice(a, dim, (int)below(m, 5) - 2, below(m, 7),
                         1 + below(m, 3), out);
    case 2:
        return lab_select(a, dim, (int)below(m, 3) - 1, out);
    case 3:
        return lab_reshape(a, 1 + ndim, sizes, out);
    case 4:
        return lab_view(a, 1 + ndim, sizes, out);
    case 5:
        return lab_unsqueeze(a, dim, out);
    case 6:
        return lab_squeeze(a, dim, out);
    case 7:
        return lab_expand(a, 3, (const int64_t[]){4, -1, 7}, out);
    case 8:
        return lab_detach(a, out);
    default:
        return lab_to(a, below(m, 4) == 0 ? LAB_HOST : LAB_DEVICE, out);
    }
}

static larder_result run_inplace(struct machine *m, unsigned op, lab_tensor *a,
                                 lab_tensor *b)
{
    larder_result r;
    bool was = lab_set_grad_enabled(m->l, below(m, 2) == 0);

    switch (op) {
    case 0:
        r = lab_add_inplace(a, b, 0.5);
        break;
    case 1:
        r = lab_mul_inplace(a, b);
        break;
    case 2:
        r = lab_relu_inplace(a);
        break;
    case 3:
        r = lab_fill_inplace(a, 0.25);
        break;
    case 4:
        r = lab_copy_inplace(a, b);
        break;
    default:
        r = lab_mul_scalar_inplace(a, 0.5);
        break;
    }
    lab_set_grad_enabled(m->l, was);
    return r;
}

static larder_result run_two(struct machine *m, unsigned op, lab_tensor *a,
                             lab_tensor *b, lab_tensor **out)
{
    lab_tensor *const both[] = {a, b, a};

    switch (op) {
    case 0:
        return lab_add(a, b, out);
    case 1:
        return lab_sub(a, b, out);
    case 2:
        return lab_mul(a, b, out);
    case 3:
        return lab_div(a, b, out);
    case 4:
        return lab_matmul(a, b, out);
    case 5:
        return lab_cat(both, 3, (int)below(m, 3), out);
    case 6:
        return lab_stack(both, 2, (int)below(m, 2), out);
    case 7:
        return lab_eq(a, b, out);
    case 8:
        return lab_attention(a, b, b, below(m, 2) != 0, out);
    default:
        return lab_mse_loss(a, b, out);
    }
}

static larder_result run_one(struct machine *m, unsigned op, lab_tensor *a,
                             lab_tensor **out)
{
    switch (op) {
    case 0:
        return lab_tanh(a, out);
    case 1:
        return lab_gelu(a, out);
    case 2:
        return lab_softmax(a, (int)below(m, 3) - 1, out);
    case 3:
        return lab_sum_dim(a, (int)below(m, 3) - 1, below(m, 2) != 0, out);
    case 4:
        return lab_layer_norm(a, NULL, NULL, 1e-5, out);
    case 5:
        return lab_clone(a, out);
    case 6:
        return lab_mean(a, out);
    default:
        return lab_dropout(a, 0.5, below(m, 2) != 0, out);
    }
}

static larder_result go_back(struct machine *m, lab_tensor *a)
{
    bool keeps = below(m, 3) == 0;
    lab_tensor *sum;
    larder_result r = below(m, 3) == 0 ? lab_retain_grad(a) : LARDER_OK;

    if (r == LARDER_OK)
        r = lab_sum(a, &sum);
    if (r != LARDER_OK)
        return r;
    r = lab_backward(sum, NULL, keeps);
    if (r == LARDER_OK && keeps)
        r = lab_backward(sum, NULL, false);
    lab_unref(sum);
    return r;
}

/* Any result is accepted: most statements are valid, many are refused. */
static void statement(struct machine *m)
{
    unsigned op = below(m, OPS), at = below(m, HELD);
    lab_tensor *a = any(m), *b = any(m), *made = NULL;
    larder_result r;

    if (op < 4)
        r = make(m, &made);
    else if (op < 14)
        r = run_view(m, op - 4, a, &made);
    else if (op < 20)
        r = run_inplace(m, op - 14, a, b);
    else if (op < 28)
        r = run_one(m, op - 20, a, &made);
    else if (op < 37)
        r = run_two(m, op - 28, a, b, &made);
    else
        r = go_back(m, a);
    note(m, (uint64_t)r);
    if (made == NULL)
        return;
    assert_int_equal(r, LARDER_OK);
    assert_true(lab_numel(made) >= 0);
    for (int i = 0; i < lab_ndim(made); i++) {
        note(m, (uint64_t)lab_sizes(made)[i]);
        note(m, (uint64_t)lab_strides(made)[i]);
    }
    note(m, lab_requires_grad(made));
    lab_unref(m->held[at]);
    m->held[at] = made;
}

/* ---- whole programs ----------------------------------------------------- */

static void check_alive(struct machine *m)
{
    lab_memory now = lab_rig_memory(m->l);

    assert_int_equal(now.allocated_bytes, m->alive);
}

static uint64_t program_run(lab *l, uint64_t seed)
{
    struct machine m = {.l = l, .digest = 1, .random = seed};
    const int64_t three = 3;

    lab_set_observer(l, observe, &m);
    for (int i = 0; i < HELD; i++)
        lab_assert_ok(
            lab_ones(l, LAB_FLOAT32, LAB_DEVICE, i % 2, &three, &m.held[i]));
    for (int i = 0; i < STEPS; i++) {
        statement(&m);
        check_alive(&m);
    }
    for (int i = 0; i < HELD; i++)
        lab_unref(m.held[i]);
    assert_int_equal(m.alive, 0);
    assert_int_equal(lab_rig_memory(l).tensors, 0);
    assert_int_equal(lab_rig_memory(l).host_bytes, 0);
    lab_set_observer(l, NULL, NULL);
    return m.digest;
}

static uint64_t in_a_session(const char *device, unsigned threads,
                             uint64_t seed)
{
    uint64_t digest;
    lab_options opt;
    lab *l;

    lab_options_init(&opt);
    opt.device = device;
    opt.threads = threads;
    lab_assert_ok(lab_open(&opt, &l));
    digest = program_run(l, seed);
    lab_assert_ok(lab_close(l));
    return digest;
}

static void random_programs_leave_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
        uint64_t real = in_a_session("sim:1GiB", 1, seed);
        uint64_t counted = in_a_session("sim:1GiB,backing=none", 2, seed);

        if (real != counted)
            fail_msg("program %d differs where nothing is computed", (int)seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_leave_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
