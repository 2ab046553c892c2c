"""torch_enable.py - train with Larder as PyTorch's allocator."""
import larder.torch
import torch

larder.torch.enable(conf="expandable_segments:True")
model = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(10):
    model(torch.randn(64, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(torch.cuda.memory_summary(abbreviated=True))
