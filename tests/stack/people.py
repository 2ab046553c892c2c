"""people.py BUILD - programs as people write them: `larder run` tells the peaks
that each has by itself on a large simulated card."""

import glob
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PLAIN = """
import runpy, sys
runpy.run_path(sys.argv[1], run_name="__main__")
import torch
print(torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
"""


def plain(larder, path):
    run = subprocess.run(
        [larder, "exec", "--quiet", "--sim", "h200", "--", sys.executable, "-c", PLAIN,
         path],
        capture_output=True, text=True, timeout=300,
    )
    if run.returncode != 0:
        return run.stderr
    return [int(word) for word in run.stdout.split()[-2:]]


def told(larder, path):
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "told")
        run = subprocess.run(
            [larder, "run", "--gpu", "h200", "--steps", "all", f"--json={report}", path],
            env={**os.environ, "LARDER_PYTHON": sys.executable},
            capture_output=True, text=True, timeout=300,
        )
        if run.returncode != 0:
            return run.stderr
        with open(report, encoding="utf-8") as file:
            kept = json.load(file)
    return [kept["peak_allocated_bytes"], kept["peak_reserved_bytes"]]


def main(build):
    for name in ("torchvision", "transformers"):
        if importlib.util.find_spec(name) is None:
            print(f"no {name}")
            return 77
    larder = os.path.join(build, "larder")
    paths = sorted(glob.glob(os.path.join(HERE, "programs", "people", "*.py")))
    same = 0
    for path in paths:
        by_itself, by_run = plain(larder, path), told(larder, path)
        same += by_itself == by_run
        if by_itself != by_run:
            print(f"{os.path.basename(path)}: {by_itself} by itself, {by_run} told")
    print(f"{same} of {len(paths)}")
    return same != len(paths)


sys.exit(main(sys.argv[1]))
