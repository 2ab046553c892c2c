"""Delays the initialization of large host tensors until something reads them.

A program that creates its model on the host and moves it to the GPU fills it
with random numbers that are never read here.  Generating them would take most
of the time and memory.  The generator advances as if they had been drawn, so
later numbers, and these if they are read, are unchanged.
"""

import collections
import ctypes
import functools
import threading
import weakref

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _python_dispatch

from larder.fit.known import covers, flat, place_of, storage_of, view_of
from larder.torch._plugin import library, plugin_must

aten = torch.ops.aten

LEAST = 1 << 16  # elements: smaller ones may be read

# Operators that draw from a generator: all at once, in blocks, and the rest of the
# last block.
_NORMAL, _UNIFORM = aten.normal_.default, aten.uniform_.default
_BLOCK = 16

# Operators whose results are filled in this way.
_FACTORIES = {aten.randn.default: _NORMAL, aten.rand.default: _UNIFORM}

# Operators that do the same with every element.
_SAME = {
    aten.add_.Tensor,
    aten.clamp_.default,
    aten.div_.Tensor,
    aten.erfinv_.default,
    aten.mul_.Tensor,
    aten.sub_.Tensor,
}
_WHOLE = {aten.zero_.default, aten.fill_.Scalar}

_READERS = ("__dlpack__", "__repr__", "data_ptr", "numpy", "tolist", "untyped_storage")

# `state`: the generator's state before the numbers were skipped; None if none
# are drawn.
Fill = collections.namedtuple("Fill", "func rest kwargs generator state place")


def _draws(func, tensor):
    """How many 32-bit numbers the operator draws; None if unknown."""
    count = tensor.numel()
    if tensor.dtype not in (torch.float32, torch.float64):
        if tensor.dtype not in (torch.float16, torch.bfloat16) or count % _BLOCK:
            return None
    if func is _NORMAL and count % _BLOCK:
        count += _BLOCK
    return 2 * count if tensor.dtype == torch.float64 else count


def _passed(state, count):
    state = state.clone()
    plugin_must(
        library.larder_torch_random_skip(
            ctypes.c_void_p(state.data_ptr()), state.numel(), count
        )
    )
    return state


@functools.cache
def _is_as_known(func, dtype):
    """Whether this PyTorch draws as many numbers as expected, checked on a
    small tensor."""
    for count in (3 * _BLOCK, 3 * _BLOCK + 1):
        generator = torch.Generator().manual_seed(count)
        tensor = torch.empty(count, dtype=dtype)
        draws = _draws(func, tensor)
        if draws is None:
            continue
        try:
            expected = _passed(generator.get_state(), draws)
        except RuntimeError:
            return False
        func(tensor, generator=generator)
        if not torch.equal(generator.get_state(), expected):
            return False
    return True


class Unread:
    def __init__(self):
        self._fills = weakref.WeakKeyDictionary()  # by storage, in order
        self._seen = weakref.WeakSet()  # storages that the program may read
        self._lock = threading.RLock()

    def install(self):
        """Replace functions that read tensors without calling an operator."""
        for name in _READERS:
            setattr(torch.Tensor, name, self._reading(getattr(torch.Tensor, name)))
        torch.to_dlpack = torch.utils.dlpack.to_dlpack = self._reading(torch.to_dlpack)

    def _reading(self, inherited):
        @functools.wraps(inherited)
        def read(tensor, *args, **kwargs):
            if not isinstance(tensor, FakeTensor):
                self.make(tensor)
                storage = storage_of(tensor)
                if storage.nbytes() > LEAST:
                    self._seen.add(storage)
            return inherited(tensor, *args, **kwargs)

        return read

    # ---- operators ---------------------------------------------------------

    def before(self, func, args, kwargs):
        """Fill the operator's arguments, which it may read."""
        if not self._fills or func.is_view:
            return
        for tensor in flat((*args, *kwargs.values())):
            self.make(tensor)

    def on_host(self, func, args, kwargs):
        """The result of an operator whose work is delayed, else
        NotImplemented."""
        filler = _FACTORIES.get(func)
        if filler is not None:
            return self._made(filler, args, kwargs)
        if self._is_put_off(func, args, kwargs):
            return args[0]
        self.before(func, args, kwargs)
        return NotImplemented

    def _made(self, filler, args, kwargs):
        kwargs = dict(kwargs)
        given = {"generator": kwargs.pop("generator", None)}
        result = aten.empty.memory_format(*args, **kwargs)
        if not self._is_put_off(filler, (result,), given):
            filler(result, **given)
        return result

    def _is_put_off(self, func, args, kwargs):
        draws = func is _NORMAL or func is _UNIFORM
        if not (draws or func in _SAME or func in _WHOLE):
            return False
        tensor, *rest = args
        if not self._is_hidden(tensor) or any(isinstance(r, torch.Tensor) for r in rest):
            return False
        whole = (draws or func in _WHOLE) and tensor.is_contiguous() and covers(tensor)
        storage = storage_of(tensor)
        if not whole and storage not in self._fills:
            return False
        if draws:
            return self._draw(func, tensor, rest, kwargs, whole)
        self._add(Fill(func, rest, kwargs, None, None, place_of(tensor)), storage, whole)
        return True

    def _is_hidden(self, tensor):
        """Whether it is a large host tensor that only operators have seen."""
        return (
            tensor.numel() > LEAST
            and tensor.device.type == "cpu"
            and tensor.layout is torch.strided
            and storage_of(tensor).resizable()  # otherwise NumPy's, or shared
            and storage_of(tensor) not in self._seen
        )

    def _draw(self, func, tensor, rest, kwargs, whole):
        draws = _draws(func, tensor) if tensor.is_contiguous() else None
        if draws is None or not _is_as_known(func, tensor.dtype):
            return False
        kwargs = dict(kwargs)
        generator = kwargs.pop("generator", None) or torch.default_generator
        state = generator.get_state()
        generator.set_state(_passed(state, draws))
        fill = Fill(func, rest, kwargs, generator, state, place_of(tensor))
        self._add(fill, storage_of(tensor), whole)
        return True

    def _add(self, fill, storage, whole):
        with self._lock:
            if whole:
                self._fills[storage] = []
            self._fills[storage].append(fill)

    # ---- what is read ------------------------------------------------------

    def make(self, tensor):
        """Fill the tensor's storage."""
        if not self._fills or tensor.layout is not torch.strided:
            return
        storage = storage_of(tensor)
        if storage not in self._fills:
            return
        with self._lock:
            if storage in self._fills:
                with _python_dispatch._disable_current_modes(), torch.no_grad():
                    for fill in self._fills[storage]:
                        _do(fill, storage)
                del self._fills[storage]


def _do(fill, storage):
    tensor = view_of(storage, fill.place)
    if fill.state is None:
        fill.func(tensor, *fill.rest, **fill.kwargs)
        return
    generator = fill.generator
    now = generator.get_state()
    generator.set_state(fill.state)
    fill.func(tensor, *fill.rest, generator=generator, **fill.kwargs)
    generator.set_state(now)
