"""Operators that PyTorch composes depending on the GPU, composed here in the
same way."""

import math

import torch

aten = torch.ops.aten

FLASH, EFFICIENT, MATH = "flash", "efficient", "math"

_library = None


def _flash_fits(q, k, v, mask, dropout, capability):
    return (
        mask is None
        and torch.backends.cuda.flash_sdp_enabled()
        and capability >= (8, 0)
        and q.dtype in (torch.float16, torch.bfloat16)
        and q.dim() == 4
        and q.shape[-1] == k.shape[-1] == v.shape[-1] <= 256
        and min(q.shape[-2], k.shape[-2]) > 0
    )


# Whether memory-efficient attention accepts fewer key heads than query heads:
# seen in 2.15, and not in 2.6.  The version in which this changed was not
# determined.
_EFFICIENT_GROUPS = tuple(
    int(n) for n in torch.__version__.split(".")[:2]
) >= (2, 12)


def _efficient_fits(q, k, v, mask, enable_gqa):
    groups = enable_gqa and _EFFICIENT_GROUPS
    return (
        torch.backends.cuda.mem_efficient_sdp_enabled()
        and (groups or not enable_gqa)
        and q.dtype in (torch.float16, torch.bfloat16, torch.float32)
        and q.dim() == 4
        and q.shape[-1] == k.shape[-1]
        and k.shape[1] == v.shape[1]
        and (groups or q.shape[1] == k.shape[1])
        and not (mask is not None and mask.requires_grad)
    )


def choice(q, k, v, mask, dropout, enable_gqa, capability):
    """The implementation of attention that PyTorch would choose, in its order."""
    if _flash_fits(q, k, v, mask, dropout, capability):
        return FLASH
    if _efficient_fits(q, k, v, mask, enable_gqa):
        return EFFICIENT
    return MATH


def _padded(tensor):
    """Pad the head size to a multiple of 8, as flash attention requires."""
    rest = tensor.shape[-1] % 8
    return torch.nn.functional.pad(tensor, (0, 8 - rest)) if rest else tensor


def _flash(q, k, v, dropout, causal, scale):
    size = q.shape[-1]
    scale = scale if scale is not None else 1.0 / math.sqrt(size)
    out = aten._scaled_dot_product_flash_attention(
        _padded(q), _padded(k), _padded(v), dropout, causal, False, scale=scale
    )[0]
    return out[..., :size] if out.shape[-1] != size else out


def _bias_of(mask, q, k):
    """The bias as numbers, expanded, with rows aligned as the kernel requires."""
    if mask is None:
        return None
    if mask.dtype == torch.bool:
        numbers = torch.zeros_like(mask, dtype=q.dtype)
        mask = numbers.masked_fill_(mask.logical_not(), float("-inf"))
    rest = mask.shape[-1] % 8
    if rest:
        length = mask.shape[-1]
        mask = torch.nn.functional.pad(mask, (0, 8 - rest))[..., :length]
    return mask.expand(q.shape[0], q.shape[1], q.shape[2], k.shape[2])


def _efficient(q, k, v, mask, dropout, causal, scale):
    needs = torch.is_grad_enabled() and any(
        t.requires_grad for t in (q, k, v)
    )
    return aten._scaled_dot_product_efficient_attention(
        q, k, v, _bias_of(mask, q, k), needs, dropout, causal, scale=scale
    )[0]


def _attention(capability):
    def attention(
        q, k, v, mask=None, dropout=0.0, causal=False, *, scale=None,
        enable_gqa=False,
    ):
        way = choice(q, k, v, mask, dropout, enable_gqa, capability)
        if way == FLASH:
            return _flash(q, k, v, dropout, causal, scale)
        if way == EFFICIENT:
            return _efficient(q, k, v, mask, dropout, causal, scale)
        if mask is not None and mask.dtype == torch.bool:
            numbers = torch.zeros_like(mask, dtype=q.dtype)
            mask = numbers.masked_fill_(mask.logical_not(), float("-inf"))
        return aten._scaled_dot_product_attention_math(
            q, k, v, mask, dropout, causal, None, scale=scale,
            enable_gqa=enable_gqa,
        )[0]

    return attention


def _linear(data, weight, bias=None):
    """A product whose bias is added in place afterwards.  For a subclass
    PyTorch creates a new tensor."""
    if bias is None or data.dim() <= 2 or data.is_contiguous():
        composite = torch._C.DispatchKey.CompositeImplicitAutograd
        return aten.linear.default._op_dk(composite, data, weight, bias)
    return torch.matmul(data, weight.t()).add_(bias)


def install(options):
    global _library
    _library = torch.library.Library("aten", "IMPL")
    for key in ("AutogradCUDA", "CUDA"):
        _library.impl(
            "scaled_dot_product_attention", _attention(options.capability), key
        )
        _library.impl("linear", _linear, key)
