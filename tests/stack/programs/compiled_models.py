"""compiled_models.py MODE NAME... - trains small models under torch.compile for some
steps, several in processes of their own; prints for each its peak and what it asked
for in all."""

import json
import os
import sys
import traceback

import torch
import torch._dynamo
import torch._inductor.compile_fx
import torch._inductor.config
import torch._inductor.kernel.mm  # noqa: F401
from torch import nn
from torch.nn import functional as F

STEPS = 4
# In `max-autotune` of each kind of product.
TRIES = 2


class Mlp(nn.Module):
    given = (32, 64)

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 64)
        )

    def forward(self, x):
        return self.body(x)


class Cnn(nn.Module):
    given = (8, 3, 32, 32)

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
        )

    def forward(self, x):
        return self.body(x)


class Residual(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        self.first = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(outside) for _ in range(2))
        self.short = nn.Conv2d(inside, outside, 1, stride, bias=False)

    def forward(self, x):
        y = F.relu(self.norms[0](self.first(x)))
        return F.relu(self.norms[1](self.second(y)) + self.short(x))


class Resnet(nn.Module):
    given = (4, 16, 32, 32)

    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Residual(16, 16, 1), Residual(16, 32, 2))

    def forward(self, x):
        return self.blocks(x).mean((2, 3))


class Encoder(nn.Module):
    given = (4, 32, 64)

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x):
        return self.body(x)


class DecoderBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.taken = nn.Linear(width, 3 * width)
        self.given = nn.Linear(width, width)
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.taken(self.norms[0](x)).view(batch, length, 3, self.heads, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.given(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(F.gelu(self.wide(self.norms[1](x))))


class Decoder(nn.Module):
    given = (4, 64)

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(256, 64)
        self.places = nn.Embedding(64, 64)
        self.blocks = nn.Sequential(*(DecoderBlock(64, 4) for _ in range(2)))
        self.head = nn.Linear(64, 256, bias=False)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        said = self.head(self.blocks(self.tokens(tokens) + self.places(places)))
        return F.cross_entropy(said[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())

    @classmethod
    def batch(cls):
        return torch.randint(0, 256, cls.given, device="cuda")


class Gru(nn.Module):
    given = (8, 6, 32)

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(32, 64)
        self.head = nn.Linear(64, 8)

    def forward(self, x):
        state = x.new_zeros(x.shape[0], 64)
        for step in x.unbind(1):
            state = self.cell(step, state)
        return self.head(state)


class Unet(nn.Module):
    given = (2, 3, 32, 32)

    def __init__(self):
        super().__init__()

        def pair(inside, outside):
            return nn.Sequential(
                nn.Conv2d(inside, outside, 3, padding=1), nn.GroupNorm(4, outside),
                nn.SiLU(),
            )

        self.down = nn.ModuleList([pair(3, 16), pair(16, 32)])
        self.middle = pair(32, 32)
        self.up = nn.ModuleList([pair(64, 16), pair(32, 16)])
        self.head = nn.Conv2d(16, 3, 1)

    def forward(self, x):
        kept = []
        for block in self.down:
            x = block(x)
            kept.append(x)
            x = F.max_pool2d(x, 2)
        x = self.middle(x)
        for block in self.up:
            x = F.interpolate(x, scale_factor=2.0, mode="nearest")
            x = block(torch.cat([x, kept.pop()], 1))
        return self.head(x)


class Experts(nn.Module):
    given = (64, 64)

    def __init__(self, count=4):
        super().__init__()
        self.router = nn.Linear(64, count)
        self.first = nn.Parameter(torch.randn(count, 64, 128) * 0.1)
        self.second = nn.Parameter(torch.randn(count, 128, 64) * 0.1)

    def forward(self, x):
        weights, chosen = self.router(x).softmax(-1).topk(2)
        weights = weights / weights.sum(-1, keepdim=True)
        shares = torch.zeros(len(x), len(self.first), device=x.device)
        shares = shares.scatter(1, chosen, weights).t()
        # Of each expert those that want it most.
        share, places = shares.topk(len(x) // 2, dim=1)
        taken = x[places]
        done = torch.bmm(F.silu(torch.bmm(taken, self.first)), self.second)
        done = (done * share.unsqueeze(-1)).flatten(0, 1)
        return x + torch.zeros_like(x).index_add(0, places.flatten(), done)


class Attention(nn.Module):
    given = (4, 48, 64)

    def __init__(self):
        super().__init__()
        self.taken = nn.Linear(64, 192)
        self.given_back = nn.Linear(64, 64)
        self.kept = nn.Dropout(0.1)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, 4, 16).transpose(1, 2)
            for part in self.taken(x).chunk(3, -1)
        )
        weights = self.kept((q @ k.transpose(-2, -1) * 0.25).softmax(-1))
        return self.given_back((weights @ v).transpose(1, 2).reshape_as(x))


class Vae(nn.Module):
    given = (16, 1, 28, 28)

    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU())
        self.mean, self.spread = nn.Linear(128, 16), nn.Linear(128, 16)
        self.decode = nn.Sequential(
            nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 784), nn.Sigmoid()
        )

    def forward(self, x):
        hidden = self.encode(x)
        mean, spread = self.mean(hidden), self.spread(hidden)
        drawn = mean + torch.randn_like(mean) * (0.5 * spread).exp()
        far = -0.5 * (1 + spread - mean.square() - spread.exp()).mean()
        return F.binary_cross_entropy(self.decode(drawn), x.flatten(1)) + far

    @classmethod
    def batch(cls):
        return torch.rand(cls.given, device="cuda")


MODELS = {
    "mlp": Mlp,
    "cnn": Cnn,
    "resnet": Resnet,
    "encoder": Encoder,
    "decoder": Decoder,
    "gru": Gru,
    "unet": Unet,
    "experts": Experts,
    "attention": Attention,
    "vae": Vae,
}


def bound_tries():
    config = torch._inductor.config
    config.max_autotune_conv_backends = "ATEN"
    if hasattr(config.test_configs, "max_mm_configs"):
        config.test_configs.max_mm_configs = TRIES


def train(kind, mode):
    model = kind().cuda()
    compiled = torch.compile(model, mode=mode)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(STEPS):
        x = kind.batch() if hasattr(kind, "batch") else torch.randn(
            kind.given, device="cuda"
        )
        loss = compiled(x)
        if loss.dim() > 0:
            loss = loss.square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()


def told(kind, mode):
    # What Inductor folds into constants it reads from memory that no kernel wrote.
    torch.manual_seed(0)
    train(kind, mode)
    stats = torch.cuda.memory_stats()
    return {
        "peak": stats["allocated_bytes.all.peak"],
        "requests": stats["allocation.all.allocated"],
        "bytes": stats["allocated_bytes.all.allocated"],
    }


def told_by_child(kind, mode):
    """PyTorch takes longer to load than a model to train."""
    end, start = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = told(kind, mode)
        except Exception:
            said = {"failed": traceback.format_exc()[-600:]}
        os.write(start, json.dumps(said).encode())
        os._exit(0)
    os.close(start)
    with open(end, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(said) if said else {"failed": f"status {status}"}


if __name__ == "__main__":
    mode, *names = sys.argv[1:]
    bound_tries()
    by = told if len(names) == 1 else told_by_child
    found = {}
    for name in names:
        found[name] = by(MODELS[name], mode)
        print(name, file=sys.stderr, flush=True)
    print(json.dumps(found))
