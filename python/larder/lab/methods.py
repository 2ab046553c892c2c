"""Operations as methods and operators of Tensor: a method is the function
with the tensor for its first argument."""

from larder.lab import operations, views
from larder.lab.tensors import Tensor

_OPERATIONS = """
    add sub mul div neg exp log sqrt pow relu tanh sigmoid eq
    add_ sub_ mul_ div_ relu_ addcmul_ addcdiv_ fill_ zero_ copy_
    sum mean argmax matmul softmax log_softmax
    clone detach contiguous to cpu cuda long
"""
_VIEWS = """
    reshape view expand view_as reshape_as expand_as flatten transpose t
    permute squeeze unsqueeze chunk split unbind
"""

# Operators that raise, with the sign a program writes them by.
_UNCOVERED = """
    ne !=   lt <   le <=   gt >   ge >=   mod %   rmod %   floordiv //
    rfloordiv //   rpow **   and &   rand &   or |   ror |   xor ^   rxor ^
    invert ~   abs abs()
"""


def _add_methods():
    for module, names in ((operations, _OPERATIONS), (views, _VIEWS)):
        for name in names.split():
            setattr(Tensor, name, getattr(module, name))
    Tensor.float = operations.float_
    Tensor.bool = operations.boolean
    Tensor.mm = operations.matmul
    Tensor.T = property(views.t)


def _add_operators():
    for name in ("add", "sub", "mul"):
        operation = getattr(operations, name)
        setattr(Tensor, f"__{name}__", operation)
        setattr(Tensor, f"__r{name}__", operations.reflect(operation))
        setattr(Tensor, f"__i{name}__", getattr(operations, name + "_"))
    Tensor.__truediv__ = operations.div
    Tensor.__rtruediv__ = operations.reflect(operations.div)
    Tensor.__itruediv__ = operations.div_
    Tensor.__matmul__ = operations.matmul
    Tensor.__pow__ = operations.pow
    Tensor.__neg__ = operations.neg
    Tensor.__eq__ = operations.eq
    words = _UNCOVERED.split()
    for name, symbol in zip(words[::2], words[1::2]):
        setattr(Tensor, f"__{name}__", operations.uncovered(symbol))
    # Equality is told element by element: a set goes by identity.
    Tensor.__hash__ = object.__hash__
    Tensor.__getitem__ = views.get
    Tensor.__setitem__ = views.put
    Tensor.__iter__ = views.iterate


_add_methods()
_add_operators()
