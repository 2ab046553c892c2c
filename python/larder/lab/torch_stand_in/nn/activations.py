"""Activations as modules."""

from larder.lab.failures import not_covered
from larder.lab.making import full
from larder.lab.tensors import Parameter
from larder.lab.torch_stand_in.nn import functional
from larder.lab.torch_stand_in.nn.module import Module


class _Activation(Module):
    """A function of the input, with keyword parameters given once."""

    _defaults = {}

    def __init__(self, *arguments, **named):
        super().__init__()
        values = dict(self._defaults)
        values.update(zip(values, arguments))
        for name, value in named.items():
            if name not in values:
                raise not_covered(f"{type(self).__name__}'s {name}")
            values[name] = value
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _numbers(self):
        return {name: getattr(self, name) for name in self._defaults}

    def forward(self, input):
        return self._function(input, **self._numbers())

    def extra_repr(self):
        return ", ".join(
            f"{name}={value}"
            for name, value in self._numbers().items()
            if not (name == "inplace" and not value)
        )


def _activation(name, function, **defaults):
    return type(
        name,
        (_Activation,),
        {
            "_function": staticmethod(function),
            "_defaults": defaults,
            "__doc__": f"functional.{function.__name__} as a module.",
            "__module__": __name__,
        },
    )


ELU = _activation("ELU", functional.elu, alpha=1.0, inplace=False)
SELU = _activation("SELU", functional.selu, inplace=False)
SiLU = _activation("SiLU", functional.silu, inplace=False)
Mish = _activation("Mish", functional.mish, inplace=False)
ReLU6 = _activation("ReLU6", functional.relu6, inplace=False)
Hardtanh = _activation(
    "Hardtanh", functional.hardtanh, min_val=-1.0, max_val=1.0, inplace=False
)
Hardswish = _activation("Hardswish", functional.hardswish, inplace=False)
Hardsigmoid = _activation("Hardsigmoid", functional.hardsigmoid, inplace=False)
LeakyReLU = _activation(
    "LeakyReLU", functional.leaky_relu, negative_slope=0.01, inplace=False
)
Softplus = _activation(
    "Softplus", functional.softplus, beta=1.0, threshold=20.0
)
LogSigmoid = _activation("LogSigmoid", functional.logsigmoid)
Threshold = _activation(
    "Threshold", functional.threshold, threshold=0.0, value=0.0, inplace=False
)
GLU = _activation("GLU", functional.glu, dim=-1)
CELU = _activation("CELU", functional.celu, alpha=1.0, inplace=False)
Softsign = _activation("Softsign", functional.softsign)
Softmin = _activation("Softmin", functional.softmin, dim=None)


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
