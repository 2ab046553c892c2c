"""Values that a program reads from a GPU that computes nothing.

Small tensors are computed on the host if their inputs are known (known.py); for
some of the others something is assumed. The rest is made up: 1 for numbers, False
for booleans.  Each place in the program that reads a made-up value is reported
once.
"""

import sys

import torch
from torch._subclasses.fake_tensor import FakeTensor

from larder.fit import assumptions, known, ledger

aten = torch.ops.aten

# Operators whose result's size depends on values: computed on the host if these
# are known, otherwise as if every element counted.
DATA_DEPENDENT = (
    aten.nonzero.default,
    aten.masked_select.default,
    aten._unique2.default,
    aten.unique_consecutive.default,
    aten._unique.default,
    aten.unique_dim.default,
    aten.unique_dim_consecutive.default,
    aten.repeat_interleave.Tensor,
    aten.bincount.default,
    aten.index.Tensor,
)
# The number that they select does not depend on the values.
_SELECTING = (aten.masked_select.default, aten.index.Tensor)


def _variants():
    """(an operator with out=, the one without) of each of them."""
    for func in DATA_DEPENDENT:
        name = func._overloadname
        name = "out" if name == "default" else name + "_out"
        if name in func.overloadpacket.overloads():
            yield getattr(func.overloadpacket, name), func


WITH_OUT = dict(_variants())

_SAID = 8  # places that are reported


class HostValueError(RuntimeError):
    """A value is needed that is unknown."""


class Values(known.Known):
    def __init__(self, on_item, real, unread):
        """`real`: the source of all values (real.py), or None; `unread`: what is
        not yet filled on the host (unread.py), or None."""
        super().__init__()
        self._on_item = on_item
        self._real = real
        self._unread = unread
        self.places = {}

    def follows(self, tensor):
        return isinstance(tensor, FakeTensor) and tensor.is_cuda

    def host_of(self, tensor):
        return self._real.of(tensor) if self._real else known.host_of(tensor)

    def filled(self, host):
        if self._unread is not None:
            self._unread.make(host)
        return host

    def follow(self, func, args, kwargs, made):
        """After an operator."""
        if self._real is not None:
            self._real.follow(func, args, kwargs, made)
        elif func._schema.is_mutable:
            self.write(func, args, kwargs)
        elif not func.is_view:
            self.learn(func, made, args, kwargs)

    def hold(self, tensor, source, assumed=frozenset()):
        """Note a new tensor that a host tensor was copied to."""
        if self._real is not None:
            self._real.put(tensor, source)
        elif self.is_small(tensor):
            known.keep(tensor, self.filled(source), set(assumed))

    def _overwrite(self, tensor, host, assumed):
        """The same of one that is not new."""
        held = self.known(tensor)
        if held is not None and not known.covers(tensor):
            held.copy_(host)
            known.assumed_of(tensor).update(assumed)
            return
        self.forget(tensor)
        if known.covers(tensor):
            self.hold(tensor, host, assumed)

    def known(self, tensor):
        """The tensor's values, or None."""
        try:
            return self.host_of(tensor)
        except known.Unknown:
            return None

    def _read(self, tensor):
        """The same, when the program relies on them."""
        values = self.known(tensor)
        if values is not None:
            self.go_by(known.assumed_of(tensor))
        return values

    def go_by(self, assumed):
        if assumed and self._on_item == "error":
            self._tell("what is assumed: " + ", ".join(sorted(assumed)))
        super().go_by(assumed)

    def _tell(self, what):
        place = ledger.caller()
        if place in self.places:
            return
        self.places[place] = what
        where = f"{place[0]}:{place[1]}" if place[0] else "in PyTorch"
        if self._on_item == "error":
            raise HostValueError(
                f"{where}: the program reads {what}, which is not computed; "
                "--on-item one makes it up"
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

    def equal(self, args):
        both = [self._read(tensor) for tensor in args]
        if all(one is not None for one in both):
            return torch.equal(*both)
        self._tell("the result of equal")
        return True

    def number(self, tensor):
        """item()"""
        values = self._read(tensor)
        if values is not None:
            return values.item()
        self._tell("a value from the GPU")
        return self._made_up(tensor.dtype)

    def on_host(self, tensor, dtype=None):
        """cpu(): a host tensor of the right shape."""
        dtype = dtype or tensor.dtype
        values = self._read(tensor)
        if values is not None:
            return values.to(dtype, copy=True)
        if tensor.numel() > 0:
            self._tell("a copy to the host")
        if self._made_up(dtype) == 0 or not self.is_small(tensor):
            # Pages that are never read are never mapped.
            return torch.zeros(tensor.shape, dtype=dtype)
        return torch.full(tensor.shape, self._made_up(dtype), dtype=dtype)

    def sized(self, mode, func, args, kwargs):
        """A result for an operator whose result's size depends on values."""
        targets = known.traits_of(func).written(args, kwargs)
        if func in WITH_OUT:
            func = WITH_OUT[func]
            names = {one.name for one in func._schema.arguments}
            kwargs = {name: one for name, one in kwargs.items() if name in names}
        if func is aten.index.Tensor and not _has_mask(args[1]):
            return NotImplemented
        if kwargs.get("output_size") is not None:  # the program knows it
            return NotImplemented
        try:
            host, assumed = self.compute(func, args, kwargs)
        except known.Unknown:
            host, assumed = self._all_of(func, args, kwargs)
        self.go_by(assumed)
        if targets:
            result = targets[0] if len(targets) == 1 else tuple(targets)
            for target, one in zip(targets, known.flat(host)):
                mode.resize(target, one.shape)
                self._overwrite(target, one, assumed)
        else:
            result = known.mapped(host, lambda one: mode.upload(one, assumed))
        if func in _SELECTING and self.known(args[0]) is None:
            self.forget(result)
        return result

    def _all_of(self, func, args, kwargs):
        """The host's result with every unknown element selected, and whether that
        was assumed."""
        name = func._schema.name.partition("::")[2]
        assumed = set()

        def host_of(value, decides=True):
            if not isinstance(value, FakeTensor):
                return value
            held = self.known(value)
            if held is not None:
                assumed.update(known.assumed_of(value))
                return held
            if decides:
                assumed.add(assumptions.of_size(name))
            return assumptions.counting(name, value)

        first = host_of(args[0], func not in _SELECTING)
        rest = [known.mapped(one, host_of) for one in args[1:]]
        run = assumptions.ALL_CHOSEN.get(name, func)
        host = run(first, *rest, **{n: host_of(one) for n, one in kwargs.items()})
        return host, assumed


def _has_mask(indices):
    return any(
        i is not None and i.dtype in (torch.bool, torch.uint8) for i in indices
    )
