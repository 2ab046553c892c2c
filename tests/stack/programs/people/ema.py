"""A moving average of the weights, and a validation with larger batches."""

import copy

import torch

nn = torch.nn
model = nn.Sequential(nn.Linear(300, 600), nn.BatchNorm1d(600), nn.ReLU(), nn.Linear(600, 5))
model = model.cuda()
average = copy.deepcopy(model)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(4):
    model(torch.randn(32, 300, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    with torch.no_grad():
        for old, new in zip(average.parameters(), model.parameters()):
            old.lerp_(new, 0.01)
average.eval()
with torch.inference_mode():
    right = (average(torch.randn(2048, 300, device="cuda")).argmax(-1) == 0).sum()
print(int(right))
