"""ResNet-18 under DistributedDataParallel with one process.
Needs: torchvision.
Runs: torchrun --standalone --nproc-per-node 1"""

import os

import torch
import torch.distributed as dist
import torchvision
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
model = torchvision.models.resnet18(num_classes=10).cuda()
model = DistributedDataParallel(model, device_ids=[rank])
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
for _ in range(4):
    labels = torch.randint(10, (8,), device="cuda")
    result = model(torch.randn(8, 3, 64, 64, device="cuda"))
    torch.nn.functional.cross_entropy(result, labels).backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
