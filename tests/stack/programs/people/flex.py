"""Flex attention with a sliding window, compiled.
Needs: triton."""

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

attend = torch.compile(flex_attention)


def near(batch, head, query, key):
    return (query >= key) & (query - key <= 128)


mask = create_block_mask(near, None, None, 512, 512, device="cuda")
for _ in range(3):
    query, key, value = [
        torch.randn(2, 4, 512, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        for _ in range(3)
    ]
    attend(query, key, value, block_mask=mask).float().square().mean().backward()
