"""As much of RMM as a resource meets."""

import types


class Stream:
    def __init__(self, handle=0):
        self._handle = handle

    def __cuda_stream__(self):
        return (0, self._handle)


class CallbackMemoryResource:
    __slots__ = ("_allocate", "_deallocate", "__weakref__")

    def __init__(self, allocate_func, deallocate_func):
        self._allocate = allocate_func
        self._deallocate = deallocate_func

    def allocate(self, size, stream):
        return self._allocate(size, stream)

    def deallocate(self, pointer, size, stream):
        self._deallocate(pointer, size, stream)


mr = types.SimpleNamespace(CallbackMemoryResource=CallbackMemoryResource)
