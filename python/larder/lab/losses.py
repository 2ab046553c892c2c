"""Losses, with their three reductions."""

import math

from larder.lab import operations, picking, pointwise, raw
from larder.lab.autocasting import in_float32
from larder.lab.failures import InvalidError, not_covered
from larder.lab.functions import made
from larder.lab.products import cosine_similarity
from larder.lab.tensors import Tensor


def _reduced(loss, reduction):
    if reduction == "mean":
        return operations.mean(loss)
    if reduction == "sum":
        return operations.sum(loss)
    if reduction == "none":
        return loss
    raise InvalidError(f"reduction must be mean, sum or none, not {reduction!r}")


def _wants(tensor):
    return isinstance(tensor, Tensor) and tensor.requires_grad


def _elementwise(name, node, p=0.0, of_difference=False):
    """An elementwise loss that is a single kernel.  If it depends only on the
    difference of input and target, the target's gradient is the input's,
    negated."""

    def loss(input, target, p=p):
        for_input = _wants(input)
        for_target = of_difference and _wants(target)

        def backward(grads, kept):
            x, y = kept
            grad = raw.map(f"{name}_backward", grads[0], x, y, p=p)
            turned = operations.neg(grad) if for_target else None
            return grad if for_input else None, turned

        out = raw.map(name, input, target, p=p)
        inputs = (input, target if for_target else None)
        return made(node, out, inputs, (input, target), backward)

    return loss


_smooth_l1 = _elementwise(
    "smooth_l1", "SmoothL1LossBackward0", of_difference=True
)
_huber = _elementwise("huber", "HuberLossBackward0", of_difference=True)
_l1 = _elementwise("l1", "AbsBackward0", of_difference=True)
_bce = _elementwise("bce", "BinaryCrossEntropyBackward0")


@in_float32
def smooth_l1_loss(input, target, reduction="mean", beta=1.0):
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    return _reduced(_smooth_l1(input, target, beta), reduction)


@in_float32
def huber_loss(input, target, reduction="mean", delta=1.0):
    return _reduced(_huber(input, target, delta), reduction)


@in_float32
def l1_loss(input, target, reduction="mean"):
    return _reduced(_l1(input, target), reduction)


@in_float32
def mse_loss(input, target, reduction="mean"):
    if reduction == "mean":
        return operations.mse_loss(input, target)
    return _reduced((input - target) ** 2, reduction)


def _weighed(loss, weight):
    return loss if weight is None else loss * weight


@in_float32
def binary_cross_entropy(input, target, weight=None, reduction="mean"):
    return _reduced(_weighed(_bce(input, target), weight), reduction)


@in_float32
def binary_cross_entropy_with_logits(
    input, target, weight=None, reduction="mean", pos_weight=None
):
    """Computed in the same steps as PyTorch's."""
    log = pointwise.logsigmoid(input)
    if pos_weight is not None:
        log = log * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * input - log
    return _reduced(_weighed(loss, weight), reduction)


@in_float32
def kl_div(input, target, reduction="mean", log_target=False):
    if log_target:
        loss = target.exp() * (target - input)
    else:
        loss = target * (target.clamp(min=1e-38).log() - input)
    if reduction == "batchmean":
        return operations.sum(loss) / input.shape[0]
    return _reduced(loss, reduction)


# ---- classes ----


def _rows(input):
    """The input with classes in the last dimension and a row for each target."""
    if input.ndim <= 2:
        return input
    dims = [0, *range(2, input.ndim), 1]
    return input.permute(*dims).reshape(-1, input.shape[1])


@in_float32
def nll_loss(
    input, target, weight=None, ignore_index=-100, reduction="mean"
):
    shape = target.shape
    rows = _rows(input if input.ndim > 1 else input.unsqueeze(0))
    target = target.reshape(-1)
    counts = pointwise.ne(target, ignore_index)
    safe = raw.map("masked_fill", target, ~counts, p=0)
    picked = picking.gather(rows, 1, safe.unsqueeze(1)).squeeze(1)
    share = counts.to(rows.dtype)
    if weight is not None:
        share = share * picking.at(weight, 0, (safe,))
    loss = -picked * share
    return _of_rows(loss, share, shape, reduction)


