"""Runs the program in a child process, once or several times."""

import json
import os
import signal
import subprocess
import sys
import tempfile

from larder._files import NewFile

# A device on which everything fits, to find out how much is needed.
ROOMY = "sim:4TiB"


class Failed(Exception):
    """The program could not be started; carries its exit status."""


class Runner:
    """Runs of one program, with a temporary folder for their files."""

    def __init__(self, options, card):
        self._options = options
        self._card = card
        self._folder = tempfile.TemporaryDirectory(prefix="larder-run-")
        self._count = 0

    def close(self):
        self._folder.cleanup()

    def _file(self, name):
        return os.path.join(self._folder.name, f"{name}{self._count}")

    def _settings(self, device, arguments, snapshot, changes, numbers):
        given = self._options
        return {
            "device": device,
            "policy": given.policy,
            "conf": given.conf,
            "on_item": given.on_item,
            "real_cpu": given.real_cpu,
            "world_size": given.world_size,
            "steps": given.steps,
            "module": given.module,
            "script": given.script,
            "arguments": arguments,
            "changes": list(changes),
            "numbers": dict(numbers),
            "snapshot": snapshot,
            "trace": self._file("trace"),
            "result": self._file("result"),
            "card_name": self._card.name,
            "total_bytes": self._card.total_bytes,
            "context_bytes": self._card.context_bytes,
            "capability": list(self._card.capability),
            "multiprocessors": self._card.multiprocessors,
        }

    def run(
        self, device, arguments=None, quiet=False, snapshot="", changes=(),
        numbers=(),
    ):
        """The results of a run, with the path of its trace.  `changes`: see
        larder.fit.changes; `numbers`: other values for names of the script."""
        self._count += 1
        if arguments is None:
            arguments = self._options.arguments
        settings = self._settings(device, arguments, snapshot, changes, numbers)
        path = self._file("settings")
        with NewFile(path, encoding="utf-8") as file:
            json.dump(settings, file)
        sink = subprocess.DEVNULL if quiet else None
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            done = subprocess.run(
                [sys.executable, "-m", "larder.fit.child", path],
                stdout=sink,
                stderr=sink,
                check=False,
            )
        finally:
            signal.signal(signal.SIGINT, before)
        return self._told(done.returncode, settings)

    def _told(self, status, settings):
        try:
            with open(settings["result"], encoding="utf-8") as file:
                told = json.load(file)
        except OSError:
            raise Failed(status if status == 2 else 1) from None
        told["trace"] = settings["trace"]
        told["device"] = settings["device"]
        return told
