"""python3 -m larder.record [options] PROGRAM [ARG…]

Runs a PyTorch program, unchanged, and records its GPU memory: a snapshot is
written when memory runs out, on a signal, or at the end, and the first lines of
`larder report` summarize it.
"""

import argparse
import json
import os
import shutil
import signal
import sys

from larder._numbers import count
from larder.fit import programs

_HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_hook")

# Enough for 100 training steps of 2000 events each; 20 MB on disk.
_ENTRIES = 200_000


def _count(text):
    return count(text, "a number from 1")


def _signal(text):
    name = "SIG" + text.upper().removeprefix("SIG")
    number = getattr(signal, name, None)
    if number is None or name in ("SIGKILL", "SIGSTOP", "SIGTERM"):
        raise argparse.ArgumentTypeError(f"'{text}': expected one as USR1")
    return int(number)


def _parser():
    parser = argparse.ArgumentParser(
        prog="python3 -m larder.record",
        description="Run a PyTorch program, record its GPU memory, and report on it.",
        epilog="PROGRAM is a script, a module (-m), or a command such as torchrun. "
        "The exit status is the program's; 2 if it could not be started.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    file = parser.add_mutually_exclusive_group().add_argument
    file(
        "-o",
        "--output",
        metavar="FILE",
        default="memory.pickle",
        help="the snapshot (memory.pickle), taken when memory first runs out, or at "
        "the end",
    )
    file(
        "--on-oom",
        metavar="FILE",
        help="the snapshot; written only if memory runs out",
    )
    add(
        "--entries",
        metavar="N",
        type=_count,
        default=_ENTRIES,
        help=f"number of events kept, the most recent ones ({_ENTRIES})",
    )
    add(
        "--stacks",
        choices=("python", "all"),
        default="python",
        help="all: C++ frames too, at twice the cost (python)",
    )
    add(
        "--signal",
        metavar="NAME",
        type=_signal,
        default=int(signal.SIGUSR1),
        help="also write a snapshot on this signal (USR1)",
    )
    add(
        "--live",
        action="store_true",
        help="let `larder top --serve` show it while it runs",
    )
    add("-m", dest="module", action="store_true", help="PROGRAM is a module")
    add("script", metavar="PROGRAM")
    add("arguments", metavar="ARG", nargs=argparse.REMAINDER)
    return parser


def _refuse(why):
    print(f"larder.record: {why}", file=sys.stderr)
    return 2


def _why_not(options, kind, path):
    """Why it cannot be started, or None."""
    if kind == programs.NOTEBOOK:
        return f"{options.script}: a notebook; expected a program"
    if kind == programs.SCRIPT and not os.path.exists(options.script):
        return f"{options.script}: there is no such file, or command"
    if not os.path.isdir(os.path.dirname(path)):
        return f"{path}: there is no folder {os.path.dirname(path)}"
    return None


def main():
    options = _parser().parse_args()
    kind = programs.kind_of(options)
    path = os.path.abspath(options.on_oom or options.output)
    why = _why_not(options, kind, path)
    if why is not None:
        return _refuse(why)
    settings = {
        "file": path,
        "always": options.on_oom is None,
        "entries": options.entries,
        "stacks": options.stacks,
        "signal": options.signal,
        "live": options.live,
        "main": os.getpid(),  # exec keeps it
    }
    before = os.environ.get("PYTHONPATH")
    environment = {
        **os.environ,
        "LARDER_RECORD": json.dumps(settings),
        "PYTHONPATH": os.pathsep.join(p for p in (_HOOK, before) if p),
    }
    words = programs.words(
        {
            "kind": kind,
            "script": options.script,
            "arguments": options.arguments,
            "numbers": None,
        },
        None,
    )
    try:
        os.execve(shutil.which(words[0]) or words[0], words, environment)
    except OSError as error:
        return _refuse(f"{words[0]}: {error.strerror}")


if __name__ == "__main__":
    sys.exit(main())
