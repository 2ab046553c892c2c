"""Elements selected by index or mask, and reordering."""

import builtins
import collections

from larder.lab import raw
from larder.lab.failures import InvalidError, not_covered
from larder.lab.functions import check_writable, made, made_of
from larder.lab.kinds import bool_, int64, spread
from larder.lab.making import arange, cat, full, rand_like, tensor, zeros
from larder.lab.pointwise import operand
from larder.lab.tensors import Tensor


def _zeros_for(grad, shape):
    return zeros(shape, device=grad.device, dtype=grad.dtype)


def gather(input, dim, index):
    shape = input.shape

    def rule(grad, index):
        return raw.scatter(_zeros_for(grad, shape), dim, index, grad, add=True)

    out = raw.gather(input, dim, index)
    return made_of("GatherBackward0", out, input, rule, index)


def _scattered(name, self, dim, index, src, add):
    value = 0.0 if isinstance(src, Tensor) else builtins.float(src)
    source = src if isinstance(src, Tensor) else None
    inputs = (self, source)
    check_writable(name, self)
    raw.scatter(self, dim, index, source, value, add)

    def backward(grads, kept):
        own = grads[0]
        if not add:
            own = raw.scatter(grads[0].clone(), dim, kept[0], number=0.0)
        return own, raw.gather(grads[0], dim, kept[0])

    return made(name, self, inputs, (index,), backward)


def _source(src, value):
    return value if src is None else src


def scatter_(self, dim, index, src=None, *, value=None, reduce=None):
    if reduce not in (None, "add"):
        raise not_covered(f"scatter_'s reduce={reduce!r}", ["add"])
    return _scattered(
        "ScatterBackward0", self, dim, index, _source(src, value),
        reduce == "add",
    )


def scatter(input, dim, index, src=None, *, value=None):
    return scatter_(input.clone(), dim, index, src, value=value)


def scatter_add_(self, dim, index, src):
    return _scattered("ScatterAddBackward0", self, dim, index, src, True)


def scatter_add(input, dim, index, src):
    return scatter_add_(input.clone(), dim, index, src)


def _scatter_extreme(input, dim, index, src, reduce):
    """In order, so that the last write counts."""
    values, order = raw.sort(src, dim, reduce == "amin", src.shape[dim])
    there = raw.gather(index, dim, order)
    least = raw.scatter(input.detach().clone(), dim, there, values)
    return raw.map("maximum" if reduce == "amax" else "minimum", input, least)


def scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    """Sums by a scatter.  For maxima and minima the gradient goes to the
    elements that equal the result, as in amax()."""
    if reduce == "sum" and include_self:
        return scatter_add(input, dim, index, src)
    if reduce not in ("amax", "amin") or not include_self:
        raise not_covered(
            f"scatter_reduce's {reduce!r}, include_self={include_self}",
            ["amax", "amin", "sum", "include_self=True"],
        )
    out = _scatter_extreme(input, dim % input.ndim, index, src, reduce)

    def backward(grads, kept):
        x, places, values, result = kept
        own = raw.map("eq", x, result)
        hits = raw.map("eq", values, raw.gather(result, dim, places))
        count = raw.scatter(own.to(grads[0].dtype), dim, places,
                            hits.to(grads[0].dtype), add=True)
        part = grads[0] / count
        return part * own, raw.gather(part, dim, places) * hits, None

    return made(
        "ScatterReduceBackward0",
        out,
        (input, src),
        (input, index, src, out),
        backward,
    )


# ---- by index tensors ----


def at(input, dim, indices):
    """input[:, i, j] from dimension dim on."""
    shape = input.shape

    def rule(grad, *indices):
        return raw.index_put(_zeros_for(grad, shape), dim, indices, grad, True)

    out = raw.index(input, dim, indices)
    return made_of("IndexBackward0", out, input, rule, *indices)


def index_select(input, dim, index):
    return at(input, dim % input.ndim, (index,))


def put_at(self, dim, indices, src, accumulate=False):
    """self[:, i, j] = src"""
    source = src if isinstance(src, Tensor) else None
    values = operand(src).to(device=self.device, dtype=self.dtype)
    inputs = (self, source)
    check_writable("index_put_", self)
    raw.index_put(self, dim, indices, values, accumulate)
    shape = values.shape

    def backward(grads, kept):
        own = grads[0]
        if not accumulate:
            zero = full((), 0, device=own.device, dtype=own.dtype)
            own = raw.index_put(own.clone(), dim, kept, zero)
        picked = raw.index(grads[0], dim, kept)
        return own, picked if source is not None and shape else None

    return made("IndexPutBackward0", self, inputs, tuple(indices), backward)


def index_put_(self, indices, values, accumulate=False):
    return put_at(self, 0, tuple(indices), values, accumulate)


def index_add_(self, dim, index, source, *, alpha=1):
    if alpha != 1:
        source = source * alpha
    return put_at(self, dim % self.ndim, (index,), source, True)


def index_add(input, dim, index, source, *, alpha=1):
    return index_add_(input.clone(), dim, index, source, alpha=alpha)


def index_fill_(self, dim, index, value):
    return put_at(self, dim % self.ndim, (index,), value)


def take(input, index):
    return at(input.reshape(-1), 0, (index,))


# ---- by masks ----


def nonzero(input, as_tuple=False):
    found = raw.nonzero(input)
    return found.unbind(1) if as_tuple else found


def places_of(mask):
    """The index tensors that are equivalent to a mask."""
    return raw.nonzero(mask).unbind(1)


