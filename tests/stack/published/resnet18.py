"""One step of ResNet-18 with AdamW, after each of its phases."""

import torch
from torchvision.models import resnet18


def tell(name):
    print(name, torch.cuda.memory_allocated())


model = resnet18().cuda()
tell("model")
image = torch.randn(1, 3, 224, 224, device="cuda")
tell("input")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
out = model(image)
tell("forward")
out.mean().backward()
tell("backward")
optimizer.step()
tell("step")
