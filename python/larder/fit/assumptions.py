"""Assumptions about unknown values, chosen as a person would."""

import math

import torch

from larder.fit.wordings import ALL_COUNT, BALANCE, BELOW, LENGTH, NO_INFINITY, ONCE

# How the real need compares with the reported one under each assumption; under the
# others it is as reported, or either more or less.
BOUNDS = {BALANCE: "at least", LENGTH: "at most", ALL_COUNT: "at most"}

# A choice among more than this is of a token; among fewer, of experts or classes.
_MOST_EXPERTS = 1024


def _zeros(args, made):
    return [torch.zeros((), dtype=made.dtype).expand(made.shape)], NO_INFINITY


def _holds(args, made):
    return [torch.ones((), dtype=made.dtype).expand(made.shape)], NO_INFINITY


def _equal(args, made):
    """`x == x`, `x == inf`: how PyTorch checks whether all values are finite."""
    if args[0] is args[1]:
        return _holds(args, made)
    return _zeros(args, made) if _is_infinity(args[1]) else ([None], None)


def _differs(args, made):
    if args[0] is args[1]:
        return _zeros(args, made)
    return _holds(args, made) if _is_infinity(args[1]) else ([None], None)


def _is_infinity(value):
    return isinstance(value, float) and math.isinf(value)


def _choice(indices, count):
    """Indices below `count`: experts in turn; a token from the middle of the
    vocabulary, where no model has its end token."""
    if count > _MOST_EXPERTS:
        return torch.full((), count // 2).expand(indices.shape), LENGTH
    numbers = torch.arange(indices.numel()) % max(1, count)
    return numbers.reshape(indices.shape), BALANCE


def _dimension(args, at, default):
    dim = args[at] if len(args) > at else default
    return args[0].numel() if dim is None else args[0].shape[dim]


def _argmax(args, made):
    numbers, what = _choice(made, _dimension(args, 1, None))
    return [numbers], what


def _topk(args, values, indices):
    numbers, what = _choice(indices, _dimension(args, 2, -1))
    return [None, numbers], what


def _max(args, values, indices=None):
    if indices is None:
        return [None], None
    numbers, what = _choice(indices, _dimension(args, 1, -1))
    return [None, numbers], what


def _multinomial(args, made):
    numbers, what = _choice(made, args[0].shape[-1])
    return [numbers], what


# operator -> f(its arguments, its results) -> (their values or None, what for)
RULES = {
    "eq": _equal, "ne": _differs, "isinf": _zeros, "isnan": _zeros, "any": _zeros, "all": _holds,
    "argmax": _argmax, "argmin": _argmax, "topk": _topk, "max": _max, "min": _max,
    "multinomial": _multinomial,
}

# operator -> the arguments that it leaves unchanged if it finds no infinity
KEPT = {"_amp_foreach_non_finite_check_and_unscale_": (1, 2)}


_OF_SIZE = {"repeat_interleave": ONCE, "bincount": BELOW}


def of_size(name):
    """The assumption that decides the size of the operator's result."""
    return _OF_SIZE.get(name, ALL_COUNT)


def counting(name, tensor):
    """A host tensor that stands for an unknown one, with every element selected."""
    if tensor.dtype == torch.bool or name == "repeat_interleave":
        return torch.ones(tensor.shape, dtype=tensor.dtype)
    if tensor.dtype.is_floating_point:
        return torch.ones(1, dtype=tensor.dtype).expand(tensor.shape)
    return torch.arange(tensor.numel(), dtype=tensor.dtype).reshape(tensor.shape)


def _unique(values, sorted=True, return_inverse=False, return_counts=False, dim=None):
    count = values.numel() if dim is None else values.shape[dim]
    found = (values.flatten() if dim is None else values).clone()
    inverse = counts = torch.empty(0, dtype=torch.long, device=values.device)
    if return_inverse:
        inverse = torch.arange(count, device=values.device)
        inverse = inverse.reshape(values.shape) if dim is None else inverse
    if return_counts:
        counts = torch.ones(count, dtype=torch.long, device=values.device)
    return found, inverse, counts


def _unique_consecutive(values, return_inverse=False, return_counts=False, dim=None):
    return _unique(values, True, return_inverse, return_counts, dim)


def _unique_dim(values, dim, *flags, **named):
    return _unique(values, *flags, **named, dim=dim)


def _unique_flat(values, *flags, **named):
    return _unique(values, *flags, **named)[:2]


def _unique_dim_consecutive(values, dim, *flags, **named):
    return _unique(values, True, *flags, **named, dim=dim)


def _nms(boxes, *rest):
    return torch.arange(len(boxes), device=boxes.device)


# Operators that select among their inputs: all are selected.
ALL_CHOSEN = {
    "nms": _nms, "_unique2": _unique, "unique_consecutive": _unique_consecutive,
    "unique_dim": _unique_dim, "unique_dim_consecutive": _unique_dim_consecutive,
    "_unique": _unique_flat,
}
