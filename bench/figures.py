#!/usr/bin/env python3
"""figures.py [--check] LARDER [ROOT] - makes the tables of README.md and
docs/POLICY.md that say how small a device is enough, by
`larder replay --min-capacity`.

Without --check the tables are written: README's with the times of this machine
(the least of 24 runs), POLICY's from docs/figures/need.csv, which has the needs
of a hundred generated programs (make_workload.py, seeds 301 to 310) and is
written first.  --check says what is stale: README's needs, the smallest eight
of the hundred programs, and POLICY's table beside the file; times depend on the
machine and are not looked at.  ROOT is the source folder.
"""
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

import make_workload

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = sys.argv[-1] if os.path.isdir(sys.argv[-1]) else os.path.dirname(HERE)
NEEDS = os.path.join(ROOT, "docs/figures/need.csv")
README = os.path.join(ROOT, "README.md")
POLICY = os.path.join(ROOT, "docs/POLICY.md")

RECORDED = ("gpt2_train_accum2", "lora_1p3b_bf16_ckpt", "mlp_sgd")
SETTINGS = {
    "pytorch": ("pytorch", ""),
    "expandable": ("pytorch", "expandable_segments:True"),
    "larder": ("larder", ""),
    "migrate": ("larder", "migrate:on"),
}
SEEDS = range(301, 311)
CHECKED = 8
GIB = 1 << 30
TIMES_RUNS = 24


def replay(larder, trace, setting, *options):
    policy, conf = SETTINGS[setting]
    words = [larder, "replay", "--json", "--no-progress", "--policy", policy]
    said = subprocess.run(
        [*words, "--conf", conf, *options, trace],
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(said.stdout)


def need(larder, trace):
    """The peak of requested bytes, and the smallest device for each setting."""
    row = {}
    for setting in SETTINGS:
        result = replay(larder, trace, setting, "--min-capacity")
        row["peak"] = result["peak_requested_bytes"]
        row[setting] = result["min_capacity_bytes"]
    return row


# ---- README ------------------------------------------------------------------


def nanoseconds(larder, trace, setting):
    return min(
        replay(larder, trace, setting, "--repeat", "15")["ns_per_op"]
        for _ in range(TIMES_RUNS)
    )


def recorded_row(name, row):
    """The row's beginning, which does not depend on the machine."""
    sizes = [row[setting] / GIB for setting in SETTINGS]
    least = min(sizes)
    cells = [
        f"**{size:.2f} GiB**" if size == least else f"{size:.2f} GiB"
        for size in sizes
    ]
    unit = " requested" if name == RECORDED[0] else ""
    return f"| {name} ({row['peak'] / GIB:.2f} GiB{unit}) | {' | '.join(cells)} |"


def readme(larder, check):
    """Write README's rows, or return those that are stale."""
    with open(README, encoding="utf-8") as file:
        text = file.read()
    stale = []
    for name in RECORDED:
        trace = os.path.join(ROOT, f"data/traces/{name}.trace.zst")
        begin = recorded_row(name, need(larder, trace))
        line = re.search(rf"^\| {name} .*$", text, re.MULTILINE)[0]
        if check and not line.startswith(begin):
            stale.append(f"README.md: '{line}', expected '{begin} ...'")
        if not check:
            theirs = nanoseconds(larder, trace, "pytorch")
            ours = nanoseconds(larder, trace, "larder")
            text = text.replace(line, f"{begin} {theirs:.1f} | **{ours:.1f}** |")
    if not check:
        write(README, text)
    return stale


# ---- the generated programs --------------------------------------------------


def programs():
    return [(f, seed) for f in make_workload.FAMILIES for seed in SEEDS]


def generated_need(larder, family, seed, folder):
    path = os.path.join(folder, f"{family}_{seed}.trace")
    lines, _ = make_workload.make(family, seed)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    row = {"program": f"{family}_{seed}", **need(larder, path)}
    os.remove(path)
    return row


def write_needs(larder):
    with tempfile.TemporaryDirectory() as folder, open(
        NEEDS + ".new", "w", encoding="utf-8", newline=""
    ) as file:
        rows = csv.DictWriter(
            file, ["program", "peak", *SETTINGS], lineterminator="\n"
        )
        rows.writeheader()
        for family, seed in programs():
            rows.writerow(generated_need(larder, family, seed, folder))
    os.replace(NEEDS + ".new", NEEDS)


def read_needs():
    with open(NEEDS, encoding="utf-8", newline="") as file:
        return [
            {k: v if k == "program" else int(v) for k, v in row.items()}
            for row in csv.DictReader(file)
        ]


def stale_needs(larder):
    """The smallest programs whose needs differ from the file."""
    rows = sorted(read_needs(), key=lambda row: row["peak"])[:CHECKED]
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            family, _, seed = row["program"].rpartition("_")
            if generated_need(larder, family, int(seed), folder) != row:
                yield f"docs/figures/need.csv: {row['program']}"


# ---- POLICY ------------------------------------------------------------------

BEGIN = "<!-- begin figures: make figures -->\n"
END = "<!-- end figures -->\n"


def over(rows, setting, kind):
    """The need over the peak, of churn or of all others."""
    return [
        row[setting] / row["peak"]
        for row in rows
        if kind is None or row["program"].startswith("churn") == kind
    ]


def above(rows, setting, other):
    return sum(
        row[setting] - row[other] > 0.001 * row["peak"] for row in rows
    )


def policy_table(rows):
    columns = ("larder", "migrate", "expandable", "pytorch")
    lines = [
        f"| smallest device over peak, {len(rows)} programs | `larder` "
        "| `migrate:on` | `pytorch`, expandable | `pytorch` |",
        "|---|---|---|---|---|",
    ]
    for title, figure in (
        ("median", lambda s: f"{statistics.median(over(rows, s, None)):.4f}"),
        ("mean", lambda s: f"{statistics.mean(over(rows, s, None)):.4f}"),
        ("worst, churn", lambda s: f"{max(over(rows, s, True)):.3f}"),
        ("worst without churn", lambda s: f"{max(over(rows, s, False)):.3f}"),
        (
            "programs that need more than expandable segments, by 0.001",
            lambda s: "" if s == "expandable" else above(rows, s, "expandable"),
        ),
    ):
        lines.append(f"| {title} | {' | '.join(str(figure(s)) for s in columns)} |")
    return "\n".join(lines) + "\n"


def policy(check):
    with open(POLICY, encoding="utf-8") as file:
        text = file.read()
    begin = text.index(BEGIN) + len(BEGIN)
    end = text.index(END)
    table = policy_table(read_needs())
    if check:
        fresh = text[begin:end] == table
        return [] if fresh else ["docs/POLICY.md: the table of needs"]
    write(POLICY, text[:begin] + table + text[end:])
    return []


def write(path, text):
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)


def main():
    check = sys.argv[1:2] == ["--check"]
    if len(sys.argv) < 2 + check:
        sys.exit(__doc__)
    larder = sys.argv[1 + check]
    stale = []
    if check:
        stale += stale_needs(larder)
    else:
        write_needs(larder)
    stale += readme(larder, check)
    stale += policy(check)
    for line in stale:
        print(f"{line}: stale; `make figures` makes it")
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
