"""QLoRA: a base in 4 bits of bitsandbytes, LoRA beside it, a paged optimizer in 8.
Needs: transformers, peft, accelerate, bitsandbytes."""

import bitsandbytes
import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import BitsAndBytesConfig, LlamaConfig, LlamaForCausalLM

config = LlamaConfig(vocab_size=4000, hidden_size=512, intermediate_size=1376,
                     num_hidden_layers=2, num_attention_heads=8)
LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained("base")
model = LlamaForCausalLM.from_pretrained(
    "base", device_map={"": 0}, dtype=torch.bfloat16,
    quantization_config=BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    ),
)
model = prepare_model_for_kbit_training(model)
model = get_peft_model(model, LoraConfig(r=16, target_modules="all-linear"))
optimizer = bitsandbytes.optim.PagedAdamW8bit(
    [one for one in model.parameters() if one.requires_grad], lr=2e-4
)
for _ in range(3):
    words = torch.randint(4000, (2, 256), device="cuda")
    loss = model(input_ids=words, labels=words).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
