"""Follows the program by PyTorch's own hooks and counters, and notes what it was
doing at each time."""

import functools
import sys
import time

import torch

from larder.fit import ledger
from larder.fit.changes import Changes
from larder.fit.peaks import Peaks
from larder.fit.phases import Phases, SteadyState
from larder.fit.scopes import scopes
from larder.fit.standin.requests import Builder
from larder.fit.steps import Watcher

# The number of events that the recorder keeps, and the number from which it is
# drained.
HISTORY_EVENTS = 1 << 23
DRAIN_EVENTS = 50_000

# PyTorch's NCCL thread checks every 100 ms which collectives have ended, and keeps
# their tensors until then.
NCCL_SECONDS = 0.25


def _stats():
    """Counters of the GPU in use; None before there is one."""
    if not torch.cuda.is_initialized():
        return None
    return torch._C._cuda_memoryStats(torch._C._cuda_getDevice())


class Notes:
    """What the program was doing, with the position among the allocator's events:
    the number of allocations and frees before it."""

    def __init__(self):
        self.by_device = {}  # device -> [(place, what, value)]
        self._kinds = []
        self.place = 0  # of the last note

    def take(self, device):
        """Return all notes so far, and clear them."""
        return self.by_device.pop(device, [])

    def add(self, what, value):
        stats = _stats()
        if stats is None:
            return
        counts = stats["allocation"]["all"]
        self.place = place = counts["allocated"] + counts["freed"]
        notes = self.by_device.setdefault(torch._C._cuda_getDevice(), [])
        if self._kinds:
            notes.append((place, "kinds", self._kinds))
            self._kinds = []
        notes.append((place, what, value))

    def scope(self):
        module = scopes._stack[-1] if scopes._stack else ""
        self.add("scope", (scopes.phase, module, scopes.step))

    def mark(self, text):
        self.add("mark", text)

    def say(self, tensor, kind):
        """Set the purpose of a tensor's memory, recorded with the next note."""
        self._kinds.append((_address(tensor), kind))


def _address(tensor):
    """The address of the tensor's memory. Tensors that wrap others (FSDP's, 4-bit
    ones) may have none."""
    tensor = getattr(tensor, "_local_tensor", tensor)
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return 0


class CountingWatcher(Watcher):
    """Two steps are alike if PyTorch's counters advanced equally: the number of
    requests and frees, and their bytes."""

    def __init__(self, most):
        super().__init__(None, most)
        self._before = (0, 0, 0, 0)

    def _shape(self):
        stats = _stats()
        if stats is None:
            return (0, 0, 0, 0, 0)
        counts = stats["allocation"]["all"]
        sizes = stats["requested_bytes"]["all"]
        now = (
            counts["allocated"], counts["freed"],
            sizes["allocated"], sizes["freed"],
        )
        shape = tuple(a - b for a, b in zip(now, self._before))
        self._before = now
        return (*shape, shape[2] - shape[3])


class WatchedPhases(Phases):
    """Notes each change in what the program does."""

    def __init__(self, notes, watcher, before_backward, stop, after_each):
        self.book = notes  # takes marks
        self._notes = notes
        self._stop = stop
        self._after_each = after_each
        super().__init__(self, watcher, before_backward)

    def say(self, tensor, kind):
        self._notes.say(tensor, kind)

    def _changed(self):
        self._notes.scope()

    # torch.compile must trace one graph: it finds nothing here.
    def _enter(self, module, args):
        if not torch.compiler.is_compiling():
            super()._enter(module, args)

    def _leave(self, module, args, result):
        if not torch.compiler.is_compiling():
            super()._leave(module, args, result)

    def _end_step(self):
        try:
            super()._end_step()
        except SteadyState:
            self._stop()
        self._after_each()


# The ways in which programs read a value from the GPU.
_READS = ("item", "tolist", "__bool__", "__int__", "__float__")


