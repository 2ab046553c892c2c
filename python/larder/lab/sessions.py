"""Sessions: a simulated device with its allocator, and queries of both."""

import collections
import ctypes
import json
import os
import tempfile
from ctypes import byref, c_void_p

from larder._calls import initialized, memory_summary
from larder._library import DeviceProperties, Memory, Options, library
from larder.lab import stacks
from larder.lab.failures import InvalidError, check, check_allocator

_PANEL_COLOUR = 1
_PANEL_ASCII = 2

# The handle of the session in which new tensors are created, or None.  A list,
# so that readers need no call.
active = [None]
_session = None


class Session:
    """A simulated device and an allocator of its own.

    device   a spec, "sim:24GiB,backing=memory"
    policy   "pytorch", "direct", …
    conf     settings, "key:value,…"; without it LARDER_CONF, if set
    """

    def __init__(self, device=None, policy=None, conf=None, seed=0, threads=0):
        options = initialized(Options, library.lab_options_init_sized)
        if device is not None:
            options.device = device.encode()
        if policy is not None:
            parsed = ctypes.c_int()
            if library.larder_policy_parse(policy.encode(), byref(parsed)):
                raise InvalidError(f"{policy!r} is not a policy of the allocator")
            options.policy = parsed
        if conf is not None:
            options.conf = conf.encode()
        options.seed = seed
        options.threads = threads
        handle = c_void_p()
        check(library.lab_open(byref(options), byref(handle)))
        self.handle = handle.value

    @property
    def _allocator(self):
        return library.lab_allocator(self._open())

    def _ask(self, function, *arguments):
        """Call a function of the allocator."""
        check_allocator(function(self._allocator, *arguments))

    def _open(self):
        if self.handle is None:
            raise InvalidError("the session is closed")
        return self.handle

    def close(self):
        """Release everything.  Raises an error if tensors still exist."""
        global _session
        check(library.lab_close(self.handle))
        if _session is self:
            _session = active[0] = None
        self.handle = None

    def seed(self, number):
        library.lab_seed(self._open(), number & (2**64 - 1))

    # The memory in use.

    def memory(self):
        """The fields of lab_memory, in bytes."""
        memory = self.memory_struct()
        return {name: getattr(memory, name) for name, _ in Memory._fields_[1:]}

    def memory_struct(self):
        memory = initialized(Memory, library.lab_memory_init_sized)
        check(library.lab_memory_get(self._open(), byref(memory)))
        return memory

    def stats(self):
        """The allocator's statistics, under PyTorch's names."""
        text = _text(library.lab_memory_stats, self._open())
        pairs = (line.split() for line in text.splitlines())
        return collections.OrderedDict(
            (name, int(value)) for name, value in sorted(pairs)
        )

    def summary(self, abbreviated=False):
        """The table of torch.cuda.memory_summary()."""
        return memory_summary(library, self._allocator, abbreviated, check_allocator)

    def record(self, max_entries=None, with_stacks=True):
        """Start recording events with their Python stacks, for write_snapshot()."""
        stacks.start(self._open(), max_entries, with_stacks)

    def stop_recording(self):
        stacks.stop(self._open())

    def set_stream(self, number):
        """Set the stream of new tensors.  Returns the previous one."""
        return library.lab_set_stream(self._open(), number)

    def stream(self):
        return library.lab_stream(self._open())

    def note(self, text):
        """Attach this text to the following events, with a mark where it
        begins."""
        encoded = text.encode(errors="replace")
        # A mark that cannot be recorded is no reason to stop.
        library.larder_history_mark(self._allocator, encoded)
        library.larder_annotate(encoded)

    def end_note(self):
        """Attach no text to the events from now on."""
        library.larder_annotate(None)

    def write_snapshot(self, path):
        """Write the recorded events, segments and blocks: as JSON if the path
        ends in .json, otherwise as a pickle."""
        self._ask(library.larder_snapshot_write, os.fsencode(path), None)

    def history(self):
        """A snapshot with the recorded events, in PyTorch's format."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "snapshot.json")
            self.write_snapshot(path)
            with open(path, encoding="utf-8") as file:
                return json.load(file)

    def snapshot_text(self):
        """Segments and blocks as JSON."""
        return _text(library.lab_snapshot_json, self._open())

    def snapshot(self):
        """Segments and blocks, in PyTorch's snapshot format."""
        return json.loads(self.snapshot_text())

    def panel(
        self, statement, before=None, width=0, *, colour=False, ascii=False
    ):
        """A text that shows memory after `statement`, which may be None;
        `before` comes from memory_struct()."""
        return _text(
            library.lab_panel,
            self._open(),
            None if statement is None else statement.encode(errors="replace"),
            None if before is None else byref(before),
            width,
            (_PANEL_COLOUR if colour else 0) | (_PANEL_ASCII if ascii else 0),
        )

    def device_properties(self):
        props = DeviceProperties(size=ctypes.sizeof(DeviceProperties))
        device = library.lab_device(self._open())
        check_allocator(library.larder_device_get_props(device, byref(props)))
        return props

    # The possible remedies.

    def empty_cache(self):
        """Release cached memory to the device."""
        self._ask(library.larder_empty_cache)

    def set_memory_fraction(self, fraction):
        """Limit the memory held to this fraction of the device's."""
        self._ask(library.larder_set_memory_fraction, fraction)

    def memory_fraction(self):
        fraction = ctypes.c_double()
        self._ask(library.larder_memory_fraction, byref(fraction))
        return fraction.value

    def reset_peak(self):
        """Reset the peaks to the current values."""
        self._ask(library.larder_stats_reset_peak)

    def reset_accumulated(self):
        """Reset sums and counters to 0."""
        self._ask(library.larder_stats_reset_accumulated)

    # Whether operations are recorded for backward.

    def grad_enabled(self):
        return library.lab_grad_enabled(self._open())

    def set_grad_enabled(self, on):
        """Returns the previous state."""
        return library.lab_set_grad_enabled(self._open(), on)


def _text(function, *arguments):
    """The text from a C function that returns the length it needs."""
    length = function(*arguments, None, 0)
    room = ctypes.create_string_buffer(length + 1)
    function(*arguments, room, length + 1)
    return room.value.decode(errors="replace")


def use(session):
    """Create new tensors in this session from now on."""
    global _session
    active[0] = session._open()
    _session = session
    return session


def session():
    """The current session.  The first call opens it, on the device given by
    LARDER_LAB_DEVICE and with the policy LARDER_LAB_POLICY."""
    if _session is None:
        use(
            Session(
                os.environ.get("LARDER_LAB_DEVICE") or None,
                os.environ.get("LARDER_LAB_POLICY") or None,
            )
        )
    return _session


def opened():
    """The handle of session()."""
    return session().handle
