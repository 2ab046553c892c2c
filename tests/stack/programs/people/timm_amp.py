"""EfficientNet of timm in float16 with a GradScaler, a moving average and mixup.
Needs: timm."""

import timm
import timm.optim
import torch
from timm.data import Mixup
from timm.loss import SoftTargetCrossEntropy
from timm.utils import ModelEmaV2

model = timm.create_model("efficientnet_b0", num_classes=10, drop_path_rate=0.2).cuda()
model = model.to(memory_format=torch.channels_last)
average = ModelEmaV2(model)
mix = Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=10)
optimizer = timm.optim.create_optimizer_v2(model, "adamw", lr=1e-3, weight_decay=0.05)
scaler = torch.amp.GradScaler("cuda")
loss_of = SoftTargetCrossEntropy()
for _ in range(3):
    images = torch.randn(8, 3, 96, 96).cuda().contiguous(memory_format=torch.channels_last)
    images, labels = mix(images, torch.randint(10, (8,)).cuda())
    with torch.autocast("cuda", dtype=torch.float16):
        loss = loss_of(model(images), labels)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    average.update(model)
