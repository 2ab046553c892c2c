"""A model of transformers in 8 bits of bitsandbytes answers.
Needs: transformers, accelerate, bitsandbytes."""

import torch
from transformers import BitsAndBytesConfig, LlamaConfig, LlamaForCausalLM

config = LlamaConfig(vocab_size=4000, hidden_size=512, intermediate_size=1376,
                     num_hidden_layers=2, num_attention_heads=8)
LlamaForCausalLM(config).half().save_pretrained("base")
model = LlamaForCausalLM.from_pretrained(
    "base", device_map="auto", dtype=torch.float16,
    quantization_config=BitsAndBytesConfig(load_in_8bit=True),
)
with torch.inference_mode():
    for length in (64, 200):
        model(torch.randint(4000, (4, length)).cuda())
print(model.get_memory_footprint())
