"""liblarder_adapters.so: one allocator per device, for other libraries.
larder.cupy, larder.rmm and larder.onnxruntime are built on it."""

import ctypes
import os

from larder._calls import memory_summary, policy_number
from larder._loading import load, structure


_Options = structure(
    "larder_adapter_options", "size z  device s  policy i  conf s"
)
# The addresses of three functions.
OrtFunctions = structure("larder_ort_functions", "alloc p  free p  empty_cache p")

_PROTOTYPES = """
    larder_last_error s -           larder_policy_parse i sp
    larder_empty_cache i p          larder_snapshot_write i psp
    larder_memory_summary i pipzp

    larder_adapter_open i pp        larder_adapter_close i p
    larder_adapter_allocator i pip

    larder_cupy_set_stream v Q      larder_cupy_malloc p pzi
    larder_cupy_free v ppi
    larder_rmm_allocate p zpp       larder_rmm_deallocate v pzpp
    larder_ort_functions_take i pip larder_ort_functions_release i p
"""

# PyDLL keeps the interpreter's lock: most calls take less time than releasing it
# would.
library, _ = load(
    ctypes.PyDLL, "liblarder_adapters", _PROTOTYPES, "liblarder_adapters.so"
)


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
        number = 0 if policy is None else policy_number(library, policy, check)
        options = _Options(
            ctypes.sizeof(_Options),
            device.encode(),
            number,
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
        return memory_summary(library, self.allocator(device), False, check)

    def close(self):
        """Release everything.  No memory of the adapter may be used
        afterwards."""
        if self.handle is not None:
            check(library.larder_adapter_close(self.handle))
            self.handle = None


def address(function):
    """The address of a function of the library, as an integer."""
    return ctypes.cast(function, ctypes.c_void_p).value
