"""published.py BUILD [--record | --page] - figures of memory that others published of real
GPUs, and what simulated ones say of programs that make the same tensors.

The programs and the figures are in published/.  --record writes what is seen now
there, which is looked at before it is kept; --page makes docs/PUBLISHED.md of them."""

import importlib.metadata
import importlib.util
import math
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "published")
FIGURES = os.path.join(PROGRAMS, "figures.tsv")
PAGE = os.path.join(HERE, "..", "..", "docs", "PUBLISHED.md")
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "GB": 10**9}
# What operators and the compiler ask for differs between releases.
RELEASE = "2.8"

HEADER = """# Published by others, and simulated

Made by `tests/stack/published.py build --page`; `make check-stack` compares.

Others ran programs on real GPUs and published what PyTorch's counters reported. Our own programs
(`tests/stack/published/`) make the same tensors on a simulated card of the same name, with PyTorch
{release} under `larder exec`. Where no card was named, one that is large enough was chosen. *here* has
the published figure's unit and digits; *off* is computed from bytes, so a figure of two digits may be
off by its rounding. Peaks and allocated bytes are those of tensors; reserved is what PyTorch's
allocator held.

No comparison is left out, except the intermediate lengths of a list of ten. The book's
`13_offloading.py` (9.33 GB) was not compared: as published, both of its layers of 9.31 GiB are on the
card before it begins.

**{summary}.**
"""

def rows(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file if line[0] not in "#\n"]


def run(larder, program, card):
    """What a program printed: the bytes of each name."""
    words = program.split()
    with tempfile.TemporaryDirectory() as cache:
        # A compiler that finds its kernels made tries none, and asks for less.
        done = subprocess.run(
            [larder, "exec", "--quiet", "--sim", f"{card},backing=none", "--",
             sys.executable, os.path.join(PROGRAMS, words[0]), *words[1:]],
            env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": cache,
                 "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True, text=True, timeout=900,
        )
    if done.returncode != 0:
        raise RuntimeError(f"{program}: {done.stderr[-600:]}")
    pairs = (line.split() for line in done.stdout.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2}


def off(row):
    """How far what was seen is from what was published, in percent."""
    return 100 * (int(row[6]) / (float(row[4]) * UNITS[row[5]]) - 1)


def alike(row):
    """Whether both are the same with the digits that were published."""
    digits = len(row[4].partition(".")[2])
    return math.isclose(round(int(row[6]) / UNITS[row[5]], digits), float(row[4]))


def summary(figures):
    errors = [abs(off(row)) for row in figures]
    within = sum(error <= 1 for error in errors)
    same = sum(alike(row) for row in figures)
    return (f"{within} of {len(figures)} within 1 % ({same} the same to the last digit, "
            f"median {statistics.median(errors):.2f} %, worst {max(errors):.0f} %)")


def page(figures):
    """docs/PUBLISHED.md."""
    parts = [HEADER.format(release=RELEASE, summary=summary(figures)).rstrip()]
    for key, name, card, versions, *note in rows(os.path.join(PROGRAMS, "sources.tsv")):
        mine = [row for row in figures if row[0] == key]
        parts.append(f"\n## {name}\n\nCard: {card}, here {mine[0][2]}. PyTorch: {versions}. "
                     f"{summary(mine)}.\n" + "".join(f"\n{words}.\n" for words in note))
        parts.append("| program | figure | published | here | off, % |\n|---|---|---|---|---|")
        for _, program, _, figure, published, unit, seen, _ in mine:
            digits = len(published.partition(".")[2])
            here = f"{int(seen) / UNITS[unit]:.{digits}f}"
            error = off([None] * 4 + [published, unit, seen])
            parts.append(f"| `{program}` | {figure.replace('_', ' ')} | {published} {unit} "
                         f"| {here} | {error:+.2f} |")
        causes = dict.fromkeys(row[7] for row in mine if row[7])
        if causes:
            parts.append("\nWhy: " + "; ".join(causes) + ".")
    return "\n".join(parts) + "\n"


def main(build, options):
    if options == ["--page"]:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page(rows(FIGURES)))
        return 0
    lacking = [name for name in ("torch", "torchvision", "triton")
               if importlib.util.find_spec(name) is None]
    if lacking:
        print("no " + lacking[0])
        return 77
    # Without its libraries of CUDA PyTorch is not imported outside of `larder exec`.
    version = importlib.metadata.version("torch").partition("+")[0]
    folder = os.path.dirname(importlib.util.find_spec("torch").origin)
    if not (version.startswith(RELEASE + ".")
            and os.path.exists(os.path.join(folder, "lib", "libtorch_cuda.so"))):
        print(f"needs PyTorch {RELEASE} with CUDA, is {version}")
        return 77
    larder = os.path.join(build, "larder")
    figures = rows(FIGURES)
    seen, differ = {}, 0
    for row in figures:
        if (row[1], row[2]) not in seen:
            seen[row[1], row[2]] = run(larder, row[1], row[2])
        now = str(seen[row[1], row[2]][row[3]])
        differ += now != row[6]
        was, row[6] = row[6], now
        print(f"{row[1]}: {row[3]}: {row[4]} {row[5]} published, {now} bytes, {off(row):+.2f} %"
              + ("" if was == now else f", {was} recorded"), flush=True)
    if options == ["--record"]:
        with open(FIGURES, encoding="utf-8") as file:
            head = file.readline()
        with open(FIGURES, "w", encoding="utf-8") as file:
            file.write(head + "".join("\t".join(row) + "\n" for row in figures))
    with open(PAGE, encoding="utf-8") as file:
        if file.read() != page(figures):
            print("docs/PUBLISHED.md has other figures: --page")
            differ += 1
    print(summary(figures) + (f"; {differ} differ from what is recorded" if differ else ""))
    return differ != 0


sys.exit(main(sys.argv[1], sys.argv[2:]))
