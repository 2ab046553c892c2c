"""Loads liblarder_torch.so and declares its functions."""

import ctypes

from larder._history import HistoryOptions  # noqa: F401
from larder._loading import load, structure

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


Stat = structure("larder_stat", "current q  peak q  allocated q  freed q")
StatSplit = structure(
    "larder_stat_split", "all stat  small_pool stat  large_pool stat", stat=Stat
)
Stats = structure(
    "larder_stats",
    """
    size z  allocation split  segment split  active split  inactive_split split
    allocated_bytes split  reserved_bytes split  active_bytes split
    inactive_split_bytes split  requested_bytes split
    oversize_allocations stat  oversize_segments stat
    num_alloc_retries q  num_ooms q  num_sync_all_streams q  num_device_alloc q
    num_device_free q  num_oom_rejections q  max_split_size q
    """,
    stat=Stat,
    split=StatSplit,
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
