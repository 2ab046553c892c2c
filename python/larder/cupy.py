"""CuPy's arrays on Larder's memory:

    import larder.cupy
    larder.cupy.enable()

Memory belongs to the stream that is current when it is allocated, as in
CuPy's own pool, and is reused there as soon as it is freed."""

import importlib

from larder.adapters import Adapter, address, last_error, library

PER_THREAD = 2  # the handle of a per-thread default stream


class Allocator:
    """The callable that cupy.cuda.set_allocator() expects."""

    def __init__(self, cupy, adapter):
        self.adapter = adapter
        self._cuda = cupy.cuda
        self._pool = cupy.cuda.CFunctionAllocator(
            adapter.handle,
            address(library.larder_cupy_malloc),
            address(library.larder_cupy_free),
            adapter,
        )

    def __call__(self, size):
        stream = self._cuda.get_current_stream().ptr
        if stream == PER_THREAD:
            raise RuntimeError(
                "larder.cupy: per-thread default streams cannot be distinguished; "
                "expected the default stream or a created one"
            )
        library.larder_cupy_set_stream(stream)
        memory = self._pool.malloc(size)
        # CuPy does not check the result.
        if size > 0 and not memory.ptr:
            raise self._cuda.memory.OutOfMemoryError(size, -1) from MemoryError(
                last_error()
            )
        return memory


def enable(conf=None, policy=None, device="cuda:0"):
    """Make CuPy allocate from Larder.  Returns the Allocator, whose
    ``adapter`` has empty_cache(), snapshot() and summary()."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        raise ImportError("larder.cupy needs CuPy: the module cupy") from error
    allocator = Allocator(cupy, Adapter(device, conf, policy))
    cupy.cuda.set_allocator(allocator)
    return allocator


def disable():
    """Restore CuPy's own pool.  Larder's memory stays valid as long as arrays
    use it."""
    cupy = importlib.import_module("cupy")
    cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)
