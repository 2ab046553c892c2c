"""A double of PyTorch for tests of larder.torch: only what an allocator meets.

Tensors are bytes on a GPU.  Under a pluggable allocator they are had as from
PyTorch's wrapper: through function addresses, with a map of what was asked for,
and C++ exceptions turned into Python's, by tests/torch/cxx/c10_stand_in.cpp,
where TORCH_DOUBLE_C10 names it.
"""

import ctypes
import types

__version__ = "2.9.0+double"
version = types.SimpleNamespace(hip=None, cuda="12.8")

# As the real one does: it is a program of C++.
_libstdcxx = ctypes.CDLL("libstdc++.so.6")


class OutOfMemoryError(RuntimeError):
    pass


from torch import _allocators, cuda, optim  # noqa: E402


class Tensor:
    def __init__(self, count, device, stream=0):
        self.device = device
        self._count = count
        self._ptr = _allocators.current.malloc(count, device, stream)

    def data_ptr(self):
        return self._ptr or 0

    def record_stream(self, stream):
        _allocators.current.record_stream(self._ptr, stream)

    def __del__(self):
        if getattr(self, "_ptr", None):
            _allocators.current.free(self._ptr)


def empty(count, device="cuda", stream=0):
    """A tensor of `count` bytes."""
    cuda._lazy_init()
    if isinstance(device, str):
        device = int(device.partition(":")[2] or cuda.current_device())
    return Tensor(count, device, stream)


def backward_of(tensor, count):
    """Memory asked for by a thread of C++, which holds no lock of Python."""
    return _allocators.current.malloc_without_python(count, tensor.device)
