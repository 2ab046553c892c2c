"""A transformer encoder from torch.nn."""
import math

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, words=1000, width=128):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.place = nn.Parameter(torch.zeros(1, 64, width))
        layer = nn.TransformerEncoderLayer(width, 4, 256, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        n = tokens.size(1)
        mask = nn.Transformer.generate_square_subsequent_mask(n, device=tokens.device)
        x = self.embed(tokens) * math.sqrt(128) + self.place[:, :n]
        return self.head(self.encoder(x, mask=mask, is_causal=True))


device = torch.device("cuda:0")
model = Model().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(4):
    tokens = torch.randint(0, 1000, (8, 65), device=device)
    logits = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, 1000), tokens[:, 1:].reshape(-1))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 2 == 0:
        print("step", step, "loss", loss.item())
