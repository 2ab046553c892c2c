"""Activations as modules."""

from larder.lab.making import full
from larder.lab.tensors import Parameter
from larder.lab.torch_stand_in.nn import functional
from larder.lab.torch_stand_in.nn.module import Module
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
Softmax._options = LogSoftmax._options = {"dim": None}


class PReLU(Module):
    """A learned slope, for all channels or for each."""

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(
            full((num_parameters,), init, device=device, dtype=dtype)
        )

    def forward(self, input):
        return functional.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"
