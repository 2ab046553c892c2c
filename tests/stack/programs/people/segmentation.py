"""A U-Net learns masks with a dice loss, in float16."""

import torch

nn = torch.nn


def double(given, made):
    return nn.Sequential(
        nn.Conv2d(given, made, 3, padding=1, bias=False), nn.BatchNorm2d(made), nn.ReLU(True),
        nn.Conv2d(made, made, 3, padding=1, bias=False), nn.BatchNorm2d(made), nn.ReLU(True),
    )


class UNet(nn.Module):
    def __init__(self, widths=(16, 32, 64)):
        super().__init__()
        self.down = nn.ModuleList(double(a, b) for a, b in zip((3, *widths), widths))
        self.deep = double(widths[-1], 2 * widths[-1])
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * one, one, 2, 2) for one in widths[::-1])
        self.join = nn.ModuleList(double(2 * one, one) for one in widths[::-1])
        self.last = nn.Conv2d(widths[0], 1, 1)

    def forward(self, x):
        kept = []
        for one in self.down:
            x = one(x)
            kept.append(x)
            x = nn.functional.max_pool2d(x, 2)
        x = self.deep(x)
        for up, join in zip(self.up, self.join):
            x = join(torch.cat([kept.pop(), up(x)], 1))
        return self.last(x)


def dice_loss(result, masks):
    result = result.sigmoid().flatten(1)
    masks = masks.flatten(1)
    both = (result * masks).sum(1)
    return (1 - (2 * both + 1) / (result.sum(1) + masks.sum(1) + 1)).mean()


model = UNet().cuda()
optimizer = torch.optim.RMSprop(model.parameters(), 1e-4, momentum=0.9, foreach=True)
scaler = torch.amp.GradScaler()
for _ in range(3):
    images = torch.randn(4, 3, 128, 128).cuda()
    masks = (torch.rand(4, 1, 128, 128) > 0.5).float().cuda()
    with torch.autocast("cuda"):
        result = model(images)
        loss = nn.functional.binary_cross_entropy_with_logits(result, masks)
        loss = loss + dice_loss(result.float(), masks)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
