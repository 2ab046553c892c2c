"""A Llama generates greedily and by sampling, with its cache.
Needs: transformers.
Says: at most this: what is generated ends at its length"""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

model = LlamaForCausalLM(LlamaConfig(
    vocab_size=32000, hidden_size=256, intermediate_size=688, num_hidden_layers=3,
    num_attention_heads=8, num_key_value_heads=2, pad_token_id=0,
)).to("cuda", torch.bfloat16).eval()
words = torch.randint(10, 30000, (4, 33), device="cuda")
print(model.generate(words, max_new_tokens=24, do_sample=False).shape)
print(model.generate(words, max_new_tokens=24, do_sample=True, top_p=0.9, top_k=50).shape)
