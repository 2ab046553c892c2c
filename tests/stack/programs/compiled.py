"""Two layers under torch.compile; the peaks at the end."""

import torch

model = torch.nn.Sequential(
    torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.Linear(256, 256)
).cuda()
optimizer = torch.optim.AdamW(model.parameters())
compiled = torch.compile(model)
for _ in range(5):
    compiled(torch.randn(64, 256, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
assert not torch._dynamo.utils.counters["graph_break"]
print(torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
