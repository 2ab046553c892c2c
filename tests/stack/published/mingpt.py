"""mingpt.py PARTS - GPT-2 large over 128 characters learns from 32 rows a step, all at
once or in PARTS of which, as in the book, only the last one's gradients stay."""

import math
import sys

import torch
from torch import nn
from torch.nn import functional as F

PARTS, LENGTH, WIDTH, HEADS, DEPTH, CHARACTERS = int(sys.argv[1]), 128, 1280, 20, 36, 65


class Block(nn.Module):
    """Attention and a network of two layers, in plain steps."""

    def __init__(self):
        super().__init__()
        self.norm_1 = nn.LayerNorm(WIDTH)
        self.register_buffer("bias", torch.ones(1, 1, LENGTH, LENGTH).tril())
        self.attend_in, self.attend_out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.norm_2 = nn.LayerNorm(WIDTH)
        self.wide_in, self.wide_out = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.drop = nn.Dropout(0.1)

    def attend(self, x):
        rows, length, _ = x.shape
        query, key, value = self.attend_in(x).split(WIDTH, dim=2)
        key, query, value = (
            part.view(rows, length, HEADS, -1).transpose(1, 2) for part in (key, query, value))
        scores = (query @ key.transpose(-2, -1)) * (1.0 / math.sqrt(key.size(-1)))
        scores = scores.masked_fill(self.bias[:, :, :length, :length] == 0, -math.inf)
        scores = self.drop(F.softmax(scores, dim=-1))
        out = (scores @ value).transpose(1, 2).contiguous().view(rows, length, WIDTH)
        return self.drop(self.attend_out(out))

    def act(self, x):
        inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))
        return 0.5 * x * (1.0 + torch.tanh(inner))

    def forward(self, x):
        x = x + self.attend(self.norm_1(x))
        return x + self.drop(self.wide_out(self.act(self.wide_in(self.norm_2(x)))))


class GPT(nn.Module):
    """Embeddings, blocks, and an output layer."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(CHARACTERS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.layers = nn.Sequential(*[Block() for _ in range(DEPTH)])
        self.drop, self.norm = nn.Dropout(0.1), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, CHARACTERS, bias=False)

    def forward(self, ids, targets):
        places = self.places(torch.arange(ids.shape[1], device="cuda").unsqueeze(0))
        logits = self.head(self.norm(self.layers(self.drop(self.tokens(ids) + places))))
        return logits, F.cross_entropy(logits.view(-1, CHARACTERS), targets.view(-1))


model = GPT().to("cuda")
decay = {id(m.weight) for m in model.modules() if isinstance(m, nn.Linear)}
# By name, as in the book: states lie in the order in which they are made.
named = [parameter for _, parameter in sorted(model.named_parameters())]
groups = [[p for p in named if (id(p) in decay) == kind] for kind in (True, False)]
optimizer = torch.optim.AdamW([{"params": group} for group in groups], lr=5e-4)


def run(steps):
    """A function, so that its last batch and graph go before the next run."""
    for _ in range(steps):
        for _ in range(PARTS):
            ids, targets = (torch.zeros(32 // PARTS, LENGTH).long().to("cuda") for _ in range(2))
            _, loss = model(ids, targets)
            model.zero_grad(set_to_none=True)
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return loss


loss = run(10)
loss = run(1)
print("allocated", torch.cuda.memory_allocated())
print("reserved", torch.cuda.memory_reserved())
