"""As much of CuPy as an allocator meets: memory of C functions, which is not
looked at, and a stream that is current."""

import ctypes
import types


class OutOfMemoryError(MemoryError):
    def __init__(self, size, total, limit=0):
        super().__init__(f"Out of memory allocating {size:,} bytes")


class Memory:
    def __init__(self, size, param, malloc, free, device):
        self._free = free
        self._param = param
        self._device = device
        self.ptr = (malloc(param, size, device) or 0) if size > 0 else 0

    def __del__(self):
        if self.ptr:
            self._free(self._param, self.ptr, self._device)


class CFunctionAllocator:
    def __init__(self, param, malloc_func, free_func, owner):
        pointer = ctypes.c_void_p
        self._param = param
        self._owner = owner
        self._malloc = ctypes.CFUNCTYPE(
            pointer, pointer, ctypes.c_size_t, ctypes.c_int
        )(malloc_func)
        self._free = ctypes.CFUNCTYPE(None, pointer, pointer, ctypes.c_int)(
            free_func
        )

    def malloc(self, size):
        return Memory(size, self._param, self._malloc, self._free, 0)


class _Pool:
    def malloc(self, size):
        return f"the pool's {size}"


_state = {"stream": types.SimpleNamespace(ptr=0), "allocator": _Pool().malloc}


def get_default_memory_pool():
    return _Pool()


def set_stream(number):
    _state["stream"] = types.SimpleNamespace(ptr=number)


def allocate(size):
    return _state["allocator"](size)


cuda = types.SimpleNamespace(
    CFunctionAllocator=CFunctionAllocator,
    memory=types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
    set_allocator=lambda fn: _state.update(allocator=fn),
    get_current_stream=lambda: _state["stream"],
)
