"""products.py profile|inference|training - products of tensors of 1 GiB."""

import contextlib
import sys

import torch


def tell(name):
    print(f"{name}allocated", torch.cuda.memory_allocated())
    print(f"{name}reserved", torch.cuda.memory_reserved())


kind, shape = sys.argv[1], [256, 1024, 1024, 1]
training = kind == "training"
with contextlib.nullcontext() if training else torch.inference_mode():
    weight = torch.randn(shape, requires_grad=training, device="cuda")
    data = torch.randn(shape, device="cuda")
    x = data * weight
    if kind != "profile":
        x = x * weight
        x = x.sum()
tell("")
if training:
    optimizer = torch.optim.SGD([weight], lr=0.01)
    optimizer.zero_grad()
    x.backward()
    optimizer.step()
    tell("step_")
