"""The preload library of this process, if it was started like this:

    LD_PRELOAD=liblarder_preload.so LARDER_PRELOAD=cache,pause python3 ...

    import larder.preload
    larder.preload.pause()      # others can use the GPU's memory
    larder.preload.resume()
"""

import ctypes
import os

from larder._loading import structure

ALL = -1
DROP = 1

UNLIMITED = 2**64 - 1

_Stats = structure(
    "larder_preload_stats",
    """
    size z  allocations Q  frees Q  passed Q  refused Q  driver_allocs Q
    driver_frees Q  waits Q  live_bytes Q  live_bytes_peak Q  held_bytes Q
    held_bytes_peak Q  outside_bytes Q  limit_bytes Q  paused_bytes Q  moves Q
    """,
)
COUNTS = tuple(name for name, _ in _Stats._fields_[1:])


def is_active():
    """Whether the preload library was loaded into this process."""
    return hasattr(ctypes.CDLL(None), "larder_preload_pause")


def _call(name, *arguments):
    """A function of the library.  Raises RuntimeError if it fails."""
    if not is_active():
        raise RuntimeError(
            "this process does not use liblarder_preload.so: start it with "
            "LD_PRELOAD=liblarder_preload.so"
        )
    # CDLL releases the interpreter's lock: copying gigabytes must not block
    # other threads.
    library = ctypes.CDLL(None)
    library.larder_preload_last_error.restype = ctypes.c_char_p
    if getattr(library, f"larder_preload_{name}")(*arguments) != 0:
        raise RuntimeError(library.larder_preload_last_error().decode())


def pause(device=ALL, drop=False):
    """Release the memory of one device, or of all, to the driver.  Contents
    are saved on the host, unless they may be dropped."""
    _call("pause", device, DROP if drop else 0)


def resume(device=ALL):
    """Restore the memory at the same addresses."""
    _call("resume", device)


def empty_cache(device=ALL):
    """Release cached memory to the driver."""
    _call("empty_cache", device)


def snapshot(path, device=0):
    """Write a snapshot that `larder report` and PyTorch's viewers can read."""
    _call("snapshot", device, os.fsencode(path))


def stats(device=0):
    """Counters by name; limit_bytes is None without a limit."""
    out = _Stats(ctypes.sizeof(_Stats))
    _call("stats_get", device, ctypes.byref(out))
    found = {name: getattr(out, name) for name in COUNTS}
    if found["limit_bytes"] == UNLIMITED:
        found["limit_bytes"] = None
    return found
