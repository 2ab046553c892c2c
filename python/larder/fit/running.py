"""Runs the program in a child process, once or several times."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from larder._files import NewFile
from larder.fit import cards, engines, replays
from larder.fit.standin.engine import StandInEngine

# A device on which everything fits, to find out how much is needed.
ROOMY = "sim:4TiB"

# A GPU that fake tensors do not use.
_UNUSED = "80GiB,backing=none"

# How long the program may take to clean up after a signal.
_PATIENCE_SECONDS = 10

# The exit status of a child that could not start, and has reported why.
NOT_BEGUN = 2

# What differs between runs: a file to write; changes (larder.fit.changes); other
# values for names of the script, and for a serving engine's arguments; the number of
# steps, None for that of the options.
_GIVEN = {
    "snapshot": "", "changes": (), "numbers": {}, "engine_arguments": {}, "steps": None,
}

# The results of a program that left none.
_NOTHING = {
    "how": "failed", "steps": 0, "repeats": False, "grows_bytes_per_step": 0,
    "requests": 0, "peak_requested_bytes": 0, "peak_allocated_bytes": 0,
    "peak_reserved_bytes": 0, "peak": None, "kinds": [], "lines": [],
    "modules": [], "by_step": [], "world_size": 1, "groups": [],
    "optimizer": "", "changes_made": {}, "made_up": [],
    "assumed": [],
}


class Failed(Exception):
    """The program could not be started; carries its exit status."""


class Interrupted(Exception):
    """A run among several was interrupted."""


@contextlib.contextmanager
def _deaf():
    """Leaves Ctrl-C to the program, which it ends and which is then reported. This
    is a function because an ignored signal would be ignored by the program as
    well."""
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end(child):
    child.terminate()
    try:
        child.wait(_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _alone(child):
    """A context for a program whose messages nobody reads."""
    return contextlib.nullcontext()


def wait(words, listen=_alone, **how):
    """Run a command.  Returns its exit status; it is ended if this process is
    signalled.  `listen(child)` is a context."""
    with _deaf(), subprocess.Popen(words, **how) as child:
        try:
            with listen(child):
                return child.wait()
        except BaseException:
            _end(child)
            raise


def _last_line(file):
    file.seek(0)
    lines = [line.strip() for line in file if line.strip()]
    return lines[-1].decode(errors="replace") if lines else ""


class Runner:
    """Runs of one program, with a temporary folder for their files."""

    def __init__(self, options, card, engine, kind):
        self._options = options
        self._card = card
        self._kind = kind
        self._engine = _ENGINES[engine](options, card)
        self._name = engine
        self._serving_bytes = cards.serving_bytes(options.cards)
        self._folder = tempfile.TemporaryDirectory(prefix="larder-run-")
        self._count = 0

    def close(self):
        self._folder.cleanup()

    def file(self, name):
        """The path of a file that lasts as long as the runner."""
        return os.path.join(self._folder.name, f"{name}{self._count}")

    def _settings(self, device, arguments, given):
        options = self._options
        if given["steps"] is None:
            given["steps"] = options.steps
        return {
            **vars(options),
            **self._card._asdict(),
            **given,
            "device": device,
            "kind": self._kind,
            "on_item": options.on_item or "one",
            "arguments": options.arguments if arguments is None else arguments,
            "serving_bytes": self._serving_bytes,
            "ranks_given": "LARDER_NCCL" in os.environ,
            **{name: self.file(name) for name in ("pipe", "pickle", "trace", "result")},
        }

    def run(self, device, arguments=None, quiet=False, **given):
        """The results of a run, with the path of its trace.  `quiet`: its output is
        not shown; `given`: see _GIVEN."""
        self._count += 1
        settings = self._settings(device, arguments, {**_GIVEN, **given})
        path = self.file("settings")
        with NewFile(path, encoding="utf-8") as file:
            json.dump(settings, file)
        began = time.monotonic()
        words, environment = self._engine.start(settings, path)
        how = {
            "env": {**os.environ, **environment},
            "listen": lambda child: self._engine.listen(child, settings),
        }
        status, error = self._start(words, how, quiet)
        told = self._told(status, error, settings)
        told.setdefault("seconds", time.monotonic() - began)
        return told

    def _start(self, words, how, quiet):
        """Returns the exit status, and the last line of the errors if they
        are not shown."""
        if not quiet:
            # Only the report is on the standard output of --json.
            aside = self._options.json and self._options.json_file is None
            return wait(words, stdout=sys.stderr if aside else None, **how), ""
        with tempfile.TemporaryFile() as errors:
            status = wait(words, stdout=subprocess.DEVNULL, stderr=errors, **how)
            return status, _last_line(errors)

    def _told(self, status, error, settings):
        told = self._engine.told(status, settings)
        if told is None:
            if status == NOT_BEGUN and self._name == engines.FAKE:
                raise Failed(status, error)
            told = dict(_NOTHING, how="failed" if status else "ended")
            if status < 0 or status > 128:
                told["error"] = _signal_name(status)
        for name, value in _NOTHING.items():
            told.setdefault(name, value)
        told.setdefault("trace", settings["trace"])
        told["device"] = settings["device"]
        told["engine"] = self._name
        told["ran_out"] = told["how"] == "out of memory"
        if error and not told.get("error"):
            told["error"] = error
        return told


def _signal_name(status):
    try:
        return signal.Signals(-status if status < 0 else status - 128).name
    except ValueError:
        return f"exit status {status}"


class FakeEngine:
    """Runs larder.fit.child, which runs the program."""

    def __init__(self, options, card):
        # A PyTorch with CUDA needs libraries that may be missing.
        build = engines.torch_build()
        self._before = []
        if build is not None and build[1] is not None:
            self._before = [
                replays.command(), "exec", "--quiet", "--sim", _UNUSED, "--",
            ]

    def start(self, settings, path):
        """The words to run, and more of the environment."""
        return [
            *self._before, sys.executable, "-m", "larder.fit.child", path
        ], {}

    def listen(self, child, settings):
        return _alone(child)

    def told(self, status, settings):
        """The results, or None."""
        try:
            with open(settings["result"], encoding="utf-8") as file:
                return json.load(file)
        except OSError:
            return None


_ENGINES = {engines.FAKE: FakeEngine, engines.STAND_IN: StandInEngine}
