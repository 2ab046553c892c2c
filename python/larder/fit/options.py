"""The options of `larder run`."""

import argparse
import sys

from larder._numbers import count

_EPILOG = """Exit status: 0 if the program fits, 1 if it does not, 2 for no verdict: it could
not be started, failed, or used no GPU.  The program runs under the PyTorch of this
Python; LARDER_PYTHON names another."""


def _steps(text):
    return 0 if text == "all" else count(text, "a number of steps from 1, or all")


def _processes(text):
    return count(text, "a number of processes from 1")


class _Parser(argparse.ArgumentParser):
    """Reports errors as the other commands do."""

    def error(self, message):
        message = message.removeprefix("argument ")
        print(f"{self.prog}: {message}\nTry 'larder help run'.", file=sys.stderr)
        sys.exit(2)


def parser():
    p = _Parser(
        prog="larder run",
        description="Run a PyTorch program without a GPU and say whether it "
        "would fit on one.",
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    add = p.add_argument
    gpu = p.add_mutually_exclusive_group().add_argument
    gpu("--device", metavar="SPEC", help="the simulated GPU (sim:24GiB)")
    gpu("--gpu", metavar="NAME", help="a card of the table, such as rtx4090")
    add("--cards", metavar="FILE", help="another table of cards")
    add("--policy", metavar="NAME", default="pytorch", help="pytorch, larder or direct (pytorch)")
    add("--conf", metavar="SETTINGS", default="", help="key:value,… of larder-conf(5)")
    add("--steps", metavar="N", type=_steps, default=None, help="optimizer steps to run, or all (until two request the same)")
    add("--engine", choices=("stand-in", "fake"), help="the program's own PyTorch on a simulated driver, or fake tensors (chosen by how its PyTorch was built)")
    add("--on-item", choices=("one", "zero", "nan", "error"), help="the value that reads from the GPU return (one); engine fake only")
    add("--real-cpu", action="store_true", help="compute the values of GPU tensors on the host: slower, but all values and sizes are real")
    add("--world-size", metavar="N", type=_processes, default=None, help="number of processes of the job; the program is the first")
    add("--max", metavar="NAME=A..B", help="find the largest value of the program's argument --NAME, or of its variable NAME, that fits")
    add("--advise", choices=("always", "never"), help="when to search for changes that save memory (if the program does not fit)")
    add("--snapshot", metavar="FILE", help="write a memory snapshot, as .pickle or .json")
    add("--view", metavar="FILE", help="write the snapshot as a page, .html")
    add("--trace", metavar="FILE", help="write the requests as a trace, for larder replay")
    add("--json", action="store_true", help="print the report as JSON; --json=FILE: write it to this file, apart from the program's output")
    add("--json-file", metavar="FILE", help=argparse.SUPPRESS)
    add("--text-file", metavar="FILE", help=argparse.SUPPRESS)
    add("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    add("script", metavar="PROGRAM")
    add("arguments", metavar="ARG", nargs=argparse.REMAINDER)
    return p


_FLAGS = ("--real-cpu", "--json", "-m", "-h", "--help")


def _own_words(words):
    """The places of this command's options; what follows is the program's."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        yield at
        at += 1 if "=" in words[at] or words[at] in _FLAGS else 2


def read(words):
    """`--json` may have a value, but only after an equals sign, which argparse
    does not know."""
    words = list(words)
    for at in list(_own_words(words)):
        if words[at].startswith("--json="):
            words[at] = "--json-file=" + words[at].removeprefix("--json=")
    options = parser().parse_args(words)
    options.json = options.json or options.json_file is not None
    return options
