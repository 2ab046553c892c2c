"""A small vision transformer in bfloat16 with accumulated gradients."""

import torch
import torchvision

model = torchvision.models.VisionTransformer(64, 16, 2, 4, 128, 256, num_classes=10).cuda()
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=3)
for _ in range(3):
    for _ in range(2):
        labels = torch.randint(10, (8,), device="cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            result = model(torch.randn(8, 3, 64, 64, device="cuda"))
            loss = torch.nn.functional.cross_entropy(result, labels) / 2
        loss.backward()
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
