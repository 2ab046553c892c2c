#!/usr/bin/env python3
"""make_example.py BUILD PYTHON - makes examples/oom.pickle: examples/train.py with
texts of all lengths, under larder.record on a simulated RTX 4060, until memory
runs out.  PYTHON has a PyTorch with CUDA; the one that is kept is of 2.8.

Paths of this machine are replaced by those of a user's.
"""

import os
import pickle
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(ROOT, "examples", "oom.pickle")
HOME = "/home/user"


def record(build, python, path):
    """The program fails, as it is meant to."""
    program = os.path.join(ROOT, "examples", "train.py")
    words = [
        *(os.path.join(build, "larder"), "exec", "--quiet"),
        *("--sim", "rtx4060,backing=none", "--"),
        *(python, "-m", "larder.record", "--on-oom", path, program),
        *("--batch-size", "28", "--steps", "40", "--ragged"),
    ]
    environment = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")}
    subprocess.run(words, check=False, env=environment)


def rename(value, folders, seen):
    """The snapshot with other folders in its paths; what is shared stays so."""
    if id(value) not in seen:
        seen[id(value)] = make_renamed(value, folders, seen)
    return seen[id(value)]


def make_renamed(value, folders, seen):
    if isinstance(value, dict):
        return {k: rename(one, folders, seen) for k, one in value.items()}
    if isinstance(value, list):
        return [rename(one, folders, seen) for one in value]
    if isinstance(value, str):
        for here, there in folders.items():
            value = value.replace(here, there)
    return value


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build, python = map(os.path.abspath, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "oom.pickle")
        record(build, python, path)
        with open(path, "rb") as file:
            snapshot = pickle.load(file)
    folders = {
        os.path.dirname(os.path.dirname(python)): f"{HOME}/venv",
        sys.base_prefix: "/usr",
        ROOT: f"{HOME}/larder",
    }
    with open(OUT, "wb") as file:
        pickle.dump(rename(snapshot, folders, {}), file, protocol=4)


if __name__ == "__main__":
    main()
