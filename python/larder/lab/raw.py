"""The library's operations without backward, as functions of tensors."""

import ctypes
import functools
from ctypes import byref, c_int64, c_void_p

from larder._library import Window, library
from larder.lab.failures import InvalidError, check
from larder.lab.tensors import array_of, handle, optional, pair_from, tensor_from, wrap

SUM, PROD, AMAX, AMIN, ANY, ALL, VAR, STD, NORM, LOGSUMEXP, COUNT = range(11)


@functools.lru_cache(maxsize=None)
def _number(name):
    found = library.lab_raw_find(name.encode())
    if found < 0:
        raise LookupError(f"the library has no operation {name!r}")
    return found


def map(name, *operands, p=0.0, q=0.0):
    """Apply an elementwise operation.  Returns a new tensor."""
    return tensor_from(
        library.lab_raw_map, _number(name), array_of(operands), p, q
    )


def map_into(to, name, *operands, p=0.0, q=0.0):
    """Apply an elementwise operation and write to an existing tensor."""
    check(
        library.lab_raw_map_into(
            _number(name), array_of(operands), p, q, handle(to)
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


def index_put(tensor, dim, indices, src, add=False):
    check(
        library.lab_raw_index_put(
            handle(tensor),
            dim,
            array_of(indices),
            len(indices),
            handle(src),
            add,
        )
    )
    return tensor


def flip(tensor, dims):
    return tensor_from(
        library.lab_raw_flip, handle(tensor), dims_mask(tensor, dims)
    )


def _sizes(sizes):
    return (c_int64 * max(len(sizes), 1))(*sizes)


# ---- windows ----

def pair(what, value):
    """A size for each side, from one number or two."""
    if isinstance(value, (tuple, list)):
        if len(value) == 1:
            return (value[0], value[0])
        if len(value) != 2:
            raise InvalidError(f"{what}={tuple(value)} for two sides")
        return tuple(value)
    return (value, value)


def window(
    kernel_size,
    stride=1,
    padding=0,
    dilation=1,
    output_padding=0,
    groups=1,
    transposed=False,
    counts_padding=True,
    rounds_up=False,
):
    """Sizes are numbers, or pairs of them."""
    sizes = {
        "kernel_size": kernel_size,
        "stride": stride,
        "padding": padding,
        "dilation": dilation,
        "output_padding": output_padding,
    }
    return Window(
        ctypes.sizeof(Window),
        *((c_int64 * 2)(*pair(what, size)) for what, size in sizes.items()),
        groups,
        transposed,
        counts_padding,
        rounds_up,
    )


# ---- plain calls ------------------------------------------------------------

# How an argument is passed to the library, by a letter.
_GIVEN = {
    "t": lambda tensor: (handle(tensor),),
    "o": lambda tensor: (optional(tensor),),
    "n": lambda number: (number,),
    "w": lambda window: (byref(window),),
    "s": lambda sizes: (_sizes(sizes),),
    "S": lambda sizes: (len(sizes), _sizes(sizes)),
    "a": lambda tensors: (array_of(tensors), len(tensors)),
}


def calling(call, letters, made=tensor_from):
    """A function of the library for arguments in order."""
    gives = [_GIVEN[letter] for letter in letters]

    def function(*arguments):
        given = zip(gives, arguments)
        return made(call, *[one for give, what in given for one in give(what)])

    return function


_ONE = """
    gather tnt      nonzero t               scan ntn
    index tna       repeat tS               repeat_backward tS
    bincount ton    multinomial tnn         triangle tnn
    conv2d ttow     conv2d_input ttws       conv2d_weight ttws
    avg_pool2d tw   avg_pool2d_backward tws max_pool2d_backward tts
    resize2d tsnn   resize2d_backward tsnn
"""
_PAIR_OF = "sort tnnn    max_pool2d tw"

for _table, _made in ((_ONE, tensor_from), (_PAIR_OF, pair_from)):
    _words = _table.split()
    for _name, _letters in zip(_words[::2], _words[1::2]):
        _call = getattr(library, f"lab_raw_{_name}")
        globals()[_name] = calling(_call, _letters, _made)


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
