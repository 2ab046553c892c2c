"""Saving and loading."""
import os
import tempfile

import torch
from torch import nn

model = nn.Linear(16, 4)
optimizer = torch.optim.AdamW(model.parameters())  # before it is moved
model.to("cuda")
assert all(p.is_cuda and p.device.type == "cuda" for p in model.parameters())
model(torch.randn(2, 16).cuda()).sum().backward()
optimizer.step()
path = os.path.join(tempfile.mkdtemp(), "model.pt")
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
state = torch.load(path, map_location="cuda")
other = nn.Linear(16, 4).cuda()
other.load_state_dict(state["model"])
fresh = torch.optim.AdamW(other.parameters())
fresh.load_state_dict(state["optimizer"])
assert next(iter(fresh.state.values()))["exp_avg"].is_cuda
on_host = torch.load(path, map_location="cpu")
assert on_host["model"]["weight"].device.type == "cpu"
print(model, other.weight.shape, float(on_host["model"]["weight"].sum()) is not None)
