"""Loads liblarder_torch.so and declares its functions."""

import ctypes

from larder._history import HistoryOptions  # noqa: F401
from larder._loading import load

METRICS = (
    "allocation",
    "segment",
    "active",
    "inactive_split",
    "allocated_bytes",
    "reserved_bytes",
    "active_bytes",
    "inactive_split_bytes",
    "requested_bytes",
)
POOLS = ("all", "small_pool", "large_pool")
FIELDS = ("current", "peak", "allocated", "freed")
OVERSIZE = ("oversize_allocations", "oversize_segments")
COUNTERS = (
    "num_alloc_retries",
    "num_ooms",
    "num_sync_all_streams",
    "num_device_alloc",
    "num_device_free",
    "num_oom_rejections",
    "max_split_size",
)
ACTIONS = (
    "alloc",
    "free_requested",
    "free_completed",
    "segment_alloc",
    "segment_free",
    "segment_map",
    "segment_unmap",
    "snapshot",
    "oom",
)
PYTHON_OUT_OF_MEMORY = 2  # LARDER_TORCH_OUT_OF_MEMORY

OK, ERR_INVALID, ERR_CAPTURING = 0, 1, 11


class Stat(ctypes.Structure):
    """larder_stat"""

    _fields_ = [(name, ctypes.c_int64) for name in FIELDS]


class StatSplit(ctypes.Structure):
    """larder_stat_split"""

    _fields_ = [(name, Stat) for name in POOLS]


class Stats(ctypes.Structure):
    """larder_stats"""

    _fields_ = (
        [("size", ctypes.c_size_t)]
        + [(name, StatSplit) for name in METRICS]
        + [(name, Stat) for name in OVERSIZE]
        + [(name, ctypes.c_int64) for name in COUNTERS]
    )


WRITER = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t
)

PROTOTYPES = """
    larder_annotate v s             larder_last_error s -
    larder_policy_parse i sp        larder_conf_check i s
    larder_configure i ps           larder_empty_cache i p
    larder_memory_fraction i pp     larder_set_memory_fraction i pd
    larder_stats_init_sized v pz    larder_stats_get i pp
    larder_stats_reset_peak i p     larder_stats_reset_accumulated i p
    larder_memory_summary i pipzp   larder_history_options_init_sized v pz
    larder_history_stop i p         larder_history_clear i p
    larder_snapshot_write i psp     larder_snapshot_write_to i pppp

    larder_torch_configure i sis    larder_torch_set_device i is
    larder_torch_allocator i ip     larder_torch_is_made i i
    larder_torch_history_start i ipi
    larder_torch_raises i -         larder_torch_last_error s -
    larder_torch_error_count Q -    larder_torch_random_skip i pzQ
    larder_torch_reset v -
"""

library, path = load(
    ctypes.CDLL,
    "liblarder_torch",
    PROTOTYPES,
    "PyTorch's plug-in, liblarder_torch.so,",
)


def address(name):
    """The address of a function, in the form that PyTorch's hooks take."""
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value


def last_error():
    return library.larder_last_error().decode(errors="replace")


def must(result, error=RuntimeError):
    """Raise the library's last error if the result is a failure."""
    if result != OK:
        raise error(last_error())


def plugin_must(result):
    """The same for functions of the plug-in, which has its own last error."""
    if result != OK:
        raise RuntimeError(
            library.larder_torch_last_error().decode(errors="replace")
        )


def allocator(device):
    """The device's allocator, created on first use."""
    out = ctypes.c_void_p()
    plugin_must(library.larder_torch_allocator(device, ctypes.byref(out)))
    return out


def is_made(device):
    return bool(library.larder_torch_is_made(device))