def _of_rows(loss, share, shape, reduction):
    """The loss of rows that count by their shares."""
    if reduction == "mean":
        return operations.sum(loss) / operations.sum(share)
    if reduction == "none":
        return loss.reshape(shape)
    return _reduced(loss, reduction)


def _is_plain(target, weight, ignore_index, reduction, smoothing):
    return (
        weight is None
        and ignore_index == -100
        and reduction == "mean"
        and not smoothing
        and not target.is_floating_point()
    )


@in_float32
def cross_entropy(
    input,
    target,
    weight=None,
    ignore_index=-100,
    reduction="mean",
    label_smoothing=0.0,
):
    plain = _is_plain(
        target, weight, ignore_index, reduction, label_smoothing
    )
    if plain and input.ndim == 2:
        return operations.cross_entropy(input, target)
    if plain and input.ndim > 2:
        return operations.cross_entropy(_rows(input), target.reshape(-1))
    logp = operations.log_softmax(input, 1 if input.ndim > 1 else 0)
    if target.is_floating_point():
        return _by_shares(logp, target, weight, reduction, label_smoothing)
    loss = nll_loss(logp, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return loss
    if weight is not None:
        raise not_covered("label_smoothing with weights", ["one of them"])
    even = _evenly(logp, target, ignore_index, reduction)
    return (1 - label_smoothing) * loss + label_smoothing / input.shape[1] * (
        even
    )


def _evenly(logp, target, ignore_index, reduction):
    rows = -operations.sum(_rows(logp), 1)
    counts = pointwise.ne(target.reshape(-1), ignore_index)
    rows = rows * counts
    return _of_rows(rows, counts, target.shape, reduction)


def _by_shares(logp, target, weight, reduction, smoothing):
    if weight is not None:
        raise not_covered("weights of classes given by shares", ["none"])
    if smoothing:
        target = target * (1 - smoothing) + smoothing / target.shape[1]
    loss = -operations.sum(logp * target, 1)
    return _reduced(loss, reduction)


# ---- pairs and triples ----


@in_float32
def cosine_embedding_loss(input1, input2, target, margin=0.0,
                          reduction="mean"):
    alike = cosine_similarity(input1, input2, 1)
    loss = pointwise.where(
        target == 1, 1 - alike, (alike - margin).clamp(min=0)
    )
    return _reduced(loss, reduction)


@in_float32
def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2.0, reduction="mean"
):
    near = (anchor - positive).norm(p, -1)
    far = (anchor - negative).norm(p, -1)
    return _reduced((near - far + margin).clamp(min=0), reduction)


@in_float32
def margin_ranking_loss(input1, input2, target, margin=0.0, reduction="mean"):
    loss = (margin - target * (input1 - input2)).clamp(min=0)
    return _reduced(loss, reduction)


@in_float32
def multi_margin_loss(
    input, target, p=1, margin=1.0, weight=None, reduction="mean"
):
    """The margin by which other classes come close to the right one."""
    own = input.gather(-1, target.unsqueeze(-1))
    near = (input - own + margin).clamp(min=0) ** p
    if weight is not None:
        near = near * weight[target].unsqueeze(-1)
    # The right class itself is at the margin, and does not count.
    near = near.masked_fill(picking.one_hot(target, input.shape[-1]).bool(), 0.0)
    return _reduced(near.sum(-1) / input.shape[-1], reduction)


@in_float32
def soft_margin_loss(input, target, reduction="mean"):
    return _reduced(((-target * input).exp() + 1).log(), reduction)


@in_float32
def gaussian_nll_loss(
    input, target, var, full=False, eps=1e-6, reduction="mean"
):
    var = var.clamp(min=eps)
    loss = (var.log() + (input - target) ** 2 / var) * 0.5
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction)


@in_float32
def poisson_nll_loss(input, target, log_input=True, reduction="mean"):
    if log_input:
        return _reduced(input.exp() - target * input, reduction)
    return _reduced(input - target * (input + 1e-8).log(), reduction)
