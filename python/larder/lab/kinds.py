"""Element types, devices and sizes."""

import ctypes
import math
import operator

from larder.lab.failures import InvalidError, not_covered

MAX_DIMS = 6


class DType:
    """An element type."""

    __slots__ = ("name", "code", "itemsize", "ctype", "python")

    def __init__(self, name, code, ctype, python):
        self.name = name
        self.code = code
        self.ctype = ctype
        self.itemsize = ctypes.sizeof(ctype)
        self.python = python

    @property
    def is_floating_point(self):
        return self.python is float

    @property
    def is_complex(self):
        return False

    @property
    def is_signed(self):
        return self.name not in ("bool", "uint8")

    # Each type is a singleton, also in a copy of a model, or read from a file.
    def __reduce__(self):
        return _dtype_of_code, (self.code,)

    def __repr__(self):
        return f"torch.{self.name}"


# By their codes in the library.  The elements of float16 and bfloat16 are read as
# float32: there is no C type for them.
dtypes = tuple(
    DType(name, code, ctype, python)
    for code, (name, ctype, python) in enumerate(
        (
            ("float32", ctypes.c_float, float),
            ("int64", ctypes.c_int64, int),
            ("bool", ctypes.c_uint8, bool),
            ("float16", ctypes.c_uint16, float),
            ("bfloat16", ctypes.c_uint16, float),
            ("float64", ctypes.c_double, float),
            ("int32", ctypes.c_int32, int),
            ("int16", ctypes.c_int16, int),
            ("int8", ctypes.c_int8, int),
            ("uint8", ctypes.c_uint8, int),
        )
    )
)
float32, int64, bool_, float16, bfloat16, float64, int32, int16, int8, uint8 = dtypes

# The default type of floats: a list, because it may change.
default_float = [float32]


def _dtype_of_code(code):
    return dtypes[code]


def dtype_of(value):
    """The type that a number or boolean has as a tensor."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return default_float[0]
    raise TypeError(f"{value!r} is not a number")


def dtype_code(dtype):
    try:
        return dtype.code
    except AttributeError:
        raise not_covered(
            f"dtype {dtype!r}", [one.name for one in dtypes]
        ) from None


class Device:
    """The device of a tensor: Device("cpu"), Device("cuda"), Device("cuda:0")."""

    __slots__ = ("type", "index")

    def __init__(self, kind, index=None):
        if isinstance(kind, Device):
            kind, index = kind.type, kind.index
        elif isinstance(kind, int):
            kind, index = "cuda", kind
        kind, _, number = str(kind).partition(":")
        if number:
            if index is not None:
                raise InvalidError("the device index is given twice")
            if not number.isdecimal():
                raise InvalidError(f"{kind}:{number} does not name a device")
            index = int(number)
        if kind not in ("cpu", "cuda"):
            raise not_covered(f"device {kind!r}", ["cpu", "cuda"])
        if index not in (None, 0):
            raise InvalidError(
                f"there is no device {kind}:{index}: the lab has only {kind}:0"
            )
        self.type = kind
        self.index = index

    def __enter__(self):
        """Make this the default device until the end of the `with`."""
        _before.append(places[None])
        set_default_device(self)
        return self

    def __exit__(self, *error):
        places[None] = _before.pop()

    def __eq__(self, other):
        if not isinstance(other, Device):
            return NotImplemented
        return (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self):
        if self.index is None:
            return f"device(type={self.type!r})"
        return f"device(type={self.type!r}, index={self.index})"


HOST = 0
DEVICE = 1
devices = (Device("cpu"), Device("cuda", 0))

# What a caller may write for a place, for a lookup without a call.
places = {
    None: HOST,
    "cpu": HOST,
    "cuda": DEVICE,
    "cuda:0": DEVICE,
    Device("cpu"): HOST,
    Device("cuda"): DEVICE,
    Device("cuda", 0): DEVICE,
}


# The defaults outside of each `with torch.device(…)`.
_before = []


def set_default_device(device):
    """Set the device of new tensors for which none is given.  None: the host."""
    places[None] = HOST if device is None else place_of(device)


def get_default_device():
    return devices[places[None]]


def place_of(device):
    """0 for the host, 1 for the device."""
    try:
        return places[device]
    except KeyError:
        return HOST if Device(device).type == "cpu" else DEVICE


class Size(tuple):
    """The sizes of a tensor."""

    __slots__ = ()

    def numel(self):
        return math.prod(self)

    def __repr__(self):
        return f"torch.Size({list(self)})"


_arrays = [ctypes.c_int64 * n for n in range(MAX_DIMS + 1)]
_int_arrays = [ctypes.c_int * n for n in range(MAX_DIMS + 1)]
# Sizes repeat, so each array is made once.  Never written to.
_made = {}
_MADE_MAX = 4096


def _array(types, values):
    if len(values) > MAX_DIMS:
        raise InvalidError(
            f"{len(values)} dimensions; the lab has at most {MAX_DIMS}"
        )
    return types[len(values)](*map(operator.index, values))


def sizes_array(sizes):
    """Sizes as a C array for the library.  It is cached and must not be
    changed."""
    # As a key, 2.0 would match 2.
    array = None if float in map(type, sizes) else _made.get(sizes)
    if array is None:
        array = _array(_arrays, sizes)
        if len(_made) >= _MADE_MAX:
            _made.clear()
        _made[sizes] = array
    return array


def dims_array(dims):
    return _array(_int_arrays, dims)


def spread(sizes):
    """The tuple (2, 3) for both f(2, 3) and f((2, 3))."""
    if len(sizes) == 1 and not hasattr(sizes[0], "__index__"):
        return tuple(sizes[0])
    return sizes
