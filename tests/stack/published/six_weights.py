"""Six weights of four elements and Adam, by foreach and then one by one."""

import torch


def step(foreach):
    weights = [torch.rand([4], requires_grad=True, device="cuda") for _ in range(6)]
    x = torch.rand([4], device="cuda")
    for weight in weights:
        x = weight * x
    x = x.sum()
    optimizer = torch.optim.Adam(weights, lr=0.01, foreach=foreach)
    optimizer.zero_grad()
    x.backward()
    optimizer.step()
    return weights, x, optimizer


for kind in (True, False):
    # Returned, so that what the step made lives while it is counted.
    kept = step(kind)
    name = "foreach" if kind else "loop"
    print(f"{name}_allocated", torch.cuda.memory_allocated())
    print(f"{name}_reserved", torch.cuda.memory_reserved())
