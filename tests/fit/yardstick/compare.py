"""compare.py BUILD PYTHON [MODEL...]: `larder run` beside PyTorch's own allocator.

Each program of train.py is run twice with the PyTorch of PYTHON, which has to be
one with CUDA: under `larder exec`, where its own allocator is asked for what its
operators want, and under `larder run`, which works that out.  Prints a table;
exit status 1 if a bar is missed."""

import collections
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

import alike

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))

CASES = """
    mlp; mlp --optimizer sgd --bf16
    resnet50; resnet50 --optimizer sgd --bf16
    unet; unet --optimizer sgd --bf16; unet --checkpoint
    gpt2; gpt2 --optimizer sgd --bf16; gpt2 --bf16 --checkpoint
    gpt2_medium --bf16
    llama; llama --optimizer sgd --bf16; llama --bf16 --checkpoint
    bert; bert --optimizer sgd --bf16; bert --checkpoint
    lora; lora --bf16; lora --bf16 --checkpoint
    vit; vit --optimizer sgd --bf16; vit --bf16 --checkpoint
    lstm; lstm --optimizer sgd --bf16
    gnn; gnn --optimizer sgd --bf16
    diffusion; diffusion --optimizer sgd --bf16; diffusion --bf16 --checkpoint
    moe; moe --optimizer sgd --bf16; moe --bf16 --checkpoint
"""

LARGE = 1 << 20
MEDIAN, WORST, UNDER, SAME = 2.0, 5.0, 1.0, 95.0

Pair = collections.namedtuple("Pair", "case real ours same large")


class Failed(Exception):
    """One of the two did not get to its end."""


def rounded(size):
    return -(-size // 512) * 512


class Bench:
    def __init__(self, build, python, folder):
        self.larder = os.path.join(build, "larder")
        self.python = python
        self.folder = folder
        self.environment = {
            **os.environ,
            "LARDER_PYTHON": python,
            "LARDER_PYTHON_DIR": os.path.join(SOURCE, "python"),
            "HF_HUB_OFFLINE": "1",
            "PYTHONWARNINGS": "ignore",
        }
        # Of `make check-exec`: the programs; theirs is a file to write to.
        self.environment.pop("YARDSTICK", None)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, words, **more):
        got = subprocess.run(
            [self.larder, "exec", "--quiet", "--sim", "80GiB,backing=none", "--"]
            + words,
            env={**self.environment, **more},
            capture_output=True,
            text=True,
            timeout=900,
        )
        if got.returncode != 0:
            raise Failed(got.stderr.strip()[-400:])
        return got.stdout

    def real(self, case):
        path = self.path("real.json")
        self.run(
            [self.python, os.path.join(HERE, "train.py"), *case], YARDSTICK=path
        )
        with open(path, encoding="utf-8") as file:
            told = json.load(file)
        return told["peak"], [
            (rounded(size), line) for size, line in told["requests"]
        ]

    def ours(self, case):
        trace = self.path("ours.trace")
        words = [self.larder, "run", "--json", "--device", "sim:80GiB"]
        words += ["--steps", "all", "--advise", "never", "--trace", trace]
        told = json.loads(
            self.run(words + [os.path.join(HERE, "train.py"), *case]).splitlines()[-1]
        )
        if told.get("how") != "ended":
            raise Failed(f"larder run: {told.get('how')}")
        with open(trace, encoding="utf-8") as file:
            sizes = re.findall(r"^a \d+ (\d+)", file.read(), re.M)
        return told["peak_allocated_bytes"], [rounded(int(s)) for s in sizes]


def large(sizes):
    return [size for size in sizes if size >= LARGE]


def compare(bench, case):
    words = case.split()
    real_peak, requests = bench.real(words)
    our_peak, sizes = bench.ours(words)
    real, ours = large([size for size, _ in requests]), large(sizes)
    only_real, only_ours = alike.differences(real, ours)
    same = 100.0 * (len(real) - len(only_real)) / max(len(real), len(ours), 1)
    if os.environ.get("YARDSTICK_EXPLAIN"):
        lines = [r for r in requests if r[0] >= LARGE]
        explain([lines[i] for i in only_real], [ours[i] for i in only_ours])
    return Pair(case, real_peak, our_peak, same, len(real))


def explain(real, ours):
    """Which large requests only one of them has, by the program's line."""
    counts = collections.Counter(("real", size, line) for size, line in real)
    counts.update(("ours", size, "") for size in ours)
    for (whose, size, line), count in counts.most_common(24):
        print(f"    {count:4} only {whose} {size:>12} {line}")


def difference(pair):
    return 100.0 * (pair.ours / pair.real - 1)


def row(pair):
    return (
        f"| {pair.case} | {pair.real / 2**20:.1f} | {pair.ours / 2**20:.1f} | "
        f"{difference(pair):+.2f} | {pair.large} | {pair.same:.1f} |"
    )


def misses(pairs):
    found = []
    off = [abs(difference(pair)) for pair in pairs]
    if off and statistics.median(off) > MEDIAN:
        found.append(f"the median is {statistics.median(off):.2f} % off")
    for pair in pairs:
        if abs(difference(pair)) > WORST or difference(pair) < -UNDER:
            found.append(f"{pair.case}: the peak is {difference(pair):+.2f} % off")
        if pair.same < SAME:
            found.append(f"{pair.case}: {pair.same:.1f} % of requests are the same")
    return found


def main():
    build, python, *wanted = sys.argv[1:]
    cases = [case.strip() for case in re.split(r"[;\n]", CASES) if case.strip()]
    pairs, failed = [], 0
    print("| program | real, MiB | larder run, MiB | off, % | large | the same, % |")
    print("|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(os.path.abspath(build), python, folder)
        if wanted:
            cases = [
                case
                for name in wanted
                for case in cases
                if name in (case, case.split()[0])
            ]
        for case in cases:
            try:
                pairs.append(compare(bench, case))
                print(row(pairs[-1]), flush=True)
            except (Failed, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"| {case} | {error} | | | | |", flush=True)
    found = misses(pairs)
    for line in found:
        print(line)
    return 1 if found or failed else 0


if __name__ == "__main__":
    sys.exit(main())
