/* storage.h - creates and counts storages, for tensors only. */
#ifndef LARDER_LAB_TENSOR_STORAGE_H
#define LARDER_LAB_TENSOR_STORAGE_H

#include "tensor/tensor.h"

/* A storage and its first tensor are one host allocation, freed with the
 * storage: one of the experiments has 8 million live tensors of one element. */
struct lab__pair {
    struct lab__storage storage;
    lab_tensor tensor;
};

/* Create a storage of `bytes` with one reference, with room for its first
 * tensor, which is not initialised, and with `values` bytes beside it that
 * loops can read. *zeroed (may be NULL): whether its bytes are known to be
 * 0. */
larder_result lab__storage_new(lab *l, lab_place place, uint64_t bytes,
                               uint64_t values, int *zeroed,
                               struct lab__pair **out);
void lab__storage_unref(struct lab__storage *storage);

/* A tensor of one number on the stack, to be broadcast. */
struct lab__number {
    struct lab__pair pair;
    union {
        float f;
        int64_t i;
        unsigned char b;
    } value;
};

/* Returns n's tensor, of that kind (transfer.c). */
const lab_tensor *lab__number_make(struct lab__number *n, lab *l,
                                   lab_dtype kind, double value);

/* Wrap values of a kind in host memory as a contiguous tensor, to be read from or
 * written to; nothing is owned. */
void lab__pair_wrap(struct lab__pair *pair, lab *l, lab_dtype kind, int ndim,
                    const int64_t *sizes, const void *values);

#endif
