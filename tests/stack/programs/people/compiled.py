"""A compiled transformer is trained.
Needs: triton."""

import torch

nn = torch.nn


class Block(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.one, self.two = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        parts = self.mix(self.one(x)).unflatten(-1, (3, 4, -1)).transpose(1, 3)
        query, key, value = parts.unbind(2)
        y = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.feed(self.two(x))


model = torch.compile(nn.Sequential(Block(), Block()).cuda())
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
for _ in range(4):
    with torch.autocast("cuda", torch.bfloat16):
        loss = model(torch.randn(8, 128, 256, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
