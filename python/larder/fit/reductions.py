"""Temporary memory of a reduction that several thread blocks share: partial
results, and one semaphore for each column of blocks.

It follows PyTorch's setReduceConfig (aten/src/ATen/native/cuda/Reduce.cuh).
The number of blocks depends on the GPU's multiprocessors.
"""

import math

import torch

aten = torch.ops.aten

_WARP = 32
_LEAST, _MOST = 16, 256  # values per thread
_VECTOR = 4

# The size of the accumulator for each type.
_ACCUMULATES = {torch.float16: 4, torch.bfloat16: 4, torch.bool: 8}
_MEAN_AND_VARIANCE = 16
_VALUE_AND_PLACE = 16


def _last_power(number):
    return 1 << (max(number, 1).bit_length() - 1)


def _div_up(a, b):
    return -(-a // b)


def _dimensions(tensor, reduced):
    """(size, stride, is reduced) in the order of PyTorch's iterator: reduced
    dimensions first, each group by ascending stride, adjacent ones merged."""
    dims = [
        (tensor.shape[d], tensor.stride(d), d in reduced)
        for d in range(tensor.dim())
        if tensor.shape[d] != 1
    ]
    dims.sort(key=lambda dim: (not dim[2], dim[1]))
    joined = []
    for size, stride, is_reduced in dims:
        if joined:
            last, first_stride, kind = joined[-1]
            if kind == is_reduced and stride == last * first_stride:
                joined[-1] = (last * size, first_stride, kind)
                continue
        joined.append((size, stride, is_reduced))
    return joined


class _Shape:
    """The layout of a reduction's threads."""

    def __init__(self, tensor, reduced, element_bytes):
        dims = _dimensions(tensor, reduced)
        self.element_bytes = element_bytes
        self.outputs = math.prod(size for size, _, r in dims if not r)
        self.inputs = math.prod(size for size, _, r in dims if r)
        self.vector = 1
        self.step_input = self.step_output = 1
        kept = [dim for dim in dims if not dim[2]]
        summed = [dim for dim in dims if dim[2]]
        self.along = not kept or (bool(summed) and summed[0][1] < kept[0][1])
        self._set_block(dims, kept, summed)

    def _set_block(self, dims, kept, summed):
        if not dims:
            width, height = 1, 1
        elif self.along:
            width, height = self.inputs, self.outputs
            if summed and summed[0][1] == 1 and width > 128 and len(dims) == 1:
                width //= _VECTOR
        else:
            width, height = self.outputs, self.inputs
            if kept[0][1] == 1:
                self.vector = self._vector_of(kept, summed)
                width //= self.vector
        most = 512 // self.vector
        width = _last_power(width) if width < most else most
        height = _last_power(height) if height < most else most
        across = min(width, _WARP)
        self.height = min(height, most // across)
        self.width = min(width, most // self.height)

    @staticmethod
    def _vector_of(kept, summed):
        vector = _VECTOR
        for number in [kept[0][0]] + [dim[1] for dim in kept[1:] + summed]:
            while number % vector:
                vector //= 2
        return vector

    def _values(self):
        return _div_up(self.inputs, self.step_input)

    def temporaries(self, processors, threads):
        """Bytes of partial results, and of semaphores."""
        if self.along:
            self.step_input *= self.width
        else:
            self.step_output *= self.width
        if self._values() < self.height * 16 and self._values() < _MOST:
            return []
        self.step_input *= self.height
        values = self._values()
        blocks = threads // (self.width * self.height)
        grid = _div_up(self.outputs // self.vector, self.step_output)
        if values < _MOST or grid > processors * blocks:
            return []
        shared = max(
            min(_div_up(processors * blocks, grid), _div_up(values, _LEAST)),
            _div_up(values, _MOST),
        )
        if shared <= 1:
            return []
        size = self.element_bytes * self.outputs * shared
        if not self.along:
            size *= self.width * self.vector
        return [size, 4 * grid]


def _reduced_of(tensor, dims):
    if dims is None or (isinstance(dims, (list, tuple)) and not dims):
        return set(range(tensor.dim()))
    if isinstance(dims, int):
        dims = [dims]
    return {d % max(tensor.dim(), 1) for d in dims}


def _value_bytes(func, tensor, kwargs):
    dtype = kwargs.get("dtype") or tensor.dtype
    if func in _AS_IT_IS:
        return dtype.itemsize
    if not dtype.is_floating_point and not dtype.is_complex:
        return 8
    return _ACCUMULATES.get(dtype, dtype.itemsize)


# Operator -> position of its dimensions argument, and the accumulator's size;
# None: that of its values.
_KNOWN = {
    aten.sum.default: (None, None),
    aten.sum.dim_IntList: (1, None),
    aten.mean.default: (None, None),
    aten.mean.dim: (1, None),
    aten.prod.default: (None, None),
    aten.prod.dim_int: (1, None),
    aten.amax.default: (1, None),
    aten.amin.default: (1, None),
    aten.max.default: (None, None),
    aten.min.default: (None, None),
    aten.any.default: (None, 1),
    aten.all.default: (None, 1),
    aten.argmax.default: (1, _VALUE_AND_PLACE),
    aten.argmin.default: (1, _VALUE_AND_PLACE),
    aten.max.dim: (1, _VALUE_AND_PLACE),
    aten.min.dim: (1, _VALUE_AND_PLACE),
    aten.linalg_vector_norm.default: (2, None),
    aten.var.correction: (1, _MEAN_AND_VARIANCE),
    aten.std.correction: (1, _MEAN_AND_VARIANCE),
    aten.var_mean.correction: (1, _MEAN_AND_VARIANCE),
}

# Operators that do not accumulate.
_AS_IT_IS = {
    aten.amax.default,
    aten.amin.default,
    aten.max.default,
    aten.min.default,
}
# Operators that first widen small integers.
_WIDENED = {
    aten.sum.default,
    aten.sum.dim_IntList,
    aten.prod.default,
    aten.prod.dim_int,
}


def _is_small_integer(dtype):
    return (
        not dtype.is_floating_point
        and not dtype.is_complex
        and dtype not in (torch.int64, torch.bool)
    )


def temporaries(func, args, kwargs, processors, threads):
    """The sizes that the operator requests after its results exist."""
    known = _KNOWN.get(func)
    if known is None or not args or args[0].numel() == 0:
        return []
    place, each = known
    dims = args[place] if place is not None and len(args) > place else None
    shape = _Shape(
        args[0],
        _reduced_of(args[0], dims),
        each or _value_bytes(func, args[0], kwargs),
    )
    sizes = shape.temporaries(processors, threads)
    if func in _WIDENED and _is_small_integer(args[0].dtype):
        sizes.insert(0, args[0].numel() * 8)
    return sizes
