"""An optimizer of bitsandbytes that keeps its state in 8 bits.
Needs: bitsandbytes."""

import bitsandbytes
import torch

nn = torch.nn
model = nn.Sequential(
    nn.Embedding(5000, 512), nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 5000)
).cuda()
optimizer = bitsandbytes.optim.AdamW8bit(model.parameters(), 1e-3)
for _ in range(3):
    words = torch.randint(5000, (4, 64), device="cuda")
    loss = nn.functional.cross_entropy(model(words).flatten(0, 1), words.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
