"""gpt_steps.py [mask] [fused] [bf16] [native] - GPT-2 (124 million) with attention in
plain steps learns, is evaluated, and writes fifty words.

`mask`: each layer keeps one; `native`: PyTorch's own layer norm and GELU."""

import math
import sys

import torch
from torch import nn

WORDS, LENGTH, WIDTH, HEADS, VOCABULARY = sys.argv[1:], 1024, 768, 12, 50257


class Norm(nn.Module):
    """Layer norm of separate operators."""

    def __init__(self):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(WIDTH)), nn.Parameter(torch.zeros(WIDTH))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        var = x.var(dim=-1, keepdim=True, unbiased=False)
        norm_x = (x - mean) / torch.sqrt(var + 1e-5)
        return self.scale * norm_x + self.shift


class Gelu(nn.Module):
    """GELU of separate operators."""

    def forward(self, x):
        cubed = x + 0.044715 * torch.pow(x, 3)
        return 0.5 * x * (1 + torch.tanh(torch.sqrt(torch.tensor(2 / math.pi)) * cubed))


class Attention(nn.Module):
    """Causal attention whose scores are kept for the backward pass."""

    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))
        self.out, self.dropout = nn.Linear(WIDTH, WIDTH), nn.Dropout(0.1)
        if "mask" in WORDS:
            self.register_buffer("mask", torch.ones(LENGTH, LENGTH).triu(1))

    def forward(self, x):
        rows, length, _ = x.shape
        split = [part(x).view(rows, length, HEADS, -1).transpose(1, 2) for part in self.parts]
        keys, queries, values = split
        scores = queries @ keys.transpose(2, 3)
        if "mask" in WORDS:
            hidden = self.mask.bool()[:length, :length]
        else:
            hidden = torch.ones(length, length, device=x.device).triu(1).bool()
        scores.masked_fill_(hidden, -torch.inf)
        weights = self.dropout(torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1))
        context = (weights @ values).transpose(1, 2)
        return self.out(context.reshape(rows, length, WIDTH))


if __name__ == "__main__":
    sys.path.insert(0, __file__.rsplit("/", 1)[0] + "/parts")
    from gpt_training import GPT, train

    norm = (lambda: nn.LayerNorm(WIDTH)) if "native" in WORDS else Norm
    gelu = nn.GELU("tanh") if "native" in WORDS else Gelu()
    train(GPT(Attention, norm, gelu, VOCABULARY), WORDS, 8)
