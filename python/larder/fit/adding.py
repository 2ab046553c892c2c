"""Accumulates gradients as PyTorch does.  If a tensor is used more than once,
PyTorch's engine adds further gradients to the first one in place, if it holds
the only reference.  For tensor subclasses, such as fake tensors, it creates a
new tensor instead; this module corrects that."""

import re
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from larder.fit import known, ledger
from larder.fit.scopes import scopes

aten = torch.ops.aten

# Nodes whose own formulas add gradients: their sums are new tensors.
_ADDS_ITSELF = re.compile(
    "BackwardBackward|^Linalg|^(StdMean|VarMean|Renorm|Logcumsumexp|Cumprod|"
    "Prod|Sinc|Lu|Svd|Cholesky|TriangularSolve)"
)

# Frames between an operator and its caller, and those from which the engine is
# called.
_BETWEEN = ("/larder/fit/", "/torch/_dynamo/", "/torch/_compile.py")
_ENGINE = "/torch/autograd/graph.py"


class _Listener(TorchDispatchMode):
    """Records which node is current when the engine adds gradients."""

    node = None

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func in (aten.add.Tensor, aten.add_.Tensor):
            self.node = torch._C._current_autograd_node()
        return func(*args, **(kwargs or {}))


def _names_a_node():
    """Whether the engine still reports the node it ran last while it adds that
    node's results; newer versions do."""
    leaf = torch.ones(1, requires_grad=True)
    base = leaf * 1
    product = base.exp() * base.sin()
    listener = _Listener()
    with listener:
        torch.autograd.grad(product, leaf)
    return listener.node is not None


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


class Adding:
    _always_named = False
    _unshared = 0

    def try_engine(self):
        """Find out how the engine behaves, before the first sum.  This starts
        its threads."""
        self._always_named = _names_a_node()
        self._unshared = _references(torch.empty(1))

    def _engine_is_adding(self):
        node = torch._C._current_autograd_node()
        if node is None:
            return True
        if node.name() == "ConvolutionBackward0":
            return True
        return (
            self._always_named
            and not _ADDS_ITSELF.search(node.name())
            and _called_by_engine()
        )

    def _holds_all(self, tensor):
        """Whether the tensor covers its storage and is the only tensor on it."""
        return known.covers(tensor) and _references(tensor) <= self._unshared

    def in_place(self, first, second):
        """The first tensor, if PyTorch would add the second to it in place;
        otherwise None."""
        if scopes.phase != ledger.BACKWARD or torch.is_grad_enabled():
            return None
        if first.dtype != second.dtype or first.shape != second.shape:
            return None
        if self._holds_all(first) and self._engine_is_adding():
            return first
        return None
