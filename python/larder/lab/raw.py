"""The library's operations without backward, as functions of tensors."""

import ctypes
from ctypes import byref, c_int64, c_void_p

from larder._library import Window, library
from larder.lab.failures import check
from larder.lab.tensors import handle, optional, pair_from, tensor_from, wrap

SUM, PROD, AMAX, AMIN, ANY, ALL, VAR, STD, NORM, LOGSUMEXP, COUNT = range(11)

_numbers = {}


def _number(name):
    found = _numbers.get(name)
    if found is None:
        found = library.lab_raw_find(name.encode())
        if found < 0:
            raise LookupError(f"the library has no operation {name!r}")
        _numbers[name] = found
    return found


def _arrays(tensors):
    return (c_void_p * max(len(tensors), 1))(*[handle(t) for t in tensors])


def map(name, *operands, p=0.0, q=0.0):
    """Apply an elementwise operation.  Returns a new tensor."""
    return tensor_from(
        library.lab_raw_map, _number(name), _arrays(operands), p, q
    )


def map_into(to, name, *operands, p=0.0, q=0.0):
    """Apply an elementwise operation and write to an existing tensor."""
    check(
        library.lab_raw_map_into(
            _number(name), _arrays(operands), p, q, handle(to)
        )
    )
    return to


def dims_mask(tensor, dims):
    """A bit mask of dimensions; all of them if dims is None or empty."""
    ndim = tensor.ndim
    if dims is None:
        return (1 << ndim) - 1
    if isinstance(dims, int):
        dims = (dims,)
    mask = 0
    for dim in dims:
        if not -max(ndim, 1) <= dim < max(ndim, 1):
            raise IndexError(f"dimension {dim} of a tensor that has {ndim}")
        mask |= 1 << dim % max(ndim, 1)
    return mask if mask else (1 << ndim) - 1


def reduce(op, tensor, dims=None, keepdim=False, p=0.0):
    mask = dims_mask(tensor, dims) & ((1 << tensor.ndim) - 1)
    return tensor_from(
        library.lab_raw_reduce, op, tensor._h, mask, keepdim, p
    )


def extreme(tensor, dim, largest, keepdim, with_values=True):
    what = (handle(tensor), dim, largest, keepdim)
    if with_values:
        return pair_from(library.lab_raw_extreme, *what)
    return None, tensor_from(library.lab_raw_extreme, *what, None)


def scan(op, tensor, dim):
    return tensor_from(library.lab_raw_scan, op, handle(tensor), dim)


def sort(tensor, dim, descending, count):
    return pair_from(
        library.lab_raw_sort, handle(tensor), dim, descending, count
    )


def gather(tensor, dim, index):
    return tensor_from(
        library.lab_raw_gather, handle(tensor), dim, handle(index)
    )


def scatter(tensor, dim, index, src=None, number=0.0, add=False):
    check(
        library.lab_raw_scatter(
            handle(tensor),
            dim,
            handle(index),
            optional(src),
            number,
            add,
        )
    )
    return tensor


def index(tensor, dim, indices):
    return tensor_from(
        library.lab_raw_index,
        handle(tensor),
        dim,
        _arrays(indices),
        len(indices),
    )


def index_put(tensor, dim, indices, src, add=False):
    check(
        library.lab_raw_index_put(
            handle(tensor),
            dim,
            _arrays(indices),
            len(indices),
            handle(src),
            add,
        )
    )
    return tensor


def nonzero(tensor):
    return tensor_from(library.lab_raw_nonzero, handle(tensor))


def bincount(tensor, weights, min_length):
    return tensor_from(
        library.lab_raw_bincount,
        handle(tensor),
        optional(weights),
        min_length,
    )


def multinomial(tensor, count, replacement):
    return tensor_from(
        library.lab_raw_multinomial, handle(tensor), count, replacement
    )


def triangle(tensor, diagonal, upper):
    return tensor_from(
        library.lab_raw_triangle, handle(tensor), diagonal, upper
    )


def flip(tensor, dims):
    return tensor_from(
        library.lab_raw_flip, handle(tensor), dims_mask(tensor, dims)
    )


def _sizes(sizes):
    return (c_int64 * max(len(sizes), 1))(*sizes)


def repeat(tensor, repeats):
    return tensor_from(
        library.lab_raw_repeat, handle(tensor), len(repeats), _sizes(repeats)
    )


def repeat_backward(grad, sizes):
    return tensor_from(
        library.lab_raw_repeat_backward, handle(grad), len(sizes), _sizes(sizes)
    )


# ---- windows ----

_PAIR = c_int64 * 2


def window(
    kernel,
    stride,
    padding=(0, 0),
    dilation=(1, 1),
    groups=1,
    output_padding=(0, 0),
    transposed=False,
    counts_padding=True,
    rounds_up=False,
):
    return Window(
        ctypes.sizeof(Window),
        _PAIR(*kernel),
        _PAIR(*stride),
        _PAIR(*padding),
        _PAIR(*dilation),
        _PAIR(*output_padding),
        groups,
        transposed,
        counts_padding,
        rounds_up,
    )


def conv2d(x, w, b, win):
    return tensor_from(
        library.lab_raw_conv2d,
        handle(x),
        handle(w),
        optional(b),
        byref(win),
    )


def conv2d_input(grad, w, win, sizes):
    return tensor_from(
        library.lab_raw_conv2d_input, grad._h, w._h, byref(win), _sizes(sizes)
    )


def conv2d_weight(grad, x, win, sizes):
    return tensor_from(
        library.lab_raw_conv2d_weight, grad._h, x._h, byref(win), _sizes(sizes)
    )


def max_pool2d(x, win):
    return pair_from(library.lab_raw_max_pool2d, handle(x), byref(win))


def max_pool2d_backward(grad, indices, sizes):
    return tensor_from(
        library.lab_raw_max_pool2d_backward, grad._h, indices._h, _sizes(sizes)
    )


def avg_pool2d(x, win):
    return tensor_from(library.lab_raw_avg_pool2d, handle(x), byref(win))


def avg_pool2d_backward(grad, win, sizes):
    return tensor_from(
        library.lab_raw_avg_pool2d_backward, grad._h, byref(win), _sizes(sizes)
    )


def resize2d(x, to, linear, align_corners):
    return tensor_from(
        library.lab_raw_resize2d, handle(x), _sizes(to), linear, align_corners
    )


def resize2d_backward(grad, sizes, linear, align_corners):
    return tensor_from(
        library.lab_raw_resize2d_backward,
        grad._h,
        _sizes(sizes),
        linear,
        align_corners,
    )


# ---- normalisation ----


def normalize(x, groups, w, b, eps, mean=None, rstd=None):
    """The result, with the mean and deviation used."""
    out = c_void_p()
    used = [c_void_p(optional(mean)), c_void_p(optional(rstd))]
    check(
        library.lab_raw_normalize(
            handle(x),
            groups,
            optional(w),
            optional(b),
            eps,
            byref(used[0]),
            byref(used[1]),
            byref(out),
        )
    )
    if mean is None:
        mean, rstd = wrap(used[0].value), wrap(used[1].value)
    return wrap(out.value), mean, rstd


def normalize_backward(grad, x, groups, w, mean, rstd, live, wanted):
    """Those gradients of input, weight and bias that are requested."""
    outs = [c_void_p() if one else None for one in wanted]
    check(
        library.lab_raw_normalize_backward(
            grad._h,
            x._h,
            groups,
            optional(w),
            mean._h,
            rstd._h,
            live,
            *[None if out is None else byref(out) for out in outs],
        )
    )
    return [None if out is None else wrap(out.value) for out in outs]
