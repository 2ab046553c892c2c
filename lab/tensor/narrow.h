/* narrow.h - types whose values loops access in another type (T3 in tensor.h):
 * rounding and packing. */
#ifndef LARDER_LAB_TENSOR_NARROW_H
#define LARDER_LAB_TENSOR_NARROW_H

#include "tensor/tensor.h"

/* Convert every value of t to one that its type can represent: the nearest
 * float (an infinity if it is too large), whole numbers modulo 2 to the number
 * of bits.  Types that loops use directly, and float64, are unchanged. */
void lab__round(const lab_tensor *t);

/* Convert n values of the kind of `dtype` to its bytes, and back. */
void lab__pack(lab_dtype dtype, void *bytes, const void *values, int64_t n);
void lab__unpack(lab_dtype dtype, void *values, const void *bytes, int64_t n);

#endif
