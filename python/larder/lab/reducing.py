"""Reductions over any dimensions, cumulative sums, and sorting."""

import collections
import functools

from larder.lab import pointwise, raw
from larder.lab.autocasting import in_float32
from larder.lab.failures import InvalidError
from larder.lab.functions import made_of, named
from larder.lab.kinds import dtypes  # noqa: F401
from larder.lab.making import zeros
from larder.lab.tensors import Tensor

# The results of max(dim=…), sort() and the like.
Found = collections.namedtuple("Found", "values indices")


def _kept_shape(input, dims):
    mask = raw.dims_mask(input, dims)
    return tuple(
        1 if mask >> d & 1 else size for d, size in enumerate(input.shape)
    )


def _dims(dim):
    return (dim,) if isinstance(dim, int) else dim


def _reduced(name, op, input, dims, keepdim, rule, p=0.0):
    """A reduction whose gradient is rule(gradient, input, result), the gradient and
    the result with the reduced dimensions as 1."""
    out = raw.reduce(op, input, dims, keepdim, p)
    shape = _kept_shape(input, dims)

    def backward(grad, x, result):
        return rule(grad.reshape(shape), x, result.reshape(shape))

    return made_of(name, out, input, backward, input, out)


# ---- sums and means of several dimensions ----


def sum_dims(input, dims, keepdim, scale=1.0):
    """The sum over several dimensions, divided by `scale`."""
    out = raw.reduce(raw.SUM, input, dims, keepdim)
    if scale != 1.0:
        out.div_(scale)
    shape, kept = input.shape, _kept_shape(input, dims)

    def rule(grad):
        wide = grad.reshape(kept).expand(shape)
        return wide if scale == 1.0 else wide / scale

    name = "SumBackward1" if scale == 1.0 else "MeanBackward1"
    return made_of(name, out, input, rule)


def count_of(input, dims):
    count = 1
    for one, kept in zip(input.shape, _kept_shape(input, dims)):
        count *= one if kept == 1 else 1
    return count


# ---- the largest and the least ----


def _spread(dim, shape, keepdim):
    """The rule of a gradient: zeros, with the given gradient at the indices."""

    def rule(grad, index):
        if not keepdim:
            grad, index = grad.unsqueeze(dim), index.unsqueeze(dim)
        whole = zeros(shape, device=grad.device, dtype=grad.dtype)
        return raw.scatter(whole, dim, index, grad)

    return rule


def _extreme(largest):
    name = "Max" if largest else "Min"
    whole = raw.AMAX if largest else raw.AMIN

    def along(input, dim, keepdim):
        if not input.ndim:
            return Found(input.clone(), zeros((), dtype=dtypes[1]))
        values, indices = raw.extreme(input, dim, largest, keepdim)
        rule = _spread(dim, input.shape, keepdim)
        made_of(f"{name}Backward0", values, input, rule, indices)
        return Found(values, indices)

    def operation(input, dim=None, keepdim=False, *, other=None):
        if isinstance(dim, Tensor):
            other, dim = dim, None
        if other is not None:
            choose = pointwise.maximum if largest else pointwise.minimum
            return choose(input, other)
        if dim is not None:
            return along(input, dim, keepdim)
        return _folded(f"{name}Backward1", whole, input, None, False)

    return named(name.lower(), operation)


max = _extreme(True)
min = _extreme(False)


def _folded(name, op, input, dims, keepdim):
    """Distributes the gradient equally among the elements that equal the
    result."""

    def rule(grad, x, result):
        mask = raw.map("eq", x, result)
        count = raw.reduce(raw.SUM, mask, dims, True)
        return grad / count * mask

    return _reduced(name, op, input, dims, keepdim, rule)


def amax(input, dim=(), keepdim=False):
    return _folded("AmaxBackward0", raw.AMAX, input, _dims(dim), keepdim)


def amin(input, dim=(), keepdim=False):
    return _folded("AminBackward0", raw.AMIN, input, _dims(dim), keepdim)


def _argument(largest):
    def operation(input, dim=None, keepdim=False):
        if dim is None:
            input, dim, keepdim = input.reshape(-1), 0, False
        if not input.ndim:
            return zeros((), device=input.device, dtype=dtypes[1])
        return raw.extreme(input, dim, largest, keepdim, False)[1]

    return operation


argmax = _argument(True)
argmin = _argument(False)


# ---- others ----


def _boolean(op):
    def operation(input, dim=None, keepdim=False):
        return raw.reduce(op, input, _dims(dim), keepdim)

    return operation


