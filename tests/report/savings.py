#!/usr/bin/env python3
"""savings.py LARDER SNAPSHOT... - is every saving that `larder report` offers what
the run would need less?

A program of its own: it reads the snapshots with Python's pickle, follows every
allocation, sorts them by the rules that docs/SEEING.md gives, takes away the bytes
that the advice is about, and adds up the whole run again.  Where the two differ by
more than a hundredth it says so and exits 1."""
import json
import pickle
import re
import subprocess
import sys

SIGNS_OF_FILES = {"/optim/": "optimizer", "optimizer": "optimizer"}
SIGNS_OF_NAMES = {
    "Optimizer": "optimizer", "backward": "backward", "Backward": "backward",
    "autograd::Engine": "backward", "forward": "forward", "__init__": "setup",
    "from_pretrained": "setup", "load_state_dict": "setup", "_apply": "setup",
    "reset_parameters": "setup", "zero_grad": "zero_grad",
}
TOLD = {
    "parameter": "weights", "parameters": "weights", "weight": "weights",
    "weights": "weights", "gradient": "gradients", "gradients": "gradients",
    "optimizer_state": "optimizer state", "optimizer": "optimizer state",
    "optimizer state": "optimizer state", "activation": "activations",
    "activations": "activations", "autograd_detail": "activations",
    "temporary": "temporaries", "temporaries": "temporaries", "input": "long-lived",
}
SHORT = 32  # events
LOSSES = ("cross_entropy", "CrossEntropy", "nll_loss", "NllLoss", "log_softmax",
          "LogSoftmax")


def load(path):
    with open(path, "rb") as file:
        data = file.read()
    return json.loads(data) if data.lstrip()[:1] == b"{" else pickle.loads(data)


