"""Temporary memory of operators, which a run with fake tensors does not show.

docs/FIT.md has the table with its sources.
"""

import collections
import functools
import itertools
import math
import threading

import torch

from larder.fit import attention, ledger, reductions, sorting

aten = torch.ops.aten

_MIB = 1 << 20

# at::cuda::getChosenWorkspaceSize: 8 buffers of 4 MiB and some KiB before
# compute capability 9, 32 MiB from it on.  One for each stream that multiplies.
CUBLAS_BEFORE_9 = 8_519_680
CUBLAS_FROM_9 = 32 * _MIB
# cublasLt's workspace, allocated by each call.
CUBLASLT = 1 * _MIB

# Whether cuBLAS's workspace stays with the handle, as seen in 2.6, or is
# allocated by each call, as seen in 2.15.  The version in which this changed
# was not determined.
KEEPS_WORKSPACE = tuple(
    int(n) for n in torch.__version__.split(".")[:2]
) < (2, 12)

_MATMULS = {
    aten.mm.default,
    aten.addmm.default,
    aten.bmm.default,
    aten.baddbmm.default,
    aten.addmv.default,
    aten.mv.default,
    aten.dot.default,
    aten._addmm_activation.default,
}


def _by_cublaslt(func, args):
    """Whether a product with a bias is a single call:
    at::native::addmm_out_cuda."""
    if func not in (aten.addmm.default, aten._addmm_activation.default):
        return False
    bias, left, right = args[:3]
    return (
        bias.dim() == 1
        and bias.is_contiguous()
        and bias.shape[0] == right.shape[1]
        and right.shape[0] > 1
        and right.shape[1] > 1
    )


_contiguous = functools.partial(attention.copies, turned=False)


def _is_ordered_as(tensor, others):
    """Whether the tensor has the memory format that convolutions need:
    channels last if one of the others has it."""
    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(tensor.dim())
    if last is not None and any(
        t.is_contiguous(memory_format=last) and not t.is_contiguous()
        for t in others
    ):
        return tensor.is_contiguous(memory_format=last)
    return tensor.is_contiguous()


def _convolution_backward(taker, args, kwargs, gpu):
    """The gradient in the memory format of the input."""
    if not _is_ordered_as(args[0], args[1:3]):
        taker.take(args[0].nbytes)


def _reduce(func, taker, args, kwargs, gpu):
    for size in reductions.temporaries(func, args, kwargs, gpu.processors, gpu.threads):
        taker.take(size)


def _convolution_bias(taker, args, kwargs, gpu):
    """The bias gradient: partial sums of the gradient."""
    gradient, wanted = args[0], args[10]
    if wanted[2]:
        dims = [0, *range(2, gradient.dim())]
        _reduce(aten.sum.dim_IntList, taker, (gradient, dims), {}, gpu)


def _softmax_backward(taker, args, kwargs, gpu):
    """The gradient times the result."""
    if args[0].numel():
        taker.take(args[0].nbytes)


def _norm(taker, args, kwargs, gpu):
    """A partial sum for each chunk of 65 536 elements of each tensor."""
    tensors = args[0]
    chunks = max((math.ceil(t.numel() / 65536) for t in tensors), default=0)
    taker.take(len(tensors) * max(chunks, 1) * 4)


# Operators that take memory before their results exist, and keep it until then.
_BEFORE = {
    aten._foreach_norm.Scalar: _norm,
    aten.convolution_backward.default: _convolution_backward,
    aten.embedding_dense_backward.default: sorting.embedding_before,
    aten.native_layer_norm.default: _contiguous(0),
    aten.native_layer_norm_backward.default: _contiguous(0, 1),
    aten._scaled_dot_product_flash_attention_backward.default: attention.copies(0, 4),
    aten._scaled_dot_product_efficient_attention_backward.default: attention.copies(0),
    aten._scaled_dot_product_cudnn_attention_backward.default: attention.copies(0),
}

