#!/usr/bin/env python3
"""rivals.py BUILD [TRACE...] - allocators side by side, in one run: those of three
releases of PyTorch, RMM's pool and arena, CuPy's pool and Larder's, all over the
simulated driver, whose calls cost nothing but their own work.  Prints a table:
the smallest device on which each trace runs, and the least nanoseconds of a call
of ROUNDS runs of PASSES passes over all of it, everything freed in between.
The traces are data/traces/*.trace.zst unless given.

What is needed is fetched from the package index into BUILD/rivals, or
$LARDER_RIVALS_FOLDER, which is kept: 2 GB, of which 340 MB stay.  Needs g++,
unzip, zstd; what cannot be had is left out, with a word, and without any of it
the exit status is 77.
"""

import glob
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
RELEASES = ("2.6", "2.10", "2.15")
RMM = "librmm-cu12==24.12.*"
RUNTIME = "nvidia-cuda-runtime-cu12==12.4.127"
CUPY = "cupy-cuda12x<13"
MIB = 1 << 20
LARGE = "80GiB"
STEP = 2 * MIB
ROUNDS, PASSES = 3, 10
OUT_OF_MEMORY = 3  # the exit status: 1 is any failure of Python's


class Missing(Exception):
    """Something is unavailable."""


def must(*words, **options):
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, **options
    )
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Missing(said[-1] if said else f"{words[0]} failed")


def compile_rival(out, source, *options):
    must(
        *("g++", "-std=c++17", "-O2", "-w", "-I", HERE),
        *("-I", os.path.join(ROOT, "adapters"), "-I", os.path.join(ROOT, "include")),
        os.path.join(HERE, "rivals", "main.cpp"),
        os.path.join(HERE, "rivals", source),
        *options,
        *("-ldl", "-lpthread", "-o", out),
    )


