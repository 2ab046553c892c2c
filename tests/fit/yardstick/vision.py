"""Models of pictures."""

import torch
import torchvision
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

DEVICE = "cuda"


def pictures(batch, size):
    return torch.randn(batch, 3, size, size, device=DEVICE)


def _classifier(model, batch):
    model = model.to(DEVICE)

    def loss():
        labels = torch.randint(0, 1000, (batch,), device=DEVICE)
        return functional.cross_entropy(model(pictures(batch, 224)), labels)

    return model, loss


def resnet50(options):
    return _classifier(torchvision.models.resnet50(weights=None), 16)


def vit(options):
    model = torchvision.models.vit_b_16(weights=None)
    if options.checkpoint:
        for block in model.encoder.layers:
            _checkpointed(block)
    return _classifier(model, 16)


def _checkpointed(module):
    plain = module.forward
    module.forward = lambda *data: checkpoint(plain, *data, use_reentrant=False)


def _block(inner, outer):
    return nn.Sequential(
        nn.Conv2d(inner, outer, 3, padding=1),
        nn.GroupNorm(8, outer),
        nn.SiLU(),
        nn.Conv2d(outer, outer, 3, padding=1),
        nn.GroupNorm(8, outer),
        nn.SiLU(),
    )


class UNet(nn.Module):
    def __init__(self, attends):
        super().__init__()
        self.down = nn.ModuleList([_block(3, 64), _block(64, 128), _block(128, 256)])
        self.up = nn.ModuleList([_block(384, 128), _block(192, 64)])
        self.out = nn.Conv2d(64, 3, 1)
        self.time = nn.Linear(64, 256) if attends else None
        self.attention = (
            nn.MultiheadAttention(256, 4, batch_first=True) if attends else None
        )

    def _middle(self, data, time):
        phases = time[:, None] * torch.arange(32, device=DEVICE)[None] * 0.1
        data = data + self.time(torch.cat([phases.sin(), phases.cos()], 1))[
            :, :, None, None
        ]
        flat = data.flatten(2).transpose(1, 2)
        mixed, _ = self.attention(flat, flat, flat, need_weights=False)
        return data + mixed.transpose(1, 2).reshape(data.shape)

    def forward(self, data, time=None):
        kept = []
        for number, block in enumerate(self.down):
            data = block(data if number == 0 else functional.max_pool2d(data, 2))
            kept.append(data)
        kept.pop()
        if self.attention is not None:
            data = self._middle(data, time)
        for block in self.up:
            data = functional.interpolate(data, scale_factor=2)
            data = block(torch.cat([data, kept.pop()], 1))
        return self.out(data)


def _unet(options, attends):
    model = UNet(attends).to(DEVICE)
    if options.checkpoint:
        for block in (*model.down, *model.up):
            _checkpointed(block)
    return model


def unet(options):
    model = _unet(options, False)

    def loss():
        data = pictures(16, 64)
        return functional.mse_loss(model(data), data)

    return model, loss


def diffusion(options):
    """Noise is added, and told again."""
    model = _unet(options, True)

    def loss():
        data = pictures(16, 64)
        noise = torch.randn_like(data)
        time = torch.rand(16, device=DEVICE)
        share = time[:, None, None, None]
        return functional.mse_loss(
            model(data * (1 - share) + noise * share, time), noise
        )

    return model, loss
