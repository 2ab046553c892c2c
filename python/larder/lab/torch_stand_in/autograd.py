"""torch.autograd"""

import contextlib

from larder.lab.failures import gate
from larder.lab.functions import Function, grad
from larder.lab.recording import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)
from larder.lab.tensors import Tensor


def backward(tensors, grad_tensors=None, retain_graph=None):
    """Compute the gradients of one tensor, or of several in order."""
    if isinstance(tensors, Tensor):
        tensors, grad_tensors = (tensors,), (grad_tensors,)
    for one, gradient in zip(tensors, grad_tensors or [None] * len(tensors)):
        one.backward(gradient, retain_graph)


class set_detect_anomaly(contextlib.nullcontext):
    """No effect: the lab's errors always name the operation."""

    def __init__(self, mode, check_nan=True):
        super().__init__()
        self.mode = mode


class detect_anomaly(set_detect_anomaly):
    def __init__(self, check_nan=True):
        super().__init__(True)


def Variable(data, requires_grad=False):
    """The old name of Tensor."""
    return data.requires_grad_() if requires_grad else data


__getattr__ = gate(
    "torch.autograd",
    globals(),
    "Function enable_grad grad inference_mode no_grad set_grad_enabled",
)
