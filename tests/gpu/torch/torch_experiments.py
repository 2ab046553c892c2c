"""Experiments of the lab (larder lab run), in PyTorch itself: a step each with
what is allocated after it."""

import torch
from torch.utils import checkpoint

MIB = 1 << 20


class _Steps:
    def __init__(self):
        self.found = []
        self._base = torch.cuda.memory_allocated()

    def note(self, name):
        self.found.append((name, torch.cuda.memory_allocated() - self._base))


def move_and_reuse(device, steps):
    a = torch.zeros(256, 1024, 1024, device=device)
    steps.note("1 GiB of zeros")
    b = a.to("cpu")
    steps.note("a copy on the host")
    del a
    steps.note("the GPU's deleted")
    a = b.to(device)
    steps.note("and moved back")
    del a, b


def units(device, steps):
    kept = []
    for count in (1, 128, 129, MIB // 4, MIB // 4 + 1, 5 * MIB):
        kept.append(torch.empty(count, device=device))
        steps.note(f"{count} floats")
    del kept


def backward(device, steps):
    x = torch.zeros(64, 1024, 1024, device=device, requires_grad=True)
    steps.note("x")
    y = 5 * x
    steps.note("y = 5 * x")
    z = y.mean()
    z.backward()
    steps.note("backward: the gradient of x alone stays")
    del x, y, z
    steps.note("all deleted")


def losses(device, steps):
    w = torch.ones(MIB, device=device, requires_grad=True)
    kept = []
    for _ in range(3):
        kept.append((w * w).sum())
        steps.note("a loss is kept, with its graph")
    kept = [float(loss) for loss in kept]
    steps.note("as numbers")
    del w, kept


def checkpointing(device, steps):
    def layer(x):
        return torch.tanh(torch.exp(torch.tanh(x)))

    x = torch.zeros(8 * MIB, device=device, requires_grad=True)
    y = layer(layer(x))
    steps.note("two layers")
    del y
    y = checkpoint.checkpoint(layer, x, use_reentrant=False)
    y = checkpoint.checkpoint(layer, y, use_reentrant=False)
    steps.note("and checkpointed")
    y.sum().backward()
    steps.note("after backward")
    del x, y


def run(device):
    """A list of (experiment, step, bytes)."""
    found = []
    for experiment in (move_and_reuse, units, backward, losses, checkpointing):
        steps = _Steps()
        experiment(device, steps)
        found += [
            (experiment.__name__, name, count) for name, count in steps.found
        ]
        torch.cuda.empty_cache()
    return found
