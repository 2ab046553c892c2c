"""Gradient accumulation, an average of the weights, checkpointing and a
function with a gradient of its own."""
#%%
import argparse
import copy
from collections import OrderedDict, defaultdict
from functools import partial

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

parser = argparse.ArgumentParser()
parser.add_argument("--accumulate", type=int, default=4)
parser.add_argument("--steps", type=int, default=2)
args = parser.parse_args()
torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


#%% a function of one's own
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x)
        ctx.beta = beta
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(ctx.beta * x)
        return grad_output * (s + ctx.beta * x * s * (1 - s)), None


x = torch.randn(4, 5, device=device, requires_grad=True)
Swish.apply(x, 1.0).sum().backward()
mine = x.grad.clone()
x.grad = None
F.silu(x).sum().backward()
assert torch.allclose(mine, x.grad, atol=1e-5)


#%% UNet, small
def conv_block(i, o):
    return nn.Sequential(
        OrderedDict(
            conv=nn.Conv2d(i, o, 3, padding=1),
            norm=nn.GroupNorm(4, o),
            act=nn.SiLU(inplace=True),
        )
    )


class UNet(nn.Module):
    def __init__(self, channels=(1, 8, 16)):
        super().__init__()
        self.down = nn.ModuleDict(
            {f"d{i}": conv_block(a, b) for i, (a, b) in enumerate(zip(channels, channels[1:]))}
        )
        self.middle = conv_block(16, 16)
        self.up = nn.ConvTranspose2d(16, 8, kernel_size=2, stride=2)
        self.last = nn.Sequential(conv_block(16, 8), nn.Conv2d(8, 1, 1))
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        first = self.down["d0"](x)
        second = self.down["d1"](F.avg_pool2d(first, 2))
        middle = checkpoint(self.middle, second, use_reentrant=False)
        up = self.up(middle)
        resized = F.interpolate(x, scale_factor=0.5, mode="bilinear", align_corners=False)
        assert resized.shape[-1] == second.shape[-1]
        return self.scale * self.last(torch.cat([up, first], dim=1))


model = UNet().to(device)
ema = copy.deepcopy(model).eval().requires_grad_(False)
decay, no_decay = [], []
for name, param in model.named_parameters():
    (no_decay if param.ndim <= 1 else decay).append(param)
optimizer = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.01}, {"params": no_decay, "weight_decay": 0.0}],
    lr=1e-3,
)
warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 4))

#%% accumulate
history = defaultdict(list)
optimizer.zero_grad()
for step in range(args.steps * args.accumulate):
    clean = torch.rand(2, 1, 16, 16, device=device)
    t = torch.randint(0, 100, (2,), device=device)
    alpha = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 100, device=device), dim=0)
    a = alpha.gather(0, t).sqrt().view(-1, 1, 1, 1)
    noise = torch.randn_like(clean)
    noisy = a * clean + torch.sqrt(1 - a**2) * noise
    loss = F.smooth_l1_loss(model(noisy), noise) / args.accumulate
    loss.backward()
    history["loss"].append(loss.detach())
    if (step + 1) % args.accumulate == 0:
        total = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warmup.step()
        optimizer.zero_grad()
        with torch.no_grad():
            for e, p in zip(ema.parameters(), model.parameters()):
                e.mul_(0.99).add_(p, alpha=0.01)
        history["norm"].append(float(total))
print("mean loss", torch.stack(history["loss"]).mean().item())
assert all(n == n for n in history["norm"])
assert optimizer.param_groups[1]["weight_decay"] == 0.0

#%% layers in pieces, einsum, hooks
layers = nn.Sequential(*[nn.Linear(16, 16) for _ in range(4)]).to(device)
inputs = torch.randn(3, 16, device=device, requires_grad=True)
checkpoint_sequential(layers, 2, inputs, use_reentrant=False).sum().backward()
shapes = {}


def remember(name, module, args, output):
    shapes[name] = tuple(output.shape)


handles = [
    module.register_forward_hook(partial(remember, name))
    for name, module in layers.named_children()
]
layers(inputs)
for handle in handles:
    handle.remove()
assert shapes == {str(i): (3, 16) for i in range(4)}
a, b = torch.randn(2, 3, 4, device=device), torch.randn(2, 4, 5, device=device)
assert torch.allclose(torch.einsum("bij,bjk->bik", a, b), torch.bmm(a, b), atol=1e-5)
grads = torch.autograd.grad(layers(inputs).norm(), inputs)
assert grads[0].shape == inputs.shape
print("done")
