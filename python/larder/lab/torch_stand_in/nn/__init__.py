"""torch.nn"""

from larder.lab.failures import gate, own_names
from larder.lab.tensors import Parameter
from larder.lab.torch_stand_in.nn import (
    activations,
    containers,
    criteria,
    functional,
    init,
    layers,
    normalization,
    parallel,
    recurrent,
    transformer,
    utils,
)
from larder.lab.torch_stand_in.nn.module import Module

_NAMES = ["Module", "Parameter", "functional", "init", "parallel", "utils"]

_PARTS = (
    activations, containers, criteria, layers, normalization, parallel, recurrent,
    transformer,
)
for _part in _PARTS:
    for _name in own_names(vars(_part)):
        if isinstance(getattr(_part, _name), type):
            globals()[_name] = getattr(_part, _name)
            _NAMES.append(_name)

__getattr__ = gate("torch.nn", lambda: _NAMES)
