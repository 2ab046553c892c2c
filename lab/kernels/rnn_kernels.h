/* rnn_kernels.h - one direction of one recurrent layer, over all its steps. */
#ifndef LARDER_LAB_KERNELS_RNN_KERNELS_H
#define LARDER_LAB_KERNELS_RNN_KERNELS_H

#include <larder/lab_raw.h>

#include "tensor/tensor.h"

/* The number of blocks of H rows in its weights. */
int lab__cell_gates(lab_cell cell);

/* As lab_raw_rnn() and lab_raw_rnn_backward(), with contiguous tensors; they
 * fail only for lack of host memory. */
larder_result lab__rnn_forward(const lab_rnn *rnn, const lab_tensor *x,
                               lab_tensor *out, lab_tensor *h_last,
                               lab_tensor *c_last, lab_tensor *kept);
larder_result lab__rnn_backward(const lab_rnn *rnn, const lab_tensor *x,
                                const lab_tensor *out, const lab_tensor *kept,
                                const lab_tensor *grad_out,
                                const lab_tensor *grad_h,
                                const lab_tensor *grad_c,
                                const lab_rnn_grads *to);

#endif
