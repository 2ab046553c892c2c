"""DistributedDataParallel of models that differ: the second rank notices it and
ends, and the first, which goes on, is told that it is gone."""

import os

import torch
import torch.distributed as dist
from torch import nn

rank = int(os.environ["RANK"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
try:
    nn.parallel.DistributedDataParallel(nn.Linear(4, 4 + rank).cuda())
except dist.DistBackendError as error:
    assert rank == 0 and "waits for rank 1, whose process is gone" in str(error), error
    print("rank 0 was left", flush=True)
except RuntimeError as error:
    assert rank == 1 and "appears not to match" in str(error), error
    print("rank 1 noticed other shapes", flush=True)
os._exit(0)
