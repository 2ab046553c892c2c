"""Accumulation of gradients, and checkpointing."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

blocks = nn.ModuleList(nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(4)).cuda()
head = nn.Linear(64, 1).cuda()
optimizer = torch.optim.Adam([*blocks.parameters(), *head.parameters()])
total = 0.0
for step in range(8):
    x = torch.randn(32, 64, device="cuda")
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False)
    loss = head(x).pow(2).mean() / 4
    loss.backward()
    total += loss.detach()
    if (step + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
print("total", total.item())
