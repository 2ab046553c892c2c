"""Four layers under DistributedDataParallel, as torchrun starts it."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
layers = [torch.nn.Linear(1024, 1024) for _ in range(4)]
model = DistributedDataParallel(torch.nn.Sequential(*layers).cuda(), device_ids=[rank])
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(20):
    model(torch.randn(64, 1024, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
