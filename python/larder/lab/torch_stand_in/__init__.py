"""Stands in for `torch`: the part of it that the lab covers.

install() makes `import torch` find this package.  Any name that is not here
raises an error that says so.
"""

import sys as _sys

from larder.lab import (
    OutOfMemoryError,
    Size,
    Tensor,
    add,
    arange,
    argmax,
    as_tensor,
    bool,
    cat,
    chunk,
    clone,
    device,
    div,
    dtype,
    embedding,
    empty,
    empty_like,
    enable_grad,
    eq,
    exp,
    flatten,
    float32,
    full,
    full_like,
    int64,
    is_grad_enabled,
    log,
    log_softmax,
    matmul,
    mean,
    mul,
    neg,
    no_grad,
    ones,
    ones_like,
    permute,
    pow,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    randperm,
    relu,
    reshape,
    session as _session,
    set_grad_enabled,
    sigmoid,
    softmax,
    split,
    sqrt,
    squeeze,
    stack,
    sub,
    sum,
    t,
    tanh,
    tensor,
    transpose,
    unbind,
    unsqueeze,
    zeros,
    zeros_like,
)
from larder.lab.failures import gate as _gate
from larder.lab.failures import not_covered as _not_covered

float = float32
long = int64
concat = cat
mm = matmul
subtract = sub
multiply = mul
divide = div

__version__ = "2.4.0+larder"


def manual_seed(seed):
    """The random numbers that follow are those of this seed."""
    _session().seed(seed)


def is_tensor(obj):
    return isinstance(obj, Tensor)


def numel(input):
    return input.numel()


def get_default_dtype():
    return float32


def set_default_dtype(d):
    if d is not float32:
        raise _not_covered(f"default dtype {d!r}", ["float32"])


from larder.lab.torch_stand_in import (  # noqa: E402
    backends,
    cuda,
    nn,
    optim,
    utils,
)

__getattr__ = _gate("torch", lambda: globals())


class _Finder:
    """Says which modules of torch there are, for any that there is not."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.startswith("torch."):
            raise ModuleNotFoundError(
                f"{name} is not part of the lab (docs/PYTHON.md)", name=name
            )
        return None


def install():
    """Let `import torch` find this package, here and in what it imports."""
    prefix = __name__ + "."
    for name, module in list(_sys.modules.items()):
        if name == __name__:
            _sys.modules["torch"] = module
        elif name.startswith(prefix):
            _sys.modules["torch." + name[len(prefix) :]] = module
    if _Finder not in _sys.meta_path:
        _sys.meta_path.insert(0, _Finder)
