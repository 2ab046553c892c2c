"""liblarder_adapters.so: one allocator per device, for other libraries.
larder.cupy, larder.rmm and larder.onnxruntime are built on it."""

import ctypes
import os

from larder._finding import VARIABLE, candidates

NAMES = ("liblarder_adapters.so", "liblarder_adapters.so.0")


class _Options(ctypes.Structure):
    """larder_adapter_options"""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("device", ctypes.c_char_p),
        ("policy", ctypes.c_int),
        ("conf", ctypes.c_char_p),
    ]


class OrtFunctions(ctypes.Structure):
    """larder_ort_functions: the addresses of three functions"""

    _fields_ = [
        ("alloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
        ("empty_cache", ctypes.c_void_p),
    ]


def _prototypes(library):
    pointer = ctypes.c_void_p
    for name, returns, takes in (
        ("larder_last_error", ctypes.c_char_p, []),
        ("larder_adapter_open", ctypes.c_int, [pointer, pointer]),
        ("larder_adapter_close", ctypes.c_int, [pointer]),
        (
            "larder_adapter_allocator",
            ctypes.c_int,
            [pointer, ctypes.c_int, pointer],
        ),
        ("larder_policy_parse", ctypes.c_int, [ctypes.c_char_p, pointer]),
        ("larder_empty_cache", ctypes.c_int, [pointer]),
        (
            "larder_snapshot_write",
            ctypes.c_int,
            [pointer, ctypes.c_char_p, pointer],
        ),
        (
            "larder_memory_summary",
            ctypes.c_int,
            [pointer, ctypes.c_int, pointer, ctypes.c_size_t, pointer],
        ),
        ("larder_cupy_set_stream", None, [ctypes.c_uint64]),
        (
            "larder_cupy_malloc",
            pointer,
            [pointer, ctypes.c_size_t, ctypes.c_int],
        ),
        ("larder_cupy_free", None, [pointer, pointer, ctypes.c_int]),
        ("larder_rmm_allocate", pointer, [ctypes.c_size_t, pointer, pointer]),
        (
            "larder_rmm_deallocate",
            None,
            [pointer, ctypes.c_size_t, pointer, pointer],
        ),
        (
            "larder_ort_functions_take",
            ctypes.c_int,
            [pointer, ctypes.c_int, ctypes.POINTER(OrtFunctions)],
        ),
        (
            "larder_ort_functions_release",
            ctypes.c_int,
            [ctypes.POINTER(OrtFunctions)],
        ),
    ):
        function = getattr(library, name)
        function.restype = returns
        function.argtypes = takes
    return library


def _load():
    tried = []
    for path in candidates(NAMES):
        try:
            # PyDLL keeps the interpreter's lock: most calls take less time than
            # releasing it would.
            return _prototypes(ctypes.PyDLL(path))
        except OSError as error:
            tried.append(f"  {path}: {error}")
    raise ImportError(
        "liblarder_adapters.so cannot be loaded; tried\n"
        + "\n".join(tried)
        + f"\nBuild it with `make`, or set {VARIABLE} to its folder."
    )


library = _load()


class LarderError(RuntimeError):
    """An error of the library, with the text of larder_last_error()."""


def last_error():
    return library.larder_last_error().decode()


def check(result):
    if result != 0:
        raise LarderError(last_error() or f"result {result}")


class Adapter:
    """One allocator per device, created on first use.  ``device`` is the spec
    of the first device ("cuda:0" covers all from the first on), and ``conf``
    holds settings (larder-conf(5))."""

    def __init__(self, device="cuda:0", conf=None, policy=None):
        number = ctypes.c_int(0)
        if policy is not None:
            check(
                library.larder_policy_parse(
                    policy.encode(), ctypes.byref(number)
                )
            )
        options = _Options(
            ctypes.sizeof(_Options),
            device.encode(),
            number.value,
            None if conf is None else conf.encode(),
        )
        handle = ctypes.c_void_p()
        check(
            library.larder_adapter_open(
                ctypes.byref(options), ctypes.byref(handle)
            )
        )
        self.handle = handle.value

    def allocator(self, device=0):
        """The larder_allocator of a device, as an integer."""
        out = ctypes.c_void_p()
        check(
            library.larder_adapter_allocator(
                self.handle, device, ctypes.byref(out)
            )
        )
        return out.value

    def empty_cache(self, device=0):
        """Release cached memory to the driver."""
        check(library.larder_empty_cache(self.allocator(device)))

    def snapshot(self, path, device=0):
        """Write a snapshot that `larder report` and PyTorch's viewers can
        read."""
        check(
            library.larder_snapshot_write(
                self.allocator(device), os.fsencode(path), None
            )
        )

    def summary(self, device=0):
        """A table of the allocator's statistics."""
        allocator = self.allocator(device)
        room = ctypes.c_size_t(0)
        library.larder_memory_summary(
            allocator, 0, None, 0, ctypes.byref(room)
        )
        text = ctypes.create_string_buffer(room.value + 1)
        check(
            library.larder_memory_summary(
                allocator, 0, text, len(text), ctypes.byref(room)
            )
        )
        return text.value.decode()

    def close(self):
        """Release everything.  No memory of the adapter may be used
        afterwards."""
        if self.handle is not None:
            check(library.larder_adapter_close(self.handle))
            self.handle = None


def address(function):
    """The address of a function of the library, as an integer."""
    return ctypes.cast(function, ctypes.c_void_p).value
