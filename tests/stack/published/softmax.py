"""Softmax of a large bfloat16 tensor, forward and backward."""

import torch

x = torch.rand(5120, 2, 384, 384, dtype=torch.bfloat16, device="cuda", requires_grad=True)
print("input", torch.cuda.memory_allocated())
# The same name: the leaf lives on in the graph, as in the report.
x = torch.nn.functional.softmax(x, dim=-1)
loss = torch.mean(x)
print("forward", torch.cuda.memory_allocated())
loss.backward()
print("backward", torch.cuda.memory_allocated())
print("peak", torch.cuda.max_memory_allocated())
