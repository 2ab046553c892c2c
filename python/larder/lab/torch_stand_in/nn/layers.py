"""Layers: linear, convolution, pooling and embedding."""

import math

from larder.lab.failures import InvalidError, not_covered
from larder.lab.imaging import pair
from larder.lab.making import empty
from larder.lab.tensors import Parameter
from larder.lab.torch_stand_in.nn import functional, init
from larder.lab.torch_stand_in.nn.module import Module
from larder.lab.torch_stand_in.nn.wrapping import Wrapping, classes
from larder.lab.views import flatten, unflatten


def uniform_by_fan_in(weight, bias):
    """torch's initial values of a layer: the same bound for weight and bias."""
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        fan_in, _ = init._fans(weight)
        bound = 1 / math.sqrt(fan_in) if fan_in else 0
        init.uniform_(bias, -bound, bound)


def bias_of(size, wanted, device, dtype=None):
    if not wanted:
        return None
    return Parameter(empty(size, device=device, dtype=dtype))


class Linear(Module):
    """x·wᵀ + b"""

    def __init__(
        self, in_features, out_features, bias=True, device=None, dtype=None
    ):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(
            empty(out_features, in_features, device=device, dtype=dtype)
        )
        self.register_parameter(
            "bias", bias_of(out_features, bias, device, dtype)
        )
        self.reset_parameters()

    def reset_parameters(self):
        uniform_by_fan_in(self.weight, self.bias)

    def forward(self, input):
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self):
        return (
            f"in_features={self.in_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class Bilinear(Module):
    """x·w·y + b"""

    def __init__(
        self, in1_features, in2_features, out_features, bias=True, device=None
    ):
        super().__init__()
        self.weight = Parameter(
            empty(out_features, in1_features, in2_features, device=device)
        )
        self.register_parameter("bias", bias_of(out_features, bias, device))
        bound = 1 / math.sqrt(in1_features)
        for one in self.parameters():
            init.uniform_(one, -bound, bound)

    def forward(self, input1, input2):
        return functional.bilinear(input1, input2, self.weight, self.bias)


class _Conv(Module):
    """The common base of one- and two-dimensional convolutions."""

    _dims = 2
    _transposed = False

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        super().__init__()
        if padding_mode != "zeros":
            raise not_covered(f"padding_mode={padding_mode!r}", ["zeros"])
        if in_channels % groups or out_channels % groups:
            raise InvalidError(
                f"{in_channels} and {out_channels} channels in {groups} groups"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = self._sides("kernel_size", kernel_size)
        self.stride = self._sides("stride", stride)
        self.padding = (
            padding
            if isinstance(padding, str)
            else self._sides("padding", padding)
        )
        self.dilation = self._sides("dilation", dilation)
        self.groups = groups
        ends = (out_channels, in_channels // groups)
        if self._transposed:
            ends = (in_channels, out_channels // groups)
        self.weight = Parameter(
            empty(*ends, *self.kernel_size, device=device, dtype=dtype)
        )
        self.register_parameter(
            "bias", bias_of(out_channels, bias, device, dtype)
        )
        self.reset_parameters()

    def _sides(self, what, value):
        if self._dims == 2:
            return pair(what, value)
        return tuple(value) if isinstance(value, (tuple, list)) else (value,)

    def reset_parameters(self):
        uniform_by_fan_in(self.weight, self.bias)

    def forward(self, input):
        return self._function(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self.dilation,
            self.groups,
        )

    def extra_repr(self):
        text = (
            f"{self.in_channels}, {self.out_channels}, "
            f"kernel_size={self.kernel_size}, stride={self.stride}"
        )
        if self.padding != (0,) * self._dims:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self._dims:
            text += f", dilation={self.dilation}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        return text if self.bias is not None else text + ", bias=False"


class Conv1d(_Conv):
    """A convolution over series: N×C×L."""

    _dims = 1
    _function = staticmethod(functional.conv1d)


class Conv2d(_Conv):
    """A convolution over images: N×C×H×W."""

    _function = staticmethod(functional.conv2d)


class _ConvTranspose(_Conv):
    _transposed = True

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        bias=True,
        dilation=1,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )
        self.output_padding = self._sides("output_padding", output_padding)

    def forward(self, input):
        return self._function(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self.output_padding,
            self.groups,
            self.dilation,
        )


class ConvTranspose1d(_ConvTranspose):
    _dims = 1
    _function = staticmethod(functional.conv_transpose1d)


class ConvTranspose2d(_ConvTranspose):
    _function = staticmethod(functional.conv_transpose2d)


class Embedding(Module):
    """A table with one row for each index."""

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        padding_idx=None,
        device=None,
        dtype=None,
        _weight=None,
    ):
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        if _weight is not None:
            self.weight = Parameter(_weight)
            return
        self.weight = Parameter(
            empty(num_embeddings, embedding_dim, device=device, dtype=dtype)
        )
        init.normal_(self.weight)
        if padding_idx is not None:
            init.zeros_(self.weight.data[padding_idx])

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None):
        made = cls(*embeddings.shape, padding_idx, _weight=embeddings)
        made.weight.requires_grad = not freeze
        return made

    def forward(self, input):
        return functional.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self):
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        return text


# ---- without weights ----


class MaxPool2d(Module):
    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        dilation=1,
        return_indices=False,
        ceil_mode=False,
    ):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input):
        return functional.max_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.return_indices,
        )

    def extra_repr(self):
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, "
            f"padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


_TABLE = """
    AvgPool1d avg_pool1d    AvgPool2d avg_pool2d    MaxPool1d max_pool1d
    AdaptiveAvgPool1d adaptive_avg_pool1d
    AdaptiveAvgPool2d adaptive_avg_pool2d
    AdaptiveMaxPool2d adaptive_max_pool2d
    Upsample interpolate    PixelShuffle pixel_shuffle
"""
globals().update(classes(Wrapping, __name__, _TABLE, inputs=1))


class ZeroPad2d(Module):
    def __init__(self, padding):
        super().__init__()
        self.padding = (
            (padding,) * 4 if isinstance(padding, int) else tuple(padding)
        )

    def forward(self, input):
        return functional.pad(input, self.padding)


class Dropout(Module):
    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        self.p = p
        self.inplace = inplace

    def forward(self, input):
        return functional.dropout(input, self.p, self.training)

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


class Dropout1d(Dropout):
    def forward(self, input):
        return functional.dropout1d(input, self.p, self.training)


class Dropout2d(Dropout):
    def forward(self, input):
        return functional.dropout2d(input, self.p, self.training)


class Identity(Module):
    def __init__(self, *arguments, **named):
        super().__init__()

    def forward(self, input):
        return input


class Flatten(Module):
    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input):
        return flatten(input, self.start_dim, self.end_dim)

    def extra_repr(self):
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    def __init__(self, dim, unflattened_size):
        super().__init__()
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input):
        return unflatten(input, self.dim, self.unflattened_size)
