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

from larder.lab import (
    making,
    methods,  # for what it does to Tensor
    operations,
    picking,
    pointwise,
    products,
    reducing,
    views,
)
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

# The functions of torch, by the module that has them.
_FUNCTIONS = (
    (
        making,
        """
        arange as_tensor cat empty empty_like eye from_numpy full
        full_like linspace logspace normal ones ones_like rand
        rand_like randint randn randn_like randperm stack tensor zeros
        zeros_like
        """,
    ),
    (
        operations,
        """
        add clone div embedding exp log log_softmax matmul mean mul neg
        pow relu sigmoid softmax sqrt sub sum tanh
        """,
    ),
    (
        picking,
        """
        bernoulli bincount diag flip gather histc index_add
        index_select masked_select multinomial nonzero
        repeat_interleave roll scatter scatter_add take tile tril triu
        unique
        """,
    ),
    (
        pointwise,
        """
        abs acos addcdiv addcmul allclose asin atan atan2 bitwise_and
        bitwise_not bitwise_or bitwise_xor ceil clamp cos cosh eq equal
        erf exp2 expm1 floor floor_divide fmod ge gt isclose isfinite
        isinf isnan le lerp log1p log2 log10 logical_and logical_not
        logical_or logical_xor lt masked_fill maximum minimum ne
        reciprocal remainder round rsqrt sign sin sinh square tan trunc
        where
        """,
    ),
    (products, "addmm baddbmm bmm cdist dot einsum mm mv outer"),
    (
        reducing,
        """
        all amax amin any argmax argmin argsort count_nonzero cumprod
        cumsum kthvalue logsumexp max median min norm prod sort std
        topk var
        """,
    ),
    (
        views,
        """
        chunk flatten movedim narrow permute reshape select split
        squeeze t transpose unbind unflatten unsqueeze
        """,
    ),
)
for _module, _names in _FUNCTIONS:
    for _name in _names.split():
        globals()[_name] = getattr(_module, _name)
