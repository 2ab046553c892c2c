"""vit_half.py [made] - ViT-L/16 in float16: moved and converted, or made on the GPU."""

import sys

import torch
from torchvision.models import vit_l_16

if sys.argv[1:] == ["made"]:
    torch.set_default_dtype(torch.float16)
    with torch.device("cuda"):
        model = vit_l_16()
else:
    model = vit_l_16().to("cuda").to(torch.float16)
print("reserved", torch.cuda.max_memory_reserved())
