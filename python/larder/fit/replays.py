"""Uses `larder replay` to find how much memory a run's requests need."""

import json
import subprocess

from larder._command import Error as ReplayError
from larder._command import command

# PyTorch's settings that are worth trying.
SETTINGS = ("", "expandable_segments:True")


def _do(*words):
    done = subprocess.run(
        [command(), *words], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ReplayError(done.stderr.strip() or f"larder {words[0]} failed")
    return done.stdout


def needed_bytes(trace, policy, conf):
    """The size of the smallest device on which every request succeeds."""
    words = ["--conf", conf] if conf else []
    said = _do(
        "replay", "--min-capacity", "--json", "--policy", policy, *words, trace
    )
    return json.loads(said.splitlines()[0])["min_capacity_bytes"]


def need_of(told, policy, conf):
    """The same for a run's results, plus the GPU memory that other libraries
    hold."""
    if "driver_bytes" in told:
        return told["driver_bytes"]
    need = needed_bytes(told["trace"], policy, conf)
    return need + told.get("outside_bytes", 0)


def view(snapshot, page):
    _do("view", snapshot, "-o", page)


def convert(snapshot, target):
    _do("convert", snapshot, target)
