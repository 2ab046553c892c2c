"""What a compiled function writes is not known any more."""

import torch


@torch.compile
def add(tensor):
    tensor.add_(1)


counts = torch.ones(8, device="cuda")
assert counts[0].item() == 1
add(counts)
assert counts[0].item() != 1
