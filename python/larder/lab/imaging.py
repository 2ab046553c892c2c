"""Convolutions, pooling, padding and resizing."""

import inspect
import math

from larder.lab import operations, raw
from larder.lab.autocasting import in_narrow
from larder.lab.failures import InvalidError, not_covered
from larder.lab.functions import made, made_of, named
from larder.lab.making import cat, full


def _one(value):
    """A size of a series, from a number or a tuple of one."""
    if not isinstance(value, (tuple, list)):
        return value
    if len(value) != 1:
        raise InvalidError(f"{tuple(value)} for one side")
    return value[0]


def _over_rows(function, input, *arguments):
    """A function of images, of series: images of one row."""
    return function(input.unsqueeze(-2), *arguments).squeeze(-2)


# The sizes of a series across its row.
_ACROSS = {
    "kernel_size": 1, "stride": 1, "padding": 0, "dilation": 1, "output_padding": 0,
    "output_size": 1,
}


def _across(name, value):
    if name == "weight":
        return value.unsqueeze(-2)
    if name not in _ACROSS or value is None or isinstance(value, str):
        return value
    return _ACROSS[name], _one(value)


def _of_series(function, count=None):
    """The function of series that corresponds to one of images, with its first
    `count` arguments."""
    given = list(inspect.signature(function).parameters.values())[:count]
    signature = inspect.Signature(given)
    name = function.__name__.replace("2d", "1d")

    def of_series(*arguments, **options):
        try:
            bound = signature.bind(*arguments, **options)
        except TypeError as error:
            raise TypeError(f"{name}() {error}") from None
        bound.apply_defaults()
        input, *rest = bound.arguments.items()
        return _over_rows(function, input[1], *(_across(*one) for one in rest))

    of_series.__signature__ = signature
    return named(name, of_series)


# ---- convolution ----


