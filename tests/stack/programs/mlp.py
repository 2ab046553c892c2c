"""Three layers with Adam: --width N; --steps N, and the peaks at the end."""

import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--width", type=int, default=1024)
parser.add_argument("--steps", type=int, default=50)
given = parser.parse_args()
model = torch.nn.Sequential(
    torch.nn.Linear(given.width, given.width),
    torch.nn.ReLU(),
    torch.nn.Linear(given.width, given.width),
).cuda()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(given.steps):
    model(torch.randn(64, given.width, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
print(torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
