"""What both GPT-2 programs share: the blocks around attention, and the run."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy

LENGTH, WIDTH, DEPTH = 1024, 768, 12


class Block(nn.Module):
    """Attention and a network of two layers, each added to its input."""

    def __init__(self, attention, norm, gelu):
        super().__init__()
        self.attention, self.before, self.between = attention(), norm(), norm()
        self.layers = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), gelu, nn.Linear(4 * WIDTH, WIDTH))
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        x = self.dropout(self.attention(self.before(x))) + x
        return self.dropout(self.layers(self.between(x))) + x


class GPT(nn.Module):
    """Embeddings, blocks, and an output layer of its own weights."""

    def __init__(self, attention, norm, gelu, vocabulary):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*[Block(attention, norm, gelu) for _ in range(DEPTH)])
        self.dropout, self.norm = nn.Dropout(0.1), norm()
        self.head = nn.Linear(WIDTH, vocabulary, bias=False)

    def forward(self, ids):
        places = self.places(torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.norm(self.blocks(self.dropout(self.tokens(ids) + places))))


def loss_of(model, rows):
    ids, targets = (torch.zeros(rows, LENGTH).long().to("cuda") for _ in range(2))
    return cross_entropy(model(ids).flatten(0, 1), targets.flatten())


def write(model):
    ids = torch.zeros(1, 4).long().to("cuda")
    for _ in range(50):
        last = model(ids)[:, -1, :]
        ids = torch.cat((ids, torch.argmax(last, dim=-1, keepdim=True)), dim=1)


def train(model, words, rows):
    if "compile" in words:
        model = torch.compile(model)
    model.to("cuda")
    if "bf16" in words:
        model.to(torch.bfloat16)
    options = {"fused": True} if "fused" in words else {}
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.1, **options)
    for _ in range(4):
        optimizer.zero_grad()
        loss = loss_of(model, rows)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        loss_of(model, rows).item()
        loss_of(model, rows).item()
        write(model)
    print("allocated", torch.cuda.memory_allocated())
    print("reserved", torch.cuda.memory_reserved())
