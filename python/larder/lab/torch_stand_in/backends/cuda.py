"""torch.backends.cuda"""

import contextlib

from larder.lab.failures import gate


class _Matmul:
    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True


matmul = _Matmul()


def is_built():
    return True


def sdp_kernel(**options):
    """No effect: there is only one implementation of attention."""
    return contextlib.nullcontext()


def enable_flash_sdp(enabled):
    """No effect: there is only one implementation of attention."""


enable_math_sdp = enable_mem_efficient_sdp = enable_flash_sdp

__getattr__ = gate("torch.backends.cuda", globals())
