"""DistributedDataParallel, and what it and others send between ranks."""

import os

import torch
import torch.distributed as dist
from torch import nn

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")

gathered = [torch.zeros(2, dtype=torch.int64, device="cuda") for _ in range(size)]
dist.all_gather(gathered, torch.tensor([rank, 7]).cuda())
assert [t.tolist() for t in gathered] == [[r, 7] for r in range(size)], gathered

total = torch.tensor([1.5 + rank]).cuda()
dist.all_reduce(total)
assert total.item() == sum(1.5 + r for r in range(size)), total

word = torch.tensor([100 + rank]).cuda()
dist.broadcast(word, src=size - 1)
assert word.item() == 100 + size - 1, word

passed = torch.zeros(3).cuda()
sent = torch.full((3,), float(rank)).cuda()
for work in dist.batch_isend_irecv(
    [
        dist.P2POp(dist.irecv, passed, (rank - 1) % size),
        dist.P2POp(dist.isend, sent, (rank + 1) % size),
    ]
):
    work.wait()
assert passed.tolist() == [float((rank - 1) % size)] * 3, passed

model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 8)).cuda()
model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    model(torch.zeros(16, 256, device="cuda")).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.barrier()
print(f"rank {rank} of {size} trained", flush=True)
dist.destroy_process_group()
