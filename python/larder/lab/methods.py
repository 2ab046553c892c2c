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

_METHODS = (
    (
        operations,
        """
        add sub mul div neg exp log sqrt pow relu tanh sigmoid
        add_ sub_ mul_ div_ relu_ addcmul_ addcdiv_ fill_ zero_ copy_
        sum mean matmul softmax log_softmax
        clone detach contiguous to cpu cuda long half bfloat16 double short
        char byte type_as
        """,
    ),
    (
        views,
        """
        reshape view expand view_as reshape_as expand_as flatten transpose t
        permute squeeze unsqueeze chunk split unbind narrow select movedim
        unflatten
        """,
    ),
    (
        pointwise,
        """
        abs sign floor ceil round trunc sin cos tan asin acos atan sinh cosh
        erf exp2 expm1 log1p log2 log10 rsqrt reciprocal square clamp clamp_
        clamp_min eq ne lt le gt ge logical_and logical_or logical_xor
        logical_not bitwise_and bitwise_or bitwise_xor bitwise_not fmod
        floor_divide remainder atan2 isnan isinf isfinite maximum minimum
        lerp lerp_ addcmul addcdiv masked_fill masked_fill_ abs_ floor_ ceil_
        round_ sign_ reciprocal_ rsqrt_ allclose isclose equal fill_diagonal_
        """,
    ),
    (
        reducing,
        """
        max min amax amin argmax argmin any all count_nonzero prod var std norm
        logsumexp cumsum cumprod sort argsort topk kthvalue median
        """,
    ),
    (
        picking,
        """
        gather scatter scatter_ scatter_add scatter_add_ index_select
        index_put_ index_add index_add_ index_fill_ take nonzero masked_select
        bincount multinomial bernoulli tril triu flip roll repeat tile
        repeat_interleave diag scatter_reduce unfold unique histc
        """,
    ),
    (products, "bmm mm mv dot outer addmm baddbmm"),
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
    for module, names in _METHODS:
        for name in names.split():
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