# The same, after the results exist.
_AFTER = {
    aten._softmax_backward_data.default: _softmax_backward,
    aten.upsample_nearest2d_backward.default: _contiguous(0),
    aten.upsample_bilinear2d_backward.default: _contiguous(0),
    aten.convolution_backward.default: _convolution_bias,
    aten.sort.default: sorting.sort,
    aten.sort.stable: sorting.sort,
    aten.topk.default: sorting.topk,
    aten.index_put_.default: sorting.index_put,
    aten._index_put_impl_.default: sorting.index_put,
    aten.index_put.default: sorting.index_put,
    aten.embedding_dense_backward.default: sorting.embedding_after,
    aten._scaled_dot_product_flash_attention.default: attention.flash_forward,
    aten._scaled_dot_product_flash_attention_backward.default: attention.flash_backward,
    aten._scaled_dot_product_efficient_attention.default: attention.efficient_forward,
    aten._scaled_dot_product_efficient_attention_backward.default: (
        attention.efficient_backward
    ),
    aten._scaled_dot_product_cudnn_attention_backward.default: attention.cudnn_backward,
}

# The properties that the choice of a kernel depends on.
Gpu = collections.namedtuple("Gpu", "capability processors threads")


def threads_of(capability):
    """Threads per multiprocessor (the tables of the CUDA programming guide)."""
    if capability == (7, 5):
        return 1024
    return 1536 if capability in ((8, 6), (8, 7), (8, 9), (12, 0), (12, 1)) else 2048


class _Taker:
    """Temporary memory of one operator, freed when it ends or earlier."""

    def __init__(self, storages, name):
        self._storages = storages
        self._name = name
        self._taken = []

    def take(self, size):
        number = self._storages.allocate(size, self._name, ledger.TEMPORARY)
        self._taken.append(number)
        return number

    def drop(self, number):
        self._taken.remove(number)
        self._storages.release(number)

    def end(self):
        for number in self._taken:
            self._storages.release(number)


class _Handle:
    """cuBLAS's, which a thread takes over from one that has ended."""

    def __init__(self, free, made):
        self._free = free
        self.number = free.pop() if free else next(made)

    def __del__(self):
        self._free.append(self.number)


class Temporaries:
    def __init__(self, storages, options):
        self._storages = storages
        self._gpu = Gpu(
            options.capability,
            options.multiprocessors,
            threads_of(options.capability),
        )
        self._cublas = (
            CUBLAS_FROM_9 if options.capability >= (9, 0) else CUBLAS_BEFORE_9
        )
        self._thread = threading.local()
        self._handles = [], itertools.count()
        self._with_workspace = set()

    def passing(self, size):
        """Allocate and free at once."""
        self._storages.release(
            self._storages.allocate(size, "staging", ledger.TEMPORARY)
        )

    def before(self, func, args, kwargs):
        """Memory allocated before the results, and freed once they exist."""
        taker = _Taker(self._storages, func._opname)
        if func in _BEFORE:
            _BEFORE[func](taker, args, kwargs, self._gpu)
        return taker

    def after(self, func, args, kwargs):
        """Memory allocated after the results, and freed."""
        taker = _Taker(self._storages, func._opname)
        try:
            if func in _MATMULS:
                self._multiply(func, taker, args)
            elif func in _AFTER:
                _AFTER[func](taker, args, kwargs, self._gpu)
            else:
                _reduce(func, taker, args, kwargs, self._gpu)
        finally:
            taker.end()

    def _multiply(self, func, taker, args):
        by_cublaslt = _by_cublaslt(func, args)
        if by_cublaslt:
            taker.take(CUBLASLT)
        if KEEPS_WORKSPACE:
            self._need_cublas()
        elif not by_cublaslt:
            taker.take(self._cublas)

    def _need_cublas(self):
        """The workspace of cuBLAS, kept to the end for each stream and handle, of
        which each thread has its own: backward runs on another."""
        if not hasattr(self._thread, "handle"):
            self._thread.handle = _Handle(*self._handles)
        key = (self._storages.stream, self._thread.handle.number)
        if key not in self._with_workspace:
            self._with_workspace.add(key)
            self._storages.allocate(self._cublas, "cublas", ledger.WORKSPACE)
