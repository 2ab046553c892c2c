"""RetinaNet of torchvision, from scratch.
Needs: torchvision.
Goes by: anchors that match."""

import torch
import torchvision

model = torchvision.models.detection.retinanet_resnet50_fpn(
    weights=None, weights_backbone=None, num_classes=5, min_size=224, max_size=320
).cuda()
optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
for _ in range(3):
    images = [torch.rand(3, 224, 300).cuda() for _ in range(2)]
    targets = [{"boxes": torch.tensor([[10.0, 20.0, 110.0, 140.0]]).cuda(),
                "labels": torch.tensor([1]).cuda()} for _ in images]
    losses = model(images, targets)
    loss = losses["classification"] + losses["bbox_regression"]
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
