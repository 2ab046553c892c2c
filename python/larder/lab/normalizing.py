"""Normalization over a batch, over groups of channels, or over the last
dimensions."""

from larder.lab import operations, raw
from larder.lab.autocasting import in_float32
from larder.lab.failures import InvalidError
from larder.lab.functions import made
from larder.lab.kinds import Size
from larder.lab.recording import no_grad


def _normalized(name, input, groups, weight, bias, eps, mean=None, rstd=None):
    """The result, with the mean and the deviation used: those given, or the
    input's own, through which the gradient then passes."""
    live = mean is None
    out, mean, rstd = raw.normalize(input, groups, weight, bias, eps, mean, rstd)
    wants = [
        one is not None and one.requires_grad for one in (input, weight, bias)
    ]

    def backward(grads, kept):
        x, mean, rstd, weight = kept
        return raw.normalize_backward(
            grads[0], x, groups, weight, mean, rstd, live, wants
        )

    saved = (input, mean, rstd, weight)
    made(name, out, (input, weight, bias), saved, backward)
    return out, mean, rstd


def _update(running_mean, running_var, mean, rstd, count, momentum, eps):
    """Update running statistics on the host, because a GPU's kernel creates no
    tensors for them."""
    unbiased = count / max(count - 1, 1)
    with no_grad():
        mean, rstd = mean.cpu(), rstd.cpu()
        var = ((1 / (rstd * rstd)) - eps) * unbiased
        for running, new in ((running_mean, mean), (running_var, var)):
            now = running.cpu() * (1 - momentum) + new * momentum
            running.copy_(now)


def batch_norm(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    training=False,
    momentum=0.1,
    eps=1e-5,
):
    if training:
        count = input.numel() // max(input.shape[1], 1)
        if count == 1:
            raise InvalidError(
                "batch_norm: training needs more than one value per channel, not "
                f"sizes {list(input.shape)}"
            )
        name = "CudnnBatchNormBackward0" if input.is_cuda else (
            "NativeBatchNormBackward0"
        )
        out, mean, rstd = _normalized(name, input, 0, weight, bias, eps)
        if running_mean is not None:
            _update(
                running_mean, running_var, mean, rstd, count, momentum, eps
            )
        return out
    if running_mean is None:
        raise InvalidError("batch_norm: no running statistics to use")
    with no_grad():
        rstd = (running_var + eps).rsqrt()
    name = "NativeBatchNormBackward0"
    out, _, _ = _normalized(
        name, input, 0, weight, bias, eps, running_mean, rstd
    )
    return out


@in_float32
def instance_norm(input, weight=None, bias=None, eps=1e-5):
    return group_norm(input, input.shape[1], weight, bias, eps)


@in_float32
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    name = "NativeGroupNormBackward0"
    out, mean, rstd = _normalized(name, input, num_groups, weight, bias, eps)
    return out


@in_float32
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    if isinstance(normalized_shape, int):
        normalized_shape = (normalized_shape,)
    shape = tuple(normalized_shape)
    if shape != tuple(input.shape[-len(shape) :]):
        raise InvalidError(
            f"layer_norm over {list(shape)} of a tensor of "
            f"{list(input.shape)}"
        )
    if weight is not None and bias is None:
        bias = weight.detach() * 0
    if len(shape) == 1:
        return operations.layer_norm(input, weight, bias, eps)
    width = Size(shape).numel()
    flat = operations.layer_norm(
        input.reshape(tuple(input.shape[: -len(shape)]) + (width,)),
        None if weight is None else weight.reshape(-1),
        None if bias is None else bias.reshape(-1),
        eps,
    )
    return flat.reshape(input.shape)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """Computed in the same steps as in PyTorch without a fused kernel."""
    if isinstance(normalized_shape, int):
        normalized_shape = (normalized_shape,)
    dims = tuple(range(-len(normalized_shape), 0))
    if eps is None:
        eps = 1.1920928955078125e-07
    scale = (operations.mean(input.pow(2), dims, True) + eps).rsqrt()
    out = input * scale
    return out if weight is None else out * weight
