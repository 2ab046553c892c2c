"""torch.cuda.amp"""

from larder.lab import autocasting
from larder.lab.failures import gate
from larder.lab.torch_stand_in.amp import GradScaler, custom_bwd, custom_fwd


class autocast(autocasting.autocast):
    """torch.autocast for the device."""

    def __init__(self, enabled=True, dtype=None, cache_enabled=True):
        super().__init__("cuda", dtype, enabled, cache_enabled)


__getattr__ = gate(
    "torch.cuda.amp",
    globals(),
    "GradScaler custom_bwd custom_fwd",
)
