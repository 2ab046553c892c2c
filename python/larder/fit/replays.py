"""Uses `larder replay` to find how much memory a run's requests need."""

import json
import os
import shutil
import subprocess

from larder._finding import candidates

# The settings of PyTorch that are worth trying.
SETTINGS = ("", "expandable_segments:True")


class ReplayError(RuntimeError):
    """The command is missing or failed."""


def command():
    """The path of `larder`."""
    named = os.environ.get("LARDER_COMMAND")
    if named:
        return named
    for library in candidates(("liblarder_torch.so", "liblarder_torch.so.0")):
        folder = os.path.dirname(library)
        for path in (
            os.path.join(folder, "larder"),
            os.path.join(os.path.dirname(folder), "bin", "larder"),
        ):
            if os.path.isfile(path):
                return path
    found = shutil.which("larder")
    if found is None:
        raise ReplayError("the command larder is not found")
    return found


def needed_bytes(trace, policy, conf):
    """The size of the smallest device on which every request succeeds."""
    words = [command(), "replay", "--min-capacity", "--json", "--policy", policy]
    if conf:
        words += ["--conf", conf]
    done = subprocess.run(
        [*words, trace], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ReplayError(done.stderr.strip() or "larder replay failed")
    return json.loads(done.stdout.splitlines()[0])["min_capacity_bytes"]


def need_of(told, policy, conf):
    """The same of a run's results, with what other libraries hold of the GPU."""
    if "driver_bytes" in told:
        return told["driver_bytes"]
    need = needed_bytes(told["trace"], policy, conf)
    return need + told.get("outside_bytes", 0)


def _do(*words):
    done = subprocess.run(
        [command(), *words], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ReplayError(done.stderr.strip() or f"larder {words[0]} failed")


def view(snapshot, page):
    _do("view", snapshot, "-o", page)


def convert(snapshot, target):
    _do("convert", snapshot, target)
