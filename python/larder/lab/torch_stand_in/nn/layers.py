"""Layers: linear, convolution, pooling and embedding."""

import math

from larder.lab.constructing import PLACE
from larder.lab.failures import InvalidError, not_covered
from larder.lab.making import empty
from larder.lab.raw import pair
from larder.lab.tensors import Parameter
from larder.lab.torch_stand_in.nn import functional, init
from larder.lab.torch_stand_in.nn.module import Module, layer
from larder.lab.torch_stand_in.nn.wrapping import Wrapping, classes
from larder.lab.views import flatten, unflatten


def uniform_by_fan_in(weight, bias):
    """torch's initial values of a layer: the same bound for weight and bias."""
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        fan_in, _ = init._fans(weight)
        bound = 1 / math.sqrt(fan_in) if fan_in else 0
        init.uniform_(bias, -bound, bound)


def add_weights(module, shape, biases, place):
    """Give a module a weight of this shape, and a bias of `biases` numbers, or no
    bias."""
    module.weight = Parameter(empty(shape, **place))
    bias = None if biases is None else Parameter(empty(biases, **place))
    module.register_parameter("bias", bias)


class Linear(Module):
    """x·wᵀ + b"""

    __init__ = layer("in_features out_features", passed="bias", bias=True, **PLACE)

    def _made_from(self, bias, **place):
        out = self.out_features
        add_weights(self, (out, self.in_features), out if bias else None, place)
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

    __init__ = layer(
        "in1_features in2_features out_features", passed="bias", bias=True, **PLACE
    )

    def _made_from(self, bias, **place):
        out = self.out_features
        shape = out, self.in1_features, self.in2_features
        add_weights(self, shape, out if bias else None, place)
        bound = 1 / math.sqrt(self.in1_features)
        for one in self.parameters():
            init.uniform_(one, -bound, bound)

    def forward(self, input1, input2):
        return functional.bilinear(input1, input2, self.weight, self.bias)


class _Conv(Module):
    """The common base of one- and two-dimensional convolutions."""

    _dims = 2
    _transposed = False
    _sizes = ("kernel_size", "stride", "padding", "dilation")
    _passed = ("stride", "padding", "dilation", "groups")
    __init__ = layer(
        "in_channels out_channels kernel_size", passed="bias", stride=1, padding=0,
        dilation=1, groups=1, bias=True, padding_mode="zeros", **PLACE,
    )

    def _made_from(self, bias, **place):
        inner, out, groups = self.in_channels, self.out_channels, self.groups
        if self.padding_mode != "zeros":
            raise not_covered(f"padding_mode={self.padding_mode!r}", ["zeros"])
        if inner % groups or out % groups:
            raise InvalidError(f"{inner} and {out} channels in {groups} groups")
        for name in self._sizes:
            setattr(self, name, self._sides(name, getattr(self, name)))
        ends = (inner, out // groups) if self._transposed else (out, inner // groups)
        add_weights(self, (*ends, *self.kernel_size), out if bias else None, place)
        self.reset_parameters()

    def _sides(self, what, value):
        if isinstance(value, str):
            return value
        if self._dims == 2:
            return pair(what, value)
        return tuple(value) if isinstance(value, (tuple, list)) else (value,)

    def reset_parameters(self):
        uniform_by_fan_in(self.weight, self.bias)

    def forward(self, input):
        options = {name: getattr(self, name) for name in self._passed}
        return self._function(input, self.weight, self.bias, **options)

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
    _sizes = (*_Conv._sizes, "output_padding")
    _passed = (*_Conv._passed, "output_padding")
    __init__ = layer(
        "in_channels out_channels kernel_size", passed="bias", stride=1, padding=0,
        output_padding=0, groups=1, bias=True, dilation=1, padding_mode="zeros",
        **PLACE,
    )


class ConvTranspose1d(_ConvTranspose):
    _dims = 1
    _function = staticmethod(functional.conv_transpose1d)


class ConvTranspose2d(_ConvTranspose):
    _function = staticmethod(functional.conv_transpose2d)


class Embedding(Module):
    """A table with one row for each index."""

    __init__ = layer(
        "num_embeddings embedding_dim", passed="_weight", padding_idx=None, **PLACE,
        _weight=None,
    )

    def _made_from(self, _weight, **place):
        if _weight is not None:
            self.weight = Parameter(_weight)
            return
        shape = self.num_embeddings, self.embedding_dim
        self.weight = Parameter(empty(shape, **place))
        init.normal_(self.weight)
        if self.padding_idx is not None:
            init.zeros_(self.weight.data[self.padding_idx])

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


class MaxPool2d(Wrapping):
    """functional.max_pool2d as a module; its options are in another order."""

    _function = staticmethod(functional.max_pool2d)
    _options = (
        "kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode",
    )
    __init__ = layer(
        "kernel_size", stride=None, padding=0, dilation=1, return_indices=False,
        ceil_mode=False,
    )
    _repr_of = "", "kernel_size stride padding dilation ceil_mode"
    extra_repr = Module.extra_repr

    def _made_from(self):
        self.stride = self.kernel_size if self.stride is None else self.stride


_TABLE = """
    AvgPool1d avg_pool1d    AvgPool2d avg_pool2d    MaxPool1d max_pool1d
    AdaptiveAvgPool1d adaptive_avg_pool1d
    AdaptiveAvgPool2d adaptive_avg_pool2d
    AdaptiveMaxPool2d adaptive_max_pool2d
    Upsample interpolate    PixelShuffle pixel_shuffle
"""
globals().update(classes(Wrapping, __name__, _TABLE, inputs=1))


class ZeroPad2d(Module):
    __init__ = layer("padding")

    def _made_from(self):
        sides = self.padding
        self.padding = (sides,) * 4 if isinstance(sides, int) else tuple(sides)

    def forward(self, input):
        return functional.pad(input, self.padding)


class Dropout(Module):
    __init__ = layer(p=0.5, inplace=False)
    _function = staticmethod(functional.dropout)
    _repr_of = "", "p inplace"

    def forward(self, input):
        return self._function(input, self.p, self.training)


class Dropout1d(Dropout):
    _function = staticmethod(functional.dropout1d)


class Dropout2d(Dropout):
    _function = staticmethod(functional.dropout2d)


class Identity(Module):
    def __init__(self, *arguments, **named):
        super().__init__()

    def forward(self, input):
        return input


class Flatten(Module):
    __init__ = layer(start_dim=1, end_dim=-1)
    _repr_of = "", "start_dim end_dim"

    def forward(self, input):
        return flatten(input, self.start_dim, self.end_dim)


class Unflatten(Module):
    __init__ = layer("dim unflattened_size")

    def forward(self, input):
        return unflatten(input, self.dim, self.unflattened_size)
