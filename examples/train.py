"""train.py - trains a small language model on random text: something to try
`larder run` and `larder.record` on, and not to learn from.  With --ragged each
step's texts have a length of their own."""

import argparse
import random

import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY, WIDTH, LAYERS, LENGTH = 16384, 512, 8, 512


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.mlp = nn.Sequential(
            nn.LayerNorm(WIDTH),
            nn.Linear(WIDTH, 4 * WIDTH),
            nn.GELU(),
            nn.Linear(4 * WIDTH, WIDTH),
        )

    def attend(self, x):
        q, k, v = (
            part.unflatten(-1, (8, -1)).transpose(1, 2)
            for part in self.qkv(self.norm(x)).chunk(3, -1)
        )
        scores = (q @ k.transpose(2, 3) / q.shape[-1] ** 0.5).softmax(-1)
        return (scores @ v).transpose(1, 2).flatten(2)

    def forward(self, x):
        x = x + self.attend(x)
        return x + self.mlp(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, text):
        return self.head(self.blocks(self.words(text)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--ragged", action="store_true")
    options = parser.parse_args()
    model = Model().to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    random.seed(1)
    for _ in range(options.steps):
        length = random.randint(LENGTH // 4, LENGTH) if options.ragged else LENGTH
        text = torch.randint(VOCABULARY, (options.batch_size, length + 1)).to("cuda")
        scores = model(text[:, :-1])
        loss = F.cross_entropy(scores.flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
