"""torch.nn"""

from larder.lab.failures import gate
from larder.lab.tensors import Parameter
from larder.lab.torch_stand_in.nn import functional, init
from larder.lab.torch_stand_in.nn.containers import ModuleList, Sequential
from larder.lab.torch_stand_in.nn.layers import (
    GELU,
    Conv2d,
    CrossEntropyLoss,
    Dropout,
    Embedding,
    Flatten,
    Identity,
    LayerNorm,
    Linear,
    LogSoftmax,
    MaxPool2d,
    MSELoss,
    ReLU,
    Sigmoid,
    Softmax,
    Tanh,
)
from larder.lab.torch_stand_in.nn.module import Module

_NAMES = """
    Conv2d CrossEntropyLoss Dropout Embedding Flatten GELU Identity LayerNorm
    Linear LogSoftmax MSELoss MaxPool2d Module ModuleList Parameter ReLU
    Sequential Sigmoid Softmax Tanh functional init
""".split()

__getattr__ = gate("torch.nn", lambda: _NAMES)
