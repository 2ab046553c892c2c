"""peaks.py FOLDER PROGRAM - runs a program; each of its processes that used the
GPU leaves its peaks in FOLDER: allocated and reserved, of the card it used most."""

import json
import os
import runpy
import sys

folder, path = sys.argv[1:3]
sys.argv = sys.argv[2:]
sys.path[0] = os.path.dirname(os.path.abspath(path))


def run_cells(path):
    with open(path, encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    names = {"__name__": "__main__"}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)


if path.endswith(".ipynb"):
    run_cells(path)
else:
    runpy.run_path(path, run_name="__main__")

import torch  # noqa: E402  (the program is the first to import it)

cards = range(torch.cuda.device_count())
peaks = max(
    [torch.cuda.max_memory_allocated(one), torch.cuda.max_memory_reserved(one)]
    for one in cards
)
with open(os.path.join(folder, str(os.getpid())), "w", encoding="utf-8") as file:
    json.dump(peaks, file)
