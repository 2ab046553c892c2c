"""larder._live: a program's snapshot is handed out, whatever the program does."""

import errno
import os
import signal
import socket
import time
import unittest
from unittest import mock

import lab_case

from larder._live import Live


class Full(socket.socket):
    """Without a descriptor for the first connections."""

    refusals = 2

    def accept(self):
        if Full.refusals > 0:
            Full.refusals -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


class Answers(unittest.TestCase):
    names = 0

    def start(self, make):
        """A name of its own: one that waits is not gone when it is closed."""
        Answers.names += 1
        number = f"{os.getpid()}-{Answers.names}"
        with mock.patch("os.getpid", lambda: number):
            live = Live(make)
        self.addCleanup(live.close)
        self.name = f"\0larder-live-{os.getuid()}-{number}"

    def ask(self):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(self.name)
            return b"".join(iter(lambda: connection.recv(1 << 16), b""))

    def fork(self):
        """A child that has all that is open here, for as long as it lives."""
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        self.addCleanup(os.waitpid, child, 0)
        self.addCleanup(os.kill, child, signal.SIGKILL)

    def test_a_child_does_not_keep_who_asks_waiting(self):
        def make():
            self.fork()
            return b"said"

        self.start(make)
        self.assertEqual(self.ask(), b"said")

    def test_a_child_of_a_failure_does_not_either(self):
        def make():
            self.fork()
            raise RuntimeError("no snapshot today")

        self.start(make)
        self.assertEqual(self.ask(), b"")

    def test_failures_take_no_more_of_the_time(self):
        tries = []

        def make():
            tries.append(time.thread_time())
            while time.thread_time() < tries[-1] + 0.1:
                pass
            raise RuntimeError("no snapshot today")

        self.start(make)
        for _ in range(4):
            self.assertEqual(self.ask(), b"")
        # The first is for what PyTorch loads then.
        self.assertEqual(len(tries), 2)

    def test_an_old_snapshot_is_not_said_for_a_failure(self):
        def make():
            begun = time.thread_time()
            while time.thread_time() < begun + 0.1:
                pass
            return said.pop()

        said = [b"said"]
        self.start(make)
        self.assertEqual([self.ask() for _ in range(3)], [b"said", b"", b""])

    def test_it_goes_on_when_there_was_no_descriptor(self):
        with mock.patch("socket.socket", Full):
            self.start(lambda: b"said")
        self.assertEqual(self.ask(), b"said")
        self.assertEqual(Full.refusals, 0)


if __name__ == "__main__":
    lab_case.main()
