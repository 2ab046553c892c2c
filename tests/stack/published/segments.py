"""Wide layers in two checkpointed segments, then again without checkpoints."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential

layers = []
for wide, narrow in ((1000, 40000), (40000, 1000), (1000, 5)):
    layers += [nn.Linear(wide, narrow), nn.ReLU()]
model = nn.Sequential(*layers).to("cuda")
batch = torch.randn(10, 1000, device="cuda", requires_grad=True)

out = checkpoint_sequential(list(model), 2, batch, use_reentrant=True)
model.zero_grad()
out.sum().backward()
print("checkpointed", torch.cuda.max_memory_allocated())

# What was learnt is kept as a copy, so the second peak has both gradients.
kept = out.data.clone()
gradients = {name: p.grad.data.clone() for name, p in model.named_parameters()}
again = batch.clone().detach_()
out = model(again)
kept_again = out.data.clone()
model.zero_grad()
out.sum().backward()
print("plain", torch.cuda.max_memory_allocated())
