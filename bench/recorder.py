#!/usr/bin/env python3
"""recorder.py [--entries N,...] [--stacks python|all] [--batch N] - what
larder.record costs a training step: host time of a step with PyTorch's recorder
off and on, in turn, as larder.record sets it, for several sizes of its ring.

    larder exec --sim 24GiB,backing=none --quiet -- python3 bench/recorder.py

Under `larder exec` kernels cost nothing, so that the step is the host's alone:
the worst case.  On a GPU the last column is of the time until that is done.
Rounds alternate, each of LOOKS times STEPS steps; the figures are the least of
all.
"""

import argparse
import gc
import time

import torch
from torch import nn

LAYERS, WIDTH, HEADS, LENGTH = 8, 512, 8, 256
STEPS, LOOKS = 4, 10
LARGE = 1_000_000  # events: no step has as many
COLUMNS = "{:>9}  {:>8}  {:>8}  {:>9}  {:>8}  {:>6}  {:>9}"


class Step:
    """A training step of transformer blocks, as PyTorch has them."""

    def __init__(self, batch=8):
        block = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, batch_first=True
        )
        self.model = nn.TransformerEncoder(
            block, LAYERS, enable_nested_tensor=False
        ).cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.x = torch.zeros(batch, LENGTH, WIDTH, device="cuda")

    def __call__(self):
        self.model(self.x).square().mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


def record(entries, stacks="python"):
    """Record as larder.record does; None: do not record."""
    start = torch.cuda.memory._record_memory_history
    if entries is None:
        start(enabled=None)
    else:
        start(context="alloc", stacks=stacks, max_entries=entries)


def events():
    return sum(len(d) for d in torch.cuda.memory._snapshot()["device_traces"])


def seconds(step):
    """Of a step: the host's time, and the time until the GPU is done."""
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(STEPS):
        step()
    host = time.perf_counter() - begun
    torch.cuda.synchronize()
    return host / STEPS, (time.perf_counter() - begun) / STEPS


def events_of(step):
    """Events of a step."""
    record(LARGE)
    step()
    before = events()
    step()
    count = events() - before
    record(None)
    return count


def compare(step, entries, count, options):
    """The least (host, all) with the recorder off, and on with its ring full, as in
    a long run.  The rounds alternate, so that other load on the machine affects
    both."""
    off, on = [], []
    for _ in range(options.rounds):
        off += [seconds(step) for _ in range(LOOKS)]
        record(entries, options.stacks)
        for _ in range(entries // count + 1):
            step()
        on += [seconds(step) for _ in range(LOOKS)]
        record(None)
    return [[min(part) for part in zip(*r)] for r in (off, on)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--entries", default="200000")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--stacks", default="python")
    parser.add_argument("--batch", type=int, default=8)
    options = parser.parse_args()
    step = Step(options.batch)
    for _ in range(5):
        step()
    count = events_of(step)
    gc.disable()
    print(f"PyTorch {torch.__version__} on {torch.cuda.get_device_name()}")
    print(
        COLUMNS.format(
            "entries", "events", "off, ms", "recorded", "ns/event", "host", "with GPU"
        )
    )
    for text in options.entries.split(","):
        off, on = compare(step, int(text), count, options)
        print(
            COLUMNS.format(
                text,
                count,
                f"{1e3 * off[0]:.2f}",
                f"{1e3 * on[0]:.2f}",
                f"{1e9 * (on[0] - off[0]) / count:.0f}",
                f"{100 * (on[0] / off[0] - 1):.1f} %",
                f"{100 * (on[1] / off[1] - 1):.1f} %",
            )
        )


if __name__ == "__main__":
    main()
