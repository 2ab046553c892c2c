"""Other windows on a tensor's storage: shapes, dimensions and indices."""

import ctypes
import itertools
from ctypes import byref, c_void_p

from larder._library import library
from larder.lab import kinds
from larder.lab.failures import InvalidError, check, failure, not_covered
from larder.lab.operations import copy_, fill_
from larder.lab.tensors import Tensor, handle, wrap


def _made(result, out):
    if result:
        raise failure(result)
    return wrap(out.value)


def _shaped(call):
    def operation(input, *shape):
        shape = kinds.spread(shape)
        out = c_void_p()
        r = call(
            handle(input), len(shape), kinds.sizes_array(shape), byref(out)
        )
        return _made(r, out)

    return operation


reshape = _shaped(library.lab_reshape)
view = _shaped(library.lab_view)
expand = _shaped(library.lab_expand)


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
    """`dim` counted from the front."""
    if not -ndim <= dim < max(ndim, 1):
        raise IndexError(f"dimension {dim} of a tensor that has {ndim}")
    return dim % max(ndim, 1)


def transpose(input, dim0, dim1):
    out = c_void_p()
    r = library.lab_transpose(handle(input), dim0, dim1, byref(out))
    return _made(r, out)


def t(input):
    ndim = input.ndim
    if ndim > 2:
        raise InvalidError(f"t() is for 2 dimensions, not {ndim}")
    return transpose(input, 0, 1) if ndim == 2 else input


def permute(input, *dims):
    dims = kinds.spread(dims)
    out = c_void_p()
    r = library.lab_permute(
        handle(input), len(dims), kinds.dims_array(dims), byref(out)
    )
    return _made(r, out)


def squeeze(input, dim=None):
    if dim is None:
        shape = input.shape
        return reshape(input, tuple(size for size in shape if size != 1))
    out = c_void_p()
    return _made(library.lab_squeeze(handle(input), dim, byref(out)), out)


def unsqueeze(input, dim):
    out = c_void_p()
    return _made(library.lab_unsqueeze(handle(input), dim, byref(out)), out)


def chunk(input, chunks, dim=0):
    outs = (c_void_p * max(chunks, 1))()
    made = ctypes.c_int()
    check(library.lab_chunk(handle(input), chunks, dim, outs, byref(made)))
    return tuple(wrap(h) for h in outs[: made.value])


def split(input, split_size_or_sections, dim=0):
    sizes = split_size_or_sections
    length = input.shape[dim]
    if isinstance(sizes, int):
        if sizes < 1:
            raise InvalidError("split into pieces of no size")
        count = max(1, -(-length // sizes))
        if count == 1 or -(-length // count) == sizes:
            return chunk(input, count, dim)
        sizes = [min(sizes, length - at) for at in range(0, length, sizes)]
    if sum(sizes) != length or min(sizes) < 0:
        raise InvalidError(f"pieces of {list(sizes)} are not {length} in all")
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
        raise TypeError("a tensor without dimensions has nothing to go over")
    return iter(unbind(self))


# ---- indices ----


def _select(input, dim, index):
    length = input.shape[dim]
    if not -length <= index < length:
        raise IndexError(
            f"index {index} is out of bounds for dimension {dim} "
            f"with size {length}"
        )
    out = c_void_p()
    return _made(library.lab_select(input._h, dim, index, byref(out)), out)


def _slice(input, dim, key):
    length = input.shape[dim]
    start, end, step = key.indices(length)
    if step < 1:
        raise InvalidError("the step of a slice must be above 0")
    if (start, end, step) == (0, length, 1):
        return input
    out = c_void_p()
    r = library.lab_slice(
        input._h, dim, start, max(start, end), step, byref(out)
    )
    return _made(r, out)


def _rows(input, dim, index):
    if dim != 0:
        raise not_covered("an index tensor that is not the first index")
    out = c_void_p()
    return _made(library.lab_index_rows(input._h, index._h, byref(out)), out)


def _spelled_out(key, ndim):
    """The key as a tuple, with slices for an Ellipsis."""
    key = key if isinstance(key, tuple) else (key,)
    used = sum(1 for part in key if part is not None and part is not Ellipsis)
    if used > ndim:
        raise IndexError(f"{used} indices for a tensor of {ndim} dimensions")
    parts = []
    seen = False
    for part in key:
        if part is Ellipsis:
            if seen:
                raise IndexError("only one ... can be in an index")
            seen = True
            parts += [slice(None)] * (ndim - used)
        else:
            parts.append(part)
    return parts


def get(self, key):
    """self[key]"""
    window = self
    dim = 0
    for part in _spelled_out(key, self.ndim):
        if part is None:
            window = unsqueeze(window, dim)
            dim += 1
        elif isinstance(part, slice):
            window = _slice(window, dim, part)
            dim += 1
        elif isinstance(part, bool):
            raise not_covered("True or False as an index")
        elif isinstance(part, Tensor) and part.ndim:
            ndim = part.ndim
            window = _rows(window, dim, part)
            dim += ndim
        elif isinstance(part, list):
            raise not_covered("a list as an index", ["a tensor of int64"])
        elif hasattr(part, "__index__"):
            window = _select(window, dim, part.__index__())
        else:
            raise TypeError(f"an index cannot be a {type(part).__name__}")
    if window is self:
        # A tensor of its own, as with PyTorch: writing self[:] += 1 goes on.
        return reshape(self, self.shape)
    return window


def put(self, key, value):
    """self[key] = value"""
    if isinstance(key, Tensor) and key.ndim:
        raise not_covered("writing by an index tensor")
    window = get(self, key)
    if isinstance(value, Tensor):
        copy_(window, value)
    else:
        fill_(window, value)
