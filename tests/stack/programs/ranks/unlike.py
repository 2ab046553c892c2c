"""The ranks call different things."""

import os

import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
values = torch.zeros(4, device="cuda")
try:
    if rank == 0:
        dist.all_reduce(values)
    else:
        dist.broadcast(values, src=0)
except dist.DistBackendError as error:
    assert "rank 1 ncclBroadcast (4 of float32, root 0)" in str(error), error
    print(f"rank {rank} was told", flush=True)
os._exit(0)
