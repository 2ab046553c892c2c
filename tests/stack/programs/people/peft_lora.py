"""LoRA of PEFT on a small Llama, merged at the end.
Needs: transformers, peft, accelerate."""

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(vocab_size=8000, hidden_size=384, intermediate_size=1024,
                     num_hidden_layers=3, num_attention_heads=6)
model = LlamaForCausalLM(config).to(torch.bfloat16)
model = get_peft_model(model, LoraConfig(
    r=8, lora_alpha=16, lora_dropout=0.05, target_modules=["q_proj", "v_proj"],
    task_type="CAUSAL_LM",
)).cuda()
model.print_trainable_parameters()
optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), 1e-4)
for _ in range(3):
    words = torch.randint(8000, (4, 192)).cuda()
    model(input_ids=words, labels=words).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
model = model.merge_and_unload()
with torch.no_grad():
    print(model(words).logits.shape)
