"""torch.nn.utils: gradient clipping, and parameters as one vector."""

from larder.lab import reducing
from larder.lab.failures import gate
from larder.lab.making import cat, stack, zeros
from larder.lab.recording import no_grad
from larder.lab.tensors import Tensor
from larder.lab.torch_stand_in.nn.utils import rnn  # noqa: F401


def _with_gradients(parameters):
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    return [one for one in parameters if one.grad is not None]


@no_grad()
def clip_grad_norm_(
    parameters,
    max_norm,
    norm_type=2.0,
    error_if_nonfinite=False,
    foreach=None,
):
    """Scale all gradients so that their norm is at most max_norm, in the same
    steps as PyTorch.  Returns their norm before."""
    grads = [one.grad for one in _with_gradients(parameters)]
    if not grads:
        return zeros(())
    norms = [reducing.norm(grad, norm_type) for grad in grads]
    total = reducing.norm(stack(norms), norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError("the gradients have no finite norm")
    scale = (max_norm / (total + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(scale)
    return total


@no_grad()
def clip_grad_value_(parameters, clip_value, foreach=None):
    for one in _with_gradients(parameters):
        one.grad.clamp_(-clip_value, clip_value)


def parameters_to_vector(parameters):
    return cat([one.reshape(-1) for one in parameters])


@no_grad()
def vector_to_parameters(vec, parameters):
    at = 0
    for one in parameters:
        one.copy_(vec[at : at + one.numel()].view_as(one))
        at += one.numel()


__getattr__ = gate("torch.nn.utils", globals(), "rnn")
