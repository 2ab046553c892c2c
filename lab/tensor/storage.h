/* storage.h - making and counting storages: for tensors alone. */
#ifndef LAB_TENSOR_STORAGE_H
#define LAB_TENSOR_STORAGE_H

#include "tensor/tensor.h"

/* The storage and the tensor made with it are one piece of host memory, which
 * goes with the storage: 8 million live tensors of one element are one of the
 * experiments. */
struct lab__pair {
    struct lab__storage storage;
    lab_tensor tensor;
};

/* A storage of `bytes` with one reference, and room for the first tensor on
 * it, which is not filled in; with that many bytes of values beside it, where
 * loops can read them.  *zeroed (may be NULL): whether its bytes are
 * known to be 0. */
larder_result lab__storage_new(lab *l, lab_place place, uint64_t bytes,
                               uint64_t values, int *zeroed,
                               struct lab__pair **out);
void lab__storage_unref(struct lab__storage *storage);

#endif
