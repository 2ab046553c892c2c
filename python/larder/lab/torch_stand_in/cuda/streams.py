"""torch.cuda's streams and events.  All work is complete when a call returns;
a tensor's stream decides where its memory is reused."""

import contextlib
import itertools
import time

from larder.lab import session as _session
from larder.lab.kinds import Device

_numbers = itertools.count(1)


class Stream:
    """A stream of the device: a number."""

    def __init__(self, device=None, priority=0, stream_ptr=None):
        self.device = Device("cuda", 0)
        self.priority = priority
        # The simulated device has this many; then they repeat, as in torch.
        self.cuda_stream = (
            next(_numbers) % 32 + 1 if stream_ptr is None else stream_ptr
        )

    stream_id = property(lambda self: self.cuda_stream)

    def wait_stream(self, stream):
        """No effect: its work is complete."""

    def wait_event(self, event):
        """No effect: the event has happened."""

    def record_event(self, event=None):
        event = event or Event()
        event.record(self)
        return event

    def synchronize(self):
        """No effect: its work is complete."""

    def query(self):
        return True

    def __enter__(self):
        self._was = _session().set_stream(self.cuda_stream)
        return self

    def __exit__(self, *error):
        _session().set_stream(self._was)

    def __eq__(self, other):
        return (
            isinstance(other, Stream) and other.cuda_stream == self.cuda_stream
        )

    def __hash__(self):
        return hash(self.cuda_stream)

    def __repr__(self):
        return (
            f"<torch.cuda.Stream device=cuda:0 "
            f"cuda_stream={self.cuda_stream:#x}>"
        )


ExternalStream = Stream


class Event:
    """A point in time; the time between two is measured on the CPU."""

    def __init__(
        self, enable_timing=False, blocking=False, interprocess=False
    ):
        self._time = None

    def record(self, stream=None):
        self._time = time.perf_counter()

    def wait(self, stream=None):
        """No effect: the event has happened."""

    def query(self):
        return True

    def synchronize(self):
        """No effect: the event has happened."""

    def elapsed_time(self, end_event):
        if self._time is None or end_event._time is None:
            raise RuntimeError("both events must be recorded first")
        return (end_event._time - self._time) * 1000


def stream(stream):
    """None has no effect."""
    return contextlib.nullcontext() if stream is None else stream


def current_stream(device=None):
    return Stream(stream_ptr=_session().stream())


def default_stream(device=None):
    return Stream(stream_ptr=0)


def set_stream(stream):
    _session().set_stream(stream.cuda_stream)
