"""torch.cuda.memory: the allocator's statistics under PyTorch's names."""

import pickle

from larder._files import NewFile
from larder.lab import OutOfMemoryError, Session
from larder.lab import session as _session
from larder.lab.failures import InvalidError, gate
from larder.lab.functions import named
from larder.lab.kinds import Device


def _check(device):
    """Check a device argument.  Any way to name the only device is accepted."""
    if device is not None and Device(device).type != "cuda":
        raise InvalidError(f"{device} is not a cuda device")


def _asking(name, query):
    """A function of the device that asks the session."""

    def ask(device=None):
        _check(device)
        return query(_session())

    return named(name, ask)


def _field(name):
    return lambda session: getattr(session.memory_struct(), name)


globals().update(
    (_name, _asking(_name, _query))
    for _name, _query in {
        "memory_allocated": _field("allocated_bytes"),
        "max_memory_allocated": _field("allocated_peak"),
        "memory_reserved": _field("reserved_bytes"),
        "max_memory_reserved": _field("reserved_peak"),
        "memory_stats": Session.stats,
        "reset_peak_memory_stats": Session.reset_peak,
        "reset_accumulated_memory_stats": Session.reset_accumulated,
        "get_per_process_memory_fraction": Session.memory_fraction,
    }.items()
)
memory_cached = memory_reserved
max_memory_cached = max_memory_reserved
reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def memory_stats_as_nested_dict(device=None):
    nested = {}
    for name, value in memory_stats(device).items():
        *groups, last = name.split(".")
        place = nested
        for group in groups:
            place = place.setdefault(group, {})
        place[last] = value
    return nested


def memory_summary(device=None, abbreviated=False):
    _check(device)
    return _session().summary(abbreviated)


def memory_snapshot():
    return _session().snapshot()["segments"]


def empty_cache():
    _session().empty_cache()


def mem_get_info(device=None):
    _check(device)
    memory = _session().memory_struct()
    return memory.free_bytes, memory.device_bytes


def set_per_process_memory_fraction(fraction, device=None):
    _check(device)
    if not isinstance(fraction, (int, float)):
        raise TypeError(f"a fraction must be a number, not {fraction!r}")
    _session().set_memory_fraction(fraction)


def list_gpu_processes(device=None):
    _check(device)
    used = _session().memory_struct().smi_bytes / 2**20
    return f"GPU:0\nprocess this uses {used:.3f} MB GPU memory"


def get_allocator_backend():
    return "native"


def _record_memory_history(
    enabled="all",
    context="all",
    stacks="python",
    max_entries=None,
    device=None,
    clear_history=False,
    **named,
):
    """Start recording events with their Python stacks, for _dump_snapshot().
    None stops it."""
    _check(device)
    if not enabled:
        # What was recorded can still be written, as in torch.
        _Recording.kept = _session().history()
        _session().stop_recording()
        return
    _Recording.kept = None
    _session().record(max_entries, context is not None)


class _Recording:
    """A history that has ended, kept as its last snapshot."""

    kept = None


def _snapshot(device=None):
    _check(device)
    if _Recording.kept is not None:
        return _Recording.kept
    return _session().history()


def _dump_snapshot(filename="dump_snapshot.pickle"):
    if _Recording.kept is None:
        _session().write_snapshot(filename)
        return
    with NewFile(filename, "wb") as file:
        pickle.dump(_snapshot(), file)


__getattr__ = gate("torch.cuda.memory", globals(), "OutOfMemoryError")
