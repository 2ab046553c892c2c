"""DDP: its buckets, before and after the first step."""

import sys

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("nccl")
assert dist.get_world_size() == int(sys.argv[1]) and dist.get_rank() == 0
torch.cuda.set_device(0)

# 4 MiB and 4 KiB each.
layers = [nn.Linear(1024, 1024) for _ in range(8)]
model = nn.parallel.DistributedDataParallel(
    nn.Sequential(*layers).cuda(), device_ids=[0]
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss = model(torch.zeros(16, 1024, device="cuda")).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

given = torch.tensor([0.0, 1.0, 2.0]).cuda()
gathered = [torch.zeros(3, device="cuda") for _ in range(dist.get_world_size())]
dist.all_gather(gathered, given)
assert all(part.tolist() == [0, 1, 2] for part in gathered)
dist.destroy_process_group()
