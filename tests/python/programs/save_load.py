"""Saving, loading, going on where one stopped, and fine-tuning a part."""
#%%
import io
import os
import random
import tempfile

import torch
from torch import nn, optim


def set_seed(seed):
    random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True


set_seed(3)
device = "cuda" if torch.cuda.is_available() else "cpu"
folder = tempfile.mkdtemp()


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ELU(), nn.Dropout(0.1)
        )
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        return self.head(self.features(x))


inputs = torch.randn(48, 8).to(device)
targets = torch.randint(3, (48,), device=device)


def train(model, optimizer, scheduler, epochs):
    model.train()
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        scheduler.step()
    return loss.item()


#%% train, and save the best
model = MLP().to(device)
optimizer = optim.AdamW(model.parameters(), lr=1e-2)
scheduler = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=10)
loss = train(model, optimizer, scheduler, 5)
path = os.path.join(folder, "checkpoint.pt")
torch.save(
    {
        "epoch": 5,
        "model_state_dict": model.state_dict(),
        "optimizer_state_dict": optimizer.state_dict(),
        "scheduler_state_dict": scheduler.state_dict(),
        "loss": loss,
        "rng": torch.get_rng_state(),
    },
    path,
)
print(f"saved at loss {loss:.4f}:", os.path.getsize(path) > 0)
for name, tensor in model.state_dict().items():
    print(name, "\t", tuple(tensor.size()), tensor.dtype)

#%% and again from the file
again = MLP().to(device)
optimizer2 = optim.AdamW(again.parameters(), lr=1e-3)
scheduler2 = optim.lr_scheduler.OneCycleLR(optimizer2, max_lr=1e-2, total_steps=10)
saved = torch.load(path, map_location=device, weights_only=True)
print(again.load_state_dict(saved["model_state_dict"]))
optimizer2.load_state_dict(saved["optimizer_state_dict"])
scheduler2.load_state_dict(saved["scheduler_state_dict"])
assert saved["epoch"] == 5
torch.set_rng_state(saved["rng"])
one = train(model, optimizer, scheduler, 3)
torch.set_rng_state(saved["rng"])
two = train(again, optimizer2, scheduler2, 3)
print(one, two)
assert abs(one - two) < 1e-5, (one, two)

#%% on the host, and through a buffer
buffer = io.BytesIO()
torch.save(model.state_dict(), buffer)
buffer.seek(0)
state = torch.load(buffer, map_location=torch.device("cpu"))
assert all(tensor.device.type == "cpu" for tensor in state.values())
on_host = MLP()
on_host.load_state_dict(state)
on_host.eval()
model.eval()
with torch.no_grad():
    assert torch.allclose(on_host(inputs.cpu()), model(inputs).cpu(), atol=1e-5)

#%% a whole model
whole = os.path.join(folder, "model.pth")
torch.save(model, whole)
loaded = torch.load(whole, weights_only=False)
loaded.eval()
assert torch.allclose(loaded(inputs), model(inputs))

#%% fine-tune the head of a new model
tuned = MLP()
missing, unexpected = tuned.load_state_dict(
    {k: v for k, v in state.items() if not k.startswith("head")}, strict=False
)
assert missing == ["head.weight", "head.bias"] and not unexpected
for param in tuned.features.parameters():
    param.requires_grad = False
tuned.head = nn.Linear(32, 5)
tuned = tuned.to(device)
optimizer = optim.SGD(filter(lambda p: p.requires_grad, tuned.parameters()), lr=0.1)
scheduler = optim.lr_scheduler.MultiStepLR(optimizer, milestones=[2, 4], gamma=0.1)
train(tuned, optimizer, scheduler, 3)
assert tuned.features[0].weight.grad is None
try:
    tuned.load_state_dict(state)
except RuntimeError as error:
    print("as it should:", str(error).splitlines()[0])
weights = tuned.head.weight.detach().cpu()
print(tuple(weights.shape), weights.dtype, f"{optimizer.param_groups[0]['lr']:.3f}")
