"""A model of transformers generates; the peaks at the end."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=128, n_head=4)).cuda().eval()
words = torch.randint(10, 1000, (2, 20)).cuda()
mask = torch.ones_like(words)
told = model.generate(words, attention_mask=mask, max_new_tokens=12, pad_token_id=0)
assert told.shape == (2, 32)
