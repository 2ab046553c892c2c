"""torch.optim"""

from larder.lab.failures import gate
from larder.lab.torch_stand_in.optim import lr_scheduler, swa_utils
from larder.lab.torch_stand_in.optim.lbfgs import LBFGS
from larder.lab.torch_stand_in.optim.optimizer import Optimizer
from larder.lab.torch_stand_in.optim.steps import (
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    AdamW,
    RMSprop,
)

__getattr__ = gate("torch.optim", globals(), "lr_scheduler swa_utils")
