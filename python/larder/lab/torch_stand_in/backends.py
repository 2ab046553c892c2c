"""torch.backends: switches that change nothing here."""

from larder.lab.failures import gate


class _Switches:
    def __init__(self, **values):
        self.__dict__.update(values)


cudnn = _Switches(
    benchmark=False, deterministic=False, enabled=True, allow_tf32=True
)
cuda = _Switches(matmul=_Switches(allow_tf32=False))

__getattr__ = gate("torch.backends", lambda: ["cuda", "cudnn"])
