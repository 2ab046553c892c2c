"""_leaving.py - how a program that runs in this process ended."""

import sys


def exit_status(stop):
    """The exit status that the interpreter derives from SystemExit."""
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return stop.code
    print(stop.code, file=sys.stderr)
    return 1
