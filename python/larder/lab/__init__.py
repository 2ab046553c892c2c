"""Tensors on a simulated GPU, whose memory the allocator manages.

    from larder import lab

    x = lab.zeros(256, 1024, 1024, device="cuda")
    x = lab.zeros(256, 1024, 1024, device="cuda")   # room for both, then one
    print(lab.session().panel("twice"))
    del x                                           # freed, and kept: cached
    lab.session().empty_cache()                     # given back

Names and arguments are PyTorch's where it has them, and so are lifetimes:
what an operation keeps for backward, when it lets go, and which temporary
memory it takes.
"""

from larder.lab import methods as _methods
from larder.lab.failures import (
    HostMemoryError,
    InvalidError,
    LabError,
    NotCoveredError,
    OutOfMemoryError,
    UnsupportedError,
)
from larder.lab.kinds import Device as device
from larder.lab.kinds import DType as dtype
from larder.lab.kinds import Size, float32, int64
from larder.lab.kinds import bool_ as bool
from larder.lab.making import (
    arange,
    as_tensor,
    cat,
    empty,
    empty_like,
    full,
    full_like,
    ones,
    ones_like,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    randperm,
    stack,
    tensor,
    zeros,
    zeros_like,
)
from larder.lab.operations import (
    add,
    argmax,
    clone,
    div,
    embedding,
    eq,
    exp,
    log,
    log_softmax,
    matmul,
    mean,
    mul,
    neg,
    pow,
    relu,
    sigmoid,
    softmax,
    sqrt,
    sub,
    sum,
    tanh,
)
from larder.lab.recording import (
    checkpoint,
    enable_grad,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from larder.lab.sessions import Session, session, use
from larder.lab.tensors import Parameter, Tensor
from larder.lab.views import (
    chunk,
    flatten,
    permute,
    reshape,
    split,
    squeeze,
    t,
    transpose,
    unbind,
    unsqueeze,
)

# Imported for what it does to Tensor.
del _methods
