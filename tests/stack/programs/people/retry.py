"""Batches are halved until one fits."""

import gc

import torch

nn = torch.nn
torch.cuda.set_per_process_memory_fraction(0.01)
model = nn.Sequential(nn.Linear(4096, 8192), nn.ReLU(), nn.Linear(8192, 4096)).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
size, done = 65536, 0
while done < 3:
    try:
        model(torch.randn(size, 4096, device="cuda")).square().mean().backward()
        optimizer.step()
        done += 1
    except torch.cuda.OutOfMemoryError:
        size //= 2
        print(f"too large: {size} now")
        gc.collect()
        torch.cuda.empty_cache()
    optimizer.zero_grad()
