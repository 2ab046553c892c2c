"""Operations as methods and operators of Tensor: a method is the function with
the tensor as its first argument."""

from larder.lab import (
    making,
    operations,
    picking,
    pointwise,
    products,
    reducing,
    views,
)
from larder.lab.tensors import Tensor

# The operations, by module: functions and methods, functions only, methods only.
OPERATIONS = (
    (
        making,
        "",
        """
        arange as_tensor cat empty empty_like eye from_numpy full full_like linspace
        logspace normal ones ones_like rand rand_like randint randn randn_like
        randperm stack tensor zeros zeros_like
        """,
        "",
    ),
    (
        operations,
        """
        add clone div exp log log_softmax matmul mean mul neg pow relu sigmoid softmax
        sqrt sub sum tanh
        """,
        "embedding",
        """
        add_ addcdiv_ addcmul_ bfloat16 byte char contiguous copy_ cpu cuda detach
        div_ double fill_ half long mul_ relu_ short sub_ to type_as zero_
        """,
    ),
    (
        picking,
        """
        bernoulli bincount diag flip gather histc index_add index_select masked_select
        multinomial nonzero repeat_interleave roll scatter scatter_add take tile tril
        triu unique
        """,
        "",
        """
        index_add_ index_fill_ index_put_ repeat scatter_ scatter_add_ scatter_reduce
        unfold
        """,
    ),
    (
        pointwise,
        """
        abs acos addcdiv addcmul allclose asin atan atan2 bitwise_and bitwise_not
        bitwise_or bitwise_xor ceil clamp cos cosh eq equal erf exp2 expm1 floor
        floor_divide fmod ge gt isclose isfinite isinf isnan le lerp log10 log1p log2
        logical_and logical_not logical_or logical_xor lt masked_fill maximum minimum
        ne reciprocal remainder round rsqrt sign sin sinh square tan trunc
        """,
        "where",
        """
        abs_ ceil_ clamp_ clamp_min fill_diagonal_ floor_ lerp_ masked_fill_
        reciprocal_ round_ rsqrt_ sign_
        """,
    ),
    (
        products,
        "addmm baddbmm bmm dot mm mv outer",
        "cdist einsum",
        "",
    ),
    (
        reducing,
        """
        all amax amin any argmax argmin argsort count_nonzero cumprod cumsum kthvalue
        logsumexp max median min norm prod sort std topk var
        """,
        "",
        "",
    ),
    (
        views,
        """
        chunk flatten movedim narrow permute reshape select split squeeze t transpose
        unbind unflatten unsqueeze
        """,
        "",
        "expand expand_as reshape_as view view_as",
    ),
)


def _where(self, condition, other):
    return pointwise.where(condition, self, other)


def _new(make):
    """A creation method for tensors of the same type and device."""

    def operation(self, *sizes, device=None, dtype=None, **named):
        return make(
            *sizes,
            device=self.device if device is None else device,
            dtype=dtype or self.dtype,
            **named,
        )

    return operation


def _in_place_of(function):
    """The in-place variant, which writes the result to the tensor."""

    def operation(self, *arguments, **named):
        pointwise.check_writable(function.__name__ + "_", self)
        return self.copy_(function(self, *arguments, **named))

    return operation


def _drawn(make):
    """Fill with random numbers.  They are drawn on the host, so that no device
    memory is used."""

    def operation(self, a=0.0, b=1.0, *, generator=None):
        pointwise.check_writable("filling at random", self)
        drawn = make(self.shape, device="cpu", generator=generator)
        return self.copy_(
            drawn.mul_(b - a).add_(a)
            if make is making.rand
            else drawn.mul_(b).add_(a)
        )

    return operation


def _add_methods():
    for module, both, _, methods in OPERATIONS:
        for name in (both + " " + methods).split():
            setattr(Tensor, name, getattr(module, name))
    Tensor.float = operations.float_
    Tensor.int = operations.int_
    Tensor.bool = operations.boolean
    Tensor.type = operations.type_
    Tensor.where = _where
    Tensor.clip = pointwise.clamp
    Tensor.clip_ = pointwise.clamp_
    Tensor.negative = operations.neg
    Tensor.absolute = pointwise.abs
    Tensor.swapaxes = views.transpose
    Tensor.T = property(views.t)
    Tensor.mT = property(lambda self: views.transpose(self, -2, -1))
    for name in "empty zeros ones full tensor".split():
        setattr(Tensor, f"new_{name}", _new(getattr(making, name)))
    for name in "exp log sqrt sigmoid tanh neg".split():
        setattr(
            Tensor, name + "_", _in_place_of(getattr(operations, name))
        )
    Tensor.tril_ = _in_place_of(picking.tril)
    Tensor.triu_ = _in_place_of(picking.triu)
    Tensor.uniform_ = _drawn(making.rand)
    Tensor.normal_ = _drawn(making.randn)


def _add_operators():
    for name in ("add", "sub", "mul"):
        operation = getattr(operations, name)
        setattr(Tensor, f"__{name}__", operation)
        setattr(Tensor, f"__r{name}__", operations.reflect(operation))
        setattr(Tensor, f"__i{name}__", getattr(operations, name + "_"))
    Tensor.__truediv__ = operations.div
    Tensor.__rtruediv__ = operations.reflect(operations.div)
    Tensor.__itruediv__ = operations.div_
    Tensor.__matmul__ = operations.matmul
    Tensor.__pow__ = operations.pow
    Tensor.__rpow__ = operations.reflect(operations.pow)
    Tensor.__neg__ = operations.neg
    Tensor.__abs__ = pointwise.abs
    Tensor.__invert__ = pointwise.bitwise_not
    for name in "eq ne lt le gt ge".split():
        setattr(Tensor, f"__{name}__", getattr(pointwise, name))
    for sign, name in (
        ("mod", "remainder"),
        ("floordiv", "floor_divide"),
        ("and", "bitwise_and"),
        ("or", "bitwise_or"),
        ("xor", "bitwise_xor"),
    ):
        operation = getattr(pointwise, name)
        setattr(Tensor, f"__{sign}__", operation)
        setattr(Tensor, f"__r{sign}__", operations.reflect(operation))
    # Comparison is element by element, so a set compares identities.
    Tensor.__hash__ = object.__hash__
    Tensor.__getitem__ = views.get
    Tensor.__setitem__ = views.put
    Tensor.__iter__ = views.iterate


_add_methods()
_add_operators()
