"""torch.nn.init: initializes parameters.

Random values are created on the host and copied, so that initializing a tensor
uses no additional device memory.
"""

import math

from larder.lab.failures import InvalidError, gate
from larder.lab.making import eye, randn
from larder.lab.pointwise import where
from larder.lab.recording import no_grad


def _fill(tensor, values):
    with no_grad():
        return tensor.copy_(values)


@no_grad()
def uniform_(tensor, a=0.0, b=1.0):
    return tensor.uniform_(a, b)


@no_grad()
def normal_(tensor, mean=0.0, std=1.0):
    return tensor.normal_(mean, std)


@no_grad()
def constant_(tensor, val):
    return tensor.fill_(val)


def zeros_(tensor):
    return constant_(tensor, 0)


def ones_(tensor):
    return constant_(tensor, 1)


def _fans(tensor):
    """The number of inputs and outputs of a weight."""
    shape = tensor.shape
    if len(shape) < 2:
        raise InvalidError(
            "the fan of a weight with fewer than 2 dimensions is undefined"
        )
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


_GAINS = {
    "relu": math.sqrt(2), "tanh": 5 / 3, "linear": 1.0, "sigmoid": 1.0, "conv2d": 1.0,
}


def _gain(nonlinearity, a):
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + a * a))
    if nonlinearity not in _GAINS:
        raise InvalidError(f"no gain is known for {nonlinearity!r}")
    return _GAINS[nonlinearity]


def _kaiming_std(tensor, a, mode, nonlinearity):
    if mode not in ("fan_in", "fan_out"):
        raise InvalidError(f"mode must be fan_in or fan_out, not {mode!r}")
    fan_in, fan_out = _fans(tensor)
    fan = fan_in if mode == "fan_in" else fan_out
    return _gain(nonlinearity, a) / math.sqrt(max(fan, 1))


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu"):
    bound = math.sqrt(3) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu"):
    return normal_(tensor, 0, _kaiming_std(tensor, a, mode, nonlinearity))


def xavier_uniform_(tensor, gain=1.0):
    bound = gain * math.sqrt(6 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor, gain=1.0):
    return normal_(tensor, 0, gain * math.sqrt(2 / sum(_fans(tensor))))


def calculate_gain(nonlinearity, param=None):
    if nonlinearity == "selu":
        return 3 / 4
    if nonlinearity == "leaky_relu":
        return _gain(nonlinearity, 0.01 if param is None else param)
    return _gain(nonlinearity, 0)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0):
    """Values outside the range are drawn again, a limited number of times, and
    then clamped."""
    values = randn(tensor.shape, device="cpu").mul_(std).add_(mean)
    for _ in range(4):
        again = randn(tensor.shape, device="cpu").mul_(std).add_(mean)
        values = where((values < a) | (values > b), again, values)
    return _fill(tensor, values.clamp_(a, b))


def orthogonal_(tensor, gain=1):
    """The matrix with orthogonal rows or columns that is nearest to a random
    one.  Each iteration at least halves the distance of its singular values
    from 1."""
    shape = tensor.shape
    if len(shape) < 2:
        raise InvalidError("a weight of fewer than 2 dimensions has no rows")
    with no_grad():
        values = randn(shape[0], tensor.numel() // shape[0], device="cpu")
        tall = values.shape[0] > values.shape[1]
        values = values.t().contiguous() if tall else values
        values = values / values.norm()
        for _ in range(40):
            squares = values @ values.t()
            values = values * 1.5 - (squares @ values) * 0.5
        values = values.t() if tall else values
        return _fill(tensor, (values * gain).reshape(shape))


def eye_(tensor):
    return _fill(tensor, eye(*tensor.shape, device="cpu"))


__getattr__ = gate("torch.nn.init", globals())
