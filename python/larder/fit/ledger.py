"""Records allocations in order, each with its purpose.

Records are lists, because there are hundreds of thousands; the names below are
the indices of their fields.
"""

import sys
import threading

from larder._files import NewFile

# An allocation's record.
BYTES, STREAM, PHASE, MODULE, OPERATOR, FILE, LINE, KIND, STEP = range(9)

# Phases: what the program was doing.
OTHER, FORWARD, BACKWARD, OPTIMIZER = "other", "forward", "backward", "step"

# Kinds, once they are known.
PARAMETERS = "parameters"
BUFFERS = "buffers"
GRADIENTS = "gradients"
STATE = "optimizer state"
WORKSPACE = "workspaces"
TEMPORARY = "temporaries of operators"

_OWN = ("/larder/fit/", "/torch/", "<frozen", "/larder/torch/")


def innermost(places):
    """The first pair of file and line that belongs to the program."""
    for name, line in places:
        if not any(part in name for part in _OWN):
            return name, line
    return "", 0


def _places_from(frame):
    while frame is not None:
        yield frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back


def caller():
    """File and line of the innermost frame that belongs to the program."""
    return innermost(_places_from(sys._getframe(2)))


class Ledger:
    """`events`: n >= 0 for allocation n, ~n for its free, a text for a mark,
    and a pair (allocation, stream) for record_stream()."""

    def __init__(self):
        self.lock = threading.RLock()
        self.records = []
        self.events = []
        self.live = 0
        self.peak = 0

    def add(self, record):
        with self.lock:
            number = len(self.records)
            self.records.append(record)
            self.events.append(number)
            self.live += record[BYTES]
            self.peak = max(self.peak, self.live)
            return number

    def drop(self, number):
        with self.lock:
            self.events.append(~number)
            self.live -= self.records[number][BYTES]

    def mark(self, text):
        self.events.append(text)

    def recorded(self, number, stream):
        self.events.append((number, stream))

    def changes(self, begin=0):
        """Each event from that place on, with its change of the memory in use."""
        for event in self.events[begin:]:
            change = 0
            if isinstance(event, int):
                size = self.records[event if event >= 0 else ~event][BYTES]
                change = size if event >= 0 else -size
            yield event, change

    def at_peak(self):
        """The allocations that are live at the peak of requested bytes, and
        the one that reached it: (numbers, number)."""
        live, most, at = 0, 0, -1
        for position, (_, change) in enumerate(self.changes()):
            live += change
            if live > most:
                most, at = live, position
        alive = set()
        for event in self.events[: at + 1]:
            if isinstance(event, int):
                alive.add(event) if event >= 0 else alive.discard(~event)
        return alive, (self.events[at] if at >= 0 else None)

    def write_trace(self, path):
        """Write the events as a trace for larder-replay(1)."""
        with NewFile(path, encoding="utf-8") as out:
            for event in self.events:
                out.write(self._line(event))

    def _line(self, event):
        if isinstance(event, str):
            return f"m {event}\n"
        if isinstance(event, tuple):
            return f"r {event[0]} {event[1]}\n"
        if event < 0:
            return f"f {~event}\n"
        record = self.records[event]
        return f"a {event} {record[BYTES]} {record[STREAM]}\n"