def _same_padding(kernel, dilation, stride):
    if stride != (1, 1):
        raise InvalidError("padding='same' is for a stride of 1")
    total = [d * (k - 1) for k, d in zip(kernel, dilation)]
    return tuple(one // 2 for one in total), any(one % 2 for one in total)


def _padding(padding, kernel, dilation, stride, input):
    """The numbers for 'same' and 'valid'. If 'same' is odd, the input is
    padded with the additional row and column."""
    if padding == "valid":
        return (0, 0), input
    if padding != "same":
        return raw.pair("padding", padding), input
    sides, odd = _same_padding(kernel, dilation, stride)
    if odd:
        input = pad(
            input,
            (0, dilation[1] * (kernel[1] - 1) % 2)
            + (0, dilation[0] * (kernel[0] - 1) % 2),
        )
    return sides, input


def _is_plain(stride, padding, dilation, groups):
    return (
        dilation == (1, 1)
        and groups == 1
        and stride[0] == stride[1]
        and padding[0] == padding[1]
    )


@in_narrow
def conv2d(
    input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1
):
    stride = raw.pair("stride", stride)
    dilation = raw.pair("dilation", dilation)
    kernel = tuple(weight.shape[-2:])
    lone = input.ndim == 3
    if lone:
        input = input.unsqueeze(0)
    padding, input = _padding(padding, kernel, dilation, stride, input)
    if _is_plain(stride, padding, dilation, groups):
        out = operations.conv2d(input, weight, bias, stride[0], padding[0])
    else:
        win = raw.window(kernel, stride, padding, dilation, groups=groups)
        out = _convolution(input, weight, bias, win)
    return out.squeeze(0) if lone else out


def _convolution(input, weight, bias, win):
    wants = [
        one is not None and one.requires_grad for one in (input, weight, bias)
    ]
    in_sizes, w_sizes = tuple(input.shape), tuple(weight.shape)

    def backward(grads, kept):
        grad, (x, w) = grads[0], kept
        return (
            raw.conv2d_input(grad, w, win, in_sizes) if wants[0] else None,
            raw.conv2d_weight(grad, x, win, w_sizes) if wants[1] else None,
            raw.reduce(raw.SUM, grad, (0, 2, 3)) if wants[2] else None,
        )

    return made(
        "ConvolutionBackward0",
        raw.conv2d(input, weight, bias, win),
        (input, weight, bias),
        (input, weight),
        backward,
    )


conv1d = _of_series(conv2d)


@in_narrow
def conv_transpose2d(
    input,
    weight,
    bias=None,
    stride=1,
    padding=0,
    output_padding=0,
    groups=1,
    dilation=1,
):
    win = raw.window(
        tuple(weight.shape[-2:]),
        stride,
        padding,
        dilation,
        output_padding,
        groups,
        transposed=True,
    )
    return _convolution(input, weight, bias, win)


conv_transpose1d = _of_series(conv_transpose2d)


# ---- pooling ----


def max_pool2d(
    input,
    kernel_size,
    stride=None,
    padding=0,
    dilation=1,
    ceil_mode=False,
    return_indices=False,
):
    kernel = raw.pair("kernel_size", kernel_size)
    stride = kernel if stride is None else raw.pair("stride", stride)
    padding = raw.pair("padding", padding)
    dilation = raw.pair("dilation", dilation)
    plain = not ceil_mode and not return_indices and padding == (0, 0)
    if plain and _is_plain(stride, padding, dilation, 1) and kernel[0] == (
        kernel[1]
    ):
        return operations.max_pool2d(input, kernel[0], stride[0])
    win = raw.window(kernel, stride, padding, dilation, rounds_up=ceil_mode)
    out, indices = raw.max_pool2d(input, win)
    sizes = tuple(input.shape)
    made_of(
        "MaxPool2DWithIndicesBackward0",
        out,
        input,
        lambda grad, _, indices: raw.max_pool2d_backward(grad, indices, sizes),
        input,
        indices,
    )
    return (out, indices) if return_indices else out


max_pool1d = _of_series(max_pool2d, 4)


def _averaged(name, input, win):
    sizes = tuple(input.shape)
    return made_of(
        name,
        raw.avg_pool2d(input, win),
        input,
        lambda grad, _: raw.avg_pool2d_backward(grad, win, sizes),
        input,
    )


def avg_pool2d(
    input,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    count_include_pad=True,
):
    win = raw.window(
        kernel_size,
        kernel_size if stride is None else stride,
        padding,
        counts_padding=count_include_pad,
        rounds_up=ceil_mode,
    )
    return _averaged("AvgPool2DBackward0", input, win)


avg_pool1d = _of_series(avg_pool2d, 4)


def adaptive_avg_pool2d(input, output_size):
    to = raw.pair("output_size", output_size)
    to = tuple(
        size if one is None else one for one, size in zip(to, input.shape[-2:])
    )
    if to == (1, 1):
        # Like PyTorch: a mean instead of a window.
        return operations.mean(input, (-2, -1), True)
    win = raw.window(0, to)
    return _averaged("AdaptiveAvgPool2DBackward0", input, win)


adaptive_avg_pool1d = _of_series(adaptive_avg_pool2d)


def adaptive_max_pool2d(input, output_size):
    to = raw.pair("output_size", output_size)
    kernel = tuple(size // one for size, one in zip(input.shape[-2:], to))
    if any(size % one for size, one in zip(input.shape[-2:], to)):
        raise not_covered(
            f"adaptive_max_pool2d to {to} of {tuple(input.shape[-2:])}",
            ["a part of the size"],
        )
    return max_pool2d(input, kernel)


# ---- another size ----


def _target(input, size, scale_factor):
    sides = input.shape[2:]
    if size is not None:
        return tuple(size) if isinstance(size, (tuple, list)) else (
            (size,) * len(sides)
        )
    if scale_factor is None:
        raise InvalidError("interpolate needs size or scale_factor")
    if not isinstance(scale_factor, (tuple, list)):
        scale_factor = (scale_factor,) * len(sides)
    return tuple(math.floor(a * b) for a, b in zip(sides, scale_factor))


def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    antialias=False,
):
    to = _target(input, size, scale_factor)
    if len(to) == 1:
        linear = {"linear": "bilinear"}.get(mode, mode)
        return _over_rows(
            interpolate, input, (1, to[0]), None, linear, align_corners
        )
    if mode not in ("nearest", "bilinear"):
        raise not_covered(
            f"interpolate's mode={mode!r}", ["nearest", "linear", "bilinear"]
        )
    sizes, linear = tuple(input.shape), mode == "bilinear"
    corners = bool(align_corners)
    return made_of(
        f"Upsample{mode.title()}2DBackward0",
        raw.resize2d(input, to, linear, corners),
        input,
        lambda grad: raw.resize2d_backward(grad, sizes, linear, corners),
    )


def pad(input, pad, mode="constant", value=0):
    """Add rows and columns, from the last dimension on."""
    if mode == "constant":
        return _padded(input, tuple(pad), value or 0)
    if mode not in ("reflect", "replicate", "circular"):
        raise InvalidError(f"pad's mode={mode!r}")
    for i in range(0, len(pad), 2):
        input = _edged(input, -1 - i // 2, pad[i], pad[i + 1], mode)
    return input


def _padded(input, sides, value):
    sizes = list(input.shape)
    window = [slice(None)] * len(sizes)
    inner = [slice(None)] * len(sizes)
    for i in range(0, len(sides), 2):
        dim, (before, after) = len(sizes) - 1 - i // 2, sides[i : i + 2]
        length = sizes[dim]
        sizes[dim] += before + after
        window[dim] = slice(max(before, 0), max(before, 0) + length
                            + min(before, 0) + min(after, 0))
        inner[dim] = slice(max(-before, 0), length - max(-after, 0))
    out = full(sizes, float(value), dtype=input.dtype, device=input.device)
    out[tuple(window)].copy_(input.detach()[tuple(inner)])
    shape = tuple(input.shape)

    def rule(grad):
        part = grad[tuple(window)]
        if tuple(part.shape) == shape:
            return part
        whole = full(shape, 0.0, dtype=part.dtype, device=part.device)
        whole[tuple(inner)].copy_(part)
        return whole

    return made_of("ConstantPadNdBackward0", out, input, rule)


def _edged(input, dim, before, after, mode):
    length = input.shape[dim]
    if mode == "replicate":
        first = input.narrow(dim, 0, 1)
        last = input.narrow(dim, length - 1, 1)
        parts = [first] * before + [input] + [last] * after
    elif mode == "circular":
        parts = [
            input.narrow(dim, length - before, before),
            input,
            input.narrow(dim, 0, after),
        ]
    else:
        parts = [
            input.narrow(dim, 1, before).flip(dim),
            input,
            input.narrow(dim, length - 1 - after, after).flip(dim),
        ]
    return cat([one for one in parts if one.shape[dim]], dim)


def pixel_shuffle(input, upscale_factor):
    r = upscale_factor
    n, c, h, w = input.shape
    split = input.reshape(n, c // (r * r), r, r, h * w)
    split = split.reshape(n * (c // (r * r)), r, r, h, w)
    return split.permute(0, 3, 1, 4, 2).reshape(n, c // (r * r), h * r, w * r)


