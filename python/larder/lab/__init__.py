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

from larder.lab import methods as _methods
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
from larder.lab.making import (
    arange,
    as_tensor,
    cat,
    empty,
    empty_like,
    eye,
    from_numpy,
    full,
    full_like,
    linspace,
    logspace,
    normal,
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
    clone,
    div,
    embedding,
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
from larder.lab.picking import (
    bernoulli,
    bincount,
    diag,
    flip,
    gather,
    histc,
    index_add,
    index_select,
    masked_select,
    multinomial,
    nonzero,
    repeat_interleave,
    roll,
    scatter,
    scatter_add,
    take,
    tile,
    tril,
    triu,
    unique,
)
from larder.lab.pointwise import (
    abs,
    acos,
    addcdiv,
    addcmul,
    allclose,
    asin,
    atan,
    atan2,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    ceil,
    clamp,
    cos,
    cosh,
    eq,
    equal,
    erf,
    exp2,
    expm1,
    floor,
    floor_divide,
    fmod,
    ge,
    gt,
    isclose,
    isfinite,
    isinf,
    isnan,
    le,
    lerp,
    log1p,
    log2,
    log10,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    lt,
    masked_fill,
    maximum,
    minimum,
    ne,
    reciprocal,
    remainder,
    round,
    rsqrt,
    sign,
    sin,
    sinh,
    square,
    tan,
    trunc,
    where,
)
from larder.lab.products import (
    addmm,
    baddbmm,
    bmm,
    cdist,
    dot,
    einsum,
    mm,
    mv,
    outer,
)
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
from larder.lab.reducing import (
    all,
    amax,
    amin,
    any,
    argmax,
    argmin,
    argsort,
    count_nonzero,
    cumprod,
    cumsum,
    kthvalue,
    logsumexp,
    max,
    median,
    min,
    norm,
    prod,
    sort,
    std,
    topk,
    var,
)
from larder.lab.saving import load, save
from larder.lab.sessions import Session, session, use
from larder.lab.tensors import Parameter, Tensor
from larder.lab.views import (
    chunk,
    flatten,
    movedim,
    narrow,
    permute,
    reshape,
    select,
    split,
    squeeze,
    t,
    transpose,
    unbind,
    unflatten,
    unsqueeze,
)

# Imported for what it does to Tensor.
del _methods
