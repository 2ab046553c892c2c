/* test_lab_fork.c - a forked child may not use its parent's device tensors,
 * even for calls that allocate nothing; host tensors are its own copies. */
#include <sys/wait.h>
#include <unistd.h>

#include <larder/lab_raw.h>

#include "lab/small_tensors.h"

enum { PATIENCE_S = 20, COUNT = 4 };

/* What the parent has when it forks. */
struct things {
    lab *l;
    lab_tensor *a, *b;  /* COUNT numbers on the device */
    lab_tensor *index;  /* one number, 0, there */
    lab_tensor *single; /* of one element, there */
    lab_tensor *host;   /* COUNT numbers */
    lab_optimizer *sgd; /* of b, which has a gradient */
};

static void things_make(struct things *t, lab *l)
{
    const int64_t zero = 0;
    lab_optimizer_options opt;
    lab_tensor *grad;

    t->l = l;
    t->a = tensor_of(l, DIMS(COUNT), NUMBERS(1, 2, 3, 4));
    t->b = leaf_of(l, DIMS(COUNT), NUMBERS(5, 6, 7, 8));
    t->single = tensor_of(l, DIMS(1), NUMBERS(9));
    lab_assert_ok(lab_zeros(l, LAB_INT64, LAB_DEVICE, DIMS(1), &t->index));
    lab_assert_ok(lab_write(t->index, &zero, sizeof zero));
    lab_assert_ok(lab_to(t->a, LAB_HOST, &t->host));
    grad = tensor_of(l, DIMS(COUNT), NUMBERS(1, 1, 1, 1));
    lab_assert_ok(lab_set_grad(t->b, grad));
    lab_unref(grad);
    lab_optimizer_options_init(&opt);
    opt.lr = 0.1;
    lab_assert_ok(lab_optimizer_create(l, LAB_SGD, &opt, &t->b, 1, &t->sgd));
}

static void things_drop(struct things *t)
{
    lab_tensor *all[] = {t->a, t->b, t->index, t->single, t->host};

    lab_optimizer_destroy(t->sgd);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        lab_unref(all[i]);
}

/* Run fn(things) in a child; fn returns 0, or the line of the check that
 * failed, of which an exit status holds eight bits. */
static void in_child(int (*fn)(struct things *), struct things *t)
{
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(PATIENCE_S);
        _exit(fn(t));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static bool is_refused(larder_result r)
{
    return r == LARDER_ERR_FORKED &&
           strstr(lab_last_error(), "before a fork") != NULL;
}

#define REFUSED(call)                                                          \
    do {                                                                       \
        if (!is_refused(call))                                                 \
            return __LINE__;                                                   \
    } while (0)

static int write_in_place(struct things *t)
{
    const float numbers[COUNT] = {0};

    REFUSED(lab_add_inplace(t->a, t->a, 1));
    REFUSED(lab_mul_inplace(t->a, t->single));
    REFUSED(lab_div_inplace(t->a, t->a));
    REFUSED(lab_add_scalar_inplace(t->a, 1));
    REFUSED(lab_mul_scalar_inplace(t->a, 2));
    REFUSED(lab_relu_inplace(t->a));
    REFUSED(lab_addcmul_inplace(t->a, t->a, t->a, 1));
    REFUSED(lab_addcdiv_inplace(t->a, t->a, t->a, 1));
    REFUSED(lab_fill_inplace(t->a, 0));
    REFUSED(lab_copy_inplace(t->a, t->host));
    REFUSED(lab_raw_scatter(t->a, 0, t->index, NULL, 1, false));
    REFUSED(lab_raw_index_put(t->a, 0, &t->index, 1, t->single, false));
    REFUSED(lab_write(t->a, numbers, sizeof numbers));
    REFUSED(lab_optimizer_step(t->sgd));
    REFUSED(lab_optimizer_zero_grad(t->sgd, false));
    return 0;
}

static int read_and_close(struct things *t)
{
    float numbers[COUNT];
    lab_tensor *out = NULL;
    double number;

    REFUSED(lab_read(t->a, numbers, sizeof numbers));
    REFUSED(lab_item(t->single, &number));
    REFUSED(lab_to(t->a, LAB_HOST, &out));
    REFUSED(lab_copy_inplace(t->host, t->a));
    REFUSED(lab_add(t->a, t->a, &out));
    REFUSED(lab_close(t->l));
    return out == NULL ? 0 : __LINE__;
}

static int use_the_host(struct things *t)
{
    double number;
    lab_tensor *sum;

    if (lab_fill_inplace(t->host, 3) != LARDER_OK ||
        lab_sum(t->host, &sum) != LARDER_OK ||
        lab_item(sum, &number) != LARDER_OK)
        return __LINE__;
    return number == 3 * COUNT ? 0 : __LINE__;
}

static void a_child_is_refused_its_parents_tensors(void **state)
{
    struct things t;

    things_make(&t, *state);
    in_child(write_in_place, &t);
    in_child(read_and_close, &t);
    assert_elements("a", t.a, NUMBERS(1, 2, 3, 4), COUNT);
    assert_elements("b", t.b, NUMBERS(5, 6, 7, 8), COUNT);
    things_drop(&t);
}

static void tensors_on_the_host_are_copies_of_the_childs(void **state)
{
    struct things t;

    things_make(&t, *state);
    in_child(use_the_host, &t);
    assert_elements("host", t.host, NUMBERS(1, 2, 3, 4), COUNT);
    things_drop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_SMALL_SESSION(a_child_is_refused_its_parents_tensors),
        ON_SMALL_SESSION(tensors_on_the_host_are_copies_of_the_childs),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
