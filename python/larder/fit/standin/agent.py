"""In a process of the program: waits for PyTorch, follows it, and writes what was
recorded."""

import atexit
import os
import sys
import time

from larder._after_import import after_import
from larder.fit.child import settings_of


_NOTED = "LARDER_RUN_NOTED"


def _note_sglang():
    """Print this once: the workers inherit the environment of the process that
    printed it."""
    if _NOTED not in os.environ:
        os.environ[_NOTED] = "sglang"
        print(
            "larder run: vLLM is the only serving engine that is ended when ready; "
            "SGLang runs to its own end, and no plan is printed",
            file=sys.stderr,
        )


class Agent:
    def __init__(self, options):
        self._options = options
        self._owner = os.getpid()
        self._began = time.monotonic()
        self._how = "ended"
        self._error = ""
        self._watch = None
        after_import("torch", self._torch_is_here)
        after_import("sglang.srt.server_args", _note_sglang)
        if options.pipe:
            from larder.fit.standin.vllm import Engine

            Engine(options, self._write_as)
        self._print = sys.excepthook
        sys.excepthook = self._note_exception

    def _note_exception(self, kind, value, trace):
        names = {one.__name__ for one in kind.__mro__}
        if "OutOfMemoryError" in names:
            self._how = "out of memory"
        elif kind is KeyboardInterrupt:
            self._how = "interrupted"
        else:
            self._how = "failed"
        lines = str(value).strip().splitlines()
        self._error = ": ".join([kind.__name__, *lines[:1]])
        self._print(kind, value, trace)

    def _torch_is_here(self):
        import torch

        if not getattr(torch.version, "cuda", None):
            return
        from larder.fit.standin.watching import Watch

        self._watch = Watch(self._options, self._stop)
        # Runs before the exit handlers of PyTorch and of the program.
        atexit.register(self._write)

    def _write(self):
        # A forked process has its parent's exit handlers.
        if os.getpid() != self._owner or self._watch is None:
            return
        watch, self._watch = self._watch, None
        from larder.fit.standin import results

        results.write(
            self._options, watch, self._how, self._error,
            time.monotonic() - self._began,
        )

    def _write_as(self, how):
        """Write the results of this process, which may be a fork of the first
        one."""
        self._owner = os.getpid()
        self._how = how
        self._write()

    def _stop(self):
        """Steps repeat.  No code of the program runs after this: it would continue
        with its work after training."""
        self._write_as("steady")
        children = sys.modules.get("multiprocessing")
        for child in children.active_children() if children else ():
            child.terminate()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(0)


def begin(path):
    Agent(settings_of(path))
