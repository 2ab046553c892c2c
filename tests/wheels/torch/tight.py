"""tight.py NAME - trains or generates for some steps, in a way that leaves memory in
pieces: what has to finish on a device hardly larger than what it asks for at once.
Models are those that a GPU trains in tests/gpu/torch."""

import copy
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "gpu", "torch"))

import torch_models  # noqa: E402

WORDS = 8192
LONGEST = 1024


def language_model(layers=6, width=512):
    return torch_models.Transformer(layers, width, 8, WORDS, LONGEST).to("cuda")


def text(size, length):
    words = torch.randint(WORDS, (size, length + 1)).to("cuda")
    return words[:, :-1], words[:, 1:]


def learn(model, optimizer, size, length):
    model.loss(text(size, length)).backward()
    if optimizer is not None:
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def growing_lengths():
    model = language_model()
    optimizer = torch.optim.AdamW(model.parameters())
    for length in range(160, LONGEST, 96):
        learn(model, optimizer, 4, length)


def validation():
    model = language_model()
    optimizer = torch.optim.AdamW(model.parameters())
    for epoch in range(4):
        for step in range(2):
            learn(model, optimizer, 4, 512 + 64 * step)
        with torch.no_grad():
            kept = [model(text(5 + epoch, 384 + 96 * epoch)[0]) for _ in range(2)]
        del kept


class Lora(nn.Module):
    def __init__(self, inside, outside, rank):
        super().__init__()
        self.base = nn.Linear(inside, outside, bias=False).requires_grad_(False)
        self.down = nn.Linear(inside, rank, bias=False)
        self.up = nn.Linear(rank, outside, bias=False)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


def lora_merge(width=1536, wide=4352, count=10, rank=64, steps=4):
    """Layers are merged while their activations' places are free."""
    sizes = [(width, wide), (wide, width)] * count
    layers = nn.Sequential(*(Lora(*size, rank) for size in sizes)).to("cuda")
    taught = [p for p in layers.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(taught)
    for step in range(steps):
        x = torch.randn(450 + 170 * (step % 3), width, device="cuda")
        layers(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        del x
    with torch.no_grad():
        for layer in layers:
            new = layer.base.weight + layer.up.weight @ layer.down.weight
            layer.base.weight = nn.Parameter(new, requires_grad=False)
            del new
    del optimizer, taught
    for layer in layers:
        del layer.up, layer.down
    with torch.no_grad():
        x = torch.randn(15000, width, device="cuda")
        for layer in layers:
            x = layer.base(x)


def kv_cache(layers=12, heads=16, width=64, steps=40):
    weights = [
        torch.randn(3, heads * width, heads * width).to("cuda") for _ in range(layers)
    ]
    for size in (6, 10, 8):
        keys = [torch.randn(size, heads, 500, width, device="cuda") for _ in weights]
        values = [torch.randn_like(k) for k in keys]
        for _ in range(steps):
            x = torch.randn(size, 1, heads * width, device="cuda")
            for i, weight in enumerate(weights):
                q, k, v = (
                    (x @ w).view(size, 1, heads, width).transpose(1, 2) for w in weight
                )
                keys[i] = torch.cat([keys[i], k], 2)
                values[i] = torch.cat([values[i], v], 2)
                scores = (q @ keys[i].transpose(2, 3)).softmax(3)
                x = (scores @ values[i]).transpose(1, 2).reshape(size, 1, -1)
        del keys, values


def late_optimizer():
    model = language_model(8, 640)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(6):
        learn(model, optimizer if step >= 3 else None, 3, 300 + 90 * step)


def gan(width=2048, layers=8, steps=5):
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


def images():
    model = torch_models.ResNet((2, 2, 2, 2)).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(7):
        side = 160 + 37 * (step * 3 % 4)
        x = torch.randn(12, 3, side, side + 21 * (step % 3)).to("cuda")
        y = torch.randint(model.classes, (12,)).to("cuda")
        model.loss((x, y)).backward()
        optimizer.step()
        optimizer.zero_grad()


def on_host(state):
    return {k: v.cpu() for k, v in state.items()}


def checkpoint():
    """Each loaded tensor takes the place of one in use."""
    model = language_model(8, 640)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(3):
        learn(model, optimizer, 2, 320 + 128 * step)
    for step in range(2):
        saved = on_host(model.state_dict())
        of_optimizer = optimizer.state_dict()
        for number, state in of_optimizer["state"].items():
            of_optimizer["state"][number] = on_host(state)
        model.load_state_dict({k: v.to("cuda") for k, v in saved.items()}, assign=True)
        optimizer = torch.optim.AdamW(model.parameters())
        optimizer.load_state_dict(of_optimizer)
        learn(model, optimizer, 2, 800 + 160 * step)


def ema():
    model = language_model()
    optimizer = torch.optim.AdamW(model.parameters())
    learn(model, optimizer, 4, 700)
    mean = copy.deepcopy(model).requires_grad_(False)
    for step in range(5):
        learn(model, optimizer, 4, 480 + 110 * (step % 3))
        with torch.no_grad():
            new = [p * 0.1 for p in model.parameters()]
            for p, q in zip(mean.parameters(), new):
                p.data = p * 0.9 + q
            del new
            mean(text(6, 256 + 128 * (step % 2))[0])


def beam_search(layers=10, heads=16, width=64, beams=8, steps=36):
    weights = [
        torch.randn(3, heads * width, heads * width).to("cuda") for _ in range(layers)
    ]
    for prompt in (700, 400, 900):
        cache = [
            [torch.randn(beams, heads, prompt, width, device="cuda") for _ in range(2)]
            for _ in weights
        ]
        for step in range(steps):
            x = torch.randn(beams, 1, heads * width, device="cuda")
            chosen = (torch.arange(beams) * (step + 1) % beams).to("cuda")
            for pair, weight in zip(cache, weights):
                for i, w in enumerate(weight[:2]):
                    new = (x @ w).view(beams, 1, heads, width).transpose(1, 2)
                    pair[i] = torch.cat([pair[i].index_select(0, chosen), new], 2)
                scores = (new @ pair[0].transpose(2, 3)).softmax(3)
                x = (scores @ pair[1]).transpose(1, 2).reshape(beams, 1, -1)
        del cache


PROGRAMS = {
    "growing lengths": growing_lengths,
    "validation": validation,
    "LoRA merge": lora_merge,
    "KV cache": kv_cache,
    "late optimizer": late_optimizer,
    "GAN": gan,
    "images": images,
    "checkpoint": checkpoint,
    "EMA": ema,
    "beam search": beam_search,
}

if __name__ == "__main__":
    torch.manual_seed(0)
    PROGRAMS[sys.argv[1]]()
