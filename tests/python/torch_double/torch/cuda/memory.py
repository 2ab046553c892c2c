"""torch.cuda.memory: its functions know PyTorch's own allocator only."""

import ctypes
import warnings

import torch
from torch import _allocators


def _native(what):
    if _allocators.current.name != "native":
        raise RuntimeError(
            f"CUDAPluggableAllocator does not yet support {what}. "
            "If you need it, please file an issue describing your use case."
        )
    return _allocators.current


def memory_stats_as_nested_dict(device=None):
    if not torch.cuda.is_initialized():
        return {}
    native = _native("getDeviceStats")
    index = torch.cuda.current_device() if device is None else device
    here = 1 if index == 0 else 0
    return {
        "allocated_bytes": {
            "all": {"current": native.current * here, "peak": native.peak * here}
        },
        "reserved_bytes": {
            "all": {"current": native.reserved * here, "peak": native.reserved * here}
        },
        "num_ooms": native.ooms * here,
        "num_alloc_retries": 0,
        "num_device_alloc": 0,
    }


# PyTorch's own, from here on: each asks the function above, under any allocator.


def _flat(prefix, value):
    if not isinstance(value, dict):
        return [(prefix, value)]
    inside = (_flat(f"{prefix}.{name}" if prefix else name, one) for name, one in value.items())
    return [pair for pairs in inside for pair in pairs]


def memory_stats(device=None):
    return dict(sorted(_flat("", memory_stats_as_nested_dict(device=device))))


def memory_allocated(device=None):
    return memory_stats(device=device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device=None):
    return memory_stats(device=device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device=None):
    return memory_stats(device=device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device=None):
    return memory_stats(device=device).get("reserved_bytes.all.peak", 0)


def memory_cached(device=None):
    warnings.warn("memory_cached has been renamed", FutureWarning)
    return memory_reserved(device=device)


def reset_max_memory_allocated(device=None):
    warnings.warn("it now calls reset_peak_memory_stats", FutureWarning)
    return reset_peak_memory_stats(device=device)


def reset_peak_memory_stats(device=None):
    native = _native("resetPeakStats")
    native.peak = native.current


def _of(name, what):
    def function(*args, **kwargs):
        _native(what)

    function.__name__ = name
    return function


memory_summary = _of("memory_summary", "getDeviceStats")
reset_accumulated_memory_stats = _of("reset_acc", "resetAccumulatedStats")
memory_snapshot = _of("memory_snapshot", "snapshot")
_snapshot = _of("_snapshot", "snapshot")
_allocation_traceback = _of("_allocation_traceback", "snapshot")
_dump_snapshot = _of("_dump_snapshot", "snapshot")
_record_memory_history = _of("_record_memory_history", "recordHistory")
get_per_process_memory_fraction = _of("get_fraction", "getMemoryFraction")
_set_allocator_settings = _of("_set_allocator_settings", "settings")


def _set_memory_metadata(metadata):
    """Ignored under another allocator."""


def _get_memory_metadata():
    return ""


def _memory_metadata_supported():
    return _allocators.current.name == "native"


def empty_cache():
    if torch.cuda.is_initialized():
        _allocators.current.call("reset")


def set_per_process_memory_fraction(fraction, device=None):
    _native("nothing: a silent no-op in PyTorch")


class CUDAPluggableAllocator:
    def __init__(self, path, alloc, free):
        library = ctypes.CDLL(path)

        def address(name):
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value

        self.alloc_name = alloc
        self._allocator = _allocators.Pluggable(address(alloc), address(free))

    def allocator(self):
        return self._allocator


def change_current_allocator(allocator):
    _allocators.change(allocator.allocator())
