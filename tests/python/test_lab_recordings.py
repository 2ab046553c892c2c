"""Training from Python asks for what PyTorch was recorded to ask for: every
request above 512 bytes, and every free, in order (tests/data/traces/lab_*)."""

import os
import subprocess
import unittest

import lab_case
from lab_case import MIB, LabCase
from larder import lab
from larder.lab.torch_stand_in import installing

installing.install()

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

TRACES = os.path.join(
    os.path.dirname(lab_case.PACKAGE_DIR), "tests", "data", "traces"
)
COMMAND = os.path.join(os.environ.get("LARDER_LIBRARY_DIR", ""), "larder")
SMALL = 512
# The state of the processor's random numbers, which a checkpoint keeps in host
# memory: the recording was made on the processor.
RANDOM_STATE = 5056


def rounded(count):
    return -(-count // 512) * 512


class Block(nn.Module):
    def __init__(self, width=256, heads=4):
        super().__init__()
        self.heads = heads
        self.ln1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.ln2 = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)

    def heads_of(self, x):
        n, t, c = x.shape
        return x.view(n, t, self.heads, c // self.heads).transpose(1, 2)

    def forward(self, h):
        q, k, v = map(self.heads_of, self.qkv(self.ln1(h)).chunk(3, -1))
        a = (q @ k.transpose(-2, -1) / 8).softmax(-1)
        h = h + self.proj((a @ v).transpose(1, 2).reshape(h.shape))
        h = h + self.fc2(F.gelu(self.fc1(self.ln2(h))))
        return h


def run_mlp():
    model = nn.Sequential(
        nn.Linear(784, 512, device="cuda"),
        nn.ReLU(),
        nn.Linear(512, 256, device="cuda"),
        nn.ReLU(),
        nn.Linear(256, 10, device="cuda"),
    )
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    for _ in range(3):
        x = torch.randn(128, 784).to("cuda")
        y = torch.randint(0, 10, (128,)).to("cuda")
        opt.zero_grad()
        out = model(x)
        loss = loss_of(out, y)
        loss.item()
        loss.backward()
        opt.step()


def run_blocks(run=lambda block, h: block(h), wants=False):
    blocks = [Block() for _ in range(2)]
    for block in blocks:
        block.to("cuda")
    params = [one for block in blocks for one in block.parameters()]
    opt = torch.optim.AdamW(params, lr=1e-3, foreach=False)
    for _ in range(2):
        h = torch.randn(8, 64, 256, device="cuda", requires_grad=wants)
        opt.zero_grad()
        for block in blocks:
            h = run(block, h)
        loss = (h * h).mean()
        loss.backward()
        del loss, h
        opt.step()


def run_checkpointed():
    run_blocks(lambda block, h: checkpoint(block, h), True)


class Recordings(LabCase):
    def recorded(self, name):
        """("a", bytes) and ("f", number of the allocation)."""
        path = os.path.join(TRACES, f"{name}.trace.zst")
        made = f"/tmp/larder_{os.getpid()}_{name}.trace"
        try:
            subprocess.run(
                [COMMAND, "convert", path, made],
                check=True,
                capture_output=True,
            )
            with open(made, encoding="utf-8") as file:
                lines = [line.split() for line in file]
        finally:
            if os.path.exists(made):
                os.remove(made)
        return self.numbered(
            (word[0], word[1], int(word[2]) if word[0] == "a" else 0)
            for word in lines
            if word and word[0] in "af"
        )

    def asked(self, run):
        self.session.record()
        run()
        (events,) = self.session.history()["device_traces"]
        return self.numbered(
            ("a" if e["action"] == "alloc" else "f", e["addr"], e["size"])
            for e in events
            if e["action"] in ("alloc", "free_requested")
        )

    def numbered(self, steps):
        numbers, found, count = {}, [], 0
        for what, key, size in steps:
            if what == "f":
                if key in numbers:
                    found.append(("f", numbers.pop(key)))
            elif size > SMALL and size != RANDOM_STATE:
                numbers[key] = count
                found.append(("a", rounded(size)))
                count += 1
        return found

    def equal(self, name, run):
        expected, found = self.recorded(name), self.asked(run)
        for at, (one, other) in enumerate(zip(expected, found)):
            self.assertEqual(one, other, f"step {at} of {name}")
        # What lives at its end the recording does not free.
        rest = found[len(expected) :]
        self.assertEqual([one for one in rest if one[0] == "a"], [])
        self.assertGreaterEqual(len(found), len(expected))

    def test_a_perceptron(self):
        self.equal("lab_mlp", run_mlp)

    def test_transformer_blocks(self):
        self.equal("lab_block", run_blocks)

    def test_transformer_blocks_under_checkpoints(self):
        self.equal("lab_block_ckpt", run_checkpointed)

    def test_backward(self):
        def run():
            x = torch.zeros(4 * MIB, device="cuda", requires_grad=True)
            y = 5 * x
            y.mean().backward()

        self.equal("lab_backward", run)

    def test_backward_with_a_retained_gradient(self):
        def run():
            x = torch.zeros(4 * MIB, device="cuda", requires_grad=True)
            y = 5 * x
            y.retain_grad()
            y.mean().backward()

        self.equal("lab_retain", run)


if __name__ == "__main__":
    if not os.access(COMMAND, os.X_OK):
        raise unittest.SkipTest("no command beside the libraries")
    lab_case.main()