def masked_select(input, mask):
    if mask.dtype is not bool_:
        raise InvalidError("masked_select needs a mask of bool")
    return at(input, 0, places_of(mask.expand(input.shape)))


def bincount(input, weights=None, minlength=0):
    return raw.bincount(input, weights, minlength)


def multinomial(input, num_samples, replacement=False, *, generator=None):
    return raw.multinomial(input.detach(), num_samples, replacement)


def bernoulli(input):
    return raw.map("lt", rand_like(input), input).to(input.dtype)


def one_hot(tensor, num_classes=-1):
    if num_classes < 0:
        num_classes = int(raw.reduce(raw.AMAX, tensor).item()) + 1
    shape = tuple(tensor.shape) + (num_classes,)
    out = zeros(shape, device=tensor.device, dtype=int64)
    return raw.scatter(out, tensor.ndim, tensor.unsqueeze(-1), number=1.0)


# ---- another order ----


def _rearranged(name, input, change):
    """change(input); its gradient is changed in the same way."""
    return made_of(name, change(input), input, change)


def _triangle(name, upper):
    def operation(input, diagonal=0):
        def change(tensor):
            return raw.triangle(tensor, diagonal, upper)

        return _rearranged(f"{name}Backward0", input, change)

    return operation


tril = _triangle("Tril", False)
triu = _triangle("Triu", True)


def flip(input, *dims):
    dims = spread(dims)
    return _rearranged("FlipBackward0", input, lambda one: raw.flip(one, dims))


def roll(input, shifts, dims=None):
    if dims is None:
        return roll(input.reshape(-1), shifts, 0).reshape(input.shape)
    if not isinstance(dims, int):
        for shift, dim in zip(shifts, dims):
            input = roll(input, shift, dim)
        return input
    length = input.shape[dims]
    cut = length - (shifts[0] if isinstance(shifts, tuple) else shifts) % length
    first = input.narrow(dims, 0, cut)
    return cat((input.narrow(dims, cut, length - cut), first), dims)


def repeat(input, *repeats):
    repeats = spread(repeats)
    shape = input.shape
    return made_of(
        "RepeatBackward0",
        raw.repeat(input, repeats),
        input,
        lambda grad: raw.repeat_backward(grad, shape),
    )


def tile(input, *dims):
    dims = spread(dims)
    return repeat(input, (1,) * (input.ndim - len(dims)) + tuple(dims))


# They are listed on the host.
_PLACES_MAX = 1 << 26


def repeat_interleave(input, repeats, dim=None):
    if dim is None:
        input, dim = input.reshape(-1), 0
    length = input.shape[dim]
    if isinstance(repeats, Tensor):
        counts = repeats.tolist()
    else:
        counts = [repeats] * length
    if not isinstance(counts, list):
        counts = [counts] * length
    total = sum(max(count, 0) for count in counts)
    if total > _PLACES_MAX:
        raise not_covered(
            f"repeat_interleave to {total} places", [f"at most {_PLACES_MAX}"]
        )
    places = [i for i, count in enumerate(counts) for _ in range(count)]
    index = tensor(places, dtype=int64, device=input.device)
    return index_select(input, dim, index)


def diag(input, diagonal=0):
    if diagonal:
        raise not_covered(f"diag's diagonal={diagonal}", ["0"])
    count = min(input.shape)
    places = arange(count, device=input.device)
    if input.ndim == 2:
        return at(input, 0, (places, places))
    out = zeros(count, count, device=input.device, dtype=input.dtype)
    return put_at(out, 0, (places, places), input)


def unfold(input, dimension, size, step):
    """Windows along a dimension, as a new last dimension.  They are copied;
    PyTorch returns a view, which needs no memory."""
    dim = dimension % input.ndim
    count = (input.shape[dim] - size) // step + 1
    if count < 1:
        raise InvalidError(f"a window of {size} in {input.shape[dim]} elements")
    starts = arange(count, device=input.device) * step
    places = starts.unsqueeze(1) + arange(size, device=input.device)
    return at(input, dim, (places,)).movedim(dim + 1, -1)


def unique(
    input, sorted=True, return_inverse=False, return_counts=False, dim=None
):
    """Computed on the host, because the result's size depends on the values."""
    if dim is not None:
        raise not_covered(f"unique's dim={dim}", ["None"])
    values = input.detach().reshape(-1).tolist()
    counts = collections.Counter(values)
    ordered = builtins.sorted(counts)
    found = [tensor(ordered, dtype=input.dtype, device=input.device)]
    if return_inverse:
        place = {value: i for i, value in enumerate(ordered)}
        inverse = [place[value] for value in values]
        found.append(
            tensor(inverse, dtype=int64, device=input.device).reshape(
                input.shape
            )
        )
    if return_counts:
        numbers = [counts[value] for value in ordered]
        found.append(tensor(numbers, dtype=int64, device=input.device))
    return found[0] if len(found) == 1 else tuple(found)


def histc(input, bins=100, min=0, max=0):
    """The number of elements in each of several equal parts of a range."""
    low, high = builtins.float(min), builtins.float(max)
    flat = input.detach().reshape(-1)
    if low == high:
        low, high = flat.min().item(), flat.max().item()
    if low == high:
        low, high = low - 1, high + 1
    inside = flat[(flat >= low) & (flat <= high)]
    part = ((inside - low) * (bins / (high - low))).long().clamp(max=bins - 1)
    return raw.bincount(part, None, bins).to(input.dtype)
