"""ResNet-50 and a transformer of GPT-2's size, in torch.nn alone, with random
weights; and batches of varying shapes."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class Bottleneck(nn.Module):
    def __init__(self, inside, width, stride):
        super().__init__()
        outside = width * 4
        self.body = nn.Sequential(
            nn.Conv2d(inside, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, outside, 1, bias=False),
            nn.BatchNorm2d(outside),
        )
        self.short = nn.Identity()
        if stride != 1 or inside != outside:
            self.short = nn.Sequential(
                nn.Conv2d(inside, outside, 1, stride, bias=False),
                nn.BatchNorm2d(outside),
            )

    def forward(self, x):
        return F.relu(self.body(x) + self.short(x))


class ResNet(nn.Module):
    """depths (3, 4, 6, 3) and width 64: ResNet-50."""

    def __init__(self, depths=(3, 4, 6, 3), width=64, classes=1000):
        super().__init__()
        layers = [
            nn.Conv2d(3, width, 7, 2, 3, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        ]
        inside = width
        for stage, depth in enumerate(depths):
            for block in range(depth):
                stride = 2 if stage > 0 and block == 0 else 1
                layers.append(Bottleneck(inside, width << stage, stride))
                inside = (width << stage) * 4
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(inside, classes)
        self.classes = classes

    def forward(self, x):
        return self.head(self.layers(x).mean((2, 3)))

    def batch(self, size, step, device):
        """Sides of 160 to 224 pixels."""
        side = 160 + 32 * (step % 3)
        x = torch.randn(size, 3, side, side, device=device)
        return x, torch.randint(self.classes, (size,), device=device)

    def loss(self, batch):
        x, y = batch
        return F.cross_entropy(self(x), y)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before = nn.LayerNorm(width)
        self.attend = nn.Linear(width, 3 * width)
        self.join = nn.Linear(width, width)
        self.after = nn.LayerNorm(width)
        self.grow = nn.Linear(width, 4 * width)
        self.shrink = nn.Linear(4 * width, width)

    def attention(self, x):
        b, t, c = x.shape
        q, k, v = (
            part.view(b, t, self.heads, c // self.heads).transpose(1, 2)
            for part in self.attend(x).split(c, 2)
        )
        scores = q @ k.transpose(2, 3) / math.sqrt(c // self.heads)
        hidden = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(hidden, float("-inf")).softmax(3)
        return self.join((weights @ v).transpose(1, 2).reshape(b, t, c))

    def forward(self, x):
        x = x + self.attention(self.before(x))
        return x + self.shrink(F.gelu(self.grow(self.after(x))))


class Transformer(nn.Module):
    """12 layers, width 768, 12 heads: GPT-2."""

    def __init__(self, layers=12, width=768, heads=12, words=50257, long=1024):
        super().__init__()
        self.words = words
        self.long = long
        self.tokens = nn.Embedding(words, width)
        self.places = nn.Embedding(long, width)
        self.blocks = nn.Sequential(
            *[Block(width, heads) for _ in range(layers)]
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, x):
        places = torch.arange(x.shape[1], device=x.device)
        x = self.tokens(x) + self.places(places)
        return self.head(self.norm(self.blocks(x)))

    def batch(self, size, step, device):
        """A quarter of the length to all of it."""
        t = self.long * (1 + step * 7 % 4) // 4
        x = torch.randint(self.words, (size, t + 1), device=device)
        return x[:, :-1], x[:, 1:]

    def loss(self, batch):
        x, y = batch
        return F.cross_entropy(self(x).flatten(0, 1), y.flatten())


def make(name, small=False):
    """ "resnet" or "gpt2"; small ones are for trying the scripts."""
    if name == "resnet":
        return ResNet((1, 1, 1, 1), 8, 10) if small else ResNet()
    if small:
        return Transformer(2, 32, 4, 100, 64)
    return Transformer()
