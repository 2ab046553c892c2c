"""Activations as modules."""

from larder.lab.constructing import PLACE
from larder.lab.making import full
from larder.lab.tensors import Parameter
from larder.lab.torch_stand_in.nn import functional
from larder.lab.torch_stand_in.nn.module import Module, layer
from larder.lab.torch_stand_in.nn.wrapping import Wrapping, classes


_TABLE = """
    ReLU relu           ReLU6 relu6         LeakyReLU leaky_relu
    ELU elu             SELU selu           CELU celu
    GELU gelu           SiLU silu           Mish mish
    Hardtanh hardtanh   Hardswish hardswish Hardsigmoid hardsigmoid
    Softplus softplus   Softsign softsign   Softmin softmin
    LogSigmoid logsigmoid                   Threshold threshold
    GLU glu             Tanh tanh           Sigmoid sigmoid
    Softmax softmax     LogSoftmax log_softmax
"""
globals().update(classes(Wrapping, __name__, _TABLE, inputs=1))


class PReLU(Module):
    """A learned slope, for all channels or for each."""

    __init__ = layer(passed="init", num_parameters=1, init=0.25, **PLACE)
    _repr_of = "", "num_parameters"

    def _made_from(self, init, **place):
        self.weight = Parameter(full((self.num_parameters,), init, **place))

    def forward(self, input):
        return functional.prelu(input, self.weight)
