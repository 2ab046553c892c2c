"""torch.cuda.memory's functions about snapshots and history, answered by
Larder.

Each is PyTorch's in name, arguments and result."""

import ctypes
import inspect
import json
import os
import pickle
import sys

import torch
from torch.cuda._utils import _get_device_index

from larder._calls import initialized
from larder._files import NewFile
from larder.torch._plugin import (
    ACTIONS,
    WRITER,
    HistoryOptions,
    allocator,
    is_made,
    library,
    must,
    plugin_must,
)

# Number of events kept if none is given; PyTorch then keeps all. 40 bytes each,
# committed as they are used.
DEFAULT_ENTRIES = 1 << 22

_ALL_ACTIONS = (1 << len(ACTIONS)) - 1
_ALLOC = 1 << ACTIONS.index("alloc")


def _made():
    return [n for n in range(torch.cuda.device_count()) if is_made(n)]


# ---- snapshots --------------------------------------------------------------


def _pickle_of(device):
    pieces = []

    def keep(_, piece, count):
        pieces.append(ctypes.string_at(piece, count))
        return 0

    must(
        library.larder_snapshot_write_to(
            allocator(device), WRITER(keep), None, None
        )
    )
    return b"".join(pieces)


def _merge(whole, part, device):
    """Merge the snapshot of one device into that of all."""
    whole["segments"] += part["segments"]
    traces = whole["device_traces"]
    while len(traces) <= device:
        traces.append([])
    if part["device_traces"]:
        traces[device] = part["device_traces"][-1]
    whole["external_annotations"] = whole.get(
        "external_annotations", []
    ) + part.get("external_annotations", [])


def _snapshot(device=None, augment_with_fx_traces=False):
    """A snapshot of all devices, whichever device is named, as in PyTorch."""
    devices = _made() or [_get_device_index(device, optional=True)]
    whole = None
    for number in devices:
        part = pickle.loads(_pickle_of(number))
        if whole is None:
            whole = dict(part, segments=[], device_traces=[])
            whole.pop("external_annotations", None)
        _merge(whole, part, number)
    whole["segments"].sort(key=lambda s: (s["device"], s["address"]))
    count = torch.cuda.device_count()
    while len(whole["device_traces"]) < count:
        whole["device_traces"].append([])
    return whole


def memory_snapshot(mempool_id=None, include_traces=True):
    if not torch.cuda.is_initialized():
        return []
    segments = _snapshot()["segments"]
    if mempool_id is None or tuple(mempool_id) == (0, 0):
        return segments
    return [
        segment
        for segment in segments
        if tuple(segment["segment_pool_id"]) == tuple(mempool_id)
    ]


def _allocation_traceback(data_ptr):
    """The frames of the allocation at an address, or None.  Searches all live
    allocations."""
    for segment in _snapshot()["segments"]:
        for block in segment["blocks"]:
            if block["address"] == data_ptr:
                is_live = block["state"] == "active_allocated"
                return block["frames"] or None if is_live else None
    return None


def _dump_snapshot(
    filename="dump_snapshot.pickle", augment_with_fx_traces=False
):
    """Write a snapshot, as JSON if the file name ends in .json.  That of a
    single device is written to the file directly."""
    name = os.fsencode(filename)
    devices = _made()
    if len(devices) <= 1:
        number = devices[0] if devices else torch.cuda.current_device()
        must(
            library.larder_snapshot_write(allocator(number), name, None),
            OSError,
        )
    elif name.endswith(b".json"):
        with NewFile(name, "w", encoding="utf-8") as file:
            json.dump(_snapshot(), file)
    else:
        with NewFile(name, "wb") as file:
            pickle.dump(_snapshot(), file, protocol=4)


# ---- history ----------------------------------------------------------------


def _check(what, value, accepted):
    if value not in accepted:
        names = ", ".join("None" if a is None else f"'{a}'" for a in accepted)
        raise ValueError(f"expected {what} to be one of {names}")


def _mask_of(actions):
    mask = 0
    for action in actions or ():
        if action not in ACTIONS:
            raise ValueError(
                f"unknown action '{action}' in skip_actions; expected "
                f"{', '.join(ACTIONS)}"
            )
        mask |= 1 << ACTIONS.index(action)
    return mask


def _options(enabled, context, max_entries, skip_actions):
    options = initialized(HistoryOptions, library.larder_history_options_init_sized)
    options.max_events = (
        DEFAULT_ENTRIES if max_entries >= sys.maxsize else max(1, max_entries)
    )
    options.skip_actions = _mask_of(skip_actions)
    options.stackless_actions = 0
    if enabled == "state":
        options.max_events = 1
        options.skip_actions = _ALL_ACTIONS
    if context is None:
        options.stackless_actions = _ALL_ACTIONS
    elif context != "all":
        options.stackless_actions = _ALL_ACTIONS & ~_ALLOC
    return options


def _start(enabled, context, stacks, max_entries, skip_actions):
    options = _options(enabled, context, max_entries, skip_actions)
    for device in range(torch.cuda.device_count()):
        plugin_must(
            library.larder_torch_history_start(
                device, ctypes.byref(options), stacks == "all"
            )
        )


def _stop():
    for device in _made():
        must(library.larder_history_stop(allocator(device)))


def _record(
    enabled="all",
    context="all",
    stacks="all",
    max_entries=sys.maxsize,
    device=None,
    clear_history=False,
    compile_context=False,
    global_record_annotations=False,
    skip_actions=None,
    record_pinned_host_memory=False,
    record_cuda=True,
):
    _check("state", enabled, ("state", "all", None))
    _check("context", context, ("state", "alloc", "all", None))
    _check("stacks", stacks, ("python", "all"))
    if not record_cuda:
        return
    if enabled is None:
        _stop()
    else:
        _start(enabled, context, stacks, max_entries, skip_actions)


def _record_as_before(
    enabled,
    record_context=True,
    trace_alloc_max_entries=1,
    trace_alloc_record_context=False,
    device=None,
    record_context_cpp=False,
    clear_history=False,
    compile_context=False,
    global_record_annotations=False,
    skip_actions=None,
    record_pinned_host_memory=False,
    record_cuda=True,
):
    """The arguments of PyTorch 2.0, which are recognized by the type of the
    first one, together with those added later."""
    if not record_cuda:
        return None
    if not enabled:
        return _stop()
    context = None
    if record_context:
        context = "all" if trace_alloc_record_context else "alloc"
    return _start(
        "all" if trace_alloc_max_entries > 1 else "state",
        context,
        "all" if record_context_cpp else "python",
        trace_alloc_max_entries,
        skip_actions,
    )


def _record_memory_history(enabled="all", *args, **kwargs):
    """Start recording on every device.  Of PyTorch's arguments, `device`,
    `clear_history` (earlier events are always discarded), `compile_context`,
    `global_record_annotations` and `record_pinned_host_memory` (that memory is
    not Larder's) have no effect."""
    if isinstance(enabled, bool):
        return _record_as_before(enabled, *args, **kwargs)
    return _record(enabled, *args, **kwargs)


_record_memory_history.__signature__ = inspect.signature(_record)


__all__ = [
    "_snapshot",
    "memory_snapshot",
    "_allocation_traceback",
    "_dump_snapshot",
    "_record_memory_history",
]
