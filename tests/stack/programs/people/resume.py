"""A run that saves itself, and one that goes on from what was saved.
Goes by: the state of the generator, which is read back from the GPU."""

import gc
import os

import torch

nn = torch.nn


def train(steps):
    model = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    begun = 0
    if os.path.exists("last.pt"):
        kept = torch.load("last.pt", map_location="cuda")
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        schedule.load_state_dict(kept["schedule"])
        torch.set_rng_state(kept["random"].cpu())
        begun = kept["step"]
    for step in range(begun, steps):
        x, labels = torch.randn(64, 784), torch.randint(10, (64,))
        nn.functional.cross_entropy(model(x.cuda()), labels.cuda()).backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    torch.save({
        "model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": steps,
        "schedule": schedule.state_dict(), "random": torch.get_rng_state(),
    }, "last.pt")


train(3)
gc.collect()  # an optimizer and its schedule refer to each other
train(6)
