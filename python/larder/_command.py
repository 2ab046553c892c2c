"""Finds the command `larder` and runs it."""

import os
import shutil
import subprocess

from larder._finding import candidates

VARIABLE = "LARDER_COMMAND"


class Error(RuntimeError):
    """A request that the command, or this package, cannot answer."""


Error.__module__ = "larder"  # the public name


def command():
    """The path of `larder`: beside the libraries, or where the shell finds it."""
    named = os.environ.get(VARIABLE)
    if named:
        return named
    for library in candidates(("liblarder.so", "liblarder.so.0")):
        folder = os.path.dirname(library)
        for path in (
            os.path.join(folder, "larder"),
            os.path.join(os.path.dirname(folder), "bin", "larder"),
        ):
            if os.path.isfile(path):
                return path
    found = shutil.which("larder")
    if found is None:
        raise Error(
            f"the larder command was not found; set {VARIABLE} to its path"
        )
    return found


def _complaint(verb, done):
    """The command's message on stderr, without the command's name."""
    said = done.stderr.strip()
    prefix = f"larder {verb}: "
    if said.startswith(prefix):
        said = said[len(prefix) :]
    return said or f"larder {verb} ended with status {done.returncode}"


def ask(verb, *words):
    """What `larder VERB WORD…` prints.  Exit status 1 is an answer as well: no."""
    done = subprocess.run(
        [command(), verb, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        check=False,
    )
    if done.returncode not in (0, 1):
        raise Error(_complaint(verb, done))
    return done.stdout
