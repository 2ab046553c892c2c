"""Weights in 8 bits by torchao, then inference.
Needs: torchao."""

import torch
from torchao.quantization import Int8WeightOnlyConfig, quantize_

nn = torch.nn
model = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(4)]).to("cuda", torch.bfloat16)
model.eval()
quantize_(model, Int8WeightOnlyConfig())
with torch.inference_mode():
    for _ in range(3):
        model(torch.randn(32, 1024, device="cuda", dtype=torch.bfloat16))
