"""PyTorch's allocators: its own, which counts, and the pluggable one."""

import ctypes
import os
import threading

import torch

_ALLOC = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
_FREE = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)


class Native:
    """Its own: numbers for addresses, and what stays cached."""

    name = "native"
    limit = 256 << 20

    def __init__(self):
        self.is_initialized = False
        self._next = 1 << 20
        self._sizes = {}
        self.current = self.peak = self.reserved = self.ooms = 0

    def malloc(self, count, device, stream):
        if self.current + count > self.limit:
            self.ooms += 1
            raise torch.OutOfMemoryError("CUDA out of memory.")
        self._next += count + 512
        self._sizes[self._next] = count
        self.current += count
        self.peak = max(self.peak, self.current)
        self.reserved = max(self.reserved, 2 * self.current)
        return self._next

    def free(self, ptr):
        self.current -= self._sizes.pop(ptr)

    def record_stream(self, ptr, stream):
        pass


def _library():
    path = os.environ.get("TORCH_DOUBLE_C10")
    if not path:
        return None
    loaded = ctypes.CDLL(path)
    loaded.stand_in_alloc.argtypes = (
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_size_t,
    )
    return loaded


def _thread_library():
    folder = os.environ["LARDER_LIBRARY_DIR"]
    loaded = ctypes.CDLL(
        os.path.join(folder, "tests", "torch", "libtorch_alloc_thread.so")
    )
    loaded.alloc_in_thread.restype = ctypes.c_void_p
    loaded.alloc_in_thread.argtypes = (
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
    )
    return loaded


_c10 = _library()
_thread = _thread_library()


class Pluggable:
    """torch._C._CUDAPluggableAllocator."""

    name = "pluggable"

    def __init__(self, alloc, free):
        self._alloc = alloc
        self._free = ctypes.PYFUNCTYPE(None, *_FREE)(free)
        self._lock = threading.Lock()
        self._map = {}
        self.hooks = {}
        self.is_initialized = False

    def __getattr__(self, name):
        if name not in SETTERS:
            raise AttributeError(name)

        def setter(address):
            assert isinstance(address, int) and address > 0
            self.hooks[SETTERS[name]] = address

        return setter

    def call(self, hook, *types_and_arguments):
        """A hook, by its address; nothing if it was not set."""
        address = self.hooks.get(hook)
        if address is None:
            return None
        types = [t for t, _ in types_and_arguments]
        function = ctypes.CFUNCTYPE(None, *types)(address)
        return function(*[a for _, a in types_and_arguments])

    def _raise(self, kind, words):
        if kind == 2:
            raise torch.OutOfMemoryError(words)
        raise RuntimeError(words)

    def _ask(self, count, device, stream):
        # Without the lock of Python, which torch.empty() gives up.
        if _c10 is None:
            function = ctypes.CFUNCTYPE(*_ALLOC)(self._alloc)
            return function(count, device, stream)
        out = ctypes.c_void_p()
        words = ctypes.create_string_buffer(4096)
        call = ctypes.CFUNCTYPE(
            ctypes.c_int, *_c10.stand_in_alloc.argtypes
        )(("stand_in_alloc", _c10))
        kind = call(
            self._alloc,
            count,
            device,
            stream,
            ctypes.byref(out),
            words,
            len(words),
        )
        if kind != 0:
            self._raise(kind, words.value.decode())
        return out.value

    def malloc(self, count, device, stream):
        ptr = self._ask(count, device, stream)
        with self._lock:
            self._map[ptr] = (count, device, stream)
        return ptr

    def malloc_without_python(self, count, device):
        ptr = _thread.alloc_in_thread(self._alloc, count, device)
        with self._lock:
            self._map[ptr] = (count, device, 0)
        return ptr

    def free(self, ptr):
        with self._lock:
            count, device, stream = self._map.pop(ptr)
        self._free(ptr, count, device, stream)

    def record_stream(self, ptr, stream):
        self.call(
            "record_stream",
            (ctypes.c_void_p, ptr),
            (ctypes.c_void_p, stream),
        )


# PyTorch's names, and those of the hooks they set.
SETTERS = {
    "set_init_fn": "init",
    "set_reset_fn": "reset",
    "set_memory_fraction_fn": "fraction",
    "set_base_alloc_fn": "base",
    "set_record_stream_fn": "record_stream",
    "set_begin_allocate_to_pool": "begin",
    "set_end_allocate_to_pool_fn": "end",
    "set_release_pool": "release",
}
for _name in os.environ.get("TORCH_DOUBLE_LACKS", "").split(","):
    SETTERS.pop(_name, None)

current = Native()


def change(allocator):
    global current
    if current.is_initialized:
        raise RuntimeError("Can't swap an already initialized allocator")
    allocator.is_initialized = True
    current = allocator
