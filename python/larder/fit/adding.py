"""Accumulates gradients as PyTorch does.  If a tensor is used more than once,
PyTorch's engine adds further gradients to the first one in place, if it holds
the only reference.  For tensor subclasses, such as fake tensors, it creates a
new tensor instead; this module corrects that."""

import re
import sys

import torch

from larder.fit import known, ledger
from larder.fit.scopes import scopes

# Nodes whose own formulas add gradients: their sums are new tensors.
_ADDS_ITSELF = re.compile(
    "BackwardBackward|^Linalg|^(StdMean|VarMean|Renorm|Logcumsumexp|Cumprod|"
    "Prod|Sinc|Lu|Svd|Cholesky|TriangularSolve)"
)

# Frames between an operator and its caller, and those from which the engine is
# called.
_BETWEEN = ("/larder/fit/", "/torch/_dynamo/", "/torch/_compile.py")
_ENGINE = "/torch/autograd/graph.py"


def _called_by_engine():
    """Whether the engine called the operator with no Python code in between."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not any(part in name for part in _BETWEEN):
            return name.endswith(_ENGINE)
        frame = frame.f_back
    return True  # one of the engine's own threads


def _references(tensor):
    """The number of references to the tensor's storage, including those made
    by counting.  How many those are depends on the version."""
    storage = tensor.untyped_storage()
    return torch._C._storage_Use_Count(storage._cdata)


def _engine_is_adding():
    """Newer versions still name the node that ran last while its results are added."""
    node = torch._C._current_autograd_node()
    if node is None or node.name() == "ConvolutionBackward0":
        return True
    return not _ADDS_ITSELF.search(node.name()) and _called_by_engine()


_UNSHARED = _references(torch.empty(1))


def _holds_all(tensor):
    """Whether the tensor covers its storage and is the only tensor on it."""
    return known.covers(tensor) and _references(tensor) <= _UNSHARED


def is_in_place(first, second):
    """Whether PyTorch would add the second tensor to the first in place."""
    return (
        scopes.phase == ledger.BACKWARD
        and not torch.is_grad_enabled()
        and first.dtype == second.dtype
        and first.shape == second.shape
        and _holds_all(first)
        and _engine_is_adding()
    )
