"""torch.cuda's streams and events.  All work is complete when a call returns;
a tensor's stream decides where its memory is reused."""

import contextlib
import itertools

from larder import _streams
from larder.lab import session as _session
from larder.lab.kinds import Device

_numbers = itertools.count(1)


class Stream(_streams.Stream):
    """A stream of the device: a number."""

    def __init__(self, device=None, priority=0, stream_ptr=None):
        self.device = Device("cuda", 0)
        self.priority = priority
        self._before = []  # the streams to return to
        # The simulated device has this many; then they repeat, as in torch.
        self.cuda_stream = (
            next(_numbers) % 32 + 1 if stream_ptr is None else stream_ptr
        )

    stream_id = property(lambda self: self.cuda_stream)

    def __enter__(self):
        self._before.append(_session().set_stream(self.cuda_stream))
        return self

    def __exit__(self, *error):
        _session().set_stream(self._before.pop())


ExternalStream = Stream
Event = _streams.Event


def stream(stream):
    """None has no effect."""
    return contextlib.nullcontext() if stream is None else stream


def current_stream(device=None):
    return Stream(stream_ptr=_session().stream())


def default_stream(device=None):
    return Stream(stream_ptr=0)


def set_stream(stream):
    _session().set_stream(stream.cuda_stream)
