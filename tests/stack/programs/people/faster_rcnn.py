"""Faster R-CNN of torchvision, from scratch.
Needs: torchvision.
Says: at most this: all elements of an unknown mask count"""

import torch
import torchvision

model = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(
    weights=None, weights_backbone=None, num_classes=5
).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
for _ in range(3):
    images = [torch.rand(3, 240, 320).cuda() for _ in range(2)]
    targets = [{"boxes": torch.tensor([[10.0, 20.0, 110.0, 140.0]]).cuda(),
                "labels": torch.tensor([1]).cuda()} for _ in images]
    sum(model(images, targets).values()).backward()
    optimizer.step()
    optimizer.zero_grad()
