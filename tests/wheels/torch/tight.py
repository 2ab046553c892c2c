"""tight.py NAME - trains for some steps: what has to finish on a device hardly
larger than what it asks for at once.  Prints nothing; models are those that a GPU
trains in tests/gpu/torch."""

import os
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "gpu", "torch"))

import torch_models  # noqa: E402


def plain(name, size, steps=6, accumulated=1):
    model = torch_models.make(name).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(steps):
        optimizer.zero_grad(set_to_none=True)
        for part in range(accumulated):
            batch = model.batch(size, step * accumulated + part, "cuda")
            model.loss(batch).backward()
        optimizer.step()


def checkpointed(size=8, steps=5):
    model = torch_models.make("gpt2").to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(steps):
        x, y = model.batch(size, step, "cuda")
        places = torch.arange(x.shape[1], device="cuda")
        hidden = model.tokens(x) + model.places(places)
        for block in model.blocks:
            hidden = checkpoint(block, hidden, use_reentrant=False)
        said = model.head(model.norm(hidden)).flatten(0, 1)
        F.cross_entropy(said, y.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()


def gan(width=4096, layers=6, steps=5):
    def deep(*more):
        body = [nn.Linear(width, width) for _ in range(layers)]
        return nn.Sequential(*body, *more).to("cuda")

    maker, judge = deep(), deep(nn.Linear(width, 1))
    of_maker = torch.optim.Adam(maker.parameters())
    of_judge = torch.optim.Adam(judge.parameters())
    for step in range(steps):
        noise = torch.randn(1024 + 512 * (step % 3), width, device="cuda")
        judge(maker(noise).detach()).mean().backward()
        of_judge.step()
        of_judge.zero_grad()
        judge(maker(noise)).mean().backward()
        of_maker.step()
        of_maker.zero_grad()


PROGRAMS = {
    "gpt2": lambda: plain("gpt2", 4),
    "gpt2, accumulated": lambda: plain("gpt2", 2, accumulated=3),
    "gpt2, checkpointed": checkpointed,
    "resnet": lambda: plain("resnet", 48),
    "gan": gan,
}

if __name__ == "__main__":
    torch.manual_seed(0)
    PROGRAMS[sys.argv[1]]()
