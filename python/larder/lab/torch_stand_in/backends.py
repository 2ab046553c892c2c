"""torch.backends: switches that change nothing here."""

import contextlib

from larder.lab.failures import gate


class _Switches:
    def __init__(self, **values):
        self.__dict__.update(values)


cudnn = _Switches(
    benchmark=False,
    deterministic=False,
    enabled=True,
    allow_tf32=True,
    version=lambda: 90100,
    is_available=lambda: True,
)
cuda = _Switches(
    matmul=_Switches(
        allow_tf32=False,
        allow_fp16_reduced_precision_reduction=True,
        allow_bf16_reduced_precision_reduction=True,
    ),
    sdp_kernel=lambda **named: contextlib.nullcontext(),
    enable_flash_sdp=lambda enabled: None,
    enable_math_sdp=lambda enabled: None,
    enable_mem_efficient_sdp=lambda enabled: None,
)
mps = _Switches(is_available=lambda: False, is_built=lambda: False)

__getattr__ = gate("torch.backends", lambda: ["cuda", "cudnn", "mps"])
