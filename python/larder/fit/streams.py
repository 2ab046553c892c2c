"""Streams and events without any work.  Larder tracks the memory they keep in
use."""

import torch

from larder import _streams

_NUMBERS = 32  # PyTorch cycles through this many of its own


class Stream(_streams.Stream):
    _made = 0

    def __init__(self, device=None, priority=0, **kwargs):
        self.device = torch.device("cuda", 0)
        self.device_index = 0
        self.device_type = 1
        self.priority = priority
        number = kwargs.get("stream_id")
        if number is None:
            number = 1 + Stream._made % _NUMBERS
            Stream._made += 1
        self.stream_id = self.cuda_stream = number

    def is_capturing(self):
        return False

    def __enter__(self):
        self._context = torch.cuda.stream(self)
        self._context.__enter__()
        return self

    def __exit__(self, *exception):
        self._context.__exit__(*exception)


Event = _streams.Event


class Current:
    """The current stream, on which operators are queued."""

    def __init__(self, storages):
        self._storages = storages
        self.stream = self.default = Stream(stream_id=0)

    def set(self, stream):
        if stream is None:
            return
        self.stream = stream
        self._storages.stream = stream.stream_id


current = None  # a Current
