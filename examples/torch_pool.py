"""torch_pool.py - PyTorch's allocator, with segments of one pool from Larder."""
import larder.torch
import torch

pool = larder.torch.MemPool()
with pool.use():
    weights = torch.zeros(1 << 28, device="cuda")
print(torch.cuda.memory_reserved(), "bytes reserved")
