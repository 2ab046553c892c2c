"""torch.nn"""

from larder.lab.failures import gate
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

for _part in (
    activations,
    containers,
    criteria,
    layers,
    normalization,
    parallel,
    recurrent,
    transformer,
):
    for _name, _value in vars(_part).items():
        if (
            isinstance(_value, type)
            and _value.__module__ == _part.__name__
            and not _name.startswith("_")
        ):
            globals()[_name] = _value
            _NAMES.append(_name)

__getattr__ = gate("torch.nn", lambda: _NAMES)
