#!/usr/bin/env python3
"""report.py [OPTION...] - measures the allocator and available rivals, and writes a
report.

Measures the cost of a call (bench_alloc, bench/replay.sh) and the smallest device
for each recorded program.  Writes report.md with the machine and the commands, the
results as CSV, and a plot of each.  The last results of `make check-fuzz` and `make
check-mutants` are quoted, if they have run.

  --build FOLDER   the build folder (build)
  --out FOLDER     where the report is written (BUILD/bench-report)
  --quick          short runs that show whether it works; not for publication
  --from FOLDER    measure nothing: recreate the report from the CSVs and the
                   machine.txt of an older one

The same CSVs give an identical report and identical plots.

Exit status: 0; 1 when a measurement failed, 2 for bad usage or input.
"""

import argparse
import csv
import glob
import html
import io
import os
import platform
import re
import subprocess
import sys

BAR, GAP, LEFT, WIDTH = 14, 10, 250, 520
COLOURS = {"larder": "#1b6ca8", "larder, migrate:on": "#5aa9e6"}
OTHER_COLOURS = ["#e07a1f", "#7a9e3a", "#9a6fb0", "#888888", "#c0504d"]

CAPACITY = [("larder", ""), ("larder", "migrate:on"), ("pytorch", ""),
            ("pytorch", "expandable_segments:True")]

RIVALS = [
    ("pytorch", "PyTorch 2.4's policy, replayed by Larder (docs/FIDELITY.md)"),
    ("pytorch, expandable_segments:True", "the same with that setting"),
    ("PyTorch 2.4's own", "its own code, over a driver that costs nothing; the "
     "figures are of one machine (bench/replay.sh)"),
    ("direct", "a driver call for each request"),
    ("std malloc", "the C library's, for host memory"),
]
NOT_AT_HAND = ("Not measured: RMM, UMF and Paddle, which are not installed here "
               "or want a GPU (docs/FEATURES.md compares what they do).")


def fail(words, status=2):
    sys.stderr.write("report.py: %s\n" % words)
    sys.exit(status)


def run(argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        fail("%s: exit status %d" % (" ".join(argv), done.returncode), 1)
    return done.stdout.decode()


# ---- measuring ---------------------------------------------------------------


def measure_capacity(larder, traces):
    rows = ["name,policy,conf,requested_bytes,min_capacity_bytes"]
    for trace in traces:
        for policy, conf in CAPACITY:
            said = run([larder, "replay", "--json", "--min-capacity",
                        "--repeat", "0", "--policy", policy, "--conf", conf,
                        trace])
            figures = [re.search(r'"%s":(\d+)' % key, said).group(1)
                       for key in ("peak_requested_bytes",
                                   "min_capacity_bytes")]
            rows.append(",".join([os.path.basename(trace).split(".")[0],
                                  policy, conf] + figures))
    return "\n".join(rows) + "\n"


def machine(quick):
    """Lines that describe the machine, the sources and the load."""
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        model = re.search(r"model name\s*: (.*)", f.read())
    commit = subprocess.run(["git", "describe", "--always", "--dirty"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            check=False).stdout.decode().strip()
    lines = ["processor: %s, %d cores" %
             (model.group(1) if model else platform.machine(), os.cpu_count()),
             "system: %s, %s %s" % ((platform.platform(),) +
                                    platform.libc_ver()),
             "sources: %s" % (commit or "no repository"),
             "load before: %.1f" % os.getloadavg()[0]]
    if quick:
        lines.append("short runs: not to be quoted")
    return "\n".join(lines) + "\n"


def measure(o):
    larder = os.path.join(o.build, "larder")
    traces = sorted(glob.glob("data/traces/*.trace.zst"))
    quick = ["--quick"] if o.quick else []
    if o.quick:
        traces = traces[-1:]
    return {
        "machine.txt": machine(o.quick),
        "alloc.csv": run([os.path.join(o.build, "bench/bench_alloc"), "--csv"] +
                         quick),
        "replay.csv": run(["bench/replay.sh", "--csv", larder] + traces),
        "capacity.csv": measure_capacity(larder, traces),
    }


# ---- plots -------------------------------------------------------------------


def colour_of(series, all_series):
    others = [s for s in all_series if s not in COLOURS]
    if series in COLOURS:
        return COLOURS[series]
    return OTHER_COLOURS[others.index(series) % len(OTHER_COLOURS)]


def text_at(x, y, words, anchor="start"):
    return '<text x="%d" y="%d" text-anchor="%s">%s</text>' % (
        x, y, anchor, html.escape(words))


def plot(title, groups):
    """Draw a bar chart. groups is {name: {series: value}}."""
    every = list(dict.fromkeys(s for g in groups.values() for s in g))
    top = max(v for g in groups.values() for v in g.values())
    out = []
    y = 30
    for series in every:
        out.append('<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>' %
                   (LEFT, y, BAR, BAR - 2, colour_of(series, every)))
        out.append(text_at(LEFT + BAR + 6, y + BAR - 3, series))
        y += BAR + 2
    y += GAP
    for name, bars in groups.items():
        out.append(text_at(LEFT - 8, y + BAR, name, "end"))
        for series, value in bars.items():
            width = max(1, round(WIDTH * value / top))
            out.append('<rect x="%d" y="%d" width="%d" height="%d" '
                       'fill="%s"/>' % (LEFT, y, width, BAR - 2,
                                        colour_of(series, every)))
            out.append(text_at(LEFT + width + 5, y + BAR - 3, "%.4g" % value))
            y += BAR
        y += GAP
    head = ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" '
            'font-family="sans-serif" font-size="11">' %
            (LEFT + WIDTH + 70, y))
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>',
                      text_at(10, 18, title)] + out + ["</svg>", ""])


