"""Loads liblarder_torch.so and declares its functions."""

import ctypes

from larder._finding import VARIABLE, candidates
from larder._history import HistoryOptions

NAMES = ("liblarder_torch.so", "liblarder_torch.so.0")

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

_P = ctypes.c_void_p
_I = ctypes.c_int
_S = ctypes.c_char_p

# Result and argument types of each function.
PROTOTYPES = {
    "larder_annotate": (None, _S),
    "larder_last_error": (_S,),
    "larder_policy_parse": (_I, _S, _P),
    "larder_conf_check": (_I, _S),
    "larder_configure": (_I, _P, _S),
    "larder_empty_cache": (_I, _P),
    "larder_memory_fraction": (_I, _P, _P),
    "larder_set_memory_fraction": (_I, _P, ctypes.c_double),
    "larder_stats_init_sized": (None, _P, ctypes.c_size_t),
    "larder_stats_get": (_I, _P, _P),
    "larder_stats_reset_peak": (_I, _P),
    "larder_stats_reset_accumulated": (_I, _P),
    "larder_memory_summary": (_I, _P, _I, _P, ctypes.c_size_t, _P),
    "larder_history_options_init_sized": (None, _P, ctypes.c_size_t),
    "larder_history_stop": (_I, _P),
    "larder_history_clear": (_I, _P),
    "larder_snapshot_write": (_I, _P, _S, _P),
    "larder_snapshot_write_to": (_I, _P, WRITER, _P, _P),
    "larder_torch_configure": (_I, _S, _I, _S),
    "larder_torch_set_device": (_I, _I, _S),
    "larder_torch_allocator": (_I, _I, _P),
    "larder_torch_is_made": (_I, _I),
    "larder_torch_history_start": (_I, _I, _P, _I),
    "larder_torch_raises": (_I,),
    "larder_torch_last_error": (_S,),
    "larder_torch_error_count": (ctypes.c_uint64,),
    "larder_torch_random_skip": (_I, _P, ctypes.c_size_t, ctypes.c_uint64),
    "larder_torch_reset": (None,),
}


def _prototyped(loaded, path):
    missing = []
    for name, (returns, *takes) in PROTOTYPES.items():
        try:
            function = getattr(loaded, name)
        except AttributeError:
            missing.append(name)
            continue
        function.restype = returns
        function.argtypes = takes
    if missing:
        raise ImportError(
            f"{path} is of another version than this package: "
            f"it has no {', '.join(missing[:4])}"
        )
    return loaded


def load():
    """Load the library.  Returns it and the path it was loaded from."""
    tried = []
    for path in candidates(NAMES):
        try:
            loaded = ctypes.CDLL(path)
        except OSError as error:
            tried.append(f"  {path}: {error}")
            continue
        return _prototyped(loaded, path), path
    raise ImportError(
        "PyTorch's plug-in, liblarder_torch.so, cannot be loaded; tried\n"
        + "\n".join(tried)
        + f"\nBuild it with `make`, or set {VARIABLE} to its folder."
    )


library, path = load()


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
