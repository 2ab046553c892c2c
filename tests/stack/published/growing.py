"""growing.py [freed] - ten tensors, each larger, the name kept or deleted."""

import sys

import torch

for size in range(1, 11):
    tensor = torch.rand(1000, 1000, size, device="cuda")
    print(f"allocated_{size}", torch.cuda.max_memory_allocated())
    print(f"reserved_{size}", torch.cuda.max_memory_reserved())
    if sys.argv[1:] == ["freed"]:
        del tensor
