"""Answers "which accelerator exists" in a CPU build.

PyTorch asks an object of functions that a CUDA build replaces.  Two of them
are replaced here: the one that makes PyTorch answer CUDA, and the one that
says whether a GPU's context exists, which raises an error otherwise.  Their
positions differ between versions and are found by trying.
"""

import ctypes
import mmap
import os

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from larder.fit.machine import RETURN_ONE, RETURN_ZERO, ForeignError, does, library

_TABLE = "_ZTVN2at18CUDAHooksInterfaceE"
_HEADER = 2  # entries before the functions: an offset, a type
_ENTRIES = 80
_READ, _WRITE = 1, 2


def are_asked():
    """Whether this PyTorch's engine asks (2.9 and later)."""
    version = tuple(int(n) for n in torch.__version__.split(".")[:2])
    return version >= (2, 9)


def _make_writable(address, size):
    page = mmap.PAGESIZE
    first = address // page * page
    length = address + size - first
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if libc.mprotect(first, length, _READ | _WRITE) != 0:
        why = os.strerror(ctypes.get_errno())
        raise ForeignError(f"its table of hooks cannot be written: {why}")


def _table():
    name = os.path.join("lib", "libtorch_cpu.so")
    try:
        table = (ctypes.c_void_p * _ENTRIES).in_dll(library(name), _TABLE)
    except ValueError:
        raise ForeignError(f"no table of hooks in {name}") from None
    _make_writable(ctypes.addressof(table), ctypes.sizeof(table))
    return table


def _is_cuda():
    found = torch._C._accelerator_getAccelerator()
    return found is not None and found.type == "cuda"


def _walks_backward():
    with FakeTensorMode():
        leaf = torch.empty(1, device="cuda", requires_grad=True)
        product = leaf * leaf
    try:
        product.backward(torch.empty_like(product))
    except RuntimeError:
        return False
    return True


def _replace(table, is_one, answer, suffices):
    """Replace the first function for which `is_one` holds and whose
    replacement has the effect."""
    for number in range(_HEADER, _ENTRIES):
        before = table[number]
        if not is_one(before):
            continue
        table[number] = answer
        if suffices():
            return before
        table[number] = before
    raise ForeignError("its table of hooks has an unknown layout")


def _is_no(function):
    return does(function, RETURN_ZERO)


def pretend(returns_one):
    """Report CUDA as the accelerator, without a context, from now on.
    `returns_one` is the address of a function that returns 1."""
    table = _table()
    returns_zero = _replace(table, _is_no, returns_one, _is_cuda)
    if not _walks_backward():
        _replace(
            table,
            lambda f: f and not does(f, RETURN_ZERO + RETURN_ONE),
            returns_zero,
            _walks_backward,
        )