def rounded(size):
    return max(512, (size + 511) // 512 * 512)


class Alloc:
    def __init__(self, start, size, frames, told):
        self.start, self.end, self.size = start, None, size
        self.frames, self.told = frames, str(told or "").lower()
        self.by, self.freed_by, self.kind = signs(frames), set(), None


def signs(frames):
    """Of the two passes the inner one counts."""
    found = set()
    for frame in frames or []:
        here = {"someone"}
        here |= {by for sign, by in SIGNS_OF_FILES.items()
                 if sign in frame["filename"]}
        here |= {by for sign, by in SIGNS_OF_NAMES.items() if sign in frame["name"]}
        if found & {"forward", "backward"}:
            here -= {"forward", "backward"}
        found |= here
    return found


class Run:
    """One device's allocations; those from before the recording start at -1."""

    def __init__(self, snapshot, device):
        self.events = snapshot["device_traces"][device]
        self.allocs, live = [], {}
        for number, event in enumerate(self.events):
            self.follow(number, event, live)
        self.end = len(self.events)
        for segment in snapshot["segments"]:
            if segment.get("device", 0) == device:
                self.finish(segment, live)
        for alloc in self.allocs:
            alloc.end = self.end if alloc.end is None else alloc.end
            alloc.kind = self.kind_of(alloc)

    def add(self, start, size, event):
        alloc = Alloc(start, size, event.get("frames"),
                      event.get("user_metadata") or event.get("category"))
        self.allocs.append(alloc)
        return alloc

    def follow(self, number, event, live):
        action, address = event["action"], event.get("addr")
        if action == "alloc":
            if address in live:
                live.pop(address).end = number
            live[address] = self.add(number, rounded(event["size"]), event)
        elif action == "free_requested":
            alloc = live.pop(address, None)
            if alloc is None:
                alloc = self.add(-1, rounded(event["size"]), {})
            alloc.end, alloc.freed_by = number, signs(event.get("frames"))

    def finish(self, segment, live):
        address = segment["address"]
        for block in segment["blocks"]:
            at = block.get("address", address)
            address = at + block["size"]
            if block["state"] != "active_allocated":
                continue
            if at in live:
                live[at].size = block["size"]
            else:
                self.add(-1, block["size"], block)

    def kind_of(self, a):
        if a.told in TOLD:
            return TOLD[a.told]
        long = a.end == self.end or a.end - max(a.start, 0) > self.end // 2
        if a.start >= 0 and a.end < self.end and a.end - a.start <= SHORT:
            return "temporaries"
        if not a.by and a.start < 0:
            return self.kind_of_old(a, long)
        if long:
            return self.kind_of_long(a)
        if "backward" in a.by:
            within = "backward" in a.freed_by and not a.freed_by & {
                "zero_grad", "optimizer"}
            return "temporaries" if within else "gradients"
        return "optimizer state" if "optimizer" in a.by else "activations"

    def kind_of_old(self, a, long):
        if "zero_grad" in a.freed_by:
            return "gradients"
        if "optimizer" in a.freed_by:
            near = self.events[max(0, a.end - SHORT):a.end + SHORT]
            again = any(e["action"] == "alloc" and rounded(e["size"]) == a.size and
                        "optimizer" in signs(e.get("frames")) for e in near)
            return "optimizer state" if again else "gradients"
        if "backward" in a.freed_by:
            return "activations"
        return "weights" if long else "activations"

    @staticmethod
    def kind_of_long(a):
        if "optimizer" in a.by:
            return "optimizer state"
        if "backward" in a.by:
            return "gradients"
        if "setup" in a.by and "forward" not in a.by:
            return "weights"
        if "forward" in a.by and a.start >= 0:
            return "activations"
        return "long-lived"

    def peak(self, less=lambda alloc: 0):
        change = [0] * (self.end + 2)
        for a in self.allocs:
            size = a.size - less(a)
            change[a.start + 1] += size
            change[a.end + 1] -= size
        most = level = 0
        for step in change[:self.end + 1]:
            level += step
            most = max(most, level)
        return most


def names(alloc):
    return [frame["name"] for frame in alloc.frames or []]


def has(alloc, parts):
    return any(part in name for name in names(alloc) for part in parts)


def is_loss(alloc):
    return has(alloc, LOSSES)


def is_softmax(alloc):
    fused = any("scaled_dot_product" in frame["name"] and
                ".py" not in frame["filename"] for frame in alloc.frames or [])
    return has(alloc, ("softmax", "Softmax")) and not is_loss(alloc) and not fused


def label(frame):
    line = frame.get("line") or 0
    base = re.split(r"[/\\]", frame["filename"])[-1]
    if not line or base in ("", "??"):
        return frame["name"]
    return f"{base}:{line} {frame['name']}"


def holds_line(alloc, line):
    cell = re.fullmatch(r"cell \d+:(\d+) (.*)", line)  # of a notebook
    if cell:
        return any((str(frame["line"]), frame["name"]) == cell.groups()
                   for frame in alloc.frames or [])
    return any(label(frame) == line for frame in alloc.frames or [])


def less_of(by, advice):
    """Bytes of an allocation that the advice takes away."""
    line = re.search(r"Do the step at (.*) in place or in parts", advice)
    kinds = {"activations": 0.5, "temporaries": 0.5, "weights": 0.5,
             "optimizer state": 0.75}
    if by == "fused attention":
        return lambda a: a.size if is_softmax(a) else 0
    if by == "loss in pieces":
        return lambda a: a.size * 7 // 8 if is_loss(a) else 0
    if line:
        return lambda a: a.size // 2 if a.kind == by and holds_line(
            a, line.group(1)) else 0
    return lambda a: int(a.size * kinds[by]) if a.kind == by else 0


def check(path, device, verdict):
    """The offered saving and ours; None if nothing is offered."""
    by = verdict["saving"]["by"]
    if by in ("none", "setting", "leak"):
        return None
    run = Run(load(path), device)
    return verdict["saves_bytes"], run.peak() - run.peak(less_of(by, verdict["do"]))


def main(larder, paths):
    wrong = checked = 0
    for path in paths:
        done = subprocess.run([larder, "report", "--json", path],
                              capture_output=True, check=False)
        if done.returncode != 0:
            continue
        for device in json.loads(done.stdout)["devices"]:
            found = check(path, device["device"], device["verdict"])
            if found is None:
                continue
            checked += 1
            told, ours = found
            if abs(told - ours) > 0.01 * max(told, ours):
                wrong += 1
                print(f"{path}, device {device['device']}: {told} bytes are "
                      f"offered, {ours} would be saved: {device['verdict']['do']}")
    print(f"{checked} savings checked, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
