"""viewers.py FOLDER - PyTorch's own viewers open what Larder wrote; FOLDER keeps
the plots."""

import os
import pickle
import subprocess
import sys

import torch
from torch.cuda import _memory_viz as viz

import larder.torch

folder = sys.argv[1]
larder.torch.enable()
memory = torch.cuda.memory
memory._record_memory_history()
paths = [os.path.join(folder, name) for name in ("a.pickle", "b.pickle")]


def layers():
    return [
        torch.empty(n << 20, dtype=torch.uint8, device="cuda")
        for n in (1, 5, 20)
    ]


kept = layers()
memory._dump_snapshot(paths[0])
more = layers()
del kept
memory._dump_snapshot(paths[1])
memory._record_memory_history(None)
with open(paths[1], "rb") as file:
    snapshot = pickle.load(file)
events = snapshot["device_traces"][0]
names = {f["name"] for e in events for f in e["frames"]}
assert "layers" in names, names


def viewed(*arguments):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "torch.cuda._memory_viz",
         *arguments],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


assert "layers" in viewed("trace", paths[1])
viewed("stats", paths[1])
for plot in ("trace_plot", "segment_plot"):
    page = os.path.join(folder, plot + ".html")
    viewed(plot, paths[1], "-o", page)
    assert os.path.getsize(page) > 4000
# These draw by a script that they fetch: what they hand to it is looked at.
with open(paths[0], "rb") as file:
    before = pickle.load(file)
for lines in (
    viz.segments(snapshot, str),
    viz.memory(snapshot, str),
    viz.compare(before["segments"], snapshot["segments"], str),
):
    assert "layers" in lines and "viewers.py" in lines, lines
print("stats, trace, segments, memory, compare and both plots")
