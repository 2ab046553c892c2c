"""Receives messages from the processes of a program through a named pipe, and ends
them when a serving engine is ready."""

import json
import os
import signal
import threading

# How long processes may take to end on their own.
_PATIENCE_SECONDS = 5
_BYTES = 1 << 16


def _parents():
    """process -> its parent, for all processes."""
    found = {}
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                # The command's name, in parentheses, can have blanks.
                found[int(name)] = int(file.read().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue  # it has ended
    return found


def _descendants(process):
    parents = _parents()
    found, new = set(), {process}
    while new:
        new = {one for one, parent in parents.items() if parent in new} - found
        found |= new
    return found


def _kill(processes, number):
    for process in processes:
        try:
            os.kill(process, number)
        except ProcessLookupError:
            pass


class Listener:
    """`child` is the process that started the program; it is not ended, so that it
    can report."""

    def __init__(self, path, plan, child, until_ready):
        self._plan = plan
        self._child = child
        self._until_ready = until_ready
        # Also open for writing, so that it never reaches its end.
        self._pipe = os.open(path, os.O_RDWR)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *why):
        self._over.set()
        os.write(self._pipe, b"\n")
        self._thread.join()
        os.close(self._pipe)

    def _listen(self):
        rest = b""
        while True:
            *lines, rest = (rest + os.read(self._pipe, _BYTES)).split(b"\n")
            for line in filter(None, lines):
                self._plan.note(json.loads(line))
            if self._over.is_set():
                return
            if self._plan.is_ready and self._until_ready:
                self._until_ready = False
                self._end()

    def _end(self):
        """End all of them together, before one can report another's end."""
        processes = _descendants(self._child.pid)
        _kill(processes, signal.SIGTERM)
        self._over.wait(_PATIENCE_SECONDS)
        _kill(processes & set(_parents()), signal.SIGKILL)
