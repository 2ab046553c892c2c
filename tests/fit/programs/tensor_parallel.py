"""Layers whose weights are cut among the processes of a mesh."""

import os

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

WIDTH, BLOCKS = 512, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, data):
        return data + self.down(torch.relu(self.up(data)))


size = int(os.environ["WORLD_SIZE"])
mesh = init_device_mesh("cuda", (size,))
model = nn.Sequential(*[Block() for _ in range(BLOCKS)]).cuda()
for block in model:
    parallelize_module(
        block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()}
    )
assert model[0].up.weight.shape == (4 * WIDTH, WIDTH)
assert model[0].up.weight.to_local().shape == (4 * WIDTH // size, WIDTH)

# Two matrices cut, a bias cut, and one that all have whole.
shard = (2 * 4 * WIDTH * WIDTH // size + 4 * WIDTH // size + WIDTH) * 4
assert torch.cuda.memory_allocated() == BLOCKS * shard, torch.cuda.memory_allocated()

optimizer = torch.optim.AdamW(model.parameters())
for step in range(3):
    model(torch.randn(64, WIDTH, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
# The parameters and two means of each; the rest is small.
assert torch.cuda.memory_allocated() >= 3 * BLOCKS * shard
torch.distributed.destroy_process_group()
