"""train.py WIDTH STATUS - a small model trained as anyone would; what its kernels
compute is nothing here.  Ends with STATUS."""

import sys

import torch

width, status = map(int, sys.argv[1:])
model = torch.nn.Sequential(
    torch.nn.Linear(width, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, width)
).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(6):
    batch = torch.randn(64, width).cuda()
    model(batch).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
torch.cuda.synchronize()
sys.exit(status)
