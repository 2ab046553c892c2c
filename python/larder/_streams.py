"""Streams and events of a GPU whose work is complete when a call returns."""

import time


class Stream:
    """A stream: a number, `cuda_stream`."""

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


class Event:
    """A point in time; the time between two is measured on the CPU."""

    def __init__(
        self, enable_timing=False, blocking=False, interprocess=False, external=False
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
