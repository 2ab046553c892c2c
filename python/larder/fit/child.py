"""The process that runs the program: python3 -m larder.fit.child SETTINGS

SETTINGS is a JSON file written by larder.fit.  The results go to the file that
it names.
"""

import json
import os
import runpy
import signal
import sys
import threading
import time
import traceback
import types


def settings_of(path):
    with open(path, encoding="utf-8") as file:
        options = types.SimpleNamespace(**json.load(file))
    options.capability = tuple(options.capability)
    return options


class Run:
    def __init__(self, options):
        from larder.fit import (
            changes,
            compiler,
            composites,
            distributed,
            gpu,
            guard,
            recurrent,
            saving,
            tensors,
            torch_cuda,
        )
        from larder.fit.ledger import Ledger
        from larder.fit.mode import GpuMode
        from larder.fit.peaks import Peaks
        from larder.fit.phases import Phases
        from larder.fit.steps import Watcher
        from larder.torch import statistics

        self.options = options
        compiler.install()
        gpu.open_device(options.device, options.policy, options.conf)
        if options.snapshot:
            gpu.record()
        self.book = Ledger()
        self.mode = GpuMode(self.book, options)
        self.watcher = Watcher(self.book, options.steps)
        # This tries out PyTorch's engine while PyTorch is unmodified.
        guard.install()
        tensors.install()
        # Before torch.cuda gets them.
        self.peaks = Peaks(statistics, ["reset_peak_memory_stats"])
        torch_cuda.install(self.mode.storages, options, self.mode.unsupported)
        composites.install(options)
        recurrent.install()
        saving.install()
        if self.mode.unread is not None:
            self.mode.unread.install()
        # Before the phases, so that their hooks run after those of the changes.
        self.changes = changes.Changes(options.changes, options.capability)
        self.phases = Phases(
            self.mode.storages, self.watcher, self.changes.before_backward
        )
        self.phases.install()
        self.distributed = distributed.Distributed(options.world_size)
        _in_threads(self.mode)

    def program(self):
        """Run the program.  Returns how it ended: a word, and the lines of an
        exception."""
        from larder.fit.phases import SteadyState

        try:
            with self.mode:
                _run_program(self.options)
        except SteadyState:
            return "steady", None
        except KeyboardInterrupt:
            return "interrupted", None
        except SystemExit as stop:
            return ("ended" if stop.code in (None, 0) else "failed"), (
                None if isinstance(stop.code, (int, type(None))) else str(stop.code)
            )
        except BaseException as error:
            import torch

            text = "".join(_program_lines(error))
            self.mode.unsupported.note(error)
            memory = isinstance(error, torch.cuda.OutOfMemoryError)
            return ("out of memory" if memory else "failed"), text
        return "ended", None


def _program_lines(error):
    """The traceback without frames that do not belong to the program."""
    summary = traceback.TracebackException.from_exception(error)
    for part in (summary, summary.__cause__, summary.__context__):
        if part is not None:
            part.stack = traceback.StackSummary.from_list(
                [f for f in part.stack if not _is_ours(f.filename)]
            )
    return summary.format()


def _is_ours(name):
    return (
        "/larder/fit/" in name
        or name.startswith("<frozen runpy")
        or "/torch/_subclasses/" in name
        or name.endswith("/torch/utils/_python_dispatch.py")
    )


def _in_threads(mode):
    """Make the program's own threads use the GPU too."""
    run = threading.Thread.run

    def with_mode(self):
        with mode:
            run(self)

    threading.Thread.run = with_mode


def _run_program(options):
    from larder.fit import changed

    sys.argv = [options.script, *options.arguments]
    if options.module:
        runpy.run_module(options.script, run_name="__main__", alter_sys=True)
        return
    if options.kind == "notebook":
        changed.run_notebook(options.script, options.arguments)
        return
    sys.path.insert(0, os.path.dirname(os.path.abspath(options.script)))
    if options.numbers:
        changed.run_script(options.script, options.numbers)
    else:
        runpy.run_path(options.script, run_name="__main__", init_globals=None)


def main():
    options = settings_of(sys.argv[1])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run = Run(options)
    except (ImportError, ValueError, RuntimeError) as error:
        print(f"larder run: {error}", file=sys.stderr)
        return 2
    parent = os.getpid()
    began = time.monotonic()
    how, why = run.program()
    if run.mode.unsupported.why and how != "out of memory":
        how = "failed"
    if os.getpid() != parent:
        return 0  # a worker process of the program that has ended
    from larder.fit import outcome

    if why:
        print(why, file=sys.stderr, end="" if why.endswith("\n") else "\n")
    outcome.write(run, how, time.monotonic() - began)
    return 0


if __name__ == "__main__":
    _status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # The rest of the program must not continue without its GPU.
    os._exit(_status)
