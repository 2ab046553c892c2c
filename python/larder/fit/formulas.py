"""Gradient formulas that write in place to a result they have just created.
PyTorch's do so too, but not for tensor subclasses such as fake tensors."""

import torch

aten = torch.ops.aten

_SELECTING = (
    "Max", "Min", "Median", "Nanmedian", "Kthvalue", "Mode", "Topk", "Sort"
)

# Operator -> its in-place variant, and the nodes that use it.
_INTO = {
    aten.index_put.default: (aten.index_put_.default, ("Index",)),
    aten.index_add.default: (aten.index_add_.default, ("IndexSelect",)),
    aten.scatter_add.default: (aten.scatter_add_.default, ("Gather",)),
    aten.scatter.src: (aten.scatter_.src, _SELECTING),
}

OPERATORS = tuple(_INTO)


def in_place(func):
    """The in-place operator that PyTorch's formula uses here, or None."""
    node = torch._C._current_autograd_node()
    if node is None or torch.is_grad_enabled():
        return None
    into, nodes = _INTO[func]
    kind = node.name().partition("Backward")[0]
    return into if kind in nodes else None
