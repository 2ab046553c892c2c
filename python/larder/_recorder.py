"""In each process of a program under larder.record: waits for PyTorch, records,
writes the snapshot and says what is in it.

The program notices nothing: its exit status, its standard output and the handlers
of signals that it sees are its own, and a failure here is only reported on the
standard error.
"""

import atexit
import functools
import inspect
import json
import os
import pickle
import signal
import sys
import threading
import traceback

from larder._after_import import after_import

# Set by the process that has CUDA, for those that it starts.
_OWNER = "LARDER_RECORD_OWNER"

# How launchers pass a process its rank and the world size.
_RANKS = (
    ("RANK", "WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
)

_NO_CUDA = (
    "this PyTorch was built without CUDA: there is nothing to record; `larder run` "
    "estimates what the program needs on a GPU"
)

# Programs that use no GPU themselves.
_LAUNCHERS = ("torch.distributed.launcher", "accelerate.commands.launch")


def _say(text):
    # Not print(): the program may have put something else in its place.
    try:
        os.write(2, f"larder: {text}\n".encode(errors="replace"))
    except OSError:
        pass


def _harmless(function):
    """Reports any failure and lets the program continue."""

    @functools.wraps(function)
    def guarded(*args):
        try:
            return function(*args)
        except Exception as error:
            _say(f"not recorded: {error or type(error).__name__}")
            if "LARDER_RECORD_DEBUG" in os.environ:
                traceback.print_exc()

    return guarded


def _rank():
    """The rank of this process, or None."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available():
        if distributed.is_initialized():
            many = distributed.get_world_size() > 1
            return distributed.get_rank() if many else None
    for rank, count in _RANKS:
        said = os.environ.get(rank, ""), os.environ.get(count, "")
        if all(one.isdecimal() for one in said) and int(said[1]) > 1:
            return int(said[0])
    return None


def _first_lines(path):
    """The verdict, as `larder report` prints it."""
    from larder._command import ask

    said = ask("report", path)
    return said.split("\n\n", 1)[0].partition("\n")[2]


class Recorder:
    def __init__(self, settings):
        self._settings = settings
        self._heard = (signal.SIGTERM, settings["signal"])
        self._handler = self._signalled  # a single object, so that it can be identified
        self._getsignal = signal.getsignal
        self._reset()
        after_import("torch", self._torch_is_here)

    def _reset(self):
        self._live = None
        self._is_recording = False
        self._is_over = False
        self._signals = 0
        self._ooms = 0
        self._written = None

    # ---- beginning ----

    @_harmless
    def _torch_is_here(self):
        import torch

        if not getattr(torch.version, "cuda", None) and not getattr(
            torch.version, "hip", None
        ):
            if os.getpid() == self._settings["main"]:
                _say(_NO_CUDA)
            return
        atexit.register(self._finish)
        os.register_at_fork(after_in_child=self._forked)
        # Children of multiprocessing exit without running atexit's functions.
        from multiprocessing import util

        util.register_after_fork(self, Recorder._finish_with_the_child)
        self._listen()
        # Only the program initializes CUDA, if anything does.
        torch.cuda._lazy_call(self._begin)

    @_harmless
    def _begin(self):
        import torch

        self._claim()
        record = torch.cuda.memory._record_memory_history
        if "max_entries" in inspect.signature(record).parameters:
            record(
                context="alloc",
                stacks=self._settings["stacks"],
                max_entries=self._settings["entries"],
            )
        else:  # PyTorch 2.0
            record(
                True,
                trace_alloc_max_entries=self._settings["entries"],
                trace_alloc_record_context=True,
                record_context_cpp=self._settings["stacks"] == "all",
            )
        self._is_recording = True
        torch._C._cuda_attach_out_of_memory_observer(self._ran_out)
        if self._settings["live"]:
            self._show_live()

    def _show_live(self):
        from larder._live import Live

        try:
            self._live = Live(self._snapshot)
        except OSError as error:  # the name is taken
            _say(f"it is not shown as it runs: {error}")
            return
        _say(f"`larder top --serve` shows process {os.getpid()} as it runs")

    @staticmethod
    def _snapshot():
        import torch

        return pickle.dumps(torch.cuda.memory._snapshot(), protocol=4)

    def _claim(self):
        """Claim the file's name for this process, unless the process that started
        it uses CUDA as well."""
        owner = os.environ.setdefault(_OWNER, str(os.getpid()))
        self._is_first = owner == str(os.getpid())

    @_harmless
    def _forked(self):
        """In a forked child: CUDA that was initialized before the fork cannot be
        used."""
        begun, live = self._is_recording, self._live
        self._reset()
        if live is not None:
            live.close()
        if begun:
            self._is_over = True
            for number in self._heard:
                if self._getsignal(number) is self._handler:
                    signal.signal(number, signal.SIG_DFL)

    def _finish_with_the_child(self):
        from multiprocessing import util

        util.Finalize(None, self._finish, exitpriority=100)

    # ---- signals ----

    @_harmless
    def _listen(self):
        if threading.current_thread() is not threading.main_thread():
            return
        for number in self._heard:
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, self._handler)
        self._hide("signal")
        self._hide("getsignal")

    def _hide(self, name):
        """Hides our signal handler from the program: some set theirs only if there
        is none."""
        original = getattr(signal, name)

        @functools.wraps(original)
        def seen(*args, **kwargs):
            found = original(*args, **kwargs)
            return signal.SIG_DFL if found is self._handler else found

        setattr(signal, name, seen)

    def _signalled(self, number, frame):
        if number == signal.SIGTERM:
            self._finish()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        else:
            self._signals += 1
            self._write(f"-signal{self._signals}")

    # ---- writing ----

    def _path(self, more=""):
        stem, ending = os.path.splitext(self._settings["file"])
        rank, pid = _rank(), os.getpid()
        if rank is not None:
            stem += f"-rank{rank}"
        if not self._is_first or (
            rank is None and pid != self._settings["main"]
        ):
            stem += f"-{pid}"
        return f"{stem}{more}{ending}"

    @_harmless
    def _write(self, more="", tell=True):
        if not self._is_recording:
            return
        from larder._files import NewFile

        path = self._path(more)
        snapshot = self._snapshot()
        with NewFile(path, "wb") as file:
            file.write(snapshot)
        _say(f"wrote {os.path.relpath(path)}")
        if more:
            self._tell(path)
        else:
            self._written = path

    @_harmless
    def _ran_out(self, *_):
        """Called by PyTorch when memory runs out, whether or not the error is
        caught."""
        self._ooms += 1
        if self._ooms == 1:
            self._write()

    def _died_of_it(self):
        """Whether the program ended by a later failed request than the first one,
        which was caught."""
        if self._ooms < 2:
            return False
        last = getattr(sys, "last_value", None)
        return "OutOfMemoryError" in {k.__name__ for k in type(last).__mro__}

    @_harmless
    def _finish(self):
        if self._is_over:
            return
        self._is_over = True
        always = self._settings["always"]
        if (always and not self._ooms) or self._died_of_it():
            self._write()
        # Of many ranks only the first prints, and those that ran out of memory.
        if not self._ooms and _rank():
            return
        if self._written is not None:
            self._tell(self._written)
        elif os.getpid() == self._settings["main"]:
            self._say_why_nothing()

    def _say_why_nothing(self):
        if not self._is_recording:
            if not any(name in sys.modules for name in _LAUNCHERS):
                _say("no GPU was used: nothing was recorded")
        elif not self._settings["always"] and not self._ooms:
            _say("memory did not run out: nothing was written")

    @_harmless
    def _tell(self, path):
        os.write(2, (_first_lines(path) + "\n").encode(errors="replace"))


@_harmless
def begin(settings):
    Recorder(json.loads(settings))