any = _boolean(raw.ANY)
all = _boolean(raw.ALL)
count_nonzero = _boolean(raw.COUNT)


def prod(input, dim=None, keepdim=False):
    def rule(grad, x, result):
        return grad * result / x

    return _reduced("ProdBackward0", raw.PROD, input, _dims(dim), keepdim, rule)


def _spread_of(name, op):
    """The variance, or the standard deviation, whose gradient needs the result."""

    def operation(
        input, dim=None, unbiased=True, keepdim=False, *, correction=None
    ):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        less = correction
        if less is None:
            less = 1 if unbiased else 0
        dims = _dims(dim)
        shape = _kept_shape(input, dims)
        count = count_of(input, dims)

        def of_var(grad, x):
            away = x - sum_dims(x, dims, True, count)
            return grad.reshape(shape) * (2.0 / (count - less)) * away

        def of_std(grad, x, result):
            scale = (grad / (result * (count - less))).reshape(shape)
            return scale * (x - sum_dims(x, dims, True, count))

        out = raw.reduce(op, input, dims, keepdim, less)
        if op == raw.VAR:
            return made_of("VarBackward0", out, input, of_var, input)
        return made_of("StdBackward0", out, input, of_std, input, out)

    return named(name, operation)


var = _spread_of("var", raw.VAR)
std = _spread_of("std", raw.STD)


@in_float32
def norm(input, p=2, dim=None, keepdim=False):
    order = 2.0 if p == "fro" else float(p)

    def rule(grad, x, result):
        if order == 2.0:
            return x * (grad / result)
        return raw.map("norm_backward", grad, x, result, p=order)

    return _reduced(
        "NormBackward1", raw.NORM, input, _dims(dim), keepdim, rule, order
    )


def logsumexp(input, dim, keepdim=False):
    def rule(grad, x, result):
        return grad * (x - result).exp()

    return _reduced(
        "LogsumexpBackward0", raw.LOGSUMEXP, input, _dims(dim), keepdim, rule
    )


def cumsum(input, dim):
    return made_of(
        "CumsumBackward0",
        raw.scan(raw.SUM, input, dim),
        input,
        lambda grad: _summed_from_the_end(grad, dim),
    )


def cumprod(input, dim):
    def rule(grad, x, result):
        return _summed_from_the_end(grad * result, dim) / x

    out = raw.scan(raw.PROD, input, dim)
    return made_of("CumprodBackward0", out, input, rule, input, out)


def _summed_from_the_end(grad, dim):
    return raw.flip(raw.scan(raw.SUM, raw.flip(grad, dim), dim), dim)


# ---- order ----


def _ordered(name, input, dim, descending, count):
    values, indices = raw.sort(input, dim, descending, count)
    made_of(name, values, input, _spread(dim, input.shape, True), indices)
    return Found(values, indices)


def sort(input, dim=-1, descending=False, stable=False):
    return _ordered(
        "SortBackward0", input, dim, descending, _length(input, dim)
    )


def argsort(input, dim=-1, descending=False, stable=False):
    return raw.sort(input, dim, descending, _length(input, dim))[1]


def topk(input, k, dim=-1, largest=True, sorted=True):
    return _ordered("TopkBackward0", input, dim, largest, k)


def kthvalue(input, k, dim=-1, keepdim=False):
    found = _ordered("KthvalueBackward0", input, dim, False, k)
    values, indices = (one.select(dim, k - 1) for one in found)
    if keepdim:
        values, indices = values.unsqueeze(dim), indices.unsqueeze(dim)
    return Found(values, indices)


def median(input, dim=None, keepdim=False):
    if dim is None:
        flat = input.reshape(-1)
        return kthvalue(flat, (flat.numel() + 1) // 2, 0).values
    return kthvalue(input, (_length(input, dim) + 1) // 2, dim, keepdim)


def _length(input, dim):
    if not input.ndim:
        return 1
    if not -input.ndim <= dim < input.ndim:
        raise InvalidError(f"dimension {dim} of a tensor that has {input.ndim}")
    return input.shape[dim]


def numpy_names(function):
    """A decorator that also accepts NumPy's argument names, as PyTorch does."""

    @functools.wraps(function)
    def operation(*arguments, **named):
        if "axis" in named:
            named["dim"] = named.pop("axis")
        if "keepdims" in named:
            named["keepdim"] = named.pop("keepdims")
        return function(*arguments, **named)

    return operation


for _name in (
    "max min amax amin argmax argmin any all count_nonzero prod var std norm "
    "logsumexp cumsum cumprod sort argsort topk median"
).split():
    globals()[_name] = numpy_names(globals()[_name])
