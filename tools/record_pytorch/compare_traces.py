#!/usr/bin/env python3
"""compare_traces.py RECORDER VERSION LARDER TRACE... - compares a release's own
allocator with `larder replay --pytorch VERSION`.

Both run every trace (plain or compressed with zstd) under each kind of setting, on
a large device, on the smallest that works and on one too small.  Prints each run
that differs and, last, "SAME COUNT".
"""
import json
import os
import subprocess
import sys
import tempfile

ROOMY = 80 << 30

# Settings, the fraction, the first release that knows them.
KINDS = [
    ("", "1", 4),
    ("expandable_segments:True", "1", 4),
    ("max_split_size_mb:64", "1", 4),
    ("roundup_power2_divisions:8", "1", 4),
    ("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", "1", 4),
    ("garbage_collection_threshold:0.6", "0.9", 4),
    ("large_segment_size_mb:64", "1", 11),
    ("throw_on_cudamalloc_oom:True", "1", 12),
]


def read_trace(path):
    if not path.endswith(".zst"):
        with open(path, encoding="utf-8") as file:
            return file.read()
    return subprocess.run(["zstd", "-dcq", path], capture_output=True,
                          text=True, check=True).stdout


def smallest(larder, version, conf, trace):
    """The size of the smallest device without a failed allocation."""
    done = subprocess.run(
        [larder, "replay", "--json", "--repeat", "0", "--min-capacity",
         "--pytorch", version, "--conf", conf, trace],
        capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["min_capacity_bytes"]


def recorded(recorder, kind, capacity, events, trace):
    done = subprocess.run(
        [recorder, kind[0], kind[1], str(capacity), events, trace, "trace"],
        capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    return ([line for line in lines if line.startswith("p ")],
            [line.split(" ") for line in lines if line.startswith("s ")])


def replayed(larder, version, kind, capacity, every, trace, folder):
    conf = kind[0]
    if float(kind[1]) < 1:
        conf += ("," if conf else "") + f"per_process_memory_fraction:{kind[1]}"
    subprocess.run(
        [larder, "replay", "--json", "--repeat", "0", "--pytorch", version,
         "--conf", conf, "--device", f"sim:{capacity}", "--placements",
         folder + "/p", "--stats", folder + "/s", "--stats-every", every, trace],
        capture_output=True, check=True)
    with open(folder + "/p", encoding="ascii") as file:
        placements = file.read().splitlines()
    with open(folder + "/s", encoding="ascii") as file:
        stats = {line.split(" ")[1]: dict(f.split("=") for f in
                                          line.split(" ")[2:])
                 for line in file.read().splitlines()}
    return placements, stats


def statistics_differ(wanted, got, events):
    """The first difference, in words, or None."""
    for line in wanted:
        mine = got.get(line[1], {})
        for field in line[2:]:
            key, _, value = field.partition("=")
            if key == "max_split_size":  # no line of --stats has it
                continue
            have = mine.get(key, "")
            if events == "manual" and key.startswith("inactive_split"):
                # Sums depend on the order of a hash table.
                value, have = value.split("/")[0], have.split("/")[0]
            if value != have:
                return f"at {line[1]} {key} is {have}, expected {value}"
    return None


def difference(wanted, got, events):
    for i, line in enumerate(wanted[0]):
        have = got[0][i] if i < len(got[0]) else "nothing"
        if have != line:
            return f"'{have}', expected '{line}'"
    return statistics_differ(wanted[1], got[1], events)


def compare(recorder, version, larder, path, folder):
    text = read_trace(path)
    events = "manual" if any(line[:2] in ("c ", "r ") for line in
                             text.splitlines()) else "immediate"
    trace = folder + "/t.trace"
    same = count = 0
    with open(trace, "w", encoding="utf-8") as file:
        file.write(text)
    for kind in KINDS:
        if int(version.split(".")[1]) < kind[2]:
            continue
        tight = smallest(larder, version, kind[0], trace)
        for capacity in (ROOMY, tight, tight * 97 // 100 >> 21 << 21):
            wanted = recorded(recorder, kind, capacity, events, trace)
            got = replayed(larder, version, kind, capacity, wanted[1][0][1],
                           trace, folder)
            why = difference(wanted, got, events)
            count += 1
            same += why is None
            if why is not None:
                print(f"{os.path.basename(path)} under {version}, '{kind[0]}', "
                      f"{capacity} bytes: {why}", flush=True)
    return same, count


def main():
    recorder, version, larder, paths = (sys.argv[1], sys.argv[2], sys.argv[3],
                                        sys.argv[4:])
    same = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            one = compare(recorder, version, larder, path, folder)
            same += one[0]
            count += one[1]
    print(same, count)


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    main()