class Rival:
    """An allocator: its name, and the words of a run on a device."""

    def __init__(self, name, build, words):
        self.name = name
        self._words = words
        self._environment = {
            **os.environ,
            "LD_LIBRARY_PATH": f"{build}/fakecuda:{build}/cudart",
            "RMM_DEBUG_LOG_FILE": os.devnull,
        }

    def run(self, capacity, trace, passes):
        """The nanoseconds that it printed; None: out of memory."""
        done = subprocess.run(
            self._words(capacity, trace, str(passes)),
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == OUT_OF_MEMORY:
            return None
        if done.returncode:
            raise Missing(f"{self.name}: {done.stderr.strip()[-200:]}")
        return float(done.stdout or 0)

    def smallest(self, trace, peak):
        """The bytes of the smallest device, by bisection."""
        # It cannot run on the lower bound, which is less than the peak of requested
        # bytes.
        low, high = (peak - 1) // STEP, 4 * peak // STEP
        if not self._fits(high, trace):
            raise Missing(f"{self.name}: four times the peak is not enough")
        while low + 1 < high:
            middle = (low + high) // 2
            if self._fits(middle, trace):
                high = middle
            else:
                low = middle
        return high * STEP

    def _fits(self, steps, trace):
        return self.run(f"{steps * STEP // MIB}MiB", trace, 0) is not None


# ---- the rivals -------------------------------------------------------------


def larder(build, folder):
    program = os.path.join(folder, "larder")
    compile_rival(program, "larder.cpp", os.path.join(build, "liblarder.a"))
    for setting in (
        "larder",
        "pytorch",
        "pytorch pytorch:2.15",
        "pytorch expandable_segments:True",
    ):
        yield Rival(
            f"Larder, `{setting.replace(' ', '`, `')}`",
            build,
            lambda *rest, setting=setting: [program, setting, *rest],
        )


def pytorch(build, folder):
    for release in RELEASES:
        place = os.path.join(folder, release)
        must(
            os.path.join(ROOT, "tools/record_pytorch/make_recorder.sh"),
            *(release, build, place),
        )
        for conf in ("", "expandable_segments:True"):
            yield Rival(
                f"PyTorch {release}" + (f", `{conf}`" if conf else ""),
                build,
                lambda *rest, place=place, conf=conf: [
                    os.path.join(place, "rival"),
                    conf,
                    *rest,
                ],
            )


def is_whole(folder):
    """Whether the download into it is complete."""
    return os.path.exists(os.path.join(folder, "whole"))


def set_whole(folder):
    with open(os.path.join(folder, "whole"), "w", encoding="ascii"):
        pass


def fetch(folder, *packages):
    """The packages' files, unpacked."""
    unpacked = os.path.join(folder, "unpacked")
    if not is_whole(folder):
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryDirectory() as wheels:
            must(
                *(sys.executable, "-m", "pip", "download", "--quiet"),
                *("--no-deps", "--only-binary=:all:", "-d", wheels, *packages),
            )
            for wheel in os.listdir(wheels):
                path = os.path.join(wheels, wheel)
                must("unzip", "-qo", path, "-d", unpacked)
        set_whole(folder)
    return unpacked


def rmm(build, folder):
    unpacked = fetch(os.path.join(folder, "rmm"), RMM, RUNTIME)
    headers = os.path.join(unpacked, "librmm/include")
    program = os.path.join(folder, "rmm", "rmm")
    compile_rival(
        program,
        "rmm.cpp",
        "-DLIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE",
        "-DFMT_HEADER_ONLY",
        "-DSPDLOG_FMT_EXTERNAL",
        *("-isystem", headers),
        *("-isystem", os.path.join(headers, "rapids")),
        *("-isystem", os.path.join(headers, "rapids/libcudacxx")),
        *("-isystem", os.path.join(unpacked, "nvidia/cuda_runtime/include")),
        os.path.join(build, "cudart", "libcudart.so.12"),
    )
    for kind in ("pool", "arena"):
        yield Rival(
            f"RMM 24.12, {kind}",
            build,
            lambda *rest, kind=kind: [program, kind, *rest],
        )


def cupy(build, folder):
    place = os.path.join(folder, "cupy")
    python = os.path.join(place, "bin", "python3")
    if not is_whole(place):
        must(sys.executable, "-m", "venv", place)
        must(python, "-m", "pip", "install", "--quiet", CUPY, "numpy<1.27")
        set_whole(place)
    program = os.path.join(HERE, "rivals", "cupy_pool.py")
    yield Rival(
        "CuPy 12, its pool, from Python",
        build,
        lambda capacity, *rest: [
            *(os.path.join(build, "larder"), "exec", "--quiet"),
            *("--sim", f"{capacity},backing=none", "--"),
            *(python, program, capacity, *rest),
        ],
    )


def everybody(build, folder):
    for source in (larder, pytorch, rmm, cupy):
        try:
            yield from source(build, folder)
        except (Missing, OSError) as why:
            print(f"rivals: {source.__name__} is left out: {why}", file=sys.stderr)


# ---- the table ------------------------------------------------------------------


def peak_of(trace):
    """The peak of requested bytes."""
    live, now, peak = {}, 0, 0
    with open(trace, encoding="utf-8") as file:
        for words in map(str.split, file):
            if words and words[0] == "a":
                live[words[1]] = int(words[2])
                now += int(words[2])
                peak = max(peak, now)
            elif words and words[0] == "f":
                now -= live.pop(words[1], 0)
    return peak


def plain(path, folder):
    """The trace as text, which all can read."""
    out = os.path.join(folder, os.path.basename(path).removesuffix(".zst"))
    with open(out, "wb") as file:
        words = ["zstd", "-qdc", path] if path.endswith(".zst") else ["cat", path]
        subprocess.run(words, stdout=file, check=True)
    return out


def cells(rival, trace, peak):
    try:
        need = rival.smallest(trace, peak) / (1024 * MIB)
        times = [rival.run(LARGE, trace, PASSES) for _ in range(ROUNDS)]
        if None in times:
            raise Missing(f"{rival.name}: {LARGE} are not enough")
    except Missing as why:
        print(f"rivals: {why}", file=sys.stderr)
        return "- | -"
    return f"{need:.2f} GiB | {min(times):.0f}"


def main():
    if len(sys.argv) < 2 or not os.path.isdir(sys.argv[1]):
        sys.exit(__doc__)
    build = os.path.abspath(sys.argv[1])
    paths = sys.argv[2:] or sorted(glob.glob(f"{ROOT}/data/traces/*.trace.zst"))
    folder = os.path.abspath(
        os.environ.get("LARDER_RIVALS_FOLDER", os.path.join(build, "rivals"))
    )
    os.makedirs(folder, exist_ok=True)
    rivals = list(everybody(build, folder))
    if not any(not r.name.startswith("Larder") for r in rivals):
        print("rivals: none is installed: skipped")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as work:
        traces = [plain(path, work) for path in paths]
        peaks = [peak_of(trace) for trace in traces]
        heads = [
            f"{os.path.basename(t).removesuffix('.trace')} "
            f"({p / (1024 * MIB):.2f} GiB) | ns"
            for t, p in zip(traces, peaks)
        ]
        print(f"| | {' | '.join(heads)} |")
        print("|---" * (1 + 2 * len(traces)) + "|")
        for rival in rivals:
            row = [cells(rival, t, p) for t, p in zip(traces, peaks)]
            print(f"| {rival.name} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
