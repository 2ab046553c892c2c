"""Sizes that depend on values, and training whose losses are those of the host."""

import torch
from torch import nn


def sizes():
    data = torch.arange(-8, 8, device="cuda").float()
    assert data[data > 2].tolist() == [3, 4, 5, 6, 7]
    assert (data > 0).nonzero().shape == (7, 1)
    assert torch.masked_select(data, data < -5).shape == (3,)
    assert torch.unique(torch.tensor([1, 1, 2, 3, 3]).cuda()).tolist() == [1, 2, 3]
    for least in (0, 2):
        found = torch.empty(least, device="cuda")
        assert torch.masked_select(data, data < -5, out=found) is found
        assert found.tolist() == [-8, -7, -6]
        places = torch.empty((least, 1), dtype=torch.long, device="cuda").resize_(0)
        torch.nonzero(data > 5, out=places)
        assert places.tolist() == [[14], [15]]
    twice = torch.tensor([1, 1, 2, 3, 3]).cuda()
    assert torch.ops.aten._unique(twice)[0].tolist() == [1, 2, 3]
    grown = torch.tensor([1, 2]).cuda().resize_(3)
    assert grown[:2].tolist() == [1, 2]
    changed = data.clone()
    changed[::2] = 0
    assert changed.sum().item() == sum(range(-7, 8, 2))
    known = torch.tensor([1, 2]).cuda()
    known.copy_(torch.tensor([3, 4]))
    assert known.tolist() == [3, 4]
    experts = data.long() % 3
    chosen = [torch.where(experts == n)[0] for n in range(3)]
    assert [len(places) for places in chosen] == [5, 6, 5]
    before = torch.cuda.memory_allocated()
    kept = data[data > 6]
    assert torch.cuda.memory_allocated() - before == 512, kept.shape


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.picture = nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(),
            nn.Linear(8 * 36, 32), nn.LayerNorm(32),
        )
        self.attention = nn.TransformerEncoderLayer(
            32, 4, 64, dropout=0.0, batch_first=True
        )
        self.memory = nn.LSTM(32, 32, batch_first=True)

    def forward(self, data):
        seen = self.attention(self.picture(data).view(2, 3, 32))
        return seen, self.memory(seen)[0]


def losses(device):
    torch.manual_seed(1)
    net, data = Net(), torch.randn(6, 3, 8, 8)
    net.to(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    told = []
    for _ in range(4):
        seen, kept = net(data.to(device))
        ones = torch.ones_like(seen)
        loss = nn.functional.mse_loss(seen, ones) + kept.square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        told.append(loss.item())
    return told


def grouped(device):
    torch.manual_seed(2)
    query = torch.randn(2, 4, 6, 8).to(device).requires_grad_()
    keys = torch.randn(2, 2, 6, 8).to(device).requires_grad_()
    result = nn.functional.scaled_dot_product_attention(
        query, keys.repeat_interleave(2, 1), keys.repeat_interleave(2, 1),
        is_causal=True,
    )
    result.square().sum().backward()
    return [query.grad.sum().item(), keys.grad.square().sum().item()]


sizes()
for told_by in (losses, grouped):
    host, gpu = told_by("cpu"), told_by("cuda")
    assert all(abs(a - b) < 1e-3 for a, b in zip(host, gpu)), (host, gpu)
