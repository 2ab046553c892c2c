"""Lets PyTorch's engine run backward over tensors of a simulated GPU.

The engine keeps a thread for each device it knows, and it knows devices by
their "guards".  A CPU build has no guard for GPUs, so one is made here: a copy
of the guard of PyTorch's device "meta", which does nothing, registered for the
GPU. Since 2.9 the engine also asks which accelerator exists (hooks.py).

A CUDA build on a machine without a GPU has a no-op guard of its own, and
installs it when asked.
"""

import ctypes
import os

import torch

from larder.fit import hooks
from larder.fit.machine import RETURN_ONE, ForeignError, does, library

_REGISTRY = "_ZN3c104impl26device_guard_impl_registryE"

# Device types in PyTorch's numbers, which never change.
_CUDA = 1
_META = 14

# Positions of the functions of c10::impl::DeviceGuardImplInterface: these have
# not changed since streams have defaults.  That of deviceCount has; it is
# recognised by its behaviour.
_TYPE = 0
_EXCHANGE_DEVICE = 1
_DEVICE = 2
_STREAM = 5
_DEFAULT_STREAM = 6
_ENTRIES = 40
_LAST_SEARCHED = 20

_Answer = ctypes.CFUNCTYPE(ctypes.c_int8, ctypes.c_void_p)

_kept = []  # PyTorch keeps only the addresses


def _registry():
    name = os.path.join("lib", "libc10.so")
    try:
        return (ctypes.c_void_p * (_META + 1)).in_dll(library(name), _REGISTRY)
    except ValueError:
        raise ForeignError(f"no list of devices in {name}") from None


def _pointers_at(address, count):
    return (ctypes.c_void_p * count).from_address(address)


def _device_count_of(functions):
    """The index of the first function that only returns 1.  The second such
    function says whether a stream is idle."""
    found = [
        number
        for number in range(_DEFAULT_STREAM + 1, _LAST_SEARCHED)
        if does(functions[number], RETURN_ONE)
    ]
    if len(found) < 2:
        raise ForeignError("its table of devices has an unknown layout")
    return found[0]


def _answering(value):
    callback = _Answer(lambda _: value)
    _kept.append(callback)
    return ctypes.cast(callback, ctypes.c_void_p).value


class _IdleGuard:
    """A no-op guard of one GPU, made from that of "meta"."""

    def __init__(self, meta):
        functions = _pointers_at(_pointers_at(meta, 1)[0], _ENTRIES)
        self.count = _device_count_of(functions)
        self.returns_one = functions[self.count]
        self.table = (ctypes.c_void_p * _ENTRIES)(*functions)
        # CUDA's number is 1; the pair of it and the index 0 reads as 1, too.
        for number in (_TYPE, _EXCHANGE_DEVICE, _DEVICE):
            self.table[number] = self.returns_one
        self.table[_DEFAULT_STREAM] = functions[_STREAM]
        self.guard = (ctypes.c_void_p * 1)(ctypes.addressof(self.table))
        _kept.append(self)

    def address(self):
        return ctypes.addressof(self.guard)

    def hide(self):
        """Report no devices from now on: code that counts them queries each
        for properties that only a driver has."""
        self.table[self.count] = _answering(0)


def _start_threads():
    """Start the engine's threads, one for each device counted now."""
    one = torch.ones((), requires_grad=True)
    (one * one).backward()


def install():
    """Call before the first backward pass of the process."""
    registry = _registry()
    if registry[_CUDA]:
        if hasattr(torch._C, "_ensureCUDADeviceGuardSet"):
            torch._C._ensureCUDADeviceGuardSet()
        return
    guard = _IdleGuard(registry[_META])
    registry[_CUDA] = guard.address()
    _start_threads()
    if hooks.are_asked():
        guard.hide()
        hooks.pretend(guard.returns_one)