class Reads:
    """Notes where the program reads values that no kernel has computed."""

    def __init__(self, is_known):
        self._is_known = is_known
        self.places = {}  # (file, line) -> how
        for name in _READS:
            read = getattr(torch.Tensor, name, None)
            if read is not None:
                setattr(torch.Tensor, name, self._noted(name, read))

    def _noted(self, name, read):
        @functools.wraps(read)
        def noted(tensor, *args):
            if tensor.is_cuda and not self._is_known(tensor):
                place = ledger.caller()
                if place[0]:
                    self.places.setdefault(place, name.strip("_"))
            return read(tensor, *args)

        return noted


# torch.cuda's, and torch.accelerator's, which 2.8 has not and 2.10 has.
_RESETS = ("_cuda_resetPeakMemoryStats", "_accelerator_resetPeakStats")


def _values():
    """None if this PyTorch lacks what it is based on."""
    try:
        from larder.fit.standin.values import Values

        return Values()
    except (AttributeError, RuntimeError) as error:
        print(f"larder run: values are not computed: {error}", file=sys.stderr)
        return None


def _knows(values):
    if values is None:
        return lambda tensor: False
    from larder.fit.known import is_known

    return is_known


class Watch:
    """Everything that follows one process."""

    def __init__(self, options, stop):
        self.notes = Notes()
        self.peaks = Peaks(torch._C, _RESETS)
        self.values = _values()
        self.reads = Reads(_knows(self.values))
        self._builders = {}  # by device
        self._drained = 0  # place
        # A snapshot must contain all events.
        self._keeps_all = bool(options.snapshot)
        self.watcher = CountingWatcher(options.steps)
        self.changes = Changes(options.changes, options.capability)
        self.phases = WatchedPhases(
            self.notes, self.watcher, self.changes.before_backward, stop,
            self._after_step,
        )
        self.phases.install()
        self.distributed = None
        if options.world_size is not None:
            from larder.fit.distributed import Distributed

            self.distributed = Distributed(options.world_size)
        torch.cuda._lazy_call(self._begin)

    def _begin(self):
        """Called by PyTorch once it has initialized the GPU."""
        _record()
        if self.values is not None and "vllm" not in sys.modules:
            self.values.include()

    def _after_step(self):
        dist = torch.distributed
        if self.watcher.steps == 1 and dist.is_available() and dist.is_initialized():
            # DDP recreates its buckets in the second step, which comes sooner here
            # than on a GPU.
            time.sleep(NCCL_SECONDS)
        self._drain_some()

    def _drain_some(self):
        """Drain early: PyTorch's record of an event takes kilobytes, the ledger's
        far less."""
        if self._keeps_all or self.notes.place - self._drained < DRAIN_EVENTS:
            return
        self._drained = self.notes.place
        self.drain()
        torch.cuda.memory._record_memory_history(enabled=None)
        _record()

    def drain(self):
        """Move what was recorded to the builders.  Returns them, by device."""
        traces = torch.cuda.memory._snapshot()["device_traces"]
        for device, events in enumerate(traces):
            builder = self._builders.setdefault(device, Builder())
            builder.feed(events, self.notes.take(device))
        return self._builders

    def free_workspaces(self):
        """Free cuBLAS's workspaces, which PyTorch keeps, to distinguish them from
        tensors."""
        free = getattr(torch._C, "_cuda_clearCublasWorkspaces", None)
        if free is not None:
            self.notes.add("workspaces", None)
            free()

    def world_size(self):
        dist = torch.distributed
        if dist.is_available() and dist.is_initialized():
            return dist.get_world_size()
        return 1

    def groups(self):
        """The sizes of the NCCL groups."""
        if self.distributed is not None:
            return self.distributed.used_sizes()
        size = self.world_size()
        return [size] if size > 1 else []


def _record():
    torch.cuda.memory._record_memory_history(
        max_entries=HISTORY_EVENTS, stacks="python"
    )
