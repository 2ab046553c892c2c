/* raw_map.c - element-wise operations, not recorded. */
#include <larder/lab_raw.h>

#include "kernels/kernels.h"
#include "ops/op.h"

int lab_raw_find(const char *name)
{
    return lab__map_op_find(name);
}

int lab_raw_arity(int op)
{
    const struct lab__map_op *what = lab__map_op_get(op);

    return what != NULL ? what->arity : 0;
}

static larder_result op_get(int number, const struct lab__map_op **out)
{
    *out = lab__map_op_get(number);
    return *out != NULL
               ? LARDER_OK
               : lab__invalid("%d is not the number of an operation", number);
}

static larder_result sizes_meet(const struct lab__map_op *op,
                                lab_tensor *const *operands, int *ndim,
                                int64_t sizes[LAB_MAX_DIMS])
{
    *ndim = 0;
    for (int i = 0; i < op->arity; i++)
        LAB__TRY(lab__broadcast_with(op->name, operands[i]->ndim,
                                     operands[i]->sizes, ndim, sizes));
    return LARDER_OK;
}

static lab_dtype dtype_for(const struct lab__map_op *op,
                           lab_tensor *const *operands)
{
    int first = op->result == LAB__MAP_CHOICE;
    lab_tensor so_far = *operands[first];

    if (op->result == LAB__MAP_BOOL)
        return LAB_BOOL;
    for (int i = first + 1; i < op->arity; i++) {
        lab_dtype both = lab__dtype_of_both(&so_far, operands[i]);

        if (operands[i]->ndim > so_far.ndim)
            so_far.ndim = operands[i]->ndim;
        so_far.dtype = both;
        so_far.kind = lab__kind_of(both);
    }
    if (op->result == LAB__MAP_FLOAT && so_far.kind != LAB_FLOAT32)
        return LAB_FLOAT32;
    return so_far.dtype;
}

static larder_result room(const struct lab__map_op *op,
                          lab_tensor *const *operands, lab_tensor **out)
{
    const lab_tensor *const *all = (const lab_tensor *const *)operands;
    int64_t sizes[LAB_MAX_DIMS];
    const lab_tensor *where;
    int ndim;

    LAB__TRY(lab__places_meet(op->name, op->arity, operands, &where));
    LAB__TRY(sizes_meet(op, operands, &ndim, sizes));
    LAB__TRY(lab__tensor_new(where->storage->session, dtype_for(op, operands),
                             where->storage->place, ndim, sizes, out));
    lab__lay_out(*out, op->arity, all);
    return LARDER_OK;
}

larder_result lab_raw_map(int op, lab_tensor *const *operands, double p,
                          double q, lab_tensor **out)
{
    const struct lab__map_op *what;

    LAB__TRY(op_get(op, &what));
    LAB__TRY(room(what, operands, out));
    lab__map(what, *out, operands, p, q);
    return LARDER_OK;
}

static larder_result into_check(const struct lab__map_op *op,
                                lab_tensor *const *operands,
                                const lab_tensor *to)
{
    int64_t sizes[LAB_MAX_DIMS];
    int ndim;
    char want[LAB__SHAPE_TEXT], have[LAB__SHAPE_TEXT];

    LAB__TRY(lab__check_writable(op->name, to));
    LAB__TRY(sizes_meet(op, operands, &ndim, sizes));
    if (lab__fits(ndim, sizes, to))
        return LARDER_OK;
    return lab__invalid("%s in place: a result of sizes %s for a tensor of %s",
                        op->name, lab__shape_text(ndim, sizes, have),
                        lab__shape_text(to->ndim, to->sizes, want));
}

larder_result lab_raw_map_into(int op, lab_tensor *const *operands, double p,
                               double q, lab_tensor *to)
{
    const struct lab__map_op *what;
    const lab_tensor *where;

    LAB__TRY(op_get(op, &what));
    LAB__TRY(lab__places_meet(what->name, what->arity, operands, &where));
    LAB__TRY(into_check(what, operands, to));
    to->storage->version++;
    lab__map(what, to, operands, p, q);
    return LARDER_OK;
}
