"""Layers and losses."""

import math

from larder.lab import operations
from larder.lab.failures import not_covered
from larder.lab.making import empty, ones, zeros
from larder.lab.operations import square
from larder.lab.tensors import Parameter
from larder.lab.torch_stand_in.nn import functional, init
from larder.lab.torch_stand_in.nn.module import Module
from larder.lab.views import flatten


def _uniform_by_fan_in(weight, bias):
    """The first values torch gives a layer: the same bound for both."""
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        fan_in, _ = init._fans(weight)
        bound = 1 / math.sqrt(fan_in) if fan_in else 0
        init.uniform_(bias, -bound, bound)


def _bias(size, wanted, device):
    return Parameter(empty(size, device=device)) if wanted else None


class Linear(Module):
    """x·wᵀ + b"""

    def __init__(self, in_features, out_features, bias=True, device=None):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(empty(out_features, in_features, device=device))
        self.register_parameter("bias", _bias(out_features, bias, device))
        self.reset_parameters()

    def reset_parameters(self):
        _uniform_by_fan_in(self.weight, self.bias)

    def forward(self, input):
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self):
        return (
            f"in_features={self.in_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class Conv2d(Module):
    """A convolution over images: N×C×H×W."""

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        bias=True,
        device=None,
    ):
        super().__init__()
        kernel = square("kernel_size", kernel_size)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = (kernel, kernel)
        self.stride = square("stride", stride)
        self.padding = square("padding", padding)
        self.weight = Parameter(
            empty(out_channels, in_channels, kernel, kernel, device=device)
        )
        self.register_parameter("bias", _bias(out_channels, bias, device))
        self.reset_parameters()

    def reset_parameters(self):
        _uniform_by_fan_in(self.weight, self.bias)

    def forward(self, input):
        return functional.conv2d(
            input, self.weight, self.bias, self.stride, self.padding
        )

    def extra_repr(self):
        text = (
            f"{self.in_channels}, {self.out_channels}, "
            f"kernel_size={self.kernel_size}, "
            f"stride={(self.stride, self.stride)}"
        )
        if self.padding:
            text += f", padding={(self.padding, self.padding)}"
        return text if self.bias is not None else text + ", bias=False"


class MaxPool2d(Module):
    def __init__(self, kernel_size, stride=None):
        super().__init__()
        self.kernel_size = square("kernel_size", kernel_size)
        self.stride = (
            self.kernel_size if stride is None else square("stride", stride)
        )

    def forward(self, input):
        return functional.max_pool2d(input, self.kernel_size, self.stride)

    def extra_repr(self):
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, "
            "padding=0, dilation=1, ceil_mode=False"
        )


class LayerNorm(Module):
    """Over the last dimension."""

    def __init__(
        self, normalized_shape, eps=1e-5, elementwise_affine=True, device=None
    ):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        if len(self.normalized_shape) != 1:
            raise not_covered(
                "LayerNorm over several dimensions", ["the last one"]
            )
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = bias = None
        if elementwise_affine:
            weight = Parameter(ones(self.normalized_shape, device=device))
            bias = Parameter(zeros(self.normalized_shape, device=device))
        self.register_parameter("weight", weight)
        self.register_parameter("bias", bias)

    def forward(self, input):
        return functional.layer_norm(
            input, self.normalized_shape, self.weight, self.bias, self.eps
        )

    def extra_repr(self):
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}"
        )


class Embedding(Module):
    """A row for each number."""

    def __init__(self, num_embeddings, embedding_dim, device=None):
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.weight = Parameter(
            empty(num_embeddings, embedding_dim, device=device)
        )
        init.normal_(self.weight)

    def forward(self, input):
        return functional.embedding(input, self.weight)

    def extra_repr(self):
        return f"{self.num_embeddings}, {self.embedding_dim}"


class Dropout(Module):
    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if inplace:
            raise not_covered("Dropout's inplace=True", ["inplace=False"])
        self.p = p

    def forward(self, input):
        return functional.dropout(input, self.p, self.training)

    def extra_repr(self):
        return f"p={self.p}, inplace=False"


class Identity(Module):
    def __init__(self, *arguments, **named):
        super().__init__()

    def forward(self, input):
        return input


class ReLU(Module):
    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        if self.inplace:
            return functional.relu_(input)
        return functional.relu(input)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class GELU(Module):
    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return functional.gelu(input, self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class Tanh(Module):
    def forward(self, input):
        return functional.tanh(input)


class Sigmoid(Module):
    def forward(self, input):
        return functional.sigmoid(input)


class Softmax(Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return functional.softmax(input, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class LogSoftmax(Softmax):
    def forward(self, input):
        return functional.log_softmax(input, self.dim)


class Flatten(Module):
    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input):
        return flatten(input, self.start_dim, self.end_dim)

    def extra_repr(self):
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class _MeanLoss(Module):
    def __init__(self, *, reduction="mean"):
        super().__init__()
        operations.mean_only(reduction)


class CrossEntropyLoss(_MeanLoss):
    """The mean over the rows of logits, of classes given by number."""

    def forward(self, input, target):
        return operations.cross_entropy(input, target)


class MSELoss(_MeanLoss):
    def forward(self, input, target):
        return operations.mse_loss(input, target)
