"""Operators that PyTorch composes depending on the GPU, composed here in the
same way."""

import functools
import math

import torch

aten = torch.ops.aten

FLASH, EFFICIENT, MATH, CUDNN = "flash", "efficient", "math", "cuDNN"

_HALF = (torch.float16, torch.bfloat16)

# Operators without a gradient formula whose parts allocate memory: fake tensors
# would show only the result.
_OF_PARTS = {
    aten._euclidean_dist.default,
    aten._safe_softmax.default,
    aten.binary_cross_entropy_with_logits.default,
    aten.celu.default,
    aten.logsumexp.default,
    aten.mvlgamma.default,
    aten.soft_margin_loss.default,
}

# The operators composed here: operator -> function.
OWN = {}

_library = None


@functools.cache
def parts_of(func):
    """The operator as a composition of others, or None.  Where nothing can have
    a gradient, operators come here before PyTorch composes them."""
    if func in OWN:
        return OWN[func]
    if func in _OF_PARTS:
        key = torch._C.DispatchKey.CompositeExplicitAutograd
        return functools.partial(func._op_dk, key)
    if func.namespace == "aten" and func._can_decompose():
        return func.decompose
    return None


# ---- attention --------------------------------------------------------------


def _alike(q, k, v, groups):
    """Whether the batch sizes are equal, and the numbers of heads, unless keys have
    fewer."""
    heads = groups or q.shape[1] == k.shape[1] == v.shape[1]
    return q.dim() == 4 and q.shape[0] == k.shape[0] == v.shape[0] and heads


def _wants_gradient(*tensors):
    return torch.is_grad_enabled() and any(t.requires_grad for t in tensors)


def _is_too_wide(q, k, v, dropout, capability):
    """Whether backward does not fit in these GPUs' shared memory."""
    size = q.shape[-1]
    return (
        capability in ((8, 6), (8, 9), (12, 0), (12, 1))
        and (192 < size <= 224 or (size > 224 and dropout > 0))
        and _wants_gradient(q, k, v)
    )


def _flash_fits(q, k, v, mask, dropout, causal, enable_gqa, capability):
    return (
        mask is None
        and torch.backends.cuda.flash_sdp_enabled()
        and capability >= (8, 0)
        and q.dtype in _HALF
        and _alike(q, k, v, enable_gqa)
        and q.shape[-1] == k.shape[-1] == v.shape[-1] <= 256
        and min(q.shape[-2], k.shape[-2]) > 0
        and not (causal and q.shape[-2] != k.shape[-2])
        and not _is_too_wide(q, k, v, dropout, capability)
    )


# Whether memory-efficient attention accepts fewer key heads than query heads:
# seen in 2.15, and not in 2.6 and 2.8.  The version in which this changed was not
# determined.
_EFFICIENT_GROUPS = tuple(
    int(n) for n in torch.__version__.split(".")[:2]
) >= (2, 12)


def _alignment(q, capability):
    """Of a head's size, in elements: 16 bytes where there are tensor cores."""
    is_half = q.dtype in _HALF
    if capability >= (8, 0) or (capability >= (7, 0) and is_half):
        return 8 if is_half else 4
    return 1


def _efficient_fits(q, k, v, mask, dropout, causal, enable_gqa, capability):
    alignment = _alignment(q, capability)
    groups = enable_gqa and _EFFICIENT_GROUPS
    return (
        torch.backends.cuda.mem_efficient_sdp_enabled()
        and (groups or not enable_gqa)
        and q.dtype in (*_HALF, torch.float32)
        and _alike(q, k, v, groups)
        and q.shape[-1] == k.shape[-1] > 0
        and k.shape[1] == v.shape[1]
        and min(q.shape[-2], k.shape[-2]) > 0
        and q.shape[-1] % alignment == 0
        and v.shape[-1] % alignment == 0
    )


def _cudnn_fits(q, k, v, mask, dropout, causal, enable_gqa, capability):
    return (
        torch.backends.cuda.cudnn_sdp_enabled()
        and capability >= (8, 0)
        and q.dtype in _HALF
        and _alike(q, k, v, enable_gqa)
        and max(q.shape[-1], v.shape[-1]) <= 128
        and q.shape[-1] % 8 == v.shape[-1] % 8 == 0
        and min(q.shape[-2], k.shape[-2]) > 1
    )


# By PyTorch's numbers; the math implementation is always possible.
_WAYS = {1: (FLASH, _flash_fits), 2: (EFFICIENT, _efficient_fits), 3: (CUDNN, _cudnn_fits)}


def choice(*call):
    """The implementation of attention that PyTorch would choose, in its order."""
    for number in torch._C._get_sdp_priority_order():
        way, fits = _WAYS.get(number, (MATH, _math_fits))
        if fits(*call):
            return way
    raise RuntimeError("No available kernel. Aborting execution.")


def _math_fits(*call):
    return torch.backends.cuda.math_sdp_enabled()


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


