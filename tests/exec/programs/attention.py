"""What PyTorch's kernels of attention ask for beside their results, and what
larder.fit.attention says: every case that differs is named, status 1."""

import itertools

import asking
import torch
from asking import asked, rounded, without

from larder.fit import attention

aten = torch.ops.aten


def tensors(dtype, batch, heads, key_heads, length, keys, size):
    def one(heads, length):
        whole = torch.empty(batch, length, heads, size, dtype=dtype, device="cuda")
        return whole.transpose(1, 2)

    return one(heads, length), one(key_heads, keys), one(key_heads, keys)


def both_layouts(like):
    """A gradient as the kernel reads it, and one that has to be copied."""
    return torch.empty_like(like), torch.empty_like(like).contiguous()


def efficient(gpu, dropout, q, k, v):
    words = (q, k, v, None, True, dropout, False)
    real, forward = asked(lambda: aten._scaled_dot_product_efficient_attention(*words))
    yield without(real, forward), asking.predicted(
        gpu, words, attention.efficient_forward
    )
    out, sums, seed, offset = forward
    for gradient in both_layouts(out):
        words = (
            *(gradient, q, k, v, None, out, sums, seed, offset),
            *(dropout, [True, True, True, False], False),
        )
        real, results = asked(
            lambda: aten._scaled_dot_product_efficient_attention_backward(*words)
        )
        copies = [rounded(s) for s in attention.efficient_copies(words, {})]
        said = asking.predicted(gpu, words, attention.efficient_backward)
        yield without(real, results), copies + said


def flash(gpu, dropout, q, k, v):
    words = (q, k, v, dropout, False, False)
    real, forward = asked(lambda: aten._scaled_dot_product_flash_attention(*words))
    yield without(real, forward), asking.predicted(gpu, words, attention.flash_forward)
    out, sums, ends_q, ends_k, most_q, most_k, seed, offset, _ = forward
    for gradient in both_layouts(out):
        words = (
            *(gradient, q, k, v, out, sums, ends_q, ends_k, most_q, most_k),
            *(dropout, False, seed, offset),
        )
        real, results = asked(
            lambda: aten._scaled_dot_product_flash_attention_backward(*words)
        )
        copies = [rounded(s) for s in attention.flash_copies(words, {})]
        said = asking.predicted(gpu, words, attention.flash_backward)
        yield without(real, results), copies + said


def cases():
    """The way, and the shapes."""
    sizes = (32, 64, 72, 96, 128, 160, 256)
    for size, (length, keys) in itertools.product(
        sizes, ((256, 256), (200, 77), (1024, 1024))
    ):
        for dropout in (0.0, 0.1):
            for dtype in (torch.float32, torch.float16):
                for heads in (3, 6):
                    yield efficient, dropout, (dtype, 2, heads, 3, length, keys, size)
            for heads in (3, 6):
                shape = (torch.bfloat16, 2, heads, 3, length, keys, size)
                yield flash, dropout, shape
    yield efficient, 0.0, (torch.float16, 20, 16, 16, 64, 64, 160)
    yield flash, 0.0, (torch.float16, 1, 1, 1, 1, 8192, 64)


def pairs(gpu):
    for way, dropout, shape in cases():
        for real, said in way(gpu, dropout, *tensors(*shape)):
            yield (way.__name__, dropout, *shape), real, said


if __name__ == "__main__":
    asking.check(pairs)
