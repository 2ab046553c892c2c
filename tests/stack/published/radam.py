"""radam.py [compiled] - one step of RAdam over ten small parameters."""

import gc
import sys

import torch

torch.set_default_device("cuda")
params = [torch.ones(32, 32) for _ in range(10)]
for param in params:
    param.grad = torch.ones_like(param)
optimizer = torch.optim.RAdam(params, lr=0.1, capturable=True, foreach=True)


def step():
    optimizer.step()


if sys.argv[1:] == ["compiled"]:
    step = torch.compile(step, backend="eager")
gc.collect()
torch.cuda.reset_peak_memory_stats()
step()
gc.collect()
print("peak", torch.cuda.max_memory_allocated())
