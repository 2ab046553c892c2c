"""The results of one process of the program, as JSON."""

import json
import os

import torch

from larder._files import NewFile
from larder.fit import steps, summary


def _busiest(builders):
    """The device with the most requests: its number and its builder."""
    return max(builders.items(), key=lambda one: one[1].book.peak)


def _outside_bytes(options):
    """Memory of the GPU that PyTorch's allocator does not hold: allocated by other
    libraries from the driver."""
    free, total = torch.cuda.mem_get_info()
    taken = total - free - torch.cuda.memory_reserved()
    return max(0, taken - options.context_bytes)


def write(options, watch, how, error, seconds):
    if not torch.cuda.is_initialized():
        return
    watch.free_workspaces()
    device, builder = _busiest(watch.drain())
    book = builder.book
    path = f"{options.trace}.{os.getpid()}"
    book.write_trace(path)
    if options.snapshot:
        torch.cuda.memory._dump_snapshot(f"{options.pickle}.{os.getpid()}")
    allocated, reserved = watch.peaks.of(device)
    told = {
        "how": how,
        "error": error,
        "seconds": seconds,
        "steps": watch.watcher.steps,
        "repeats": watch.watcher.repeats,
        "grows_bytes_per_step": watch.watcher.grows_bytes()
        if watch.watcher.repeats
        else steps.growth_bytes(steps.peaks(book)),
        "peak_allocated_bytes": allocated,
        "peak_reserved_bytes": reserved,
        "outside_bytes": _outside_bytes(options),
        "failed_requests": builder.failed,
        "world_size": watch.world_size(),
        "groups": watch.groups(),
        "optimizer": watch.phases.optimizer_name(),
        "changes_made": watch.changes.made,
        "made_up": [[f"{p[0]}:{p[1]}", w] for p, w in watch.reads.places.items()],
        "assumed": watch.values.told() if watch.values else [],
        "pytorch": torch.__version__,
        "pid": os.getpid(),
        "trace": path,
        **summary.of_book(book),
    }
    with NewFile(f"{options.result}.{os.getpid()}", encoding="utf-8") as file:
        json.dump(told, file)
