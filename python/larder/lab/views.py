"""Views of a tensor's storage: shapes, dimensions and indices."""

import ctypes
import itertools
from ctypes import byref, c_void_p

from larder._library import library
from larder.lab import kinds, picking, pointwise
from larder.lab.failures import InvalidError, check, not_covered
from larder.lab.making import tensor
from larder.lab.operations import copy_, fill_
from larder.lab.tensors import Tensor, handle, tensor_from, wrap


def _shaped(call):
    def operation(input, *shape, size=None):
        shape = kinds.spread(shape if size is None else (size,))
        return tensor_from(
            call, handle(input), len(shape), kinds.sizes_array(shape)
        )

    return operation


reshape = _shaped(library.lab_reshape)
expand = _shaped(library.lab_expand)
_view = _shaped(library.lab_view)


def view(input, *shape):
    """To sizes.  A view as another type is not supported."""
    if len(shape) == 1 and isinstance(shape[0], kinds.DType):
        raise not_covered("view as another dtype", ["view to sizes"])
    return _view(input, *shape)


def view_as(input, other):
    return view(input, other.shape)


def reshape_as(input, other):
    return reshape(input, other.shape)


def expand_as(input, other):
    return expand(input, other.shape)


def flatten(input, start_dim=0, end_dim=-1):
    shape = input.shape
    if not shape:
        return reshape(input, 1)
    start = dimension(start_dim, len(shape))
    end = dimension(end_dim, len(shape))
    if start > end:
        raise InvalidError("flatten: start_dim comes after end_dim")
    if start == end:
        return input
    middle = kinds.Size(shape[start : end + 1]).numel()
    return reshape(input, shape[:start] + (middle,) + shape[end + 1 :])


def dimension(dim, ndim):
    """A non-negative `dim`."""
    if not -ndim <= dim < max(ndim, 1):
        raise IndexError(f"dimension {dim} of a tensor that has {ndim}")
    return dim % max(ndim, 1)


def transpose(input, dim0, dim1):
    return tensor_from(library.lab_transpose, handle(input), dim0, dim1)


def t(input):
    ndim = input.ndim
    if ndim > 2:
        raise InvalidError(f"t() is for 2 dimensions, not {ndim}")
    return transpose(input, 0, 1) if ndim == 2 else input


def narrow(input, dim, start, length):
    dim = dimension(dim, input.ndim)
    start = start if start >= 0 else start + input.shape[dim]
    return _slice(input, dim, slice(start, start + length))


def select(input, dim, index):
    return _select(input, dimension(dim, input.ndim), int(index))


def movedim(input, source, destination):
    dims = [d for d in range(input.ndim) if d != source % input.ndim]
    dims.insert(destination % input.ndim, source % input.ndim)
    return permute(input, dims)


def unflatten(input, dim, sizes):
    dim = dimension(dim, input.ndim)
    shape = tuple(input.shape)
    return reshape(input, shape[:dim] + tuple(sizes) + shape[dim + 1 :])


def permute(input, *dims):
    dims = kinds.spread(dims)
    return tensor_from(
        library.lab_permute, handle(input), len(dims), kinds.dims_array(dims)
    )


def squeeze(input, dim=None):
    if dim is None:
        shape = input.shape
        return reshape(input, tuple(size for size in shape if size != 1))
    return tensor_from(library.lab_squeeze, handle(input), dim)


def unsqueeze(input, dim):
    return tensor_from(library.lab_unsqueeze, handle(input), dim)


_CHUNKS_MAX = 1 << 16


def chunk(input, chunks, dim=0):
    if chunks > _CHUNKS_MAX:  # none is empty
        chunks = min(chunks, max(input.shape[dim], 1))
    outs = (c_void_p * max(chunks, 1))()
    made = ctypes.c_int()
    check(library.lab_chunk(handle(input), chunks, dim, outs, byref(made)))
    return tuple(wrap(h) for h in outs[: made.value])


