"""torch.distributions: those that listings use to draw actions and noise."""

import math
import random

from larder.lab.failures import gate, not_covered
from larder.lab.making import as_tensor, full_like, rand, randn, tensor
from larder.lab.operations import exp, log, log_softmax, sigmoid, softmax
from larder.lab.picking import multinomial
from larder.lab.randomness import state
from larder.lab.recording import no_grad
from larder.lab.tensors import Tensor

_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


def _alike(*parameters):
    """Numbers and tensors as tensors of one shape, on the first tensor's
    device."""
    like = next((p for p in parameters if isinstance(p, Tensor)), None)
    found = [
        p if isinstance(p, Tensor)
        else tensor(float(p)) if like is None
        else full_like(like, float(p))
        for p in parameters
    ]
    shape = max((tuple(p.shape) for p in found), key=len)
    return [p if tuple(p.shape) == shape else p.expand(shape) for p in found]


class Distribution:
    """A distribution with samples and log-probabilities."""

    def __init__(self, batch_shape, event_shape=()):
        self.batch_shape = batch_shape
        self.event_shape = event_shape

    def _shape(self, sample_shape):
        return tuple(sample_shape) + tuple(self.batch_shape)

    def rsample(self, sample_shape=()):
        raise not_covered(f"{type(self).__name__}.rsample", ["sample"])

    def sample(self, sample_shape=()):
        with no_grad():
            return self.rsample(sample_shape)

    def log_prob(self, value):
        raise not_covered(f"{type(self).__name__}.log_prob", ["sample"])

    def entropy(self):
        raise not_covered(f"{type(self).__name__}.entropy", ["log_prob"])

    @property
    def stddev(self):
        return self.variance.sqrt()


class Normal(Distribution):
    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = _alike(loc, scale)
        super().__init__(self.loc.shape)

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: self.scale * self.scale)

    def rsample(self, sample_shape=()):
        noise = randn(self._shape(sample_shape), device=self.loc.device)
        return self.loc + noise * self.scale

    def log_prob(self, value):
        distance = (value - self.loc) / self.scale
        return -(distance**2) / 2 - log(self.scale) - _HALF_LOG_TAU

    def entropy(self):
        return log(self.scale) + (0.5 + _HALF_LOG_TAU)


class Uniform(Distribution):
    def __init__(self, low, high, validate_args=None):
        self.low, self.high = _alike(low, high)
        super().__init__(self.low.shape)

    mean = property(lambda self: (self.low + self.high) / 2)
    variance = property(lambda self: (self.high - self.low) ** 2 / 12)

    def rsample(self, sample_shape=()):
        part = rand(self._shape(sample_shape), device=self.low.device)
        return self.low + part * (self.high - self.low)

    def log_prob(self, value):
        inside = (value >= self.low) & (value < self.high)
        return log(inside.to(value.dtype)) - log(self.high - self.low)

    def entropy(self):
        return log(self.high - self.low)


class Beta(Distribution):
    """Samples are drawn on the host, so they have no gradient."""

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = _alike(
            concentration1, concentration0
        )
        super().__init__(self.concentration1.shape)

    @property
    def mean(self):
        return self.concentration1 / (self.concentration1 + self.concentration0)

    def sample(self, sample_shape=()):
        shape = self._shape(sample_shape)
        device = self.concentration1.device
        # From the session's random numbers, like all others.
        chance = random.Random(int(rand(1).item() * (1 << 24)) + state().next)
        drawn = [
            chance.betavariate(a, b)
            for a, b in zip(
                self.concentration1.expand(shape).reshape(-1).tolist(),
                self.concentration0.expand(shape).reshape(-1).tolist(),
            )
        ]
        return tensor(drawn, device=device).reshape(shape)


class _OfLogits(Distribution):
    """A distribution given by probabilities or logits."""

    def __init__(self, probs, logits, one_more):
        if (probs is None) == (logits is None):
            raise ValueError("either probs or logits must be given")
        self._probs = None if probs is None else as_tensor(probs)
        self._logits = None if logits is None else as_tensor(logits)
        given = self._probs if logits is None else self._logits
        self._given = given
        super().__init__(given.shape[:-1] if one_more else given.shape)


class Bernoulli(_OfLogits):
    def __init__(self, probs=None, logits=None, validate_args=None):
        super().__init__(probs, logits, False)

    @property
    def probs(self):
        if self._probs is None:
            return sigmoid(self._logits)
        return self._probs

    mean = probs
    variance = property(lambda self: self.probs * (1 - self.probs))

    def sample(self, sample_shape=()):
        with no_grad():
            drawn = rand(self._shape(sample_shape), device=self._given.device)
            return (drawn < self.probs).to(self._given.dtype)

    def log_prob(self, value):
        return value * log(self.probs) + (1 - value) * log(1 - self.probs)

    def entropy(self):
        p = self.probs
        return -(p * log(p) + (1 - p) * log(1 - p))


class Categorical(_OfLogits):
    """One of several classes, by the last dimension."""

    def __init__(self, probs=None, logits=None, validate_args=None):
        super().__init__(probs, logits, True)

    @property
    def probs(self):
        if self._probs is None:
            return softmax(self._logits, -1)
        return self._probs / self._probs.sum(-1, keepdim=True)

    @property
    def logits(self):
        """Logarithms of the probabilities."""
        if self._logits is None:
            return log(self.probs)
        return log_softmax(self._logits, -1)

    def sample(self, sample_shape=()):
        with no_grad():
            probs = self.probs
            rows = probs.reshape(-1, probs.shape[-1])
            count = math.prod(sample_shape)
            drawn = multinomial(rows, count, True).t()
            return drawn.reshape(self._shape(sample_shape))

    def log_prob(self, value):
        logits, value = self.logits, value.long()
        if value.ndim >= logits.ndim:
            logits = logits.expand(tuple(value.shape) + logits.shape[-1:])
        return logits.gather(-1, value.unsqueeze(-1)).squeeze(-1)

    def entropy(self):
        logits = self.logits
        return -(exp(logits) * logits).sum(-1)


def kl_divergence(p, q):
    if isinstance(p, Normal) and isinstance(q, Normal):
        ratio = (p.scale / q.scale) ** 2
        distance = ((p.loc - q.loc) / q.scale) ** 2
        return 0.5 * (ratio + distance - 1 - log(ratio))
    if isinstance(p, Categorical) and isinstance(q, Categorical):
        return (p.probs * (p.logits - q.logits)).sum(-1)
    raise not_covered(
        f"kl_divergence of {type(p).__name__} and {type(q).__name__}",
        ["Categorical", "Normal"],
    )


__getattr__ = gate("torch.distributions", globals())
