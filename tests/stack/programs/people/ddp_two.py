"""Two processes under DistributedDataParallel, with their losses averaged and a barrier.
Needs: torchvision.
Runs: torchrun --standalone --nproc-per-node 2
Cards: 2"""

import os

import torch
import torch.distributed as dist
import torchvision
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
model = torchvision.models.resnet18(num_classes=10)
model = DistributedDataParallel(model.cuda(), device_ids=[rank], gradient_as_bucket_view=True)
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
data = TensorDataset(torch.randn(64, 3, 48, 48), torch.randint(10, (64,)))
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
for images, labels in loader:
    loss = torch.nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    shown = loss.detach()
    dist.all_reduce(shown)
    if rank == 0:
        print(shown.item() / dist.get_world_size())
dist.barrier()
dist.destroy_process_group()
