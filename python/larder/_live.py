"""A recorded program provides its snapshot to `larder top --serve` while it runs:
on an abstract socket, which disappears with the process, and only to the same user
(cli/top_recorded.c)."""

import os
import socket
import struct
import threading
import time

# The fraction of the program's time that may go into snapshots: it waits for them.
_SHARE = 0.02

# Seconds until the next attempt if no connection can be accepted.
_PAUSE = 0.2


def _is_ours(connection):
    said = connection.getsockopt(
        socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
    )
    return struct.unpack("3i", said)[1] == os.getuid()


def _end(connection):
    """Also closes it for a child that was forked meanwhile."""
    try:
        connection.shutdown(socket.SHUT_WR)
    except OSError:  # the other side has left
        pass


class Live:
    """Serves snapshots from its own thread; make() returns a snapshot's bytes."""

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
                except Exception:  # disconnected, or no snapshot yet
                    pass
                _end(connection)

    def _next(self):
        """The next connection; None: the socket is closed."""
        while self._socket.fileno() >= 0:
            try:
                return self._socket.accept()[0]
            except OSError:  # such as being out of descriptors, temporarily
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
        # CPU time: while this thread waits, the program runs.
        begun, is_first = time.thread_time(), self._fresh_until == 0
        self._said = b""
        try:
            self._said = self._make()
        finally:  # a failure takes time as well
            took = time.thread_time() - begun
            # The first snapshot makes PyTorch load modules, which takes 0.8 s,
            # once.
            wait = 0 if is_first else took / _SHARE
            self._fresh_until = time.monotonic() + wait
