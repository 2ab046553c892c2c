"""Creation of tensors."""

import ctypes
from ctypes import byref, c_void_p

from larder._library import library
from larder.lab import kinds
from larder.lab.failures import InvalidError, check, failure
from larder.lab.kinds import (
    bool_,
    dtype_code,
    dtype_of,
    float32,
    int64,
    place_of,
    sizes_array,
    spread,
)
from larder.lab.sessions import active, opened
from larder.lab.tensors import Tensor, array_of, handle, tensor_from


def _maker(call, what):
    """A function that creates a tensor of given sizes.  Listings call it
    millions of times, so it does little besides the call."""
    new = object.__new__
    places = kinds.places
    made = kinds._made

    def make(
        *sizes,
        size=None,
        device=None,
        dtype=None,
        requires_grad=False,
        generator=None,
        pin_memory=False,
        layout=None,
        memory_format=None,
    ):
        if generator is not None:
            with generator:
                return make(
                    *sizes,
                    size=size,
                    device=device,
                    dtype=dtype,
                    requires_grad=requires_grad,
                )
        try:
            place = places[device]
        except (KeyError, TypeError):
            place = place_of(device)
        size = sizes if size is None else (size,)
        if len(size) != 1 or size[0].__class__ is not int:
            size = spread(size)
        array = made.get(size) if len(size) == 1 else None
        if array is None:
            array = sizes_array(size)
        out = c_void_p()
        r = call(
            active[0] or opened(),
            kinds.default_float[0].code if dtype is None else dtype_code(dtype),
            place,
            len(size),
            array,
            byref(out),
        )
        if r:
            raise failure(r)
        tensor = new(Tensor)
        tensor._h = out.value
        if requires_grad:
            tensor.requires_grad_()
        return tensor.pin_memory() if pin_memory else tensor

    make.__name__ = make.__qualname__ = what
    make.__doc__ = f"A tensor of these sizes: {what}."
    return make


empty = _maker(library.lab_empty, "empty")
zeros = _maker(library.lab_zeros, "zeros")
ones = _maker(library.lab_ones, "ones")
randn = _maker(library.lab_randn, "randn")
rand = _maker(library.lab_rand, "rand")


def _created(call, size, dtype, device, *values):
    size = spread((size,))
    return tensor_from(
        call,
        active[0] or opened(),
        dtype_code(dtype),
        place_of(device),
        len(size),
        sizes_array(size),
        *values,
    )


def full(size, fill_value, *, device=None, dtype=None, requires_grad=False):
    dtype = dtype or dtype_of(fill_value)
    made = _created(library.lab_full, size, dtype, device, float(fill_value))
    return made.requires_grad_() if requires_grad else made


def randint(
    low, high=None, size=None, *, device=None, dtype=int64, generator=None
):
    if size is None:
        low, high, size = 0, low, high
    if generator is not None:
        with generator:
            return randint(low, high, size, device=device, dtype=dtype)
    if high is None:
        low, high = 0, low
    return _created(library.lab_randint, size, dtype, device, low, high)


def arange(
    start, end=None, step=1, *, device=None, dtype=None, requires_grad=False
):
    if end is None:
        start, end = 0, start
    if dtype is None:
        whole = all(isinstance(value, int) for value in (start, end, step))
        dtype = int64 if whole else float32
    made = tensor_from(
        library.lab_arange,
        active[0] or opened(),
        dtype_code(dtype),
        place_of(device),
        start,
        end,
        step,
    )
    return made.requires_grad_() if requires_grad else made


def randperm(n, *, device=None, generator=None):
    if generator is not None:
        with generator:
            return randperm(n, device=device)
    made = tensor_from(library.lab_randperm, active[0] or opened(), n)
    return _move(made, place_of(device))


def _move(tensor, place):
    return tensor_from(library.lab_to, tensor._h, place)


def _nested(data):
    """The sizes of nested lists, and their elements in order."""
    if hasattr(data, "tolist"):
        data = data.tolist()
    if not isinstance(data, (list, tuple, range)):
        return (), [data]
    if not data:
        return (0,), []
    parts = [_nested(part) for part in data]
    sizes = parts[0][0]
    if any(part[0] != sizes for part in parts):
        raise InvalidError("the nested lists differ in length")
    return (len(parts),) + sizes, [v for part in parts for v in part[1]]


def _common_dtype(values):
    found = {dtype_of(value) for value in values}
    for dtype in (kinds.default_float[0], int64, bool_):
        if dtype in found:
            return dtype
    return kinds.default_float[0]