# ---- the page ----------------------------------------------------------------


def rows_of(files, name):
    if name not in files:
        fail("%s is missing: expected a folder that report.py wrote" % name)
    return list(csv.DictReader(io.StringIO(files[name])))


def series_of(row):
    return row["policy"] + (", " + row["conf"] if row["conf"] else "")


def group_alloc(rows):
    groups = {}
    for row in rows:
        bars = groups.setdefault(row["name"],
                                 {"larder": float(row["ns_per_op"])})
        if row["baseline"] != "empty loop":
            bars[row["baseline"]] = float(row["baseline_ns_per_op"])
    return groups


def group_replay(rows):
    groups = {}
    for row in rows:
        bars = groups.setdefault(row["name"], {})
        bars[series_of(row)] = float(row["ns_per_op"])
        theirs = row["pytorch_2_4_ns_per_op"]
        if theirs.replace(".", "").isdigit():  # a range is of other programs
            bars["PyTorch 2.4's own"] = float(theirs)
    return groups


def group_capacity(rows):
    groups = {}
    for row in rows:
        groups.setdefault(row["name"], {})[series_of(row)] = (
            float(row["min_capacity_bytes"]) / float(row["requested_bytes"]))
    return groups


def table(groups):
    every = list(dict.fromkeys(s for g in groups.values() for s in g))
    lines = ["| | " + " | ".join(every) + " |", "|---" * (len(every) + 1) + "|"]
    for name, bars in groups.items():
        cells = ["%.4g" % bars[s] if s in bars else "" for s in every]
        lines.append("| %s | %s |" % (name, " | ".join(cells)))
    return "\n".join(lines)


SECTIONS = [
    ("alloc", "A call of the allocator, ns", group_alloc,
     "build/bench/bench_alloc --csv"),
    ("replay", "A call of recorded programs, ns", group_replay,
     "bench/replay.sh --csv build/larder"),
    ("capacity", "The smallest device, as a part of what is asked for at most",
     group_capacity, "build/larder replay --min-capacity --repeat 0"),
]


def page(files):
    """Write report.md and the plots, by name."""
    out = {}
    parts = ["# Measured", "```\n%s```" % files["machine.txt"]]
    for name, title, group, command in SECTIONS:
        groups = group(rows_of(files, name + ".csv"))
        out[name + ".svg"] = plot(title, groups)
        parts += ["## " + title, "`%s`" % command, table(groups),
                  "![%s](%s.svg)" % (title, name)]
    parts += ["## Beside what", "\n".join("- %s: %s" % r for r in RIVALS),
              NOT_AT_HAND, "## Tests",
              "```\n%s```" % files.get("tests.txt", "")]
    out["report.md"] = "\n\n".join(parts) + "\n"
    return out


def quoted_checks():
    """The results of the last runs of check-fuzz and check-mutants."""
    lines = []
    for log in sorted(glob.glob("build-fuzz/fuzz_*.log")):
        with open(log, encoding="utf-8", errors="replace") as f:
            runs = re.search(r"number_of_executed_units: *(\d+)", f.read())
        if runs:
            lines.append("%s: %s inputs" % (os.path.basename(log)[:-4],
                                            runs.group(1)))
    if not lines:
        lines.append("make check-fuzz has not run here")
    try:
        with open("build-debug/mutants/report.txt", encoding="utf-8") as f:
            lines += f.read().splitlines()
    except FileNotFoundError:
        lines.append("make check-mutants has not run here")
    return "\n".join(lines) + "\n"


def read_folder(folder):
    files = {}
    for path in glob.glob(os.path.join(folder, "*.csv")) + glob.glob(
            os.path.join(folder, "*.txt")):
        with open(path, encoding="utf-8") as f:
            files[os.path.basename(path)] = f.read()
    if "machine.txt" not in files:
        fail("%s: there is no machine.txt: expected a folder that report.py "
             "wrote" % folder)
    return files


def main():
    p = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--out")
    p.add_argument("--quick", action="store_true")
    p.add_argument("--from", dest="source")
    o = p.parse_args()
    out = o.out or os.path.join(o.build, "bench-report")
    files = read_folder(o.source) if o.source else measure(o)
    files.setdefault("tests.txt", quoted_checks())
    files.update(page(files))
    os.makedirs(out, exist_ok=True)
    for name, text in files.items():
        with open(os.path.join(out, name), "w", encoding="utf-8") as f:
            f.write(text)
    print(os.path.join(out, "report.md"))


if __name__ == "__main__":
    main()