def _numbers(mask, q):
    """The mask as an additive bias."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    never = torch.full((), -math.inf, dtype=q.dtype, device=mask.device)
    return torch.where(mask, 0.0, never)


def _bias_of(mask, q, k):
    """The bias as numbers, expanded, with rows aligned as the kernel requires."""
    mask = _numbers(mask, q)
    if mask is None:
        return None
    rest = mask.shape[-1] % 8
    if rest:
        length = mask.shape[-1]
        mask = torch.nn.functional.pad(mask, (0, 8 - rest))[..., :length]
    return mask.expand(q.shape[0], q.shape[1], q.shape[2], k.shape[2])


def _efficient(q, k, v, mask, dropout, causal, scale):
    return aten._scaled_dot_product_efficient_attention(
        q, k, v, _bias_of(mask, q, k), _wants_gradient(q, k, v), dropout, causal,
        scale=scale,
    )[0]


def _cudnn(q, k, v, mask, dropout, causal, scale):
    return aten._scaled_dot_product_cudnn_attention(
        q, k, v, _bias_of(mask, q, k), _wants_gradient(q, k, v), dropout, causal,
        False, scale=scale,
    )[0]


def _math(q, k, v, mask, dropout, causal, scale, enable_gqa):
    return aten._scaled_dot_product_attention_math(
        q, k, v, _numbers(mask, q), dropout, causal, None, scale=scale,
        enable_gqa=enable_gqa,
    )[0]


def _attention(capability):
    def attention(
        q, k, v, mask=None, dropout=0.0, causal=False, *, scale=None,
        enable_gqa=False,
    ):
        way = choice(q, k, v, mask, dropout, causal, enable_gqa, capability)
        if way == FLASH:
            return _flash(q, k, v, dropout, causal, scale)
        if way == EFFICIENT:
            return _efficient(q, k, v, mask, dropout, causal, scale)
        if way == CUDNN:
            return _cudnn(q, k, v, mask, dropout, causal, scale)
        return _math(q, k, v, mask, dropout, causal, scale, enable_gqa)

    return attention


def _linear(data, weight, bias=None):
    """A product whose bias is added in place afterwards.  For a subclass
    PyTorch creates a new tensor."""
    if bias is None or data.dim() <= 2 or data.is_contiguous():
        composite = torch._C.DispatchKey.CompositeImplicitAutograd
        return aten.linear.default._op_dk(composite, data, weight, bias)
    return torch.matmul(data, weight.t()).add_(bias)


# ---- layers of an encoder -----------------------------------------------------


_OF_KEYS = 1  # a mask that has a row for each sequence


def _scores(q, k, mask, mask_type):
    products = torch.matmul(q, k.transpose(-2, -1))
    if mask is None:
        return aten._softmax.out(products, -1, False, out=products)
    mask = mask.bool()
    if mask_type == _OF_KEYS:
        mask = mask[:, None, None, :]
    return torch.softmax(products.masked_fill_(mask, -math.inf), -1)


def _heads(capability):
    """Attention of one input to itself, without gradients."""

    def by_products(packed, split, mask, mask_type):
        q, k, v = (part.contiguous() for part in split(packed.pop()))
        weights = _scores(q, k, mask, mask_type)
        # The result goes where the queries were.
        torch.bmm(weights.flatten(0, 1), v.flatten(0, 1), out=q.flatten(0, 1))
        return q.transpose(1, 2), weights, (q, k, v)

    def layer(
        query, key, value, width, heads, weight, bias, proj_weight, proj_bias,
        mask=None, need_weights=True, average_weights=True, mask_type=None,
    ):
        def split(packed):
            shape = (query.shape[0], -1, heads, width // heads)
            return [t.view(shape).transpose(1, 2) for t in packed.chunk(3, -1)]

        packed = [torch.nn.functional.linear(query, weight, bias)]
        parts = split(packed[0])
        way = choice(*parts, None, 0.0, False, False, capability)
        weights = None
        if mask is None and not need_weights and way in (FLASH, EFFICIENT):
            found = torch.nn.functional.scaled_dot_product_attention(*parts)
            found = found.transpose(1, 2)
        else:
            del parts
            found, weights, parts = by_products(packed, split, mask, mask_type)
        if not need_weights:
            weights = None
        found = found.reshape(*query.shape[:-1], width)
        result = torch.nn.functional.linear(found, proj_weight, proj_bias)
        del found
        if weights is not None and average_weights:
            weights = weights.sum(1).div_(heads)
        return result, weights

    return layer


def _encoder(attention):
    def feed(data, weight_1, bias_1, weight_2, bias_2, gelu):
        rows = data.reshape(-1, data.shape[-1])
        wide = aten._addmm_activation(bias_1, rows, weight_1.t(), use_gelu=gelu)
        return torch.addmm(bias_2, wide, weight_2.t()).view(data.shape)

    def layer(
        data, width, heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu,
        norm_first, eps, weight_1, bias_1, weight_2, bias_2, *rest,
    ):
        *fed, mask, mask_type = (*rest, None, None)[:6]

        def norm(x, weight, bias):
            return torch.nn.functional.layer_norm(x, (width,), weight, bias, eps)

        x = norm(data, weight_1, bias_1) if norm_first else data
        x = attention(
            x, x, x, width, heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask,
            False, True, mask_type,
        )[0]
        x.add_(data)
        if not norm_first:
            x = norm(x, weight_1, bias_1)
        before = x
        if norm_first:
            x = norm(x, weight_2, bias_2)
        x = feed(x, *fed, use_gelu).add_(before)
        return x if norm_first else norm(x, weight_2, bias_2)

    return layer


def put(library, name, function):
    """Register the composition of an operator, with and without gradients."""
    for key in ("AutogradCUDA", "CUDA"):
        library.impl(name, function, key)
    packet, _, overload = name.partition(".")
    OWN[getattr(getattr(aten, packet), overload or "default")] = function


def install(options):
    global _library
    _library = torch.library.Library("aten", "IMPL")
    put(_library, "scaled_dot_product_attention", _attention(options.capability))
    put(_library, "linear", _linear)
    attention = _heads(options.capability)
    OWN[aten._native_multi_head_attention.default] = attention
    OWN[aten._transformer_encoder_layer_fwd.default] = _encoder(attention)
