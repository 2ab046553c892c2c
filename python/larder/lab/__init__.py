"""Tensors on a simulated GPU, whose memory the allocator manages.

    from larder import lab

    x = lab.zeros(256, 1024, 1024, device="cuda")
    x = lab.zeros(256, 1024, 1024, device="cuda")   # room for both, then one
    print(lab.session().panel("twice"))
    del x                                           # freed, and kept: cached
    lab.session().empty_cache()                     # released

Names and arguments are PyTorch's where it has them, and so are lifetimes:
what an operation keeps for backward, when it lets go, and which temporary
memory it takes.
"""

from larder.lab import methods
from larder.lab.autocasting import (
    autocast,
    get_autocast_dtype,
    is_autocast_enabled,
)
from larder.lab.failures import (
    HostMemoryError,
    InvalidError,
    LabError,
    NotCoveredError,
    OutOfMemoryError,
    UnsupportedError,
)
from larder.lab.functions import Function, grad
from larder.lab.kinds import Device as device
from larder.lab.kinds import DType as dtype
from larder.lab.kinds import (
    Size,
    bfloat16,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from larder.lab.kinds import bool_ as bool
from larder.lab.randomness import Generator, get_rng_state, set_rng_state
from larder.lab.recording import (
    checkpoint,
    checkpoint_sequential,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from larder.lab.saving import load, save
from larder.lab.sessions import Session, session, use
from larder.lab.tensors import Parameter, Tensor

for _module, _both, _functions, _ in methods.OPERATIONS:
    for _name in (_both + " " + _functions).split():
        globals()[_name] = getattr(_module, _name)
