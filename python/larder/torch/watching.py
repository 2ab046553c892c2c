"""Measures a program's GPU memory and time, for --report and --compare.

An iteration lasts from one step of an optimizer to its next; the first
optimizer that steps counts.  So training programs are measured unchanged.
Each step synchronizes with the GPU, under every allocator alike, so that times
are those of completed work.  A program without steps has no iterations, only
totals.
"""

import json
import statistics
import time
import weakref

import torch
from torch.optim import optimizer

from larder._files import NewFile

# Optimizer steps to skip: the first ones fill caches and choose algorithms.
WARM_UP = 2

# PyTorch's others call it.
_RESET = "reset_peak_memory_stats"
_PEAKS = ("allocated_bytes.all.peak", "reserved_bytes.all.peak")


class Watch:
    """Measures one program, from start() to report()."""

    def __init__(self, name):
        self._name = name
        self._began = time.perf_counter()
        self._optimizer = None
        self._times = []
        self._peaks = {}

    # ---- memory ----

    def _devices(self):
        if not torch.cuda.is_initialized():
            return ()
        return range(torch.cuda.device_count())

    def look(self):
        """Record the peaks before the program can reset them."""
        for device in self._devices():
            stats = torch.cuda.memory_stats(device)
            for name in _PEAKS:
                key = (device, name)
                self._peaks[key] = max(
                    self._peaks.get(key, 0), stats.get(name, 0)
                )

    def _look_before_reset(self, owner):
        original = getattr(owner, _RESET)

        def reset(*args, **kwargs):
            self.look()
            return original(*args, **kwargs)

        setattr(owner, _RESET, reset)

    def _peak(self, name):
        return sum(
            value for (_, other), value in self._peaks.items() if other == name
        )

    def _total(self, name):
        return sum(
            torch.cuda.memory_stats(device).get(name, 0)
            for device in self._devices()
        )

    # ---- iterations ----

    def _stepped(self, optimizer, *_):
        if self._optimizer is None:
            self._optimizer = weakref.ref(optimizer)
        if self._optimizer() is not optimizer:
            return
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
        self._times.append(time.perf_counter())

    def start(self):
        for owner in (torch.cuda, torch.cuda.memory):
            self._look_before_reset(owner)
        optimizer.register_optimizer_step_post_hook(self._stepped)
        return self

    def _iteration_seconds(self):
        lengths = [b - a for a, b in zip(self._times, self._times[1:])]
        if len(lengths) > WARM_UP:
            lengths = lengths[WARM_UP:]
        return statistics.median(lengths) if lengths else None

    # ---- the report ----

    def report(self, status):
        self.look()
        reserved = self._peak(_PEAKS[1])
        allocated = self._peak(_PEAKS[0])
        return {
            "allocator": self._name,
            "status": status,
            "peak_allocated_bytes": allocated,
            "peak_reserved_bytes": reserved,
            "fragmentation": (
                (reserved - allocated) / reserved if reserved else 0.0
            ),
            "ooms": self._total("num_ooms"),
            "retries": self._total("num_alloc_retries"),
            "device_allocs": self._total("num_device_alloc"),
            "steps": len(self._times),
            "iteration_seconds": self._iteration_seconds(),
            "seconds": time.perf_counter() - self._began,
        }

    def write(self, path, status):
        with NewFile(path, encoding="utf-8") as file:
            json.dump(self.report(status), file)
            file.write("\n")
