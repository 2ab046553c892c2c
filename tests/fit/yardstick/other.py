"""A plain network, a recurrent one, and one on a graph."""

import torch
from torch import nn
from torch.nn import functional

DEVICE = "cuda"


def mlp(options):
    model = nn.Sequential(
        nn.Linear(1024, 4096),
        nn.ReLU(),
        nn.Linear(4096, 4096),
        nn.ReLU(),
        nn.Linear(4096, 1000),
    ).to(DEVICE)

    def loss():
        data = torch.randn(256, 1024, device=DEVICE)
        labels = torch.randint(0, 1000, (256,), device=DEVICE)
        return functional.cross_entropy(model(data), labels)

    return model, loss


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10000, 256)
        self.layers = nn.LSTM(256, 512, 2, batch_first=True)
        self.head = nn.Linear(512, 10000)

    def forward(self, words):
        return self.head(self.layers(self.embedding(words))[0])


def lstm(options):
    model = Recurrent().to(DEVICE)

    def loss():
        words = torch.randint(0, 10000, (16, 64), device=DEVICE)
        return functional.cross_entropy(model(words).flatten(0, 1), words.flatten())

    return model, loss


class Graph(nn.Module):
    """Means of the neighbours, by index_add_ and scatter_add_."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(128, 256), nn.Linear(256, 256)])
        self.head = nn.Linear(256, 40)

    def forward(self, data, edges):
        for layer in self.layers:
            data = layer(data).relu()
            total = torch.zeros_like(data)
            total.index_add_(0, edges[1], data[edges[0]])
            ones = torch.ones(edges.size(1), 1, device=DEVICE, dtype=data.dtype)
            count = torch.zeros(data.size(0), 1, device=DEVICE, dtype=data.dtype)
            data = total / (1 + count.scatter_add_(0, edges[1][:, None], ones))
        return self.head(data)


def gnn(options):
    model = Graph().to(DEVICE)

    def loss():
        data = torch.randn(20000, 128, device=DEVICE)
        edges = torch.randint(0, 20000, (2, 200000), device=DEVICE)
        labels = torch.randint(0, 40, (20000,), device=DEVICE)
        return functional.cross_entropy(model(data, edges), labels)

    return model, loss
