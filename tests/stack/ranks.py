"""ranks.py BUILD - PyTorch's programs of several processes under `larder exec`."""

import importlib.util
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs", "ranks")

TORCHRUN = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]

# Name: what is put before the program, and what it says.
CHECKS = {
    "passing.py": ([], ("passed on",)),
    "cards.py": ([], ("are two cards",)),
    "handles.py": (
        TORCHRUN,
        ("rank 0 opened the others' buffers", "rank 1 opened the others' buffers"),
    ),
    "train.py": (TORCHRUN, ("rank 0 of 2 trained", "rank 1 of 2 trained")),
    "unlike.py": (TORCHRUN, ("rank 0 was told", "rank 1 was told")),
    "shapes.py": (TORCHRUN, ("rank 1 noticed other shapes", "rank 0 was left")),
}


def run(build, name, before):
    return subprocess.run(
        [os.path.join(build, "larder"), "exec", "--quiet", "--sim", "24GiB,count=2",
         "--", sys.executable, *before, os.path.join(PROGRAMS, name)],
        capture_output=True, text=True, timeout=300,
    )


def main(build):
    if importlib.util.find_spec("torch") is None:
        print("no torch")
        return 77
    right = 0
    for name, (before, words) in CHECKS.items():
        said = run(build, name, before)
        is_right = said.returncode == 0 and all(word in said.stdout for word in words)
        right += is_right
        if not is_right:
            print(f"{name}: status {said.returncode}\n{said.stdout}{said.stderr}")
    print(f"{right} of {len(CHECKS)}")
    return right != len(CHECKS)


sys.exit(main(sys.argv[1]))
