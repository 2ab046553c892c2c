"""A recorded program hands out its snapshot while it runs, to `larder top
--serve`: on an abstract socket, which goes when the process does, and to the
same user alone (cli/top_recorded.h)."""

import os
import socket
import struct
import threading
import time

# Of the program's time, for making snapshots: it waits for them.
_SHARE = 0.02

# Seconds until the next try, where no connection can be had.
_PAUSE = 0.2


def _is_ours(connection):
    said = connection.getsockopt(
        socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
    )
    return struct.unpack("3i", said)[1] == os.getuid()


def _end(connection):
    """A child that was forked meanwhile has it open, too."""
    try:
        connection.shutdown(socket.SHUT_WR)
    except OSError:  # the other side has left
        pass


class Live:
    """Answers from a thread of its own; make() returns the snapshot's bytes."""

    def __init__(self, make):
        self._make = make
        self._said = b""
        self._fresh_until = 0.0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(f"\0larder-live-{os.getuid()}-{os.getpid()}")
        self._socket.listen(4)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def close(self):
        """In a forked child, which has no such thread."""
        self._socket.close()

    def _serve(self):
        while (connection := self._next()) is not None:
            with connection:
                try:
                    self._answer(connection)
                except Exception:  # one that left, or no snapshot just now
                    pass
                _end(connection)

    def _next(self):
        """The next connection; None: the socket is closed."""
        while self._socket.fileno() >= 0:
            try:
                return self._socket.accept()[0]
            except OSError:  # such as no descriptor left, for now
                time.sleep(_PAUSE)
        return None

    def _answer(self, connection):
        if not _is_ours(connection):
            return
        if time.monotonic() >= self._fresh_until:
            self._renew()
        connection.settimeout(30)
        connection.sendall(self._said)

    def _renew(self):
        # Of the processor: what this thread waits for is the program.
        begun, is_first = time.thread_time(), self._fresh_until == 0
        self._said = b""
        try:
            self._said = self._make()
        finally:  # a failure takes its time, too
            took = time.thread_time() - begun
            # For the first PyTorch loads what it needs, 0.8 s, once.
            wait = 0 if is_first else took / _SHARE
            self._fresh_until = time.monotonic() + wait
