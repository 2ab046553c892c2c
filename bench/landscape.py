#!/usr/bin/env python3
"""landscape.py [OPTION...] TRACE|FOLDER... - compares the policies over a range of
device sizes, from the smallest that works to one with much free memory.

Each trace is replayed on devices of FILL times its peak of requested bytes,
under `larder`, the same with live memory moving, `pytorch`, and `pytorch` with
expandable segments.  Reported are the driver time of the first pass and of the
last of three, the CPU time per call, failed requests, and the smallest
device without a failure.

  --larder PATH   the command (build/larder)
  --fills LIST    1.03,1.05,1.1,1.25,1.5,2,3,6
  --jobs N        parallel replays (1, so that CPU times are meaningful)
  --conf K:V,...  more settings of the policy larder
  --costs FILE    prices of driver calls (those of data/costs/a100.costs)
  --out FOLDER    write landscape.md and landscape.json there; with matplotlib
                  (python3-matplotlib) landscape.svg, too
  --into FILE     write the summary between the file's two marks
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

PAGE = 2 << 20
POLICIES = {
    "larder": ("larder", ""),
    "moving": ("larder", "migrate:on"),
    "expandable": ("pytorch", "expandable_segments:True"),
    "pytorch": ("pytorch", ""),
}
BEGIN = "<!-- begin landscape: make bench-landscape -->\n"
END = "<!-- end landscape -->\n"
MS_FREE = 1  # a later pass may cost this much more than another's
LARGE = 80 << 30


def options():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("inputs", nargs="+", metavar="TRACE|FOLDER")
    p.add_argument("--larder", default="build/larder")
    p.add_argument("--fills", default="1.03,1.05,1.1,1.25,1.5,2,3,6")
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--conf", default="")
    p.add_argument("--costs")
    p.add_argument("--out")
    p.add_argument("--into")
    return p.parse_args()


def traces(inputs):
    for path in inputs:
        if not os.path.isdir(path):
            yield path
            continue
        for name in sorted(os.listdir(path)):
            if name.endswith((".trace", ".trace.zst")):
                yield os.path.join(path, name)


def name_of(path):
    return os.path.basename(path).split(".")[0]


class Bench:
    def __init__(self, o):
        self.larder = o.larder
        self.conf = o.conf
        self.backing = "backing=none" + (f",costs={o.costs}" if o.costs else "")

    def device(self, bytes):
        return f"sim:{bytes >> 20}MiB,{self.backing}"

    def replay(self, trace, policy, device, *more):
        name, conf = POLICIES[policy]
        if name == "larder":
            conf = ",".join(filter(None, (conf, self.conf)))
        run = subprocess.run(
            [self.larder, "replay", "--json", "--no-progress", "--policy", name]
            + ["--conf", conf, "--device", device, *more, trace],
            capture_output=True,
            text=True,
        )
        if run.returncode != 0:
            sys.exit(f"landscape.py: {trace}: {run.stderr.strip()}")
        return json.loads(run.stdout)

    def peak(self, trace):
        said = self.replay(trace, "pytorch", self.device(1 << 42), "--repeat", "0")
        return said["peak_requested_bytes"]

    def need(self, trace, policy, peak):
        # Each expandable segment takes addresses as long as the device: on a
        # larger one those of several streams run out.
        room = self.device(peak * 4)
        said = self.replay(trace, policy, room, "--min-capacity")
        return {"need": said["min_capacity_bytes"] / peak}

    def cell(self, trace, policy, peak, fill):
        room = self.device(int(peak * fill) // PAGE * PAGE)
        said = self.replay(trace, policy, room, "--repeat", "3")
        return {
            "first_ms": said["driver_time_ns"] / 1e6,
            "later_ms": said["later_driver_time_ns"] / 1e6,
            "later_calls": said["later_driver_calls"],
            "ns": said["ns_per_op"],
            "oom": said["oom_count"],
        }

    def program(self, trace, fills):
        peak = self.peak(trace)
        rows = []
        for policy in POLICIES:
            of = {"trace": name_of(trace), "policy": policy, "peak": peak}
            rows.append({**of, **self.need(trace, policy, peak)})
            on_large = self.replay(trace, policy, self.device(LARGE), "--repeat", "0")
            rows.append({**of, "large_ms": on_large["driver_time_ns"] / 1e6})
            for fill in fills:
                row = self.cell(trace, policy, peak, fill)
                rows.append({**of, "fill": fill, **row})
        return rows


def pick(rows, key, **like):
    return [
        r[key] for r in rows if key in r and all(r.get(k) == v for k, v in like.items())
    ]


def heading(first, columns=tuple(POLICIES), wide=1):
    yield f"| {first} | " + " | ".join(
        cell for c in columns for cell in [c] + [""] * (wide - 1)
    ) + " |"
    yield "|---" * (1 + wide * len(columns)) + "|"


def need_table(rows):
    names = sorted({r["trace"] for r in rows})
    yield from heading("", ("peak, MiB", *POLICIES))
    for name in names:
        cells = [pick(rows, "need", trace=name, policy=p)[0] for p in POLICIES]
        peak = pick(rows, "peak", trace=name)[0]
        yield f"| {name} | {peak / (1 << 20):.0f} | " + " | ".join(
            f"{c:.4f}" for c in cells) + " |"
    for what, of in (("median", statistics.median), ("worst", max)):
        cells = [of(pick(rows, "need", policy=p)) for p in POLICIES]
        yield f"| **{what}** | | " + " | ".join(f"{c:.4f}" for c in cells) + " |"


def fill_table(rows, fills, key, digits):
    yield from heading("device / peak", wide=2)
    yield "| |" + " median | worst |" * len(POLICIES)
    for fill in fills:
        cells = []
        for policy in POLICIES:
            of = pick(rows, key, fill=fill, policy=policy)
            cells += [statistics.median(of), max(of)]
        yield f"| {fill:g} | " + " | ".join(f"{c:.{digits}f}" for c in cells) + " |"


def oom_table(rows, fills):
    yield from heading("device / peak")
    for fill in fills:
        cells = [sum(x > 0 for x in pick(rows, "oom", fill=fill, policy=p))
                 for p in POLICIES]
        yield f"| {fill:g} | " + " | ".join(str(c) for c in cells) + " |"


# ---- the summary ---------------------------------------------------------------


def dearer(rows, key, fill, policy, free):
    """Programs that pay more than under expandable segments, by `free` ms."""
    ours = pick(rows, key, fill=fill, policy=policy)
    theirs = pick(rows, key, fill=fill, policy="expandable")
    return sum(a > b + free for a, b in zip(ours, theirs))


def call_ratio(rows, fill, policy, of):
    ours = pick(rows, "ns", fill=fill, policy=policy)
    theirs = pick(rows, "ns", fill=fill, policy="pytorch")
    return of(a / b for a, b in zip(ours, theirs))


def summary_table(rows, fills):
    """A row for each figure, with its values on the devices of all fills."""
    every = " · ".join(f"{f:g}" for f in fills)
    count = len({r["trace"] for r in rows})

    def line(title, cell, policies=tuple(POLICIES)):
        cells = [
            " · ".join(cell(f, p) for f in fills) if p in policies else ""
            for p in POLICIES
        ]
        return f"| {title} | {' | '.join(cells)} |"

    ours = ("larder", "moving")
    yield from heading(f"{count} programs, on {every} × their peak")
    yield line("first passes, all programs, s", lambda f, p:
               f"{sum(pick(rows, 'first_ms', fill=f, policy=p)) / 1e3:.1f}")
    yield line("programs whose first pass costs more than expandable's", lambda f, p:
               str(dearer(rows, "first_ms", f, p, 0)), ours)
    yield line("third passes, all programs, s", lambda f, p:
               f"{sum(pick(rows, 'later_ms', fill=f, policy=p)) / 1e3:.1f}")
    yield line("programs whose third pass costs more than expandable's, by 1 ms",
               lambda f, p: str(dearer(rows, "later_ms", f, p, MS_FREE)), ours)
    yield line("programs with a failed request", lambda f, p:
               str(sum(x > 0 for x in pick(rows, "oom", fill=f, policy=p))))
    yield line("a call over pytorch's, median", lambda f, p:
               f"{call_ratio(rows, f, p, statistics.median):.2f}", ours)
    cells = []
    for policy in POLICIES:
        ratios = [a / b for a, b in zip(pick(rows, "large_ms", policy=policy),
                                        pick(rows, "large_ms", policy="pytorch"))]
        cells.append(f"{statistics.median(ratios):.2f}")
    yield ("| first pass on 80 GiB over pytorch's, median | "
           + " | ".join(cells) + " |")


def write_into(path, table):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    begin = text.index(BEGIN) + len(BEGIN)
    end = text.index(END)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text[:begin] + table + "\n" + text[end:])


def report(rows, fills):
    count = len({r["trace"] for r in rows})
    yield "# The landscape"
    yield ""
    yield f"{count} programs, by `bench/landscape.py` (`make bench-landscape`)."
    yield ""
    yield from summary_table(rows, fills)
    yield ""
    yield "## Smallest device, over the peak of requested bytes"
    yield ""
    yield from need_table(rows)
    for title, key, digits in (
        ("Driver time of the first pass, ms", "first_ms", 1),
        ("Driver time of the third pass, ms", "later_ms", 2),
        ("CPU time per call, ns", "ns", 1),
    ):
        yield ""
        yield f"## {title}"
        yield ""
        yield from fill_table(rows, fills, key, digits)
    yield ""
    yield "## Programs of which a request fails"
    yield ""
    yield from oom_table(rows, fills)


def draw(rows, fills, path):
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    places = range(len(fills))  # evenly: most are near 1
    figure, axes = pyplot.subplots(1, 3, figsize=(13, 4))
    for axis, key, title in zip(
        axes,
        ("first_ms", "later_ms", "ns"),
        ("first pass: driver time, ms", "third pass: driver time, ms",
         "a call: processor time, ns"),
    ):
        for policy, colour in zip(POLICIES, ("C0", "C3", "C1", "C2")):
            of = [pick(rows, key, fill=f, policy=policy) for f in fills]
            axis.plot(places, [statistics.median(x) for x in of], colour, label=policy)
            axis.plot(places, [max(x) for x in of], colour, linestyle=":")
        axis.set(title=title, xlabel="device / peak", yscale="symlog")
        axis.set_ylim(bottom=0)
        axis.set_xticks(places, [f"{f:g}" for f in fills])
    axes[0].legend(title="median; dotted: worst")
    figure.tight_layout()
    figure.savefig(path)


def write(rows, fills, out):
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "landscape.md"), "w") as f:
        f.write("\n".join(report(rows, fills)) + "\n")
    with open(os.path.join(out, "landscape.json"), "w") as f:
        json.dump(rows, f, indent=0)
    try:
        draw(rows, fills, os.path.join(out, "landscape.svg"))
    except ImportError:
        print("landscape.py: no matplotlib: no plot", file=sys.stderr)


def main():
    o = options()
    fills = [float(f) for f in o.fills.split(",")]
    bench = Bench(o)
    rows = []
    every = list(traces(o.inputs))
    with ThreadPoolExecutor(o.jobs) as pool:
        for i, some in enumerate(pool.map(lambda t: bench.program(t, fills), every)):
            rows += some
            print(f"\r{i + 1} of {len(every)} programs", end="", file=sys.stderr)
    print(file=sys.stderr)
    if o.out:
        write(rows, fills, o.out)
    if o.into:
        write_into(o.into, "\n".join(summary_table(rows, fills)))
    print("\n".join(report(rows, fills)))


if __name__ == "__main__":
    main()
