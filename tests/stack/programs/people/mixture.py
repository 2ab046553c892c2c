"""A mixture of experts: each word goes to the two best of eight.
Says: at least this: experts are chosen in turn"""

import torch

nn = torch.nn


class Mixture(nn.Module):
    def __init__(self, width=256, experts=8):
        super().__init__()
        self.router = nn.Linear(width, experts)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            for _ in range(experts)
        )

    def forward(self, x):
        weights, chosen = self.router(x).softmax(-1).topk(2)
        result = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows, places = torch.where(chosen == number)
            if rows.numel():
                part = expert(x[rows]) * weights[rows, places, None]
                result.index_add_(0, rows, part)
        return result


model = Mixture().cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    x = torch.randn(512, 256, device="cuda")
    (model(x) - x).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
