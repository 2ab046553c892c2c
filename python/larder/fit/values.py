"""Values that a program reads from a GPU that computes nothing.

Small tensors copied from the host keep their values.  Others are made up: 1
for numbers, False for booleans.  Each place in the program that reads a
made-up value is reported once.
"""

import sys
import weakref

import torch
from torch._subclasses.fake_tensor import FakeTensor

from larder.fit import ledger

aten = torch.ops.aten

# Operators whose result's size depends on values: computed on the host if these
# are known, otherwise as if every element counted.
DATA_DEPENDENT = (
    aten.nonzero.default,
    aten.masked_select.default,
    aten._unique2.default,
    aten.unique_consecutive.default,
    aten.unique_dim.default,
    aten.repeat_interleave.Tensor,
    aten.bincount.default,
    aten.index.Tensor,
)

REMEMBERED = 1 << 16  # elements of a tensor that came from the host
_SAID = 8  # places that are reported


def tensors(value):
    """The tensors in an operator's argument or result."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)


class HostValueError(RuntimeError):
    """A value is needed that is unknown."""


class Values:
    def __init__(self, on_item, real):
        """`real`: the source of all values (real.py), or None."""
        self._on_item = on_item
        self._real = real
        self._known = weakref.WeakKeyDictionary()
        self.places = {}

    def remember(self, tensor, source):
        """Record the values of a tensor whose whole storage was copied from
        the host."""
        if self._real is not None:
            self._real.put(tensor, source)
        elif source.numel() <= REMEMBERED and not isinstance(source, FakeTensor):
            held = torch.empty_strided(
                tensor.size(), tensor.stride(), dtype=tensor.dtype
            )
            self._known[tensor.untyped_storage()] = held.copy_(source)

    def replace(self, tensor, source):
        """Replace the values that the tensor shows by those of a host tensor."""
        if self._real is not None:
            self._real.put(tensor, source)
            return
        self.forget(tensor)
        size = tensor.numel() * tensor.element_size()
        if size == tensor.untyped_storage().nbytes() and tensor.is_contiguous():
            self.remember(tensor, source)

    def take_over(self, tensor, other):
        """Copy the known values of another GPU tensor."""
        if self._real is not None:
            return
        known = self.known(other)
        if known is not None:
            self.replace(tensor, known)
        else:
            self.forget(tensor)

    def forget(self, tensor):
        self._known.pop(tensor.untyped_storage(), None)

    def known(self, tensor):
        """The tensor's values, if it is unchanged since it was copied."""
        if self._real is not None:
            return self._real.of(tensor)
        held = self._known.get(tensor.untyped_storage())
        if held is None or held.dtype != tensor.dtype:
            return None
        return held.as_strided(
            tensor.size(), tensor.stride(), tensor.storage_offset()
        )

    def _tell(self, what):
        place = ledger.caller()
        if place in self.places:
            return
        self.places[place] = what
        where = f"{place[0]}:{place[1]}" if place[0] else "in PyTorch"
        if self._on_item == "error":
            raise HostValueError(
                f"{where}: the program asks for {what}, and nothing is "
                "computed; --on-item one makes it up"
            )
        if len(self.places) <= _SAID:
            print(
                f"larder run: {where}: {what} is made up (--on-item)",
                file=sys.stderr,
            )

    def _made_up(self, dtype):
        if dtype == torch.bool:
            return False
        number = {"zero": 0, "nan": float("nan")}.get(self._on_item, 1)
        if dtype.is_floating_point or dtype.is_complex:
            return float(number)
        return 0 if number != number else number

    def answer(self, what, value):
        self._tell(f"the answer of {what}")
        return value

    def number(self, tensor):
        """item()"""
        known = self.known(tensor)
        if known is not None:
            return known.item()
        self._tell("a value of the GPU")
        return self._made_up(tensor.dtype)

    def on_host(self, tensor, dtype=None):
        """cpu(): a host tensor of the right shape."""
        dtype = dtype or tensor.dtype
        known = self.known(tensor)
        if known is not None:
            return known.to(dtype, copy=True)
        if tensor.numel() > 0:
            self._tell("a copy to the host")
        if self._made_up(dtype) == 0:
            return torch.zeros(tensor.shape, dtype=dtype)
        if tensor.numel() > REMEMBERED:
            # Pages that are never read are never mapped.
            return torch.zeros(tensor.shape, dtype=dtype)
        return torch.full(tensor.shape, self._made_up(dtype), dtype=dtype)

    def stand_in(self, mode, func, args, kwargs):
        """A result for an operator whose result size depends on values."""
        if func is aten.index.Tensor and not _has_mask(args[1]):
            return NotImplemented
        host = [_map(a, self._host_argument) for a in args]
        result = func(*host, **{k: self._host_argument(v) for k, v in kwargs.items()})
        return _map(result, lambda t: _upload(mode, t))

    def _host_argument(self, value):
        if not isinstance(value, FakeTensor):
            return value
        known = self.known(value)
        if known is not None:
            return known
        self._tell("a size that depends on values")
        if value.dtype == torch.bool:
            return torch.ones(value.shape, dtype=torch.bool)
        if value.dtype.is_floating_point:
            return torch.ones(1, dtype=value.dtype).expand(value.shape)
        return torch.arange(value.numel(), dtype=value.dtype).reshape(value.shape)


def _has_mask(indices):
    return any(
        i is not None and i.dtype in (torch.bool, torch.uint8) for i in indices
    )


def _map(value, function):
    if isinstance(value, (list, tuple)):
        return type(value)(_map(v, function) for v in value)
    return function(value)


def _upload(mode, tensor):
    if not isinstance(tensor, torch.Tensor):
        return tensor
    return mode._upload(tensor, {"device": "cuda:0"})
