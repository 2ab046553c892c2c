"""torch.cuda's functions about statistics and limits, answered by Larder.

Each is PyTorch's in name, arguments and result.  PyTorch's own memory_stats() asks
memory_stats_as_nested_dict(), and memory_allocated() and its like ask that, so they
are not replaced."""

import ctypes

import torch
from torch.cuda._utils import _get_device_index

from larder import _calls
from larder.torch._plugin import Stats, allocator, library, must


def _allocator(device):
    return allocator(_get_device_index(device, optional=True))


def _ask(function, device, *arguments):
    """Call a function of the allocator of a device."""
    must(function(_allocator(device), *arguments))


def _nested(value):
    """A structure as a dict of its fields."""
    if not isinstance(value, ctypes.Structure):
        return value
    return {name: _nested(getattr(value, name)) for name, _ in value._fields_}


def memory_stats_as_nested_dict(device=None):
    if not torch.cuda.is_initialized():
        return {}
    stats = _calls.initialized(Stats, library.larder_stats_init_sized)
    _ask(library.larder_stats_get, device, ctypes.byref(stats))
    nested = _nested(stats)
    del nested["size"]
    return nested


def reset_peak_memory_stats(device=None):
    if torch.cuda.is_initialized():
        _ask(library.larder_stats_reset_peak, device)


def reset_accumulated_memory_stats(device=None):
    if torch.cuda.is_initialized():
        _ask(library.larder_stats_reset_accumulated, device)


def memory_summary(device=None, abbreviated=False):
    return _calls.memory_summary(library, _allocator(device), bool(abbreviated), must)


def empty_cache():
    if torch.cuda.is_initialized():
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
    for device in range(torch.cuda.device_count()):
        must(library.larder_configure(allocator(device), text), ValueError)


__all__ = [
    "memory_stats_as_nested_dict",
    "reset_peak_memory_stats",
    "reset_accumulated_memory_stats",
    "memory_summary",
    "empty_cache",
    "set_per_process_memory_fraction",
    "get_per_process_memory_fraction",
    "_set_allocator_settings",
]
