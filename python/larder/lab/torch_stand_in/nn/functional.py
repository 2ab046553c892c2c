"""torch.nn.functional"""

from larder.lab.failures import gate
from larder.lab.operations import (
    conv2d,
    cross_entropy,
    dropout,
    gelu,
    layer_norm,
    linear,
    log_softmax,
    max_pool2d,
    mse_loss,
    relu,
    relu_,
    scaled_dot_product_attention,
    sigmoid,
    softmax,
    tanh,
)
from larder.lab.operations import embedding as _rows


def embedding(input, weight):
    return _rows(input, weight)


_NAMES = [name for name in globals() if name != "gate"]

__getattr__ = gate("torch.nn.functional", lambda: _NAMES)
