"""torch.nn.functional"""

from larder.lab import imaging, losses, making, normalizing, operations, pointwise
from larder.lab.failures import gate, own_names
from larder.lab.functions import named
from larder.lab.operations import (  # noqa: F401
    dropout, embedding, gelu, linear, log_softmax, relu_, sigmoid, softmax, tanh,
)
from larder.lab.picking import one_hot  # noqa: F401
from larder.lab.pointwise import (  # noqa: F401
    elu, hardtanh, leaky_relu, logsigmoid, selu, softplus,
)
from larder.lab.products import (  # noqa: F401
    bilinear, cosine_similarity, normalize, scaled_dot_product_attention,
)

for _module in (imaging, losses, normalizing):
    for _name in own_names(vars(_module)):
        globals()[_name] = getattr(_module, _name)

upsample = imaging.interpolate


def relu(input, inplace=False):
    return relu_(input) if inplace else operations.relu(input)


def silu(input, inplace=False):
    return pointwise.silu_(input) if inplace else pointwise.silu(input)


def _not_in_place(function):
    """An activation that takes `inplace`, but always makes a new tensor."""
    return named(function.__name__, lambda input, inplace=False: function(input))


mish = _not_in_place(pointwise.mish)
hardswish = _not_in_place(pointwise.hardswish)
hardsigmoid = _not_in_place(pointwise.hardsigmoid)


def relu6(input, inplace=False):
    return hardtanh(input, 0.0, 6.0, inplace)


def threshold(input, threshold, value, inplace=False):
    return pointwise.threshold(input, threshold, value)


def glu(input, dim=-1):
    first, second = input.chunk(2, dim)
    return first * operations.sigmoid(second)


def prelu(input, weight):
    """A slope for each channel, or one for all."""
    if weight.numel() > 1:
        weight = weight.reshape((-1,) + (1,) * (input.ndim - 2))
    return input.clamp(min=0) + weight * input.clamp(max=0)


def celu(input, alpha=1.0, inplace=False):
    return elu(input / alpha, 1.0) * alpha if alpha != 1 else elu(input)


def softsign(input):
    return input / (pointwise.abs(input) + 1)


def softmin(input, dim=None):
    return softmax(-input, dim)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    return (x1 - x2 + eps).norm(p, -1, keepdim)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Drops whole channels: a factor for each, created before the product."""
    if not training or p == 0:
        return input
    kept = making.ones(
        *input.shape[:2], *[1] * (input.dim() - 2), device=input.device
    )
    return input * dropout(kept, p)


def dropout1d(input, p=0.5, training=True, inplace=False):
    if input.dim() == 2:  # one sample
        return dropout2d(input.unsqueeze(0), p, training).squeeze(0)
    return dropout2d(input, p, training)


_OTHERS = """
    gate imaging losses making named normalizing operations own_names pointwise
""".split()
_NAMES = [name for name in globals() if name not in _OTHERS and name[0] != "_"]

__getattr__ = gate("torch.nn.functional", lambda: _NAMES)
