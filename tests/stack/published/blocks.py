"""A large and a small tensor: what is allocated, and the segments they lie in."""

import torch

small = torch.randn(1024, 1024, device="cuda")
large = torch.randn(256, 1024, 1024, 1, device="cuda")
print("allocated", torch.cuda.memory_allocated())
print("reserved", torch.cuda.memory_reserved())
