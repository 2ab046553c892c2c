"""A replacement for `torch` with the part that the lab implements.

After installing.install(), `import torch` finds this package.  Any other name raises an
error that says so.
"""

import math as _math
import sys as _sys
import types as _types

from larder import lab as _lab
from larder.lab import session as _session
from larder.lab.failures import gate as _gate
from larder.lab.failures import not_covered as _not_covered
from larder.lab.kinds import default_float as _default_float
from larder.lab.kinds import get_default_device, set_default_device
from larder.lab.operations import dropout, relu_  # noqa: F401

# All names of larder.lab, except those that `torch` itself does not have.
_NOT_HERE = """
    Function HostMemoryError InvalidError LabError NotCoveredError Parameter
    Session UnsupportedError checkpoint checkpoint_sequential grad session use
""".split()
globals().update(
    (_name, _value)
    for _name, _value in vars(_lab).items()
    if not _name.startswith("_")
    and _name not in _NOT_HERE
    and not isinstance(_value, _types.ModuleType)
)

float = float32
half = float16
double = float64
long = int64
int = int32
short = int16
concat = concatenate = cat
subtract = sub
multiply = mul
divide = true_divide = div
absolute = abs
negative = neg
clip = clamp
greater = gt
less = lt
not_equal = ne
swapaxes = transpose

inf = _math.inf
nan = _math.nan
pi = _math.pi
e = _math.e

contiguous_format = channels_last = preserve_format = strided = None

FloatTensor = Tensor


def LongTensor(data):
    """The old name of tensor() for integers."""
    return tensor(data, dtype=int64)


def BoolTensor(data):
    return tensor(data, dtype=bool)


__version__ = "2.4.0+larder"


def manual_seed(seed):
    """Seed the random number generator."""
    _session().seed(seed)
    return Generator().manual_seed(seed)


def seed():
    return manual_seed(1).initial_seed()


def initial_seed():
    return 1


def is_tensor(obj):
    return isinstance(obj, Tensor)


def is_floating_point(input):
    return input.is_floating_point()


def numel(input):
    return input.numel()


def get_default_dtype():
    return _default_float[0]


def set_default_dtype(d):
    if not d.is_floating_point:
        raise _not_covered(f"default dtype {d!r}", ["types of floats"])
    _default_float[0] = d


def set_float32_matmul_precision(precision):
    """No effect: there is only one precision."""


def get_float32_matmul_precision():
    return "highest"


def use_deterministic_algorithms(mode, *, warn_only=False):
    """No effect: all algorithms are deterministic."""


def set_printoptions(**options):
    """No effect: tensors are printed as by default in torch."""


def set_num_threads(count):
    """No effect: loops use every CPU."""


def get_num_threads():
    return 1


def result_type(tensor1, tensor2):
    return (tensor1 + tensor2).dtype


def compile(model=None, **options):
    """Returns its argument, with a message: nothing is fused here."""
    if model is None:
        return lambda function: compile(function, **options)
    print(
        "torch.compile: the lab runs the model uncompiled; a compiled model saves "
        "and creates other tensors",
        file=_sys.stderr,
    )
    return model


class finfo:
    """The limits of a floating-point type."""

    _LIMITS = {
        "float32": (3.4028234663852886e38, 1.1920928955078125e-07),
        "float64": (1.7976931348623157e308, 2.220446049250313e-16),
        "float16": (65504.0, 0.0009765625),
        "bfloat16": (3.3895313892515355e38, 0.0078125),
    }

    def __init__(self, dtype=None):
        dtype = dtype or _default_float[0]
        self.max, self.eps = self._LIMITS[dtype.name]
        self.min = -self.max
        self.bits = 8 * dtype.itemsize
        self.dtype = dtype.name


class iinfo:
    """The limits of an integer type."""

    def __init__(self, dtype):
        self.bits = 8 * dtype.itemsize
        signed = dtype.is_signed
        self.max = 2 ** (self.bits - signed) - 1
        self.min = -(2 ** (self.bits - 1)) if signed else 0
        self.dtype = dtype.name


from larder.lab.torch_stand_in import (  # noqa: E402
    amp,
    autograd,
    backends,
    cuda,
    distributions,
    nn,
    optim,
    utils,
    version,
)

__getattr__ = _gate("torch", lambda: globals())
