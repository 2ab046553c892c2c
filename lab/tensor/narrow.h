/* narrow.h - types whose values are kept in another one for loops (T3 in
 * tensor.h): rounding, and their bytes. */
#ifndef LAB_TENSOR_NARROW_H
#define LAB_TENSOR_NARROW_H

#include "tensor/tensor.h"

/* Every value of t becomes one that its type can hold: floats the nearest (an
 * infinity where it is too large), whole numbers modulo 2 to the bits.
 * Nothing happens to the types of loops, and to float64. */
void lab__round(const lab_tensor *t);

/* n values, in the kind of `dtype`, as its bytes, and the other way round. */
void lab__pack(lab_dtype dtype, void *bytes, const void *values, int64_t n);
void lab__unpack(lab_dtype dtype, void *values, const void *bytes, int64_t n);

#endif
