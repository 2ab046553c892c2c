"""torch.cuda's functions about statistics and limits, answered by Larder.

Each is PyTorch's in name, arguments and result."""

import collections
import ctypes
import warnings

from larder import _calls
from larder._calls import initialized
from larder.torch import _torch
from larder.torch._plugin import Stats, allocator, library, must


def _ask(function, device, *arguments):
    """Call a function of the allocator of a device."""
    must(function(allocator(_torch.index_of(device)), *arguments))


def _nested(value):
    """A structure as a dict of its fields."""
    if not isinstance(value, ctypes.Structure):
        return value
    return {name: _nested(getattr(value, name)) for name, _ in value._fields_}


def memory_stats_as_nested_dict(device=None):
    if not _torch.is_initialized():
        return {}
    stats = initialized(Stats, library.larder_stats_init_sized)
    _ask(library.larder_stats_get, device, ctypes.byref(stats))
    nested = _nested(stats)
    del nested["size"]
    return nested


def _flatten(prefix, value, out):
    if isinstance(value, dict):
        for name, inner in value.items():
            _flatten(f"{prefix}.{name}" if prefix else name, inner, out)
    else:
        out.append((prefix, value))


def memory_stats(device=None):
    flat = []
    _flatten("", memory_stats_as_nested_dict(device), flat)
    return collections.OrderedDict(sorted(flat))


def memory_allocated(device=None):
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device=None):
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device=None):
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device=None):
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


def _renamed(old, new):
    warnings.warn(
        f"torch.cuda.{old} has been renamed to torch.cuda.{new}",
        FutureWarning,
        stacklevel=3,
    )


def memory_cached(device=None):
    _renamed("memory_cached", "memory_reserved")
    return memory_reserved(device)


def max_memory_cached(device=None):
    _renamed("max_memory_cached", "max_memory_reserved")
    return max_memory_reserved(device)


def reset_peak_memory_stats(device=None):
    if _torch.is_initialized():
        _ask(library.larder_stats_reset_peak, device)


def reset_accumulated_memory_stats(device=None):
    if _torch.is_initialized():
        _ask(library.larder_stats_reset_accumulated, device)


def reset_max_memory_allocated(device=None):
    _renamed("reset_max_memory_allocated", "reset_peak_memory_stats")
    return reset_peak_memory_stats(device)


def reset_max_memory_cached(device=None):
    _renamed("reset_max_memory_cached", "reset_peak_memory_stats")
    return reset_peak_memory_stats(device)


def memory_summary(device=None, abbreviated=False):
    of = allocator(_torch.index_of(device))
    return _calls.memory_summary(library, of, bool(abbreviated), must)


def empty_cache():
    if _torch.is_initialized():
        library.larder_torch_reset()


def set_per_process_memory_fraction(fraction, device=None):
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(
            f"Invalid fraction value: {fraction}. Allowed range: 0~1"
        )
    _ask(library.larder_set_memory_fraction, device, fraction)


def get_per_process_memory_fraction(device=None):
    fraction = ctypes.c_double()
    _ask(library.larder_memory_fraction, device, ctypes.byref(fraction))
    return fraction.value


def _set_allocator_settings(env):
    text = env.encode()
    must(library.larder_conf_check(text), ValueError)
    for device in range(_torch.device_count()):
        must(library.larder_configure(allocator(device), text), ValueError)


__all__ = [
    "memory_stats_as_nested_dict",
    "memory_stats",
    "memory_allocated",
    "max_memory_allocated",
    "memory_reserved",
    "max_memory_reserved",
    "memory_cached",
    "max_memory_cached",
    "reset_peak_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "memory_summary",
    "empty_cache",
    "set_per_process_memory_fraction",
    "get_per_process_memory_fraction",
    "_set_allocator_settings",
]
