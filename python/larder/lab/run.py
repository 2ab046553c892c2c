"""python3 -m larder.lab.run [options] FILE.py|FILE.ipynb [ARG…]

Runs a listing or a notebook that was written for PyTorch, and shows after every
cell (`#%%`), or every statement or step, the state of memory.
"""

import argparse
import importlib.util
import json
import os
import sys

from larder._leaving import exit_status
from larder._plain import plain
from larder.lab import LabError, Session, use
from larder.lab.listing import Listing, describe
from larder.lab.notebook import Notebook, NotebookError
from larder.lab.sizes import size
from larder.lab.torch_stand_in.installing import install
from larder.lab.torch_stand_in.optim import optimizer as _optimizer


def _parser():
    parser = argparse.ArgumentParser(
        prog="larder lab run",
        description="Run a listing written for PyTorch in the lab.",
    )
    add = parser.add_argument
    add(
        "--device",
        metavar="SPEC",
        help="the simulated GPU; default: sim:24GiB,backing=memory",
    )
    add("--policy", metavar="NAME", help="how memory is chosen")
    add("--conf", metavar="SETTINGS", help="the allocator's settings, key:value,…")
    add(
        "--each-statement",
        action="store_true",
        help="show memory after every statement, not after every cell",
    )
    add(
        "--each-step",
        action="store_true",
        help="show a line after every step of an optimizer",
    )
    add("--no-panel", action="store_true", help="show nothing")
    add("--json", action="store_true", help="print one JSON object per line")
    add(
        "--snapshot",
        metavar="FILE",
        help="write the final state of memory, as JSON or, for the ending .pickle, "
        "as PyTorch does",
    )
    add("--width", type=int, default=0, metavar="N", help="columns")
    add("--colour", action="store_true", help="with colours")
    add("--ascii", action="store_true", help="draw bars in ASCII")
    add("file", metavar="FILE")
    add("arguments", metavar="ARG", nargs=argparse.REMAINDER)
    return parser


class _Shower:
    """Prints to stderr what a cell has changed."""

    def __init__(self, session, options):
        self._session = session
        self._options = options
        self._before = session.memory_struct()
        self._width = options.width
        self._steps = 0
        encoding = (sys.stderr.encoding or "ascii").lower()
        self._ascii = options.ascii or encoding not in ("utf-8", "utf8")
        if not self._width and sys.stderr.isatty():
            self._width = os.get_terminal_size(sys.stderr.fileno()).columns

    def step(self, optimizer):
        """Print a line for an iteration: the memory after it."""
        self._steps += 1
        figures = self._session.memory()
        if self._options.json:
            line = json.dumps({"step": self._steps, **figures})
        else:
            line = f"step {self._steps}: " + ", ".join(
                f"{name} {size(figures[key])}"
                for name, key in (
                    ("allocated", "allocated_bytes"),
                    ("peak", "allocated_peak"),
                    ("reserved", "reserved_bytes"),
                )
            )
        sys.stdout.flush()
        sys.stderr.write(line + "\n")

    def end(self):
        """Print a note if lines per iteration were requested but there were
        none."""
        if self._options.each_step and not self._steps:
            print(
                "larder lab run: no optimizer took a step: nothing to show "
                "for --each-step",
                file=sys.stderr,
            )

    def start(self, cell):
        self._before = self._session.memory_struct()
        if self._options.snapshot:
            self._session.note(cell.text.strip())

    def show(self, cell, error=None):
        # Flush the listing's output first, in case both go to the same place.
        try:
            sys.stdout.flush()
        except (OSError, ValueError):
            pass
        if self._options.json:
            text = self._line(cell, error)
        elif self._options.no_panel:
            return
        else:
            text = self._session.panel(
                cell.text,
                self._before,
                self._width,
                colour=self._options.colour,
                ascii=self._ascii,
            )
        sys.stderr.write(text)
        sys.stderr.flush()

    def _line(self, cell, error):
        figures = {"statement": cell.text, "line": cell.line}
        figures.update(self._session.memory())
        figures["error"] = (
            None if error is None else f"{type(error).__name__}: {error}"
        )
        return json.dumps(figures) + "\n"


def _run_cell(listing, cell, shower):
    """Run a cell.  Returns None, or the exit status if the program ended."""
    shower.start(cell)
    status = told = error = None
    try:
        listing.run(cell)
    except SystemExit as stop:
        status = exit_status(stop)
    except KeyboardInterrupt as stop:
        status, error = 130, stop
    except BaseException as stop:
        status, error = 1, stop
    if error is not None:
        told = describe(error)
        # Its frames hold the listing's tensors; the panel must show what
        # remains.
        error.__traceback__ = None
    if told:
        sys.stdout.flush()
        sys.stderr.write(told)
    shower.show(cell, error)
    return status


def _refuse(why):
    print(f"larder lab run: {plain(why)}", file=sys.stderr)
    return 2


def _has_torch():
    """Whether PyTorch is installed in the listing's environment."""
    try:
        return importlib.util.find_spec("torch") is not None
    except (ImportError, ValueError):
        return False


def _mention_fit(options):
    """Mention `larder run`, which follows every allocation, if PyTorch is
    installed."""
    if _has_torch() and not options.no_panel and not options.json:
        print(
            "larder lab run: PyTorch is installed: `larder run` runs this program "
            "under PyTorch itself and follows each allocation (docs/FIT.md)",
            file=sys.stderr,
        )


def run(options):
    """Run a listing.  Returns the exit status."""
    _mention_fit(options)
    try:
        session = use(Session(options.device, options.policy, options.conf))
    except LabError as error:
        return _refuse(error)
    install()
    if options.snapshot:
        session.record()
    kind = Notebook if options.file.endswith(".ipynb") else Listing
    try:
        listing = kind(
            options.file, options.arguments, options.each_statement
        )
    except OSError as error:
        return _refuse(f"{options.file}: {error.strerror}")
    except NotebookError as error:
        return _refuse(f"{options.file}: {error}")
    except UnicodeDecodeError as error:
        return _refuse(
            f"{options.file}: byte {error.start} is not {error.encoding}"
        )
    except SyntaxError as error:
        # The parser's position when it noticed the error does not help, nor
        # does what it tried before.
        error.__suppress_context__ = True
        sys.stderr.write(describe(error.with_traceback(None)))
        return 2
    shower = _Shower(session, options)
    if options.each_step:
        _optimizer.after_step.append(shower.step)
    status = None
    for cell in listing.cells:
        status = _run_cell(listing, cell, shower)
        if status is not None:
            break
    shower.end()
    if options.snapshot:
        try:
            session.write_snapshot(options.snapshot)
        except LabError as error:
            return _refuse(error)
    return status or 0


def main():
    return run(_parser().parse_args())


if __name__ == "__main__":
    # The listing becomes __main__, but the modules running here must stay
    # alive.
    _kept = sys.modules["__main__"]
    sys.exit(main())
