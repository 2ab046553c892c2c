"""gpt_flash.py [fused] [bf16] [compile] VOCABULARY ROWS - GPT-2 (124 million) with
PyTorch's operator for attention learns, is evaluated, and writes fifty words."""

import sys

from torch import nn
from torch.nn.functional import scaled_dot_product_attention

sys.path.insert(0, __file__.rsplit("/", 1)[0] + "/parts")
from gpt_training import GPT, WIDTH, train  # noqa: E402

HEADS = 12


class Attention(nn.Module):
    """Causal attention by one operator."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        rows, length, _ = x.shape
        parts = self.qkv(x).view(rows, length, 3, HEADS, WIDTH // HEADS)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)
        rate = 0.1 if self.training else 0.0
        x = scaled_dot_product_attention(queries, keys, values, dropout_p=rate, is_causal=True)
        return self.out(x.transpose(1, 2).contiguous().view(rows, length, WIDTH))


model = GPT(Attention, lambda: nn.LayerNorm(WIDTH), nn.GELU("tanh"), int(sys.argv[-2]))
train(model, sys.argv[1:-2], int(sys.argv[-1]))
