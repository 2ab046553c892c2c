"""batches.py SIZE PARTS - one weight trained by 256 examples a step, in PARTS
batches of SIZE whose gradients add up."""

import sys

import torch

size, parts = int(sys.argv[1]), int(sys.argv[2])
weight = torch.randn(1024, 32, requires_grad=True, device="cuda")
optimizer = torch.optim.SGD([weight], lr=0.01)
for _ in range(2):
    optimizer.zero_grad()
    for _ in range(parts):
        # The names keep the last batch alive while the next one comes.
        batch = torch.randn(size, 32, 1024).to("cuda")
        product = batch.matmul(weight)
        loss = product.sum()
        loss.backward()
    optimizer.step()
print("peak", torch.cuda.max_memory_allocated())