def split(input, split_size_or_sections, dim=0):
    sizes = split_size_or_sections
    length = input.shape[dim]
    if isinstance(sizes, int):
        if sizes < 1:
            raise InvalidError("split into pieces of size 0")
        count = max(1, -(-length // sizes))
        if count == 1 or -(-length // count) == sizes:
            return chunk(input, count, dim)
        sizes = [min(sizes, length - at) for at in range(0, length, sizes)]
    if sum(sizes) != length or min(sizes) < 0:
        raise InvalidError(f"the sizes {list(sizes)} do not add up to {length}")
    ends = list(itertools.accumulate(sizes))
    dim = dimension(dim, input.ndim)
    return tuple(
        _slice(input, dim, slice(end - size, end))
        for size, end in zip(sizes, ends)
    )


def unbind(input, dim=0):
    shape = input.shape
    count = shape[dimension(dim, len(shape))] if shape else 0
    outs = (c_void_p * max(count, 1))()
    check(library.lab_unbind(handle(input), dim, outs))
    return tuple(wrap(h) for h in outs[:count])


def iterate(self):
    if self.ndim == 0:
        raise TypeError("a tensor without dimensions cannot be iterated over")
    return iter(unbind(self))


# ---- indices ----


def _select(input, dim, index):
    length = input.shape[dim]
    if not -length <= index < length:
        raise IndexError(
            f"index {index} is out of bounds for dimension {dim} "
            f"with size {length}"
        )
    return tensor_from(library.lab_select, input._h, dim, index)


def _slice(input, dim, key):
    length = input.shape[dim]
    start, end, step = key.indices(length)
    if step < 1:
        raise InvalidError("the step of a slice must be positive")
    if (start, end, step) == (0, length, 1):
        return input
    return tensor_from(
        library.lab_slice, input._h, dim, start, max(start, end), step
    )


def _rows(input, index):
    return tensor_from(library.lab_index_rows, input._h, index._h)


def _as_tensors(part):
    """The index tensors equivalent to a part of an index; None if it is not a
    tensor."""
    if isinstance(part, list):
        part = tensor(part)
    if not isinstance(part, Tensor) or not part.ndim:
        return None
    if part.dtype is kinds.bool_:
        return picking.places_of(part)
    return (part.long(),)


def _dims_used(part):
    """The number of dimensions that a part of an index applies to."""
    if part is None or part is Ellipsis:
        return 0
    if isinstance(part, Tensor) and part.dtype is kinds.bool_:
        return part.ndim
    return 1


def _spelled_out(key, ndim):
    """The key as a tuple, with slices in place of an Ellipsis."""
    key = key if isinstance(key, tuple) else (key,)
    used = sum(map(_dims_used, key))
    if used > ndim:
        raise IndexError(f"{used} indices for a tensor of {ndim} dimensions")
    parts = []
    seen = False
    for part in key:
        if part is Ellipsis:
            if seen:
                raise IndexError("an index can contain only one ...")
            seen = True
            parts += [slice(None)] * (ndim - used)
        else:
            parts.append(part)
    return parts


def _window(self, key):
    """The view that slices and numbers of an index select, and the remaining
    index tensors with the first dimension they apply to."""
    window, dim = self, 0
    tensors, first = (), None
    for part in _spelled_out(key, self.ndim):
        indices = _as_tensors(part)
        if indices is not None:
            if first is not None and first + len(tensors) != dim:
                raise not_covered(
                    "index tensors with a slice between them",
                    ["one after the other"],
                )
            first = dim if first is None else first
            tensors += tuple(one.to(self.device) for one in indices)
            dim += len(indices)
        elif part is None:
            window = unsqueeze(window, dim)
            dim += 1
        elif isinstance(part, slice):
            window = _slice(window, dim, part)
            dim += 1
        elif isinstance(part, bool):
            raise not_covered("True or False as an index")
        elif hasattr(part, "__index__"):
            window = _select(window, dim, part.__index__())
        else:
            raise TypeError(f"an index cannot be a {type(part).__name__}")
    return window, tensors, first


def get(self, key):
    """self[key]"""
    window, tensors, first = _window(self, key)
    if len(tensors) == 1 and first == 0:
        return _rows(window, tensors[0])
    if tensors:
        return picking.at(window, first, tensors)
    if window is self:
        # A new tensor, as in PyTorch: writing self[:] += 1 continues to work.
        return reshape(self, self.shape)
    return window


def put(self, key, value):
    """self[key] = value"""
    if isinstance(key, Tensor) and key.dtype is kinds.bool_ and (
        key.shape == self.shape and not isinstance(value, Tensor)
    ):
        pointwise.masked_fill_(self, key, value)
        return
    window, tensors, first = _window(self, key)
    if tensors:
        picking.put_at(window, first, tensors, value)
    elif isinstance(value, Tensor):
        copy_(window, value)
    else:
        fill_(window, value)
