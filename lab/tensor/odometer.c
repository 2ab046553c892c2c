/* odometer.c - loops over tensors of any strides, by rows. */
#include "tensor/odometer.h"

/* ---- planning ----------------------------------------------------------- */

static void dimension_add(struct lab__odometer *o,
                          const lab_tensor *const *tensors, int d)
{
    int ndim = tensors[0]->ndim;

    o->sizes[o->ndim] = tensors[0]->sizes[d];
    for (int i = 0; i < o->operands; i++)
        o->strides[i][o->ndim] = lab__stride_in(tensors[i], d, ndim);
    o->ndim++;
}

static void dimensions_swap(struct lab__odometer *o, int a, int b)
{
    int64_t keep = o->sizes[a];

    o->sizes[a] = o->sizes[b];
    o->sizes[b] = keep;
    for (int i = 0; i < o->operands; i++) {
        keep = o->strides[i][a];
        o->strides[i][a] = o->strides[i][b];
        o->strides[i][b] = keep;
    }
}

/* Sort by decreasing stride of the first operand: the order of its memory. */
static void dimensions_sort(struct lab__odometer *o)
{
    for (int i = 1; i < o->ndim; i++) {
        for (int j = i; j > 0 && o->strides[0][j - 1] < o->strides[0][j]; j--)
            dimensions_swap(o, j - 1, j);
    }
}

/* Whether dimension d + 1 fills exactly one step of dimension d, in all
 * operands. */
static bool is_joint(const struct lab__odometer *o, int d)
{
    for (int i = 0; i < o->operands; i++) {
        if (o->strides[i][d] != o->strides[i][d + 1] * o->sizes[d + 1])
            return false;
    }
    return true;
}

static void dimensions_join(struct lab__odometer *o)
{
    int last = 0;

    for (int d = 1; d < o->ndim; d++) {
        dimensions_swap(o, last + 1, d);
        if (is_joint(o, last)) {
            o->sizes[last] *= o->sizes[last + 1];
            for (int i = 0; i < o->operands; i++)
                o->strides[i][last] = o->strides[i][last + 1];
        } else {
            last++;
        }
    }
    o->ndim = last + 1;
}

bool lab__odometer_init(struct lab__odometer *o, int operands,
                        const lab_tensor *const *tensors)
{
    o->operands = operands;
    o->ndim = 0;
    o->count = lab_numel(tensors[0]);
    if (o->count == 0)
        return false;
    for (int i = 0; i < operands; i++) {
        if (!lab__readable(tensors[i]))
            return false;
        o->base[i] = lab__data(tensors[i]);
        o->bytes[i] = (int64_t)lab__dtype_bytes(tensors[i]->kind);
    }
    for (int d = 0; d < tensors[0]->ndim; d++) {
        if (tensors[0]->sizes[d] != 1)
            dimension_add(o, tensors, d);
    }
    if (o->ndim == 0) {
        o->sizes[0] = 1;
        for (int i = 0; i < operands; i++)
            o->strides[i][0] = 1;
        o->ndim = 1;
    }
    dimensions_sort(o);
    dimensions_join(o);
    return true;
}

/* ---- running ------------------------------------------------------------ */

struct run {
    const struct lab__odometer *o;
    lab__row_fn fn;
    const void *context;
};

/* Compute the digits of element number n, and the operands' addresses there. */
static void wheels_set(const struct lab__odometer *o, int64_t n,
                       int64_t *digits, char **at)
{
    for (int i = 0; i < o->operands; i++)
        at[i] = o->base[i];
    for (int d = o->ndim; d-- > 0;) {
        digits[d] = n % o->sizes[d];
        n /= o->sizes[d];
        for (int i = 0; i < o->operands; i++)
            at[i] += digits[d] * o->strides[i][d] * o->bytes[i];
    }
}

/* Advance n elements within the row, up to its end at most. */
static void wheels_turn(const struct lab__odometer *o, int64_t n,
                        int64_t *digits, char **at)
{
    for (int d = o->ndim - 1;; d--) {
        digits[d] += n;
        for (int i = 0; i < o->operands; i++)
            at[i] += n * o->strides[i][d] * o->bytes[i];
        if (digits[d] < o->sizes[d] || d == 0)
            return;
        for (int i = 0; i < o->operands; i++)
            at[i] -= digits[d] * o->strides[i][d] * o->bytes[i];
        digits[d] = 0;
        n = 1;
    }
}

static void run_part(void *context, int64_t begin, int64_t end)
{
    const struct run *run = context;
    const struct lab__odometer *o = run->o;
    int64_t digits[LAB_MAX_DIMS], step[LAB__MAX_OPERANDS];
    char *at[LAB__MAX_OPERANDS];
    int row = o->ndim - 1;

    for (int i = 0; i < o->operands; i++)
        step[i] = o->strides[i][row];
    wheels_set(o, begin, digits, at);
    while (begin < end) {
        int64_t n = o->sizes[row] - digits[row];

        if (n > end - begin)
            n = end - begin;
        run->fn(run->context, n, at, step);
        begin += n;
        if (begin < end)
            wheels_turn(o, n, digits, at);
    }
}

void lab__odometer_run(lab *l, const struct lab__odometer *o, int64_t grain,
                       lab__row_fn fn, const void *context)
{
    struct run run = {o, fn, context};

    lab__parallel(l, o->count, grain, run_part, &run);
}
