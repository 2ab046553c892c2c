"""FSDP2: shards, and what is gathered for each block."""

import torch
import torch.distributed as dist
from torch import nn

try:
    from torch.distributed.fsdp import fully_shard
except ImportError:
    from torch.distributed._composable.fsdp import fully_shard

dist.init_process_group("nccl")
world = dist.get_world_size()
blocks = [
    nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512))
    for _ in range(4)
]
model = nn.Sequential(*blocks).cuda()
whole = sum(p.numel() for p in model.parameters()) * 4
for block in blocks:
    fully_shard(block)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(4):
    loss = model(torch.zeros(16, 512, device="cuda")).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    del loss

# A shard of the parameters, and two of the optimizer's.
kept = torch.cuda.memory_allocated()
assert 3 * whole / world <= kept < 3 * whole / world + (1 << 20) + 2 * 8519680, kept
