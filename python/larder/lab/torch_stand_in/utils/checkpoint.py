"""torch.utils.checkpoint"""

from larder.lab.failures import gate
from larder.lab.recording import checkpoint, checkpoint_sequential

__getattr__ = gate(
    "torch.utils.checkpoint",
    globals(),
    "checkpoint checkpoint_sequential",
)
