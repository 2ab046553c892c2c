"""GPT-2 of transformers, its blocks checkpointed, and a loss that is printed."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config(n_layer=3, n_embd=192, n_head=6)).cuda().train()
model.gradient_checkpointing_enable()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for _ in range(3):
    words = torch.randint(50257, (4, 256), device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(words, labels=words).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"loss {loss.item():.3f}")
