"""What PROGRAM is, and the words that start it."""

import os
import shutil
import sys

SCRIPT, MODULE, COMMAND, NOTEBOOK, BINARY = (
    "script", "module", "command", "notebook", "binary",
)
# Programs that are started by their own name.
COMMANDS = (COMMAND, BINARY)

_ELF = b"\x7fELF"


def _begins(path):
    try:
        with open(path, "rb") as file:
            return file.read(4)
    except OSError:
        return b""


def kind_of(options):
    """A file is a script unless it is a binary, or its `#!` line names another
    interpreter; other words are commands."""
    path = options.script
    if options.module:
        return MODULE
    if path.endswith(".ipynb"):
        return NOTEBOOK
    if path.endswith(".py"):
        return SCRIPT
    if not os.path.exists(path):
        return COMMAND if "/" not in path and shutil.which(path) else SCRIPT
    start = _begins(path)
    if start == _ELF:
        return BINARY
    if start[:2] == b"#!" and os.access(path, os.X_OK):
        return COMMAND
    return SCRIPT


def words(settings, path):
    """The command line.  `path`: of the settings."""
    kind, name = settings["kind"], settings["script"]
    if kind in COMMANDS:
        found = name if "/" in name or not os.path.exists(name) else f"./{name}"
        return [found, *settings["arguments"]]
    if kind == NOTEBOOK or settings["numbers"]:
        return [sys.executable, "-m", "larder.fit.changed", path]
    first = ["-m", name] if kind == MODULE else [name]
    return [sys.executable, *first, *settings["arguments"]]


# Launchers' options for the number of processes, each of which uses one card.
_COUNTS = (
    "nproc-per-node", "num-processes", "num-gpus", "tensor-parallel-size",
)


def options_in(words):
    """(index, name, value, whether it has an equals sign) of each option."""
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name[:1] == "-":
            if not equals:
                value = words[at + 1] if at + 1 < len(words) else ""
            yield at, name, value, bool(equals)


def card_count(words):
    """How many cards a command's own options request."""
    for _, name, value, _ in options_in(words):
        if name.lstrip("-").replace("_", "-") in _COUNTS:
            if value.isdecimal() and int(value) > 0:
                return int(value)
    return 1