def _dtype_given(data):
    """The type of a NumPy array or a tensor; None for other values."""
    name = str(getattr(data, "dtype", "")).rpartition(".")[2]
    return next((one for one in kinds.dtypes if one.name == name), None)


def tensor(
    data, dtype=None, device=None, requires_grad=False, pin_memory=False
):
    """A tensor of a number or of nested lists of numbers, created on the host
    and then copied, as in PyTorch."""
    sizes, values = _nested(data)
    dtype = dtype or _dtype_given(data) or _common_dtype(values)
    dtype_code(dtype)
    if dtype in (kinds.float16, kinds.bfloat16):
        made = tensor(data, float32, device).to(dtype)
        return made.requires_grad_() if requires_grad else made
    python = dtype.python
    array = (dtype.ctype * len(values))(*[python(value) for value in values])
    made = empty(sizes, device="cpu", dtype=dtype)
    check(library.lab_write(made._h, array, ctypes.sizeof(array)))
    made = _move(made, place_of(device))
    if requires_grad:
        made.requires_grad_()
    return made


def as_tensor(data, dtype=None, device=None):
    if isinstance(data, Tensor):
        return data.to(device=device, dtype=dtype)
    return tensor(data, dtype=dtype, device=device)


def _like(make):
    """The same creation function with the sizes, type and device of a tensor."""

    def make_like(
        input,
        *,
        device=None,
        dtype=None,
        requires_grad=False,
        memory_format=None,
    ):
        return make(
            input.shape,
            device=input.device if device is None else device,
            dtype=dtype or input.dtype,
            requires_grad=requires_grad,
        )

    make_like.__name__ = make_like.__qualname__ = make.__name__ + "_like"
    make_like.__doc__ = f"{make.__name__}() with the sizes of a tensor."
    return make_like


empty_like = _like(empty)
zeros_like = _like(zeros)
ones_like = _like(ones)
randn_like = _like(randn)
rand_like = _like(rand)


def linspace(
    start, end, steps, *, device=None, dtype=None, requires_grad=False
):
    if steps < 2:
        return full((steps,), float(start), device=device, dtype=dtype)
    step = (end - start) / (steps - 1)
    dtype = dtype or kinds.default_float[0]
    places = arange(steps, device=device, dtype=dtype)
    made = places.mul_(step).add_(start)
    return made.requires_grad_() if requires_grad else made


def logspace(start, end, steps, base=10.0, *, device=None, dtype=None):
    return base ** linspace(start, end, steps, device=device, dtype=dtype)


def eye(n, m=None, *, device=None, dtype=None):
    made = zeros(n, n if m is None else m, device=device, dtype=dtype)
    rows = arange(min(made.shape), device=device)
    made[rows, rows] = 1
    return made


def normal(mean, std, size=None, *, device=None, generator=None):
    if size is None:
        like = mean if isinstance(mean, Tensor) else std
        size, device = like.shape, like.device
    return randn(size, device=device, generator=generator) * std + mean


def from_numpy(array):
    return tensor(array)


def complete(sizes_or_data):
    """The tensor that the old constructor torch.Tensor(…) created."""
    if len(sizes_or_data) == 1 and isinstance(
        sizes_or_data[0], (list, tuple, Tensor)
    ):
        return tensor(sizes_or_data[0], dtype=float32)
    return empty(*sizes_or_data)


def full_like(
    input, fill_value, *, device=None, dtype=None, requires_grad=False
):
    return full(
        input.shape,
        fill_value,
        device=input.device if device is None else device,
        dtype=dtype or input.dtype,
        requires_grad=requires_grad,
    )


def _alike(tensors):
    """A list of the tensors, converted to their common type."""
    tensors = list(tensors)
    if len({library.lab_dtype_of(handle(one)) for one in tensors}) < 2:
        return tensors
    ranks = {float: 2, int: 1, bool: 0}
    most = max(ranks[one.dtype.python] for one in tensors)
    kinds_of_it = [
        one.dtype for one in tensors if ranks[one.dtype.python] == most
    ]
    best = kinds_of_it[0]
    for one in kinds_of_it[1:]:
        if one is not best and one.itemsize == best.itemsize:
            best = float32 if most == 2 else kinds.int16
        elif one.itemsize > best.itemsize:
            best = one
    return [one.to(best) for one in tensors]


def cat(tensors, dim=0, *, axis=None):
    dim = dim if axis is None else axis
    # Kept until the call has ended: nothing else refers to the converted
    # arguments.
    tensors = _alike(tensors)
    return tensor_from(library.lab_cat, array_of(tensors), len(tensors), dim)


def stack(tensors, dim=0):
    tensors = _alike(tensors)
    return tensor_from(library.lab_stack, array_of(tensors), len(tensors), dim)
