"""DeepSpeed's ZeRO-2 in bfloat16 with its own launcher's settings.
Needs: deepspeed, transformers.
Runs: torchrun --standalone --nproc-per-node 2
Cards: 2"""

import deepspeed
import torch
from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config(vocab_size=4000, n_layer=3, n_embd=256, n_head=4))
engine, _, _, _ = deepspeed.initialize(
    model=model, model_parameters=model.parameters(),
    config={
        "train_micro_batch_size_per_gpu": 4,
        "gradient_accumulation_steps": 1,
        "bf16": {"enabled": True},
        "zero_optimization": {"stage": 2, "overlap_comm": True, "contiguous_gradients": True},
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": True}},
        "gradient_clipping": 1.0,
    },
)
for _ in range(4):
    words = torch.randint(4000, (4, 128), device=engine.device)
    loss = engine(words, labels=words).loss
    engine.backward(loss)
    engine.step()
torch.distributed.destroy_process_group()
