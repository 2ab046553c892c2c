"""Elementwise operations that the library does not record itself."""

import functools
import math

from larder.lab import raw
from larder.lab.autocasting import in_float32
from larder.lab.failures import InvalidError, not_covered
from larder.lab.functions import check_writable, made, made_of, named
from larder.lab.kinds import bool_, dtype_of
from larder.lab.making import eye, full
from larder.lab.tensors import Tensor

NUMBERS = (int, float)


def number(value):
    """A number as an operand: a host tensor, which can be combined with
    tensors on any device."""
    return full((), value, dtype=dtype_of(value))


def operand(value):
    if isinstance(value, Tensor):
        return value
    if isinstance(value, NUMBERS):
        return number(value)
    raise TypeError(f"expected a tensor or a number, not {value!r}")


def _zeros(grad):
    return raw.map("masked_fill", grad, number(True), p=0)


# ---- one operand: (saved, the gradient) ----

_INPUT, _RESULT = "input", "result"
_RULES = {
    **dict.fromkeys(("sign", "floor", "ceil", "round", "trunc"), (None, _zeros)),
    "abs": (_INPUT, lambda g, x: g * raw.map("sign", x)),
    "sin": (_INPUT, lambda g, x: g * raw.map("cos", x)),
    "cos": (_INPUT, lambda g, x: g * -raw.map("sin", x)),
    "tan": (_RESULT, lambda g, y: g * (1 + y * y)),
    "asin": (_INPUT, lambda g, x: g * raw.map("rsqrt", 1 - x * x)),
    "acos": (_INPUT, lambda g, x: -g * raw.map("rsqrt", 1 - x * x)),
    "atan": (_INPUT, lambda g, x: g / (x * x + 1)),
    "sinh": (_INPUT, lambda g, x: g * raw.map("cosh", x)),
    "cosh": (_INPUT, lambda g, x: g * raw.map("sinh", x)),
    "erf": (
        _INPUT,
        lambda g, x: g * (-(x * x)).exp() * (2 / math.sqrt(math.pi)),
    ),
    "exp2": (_RESULT, lambda g, y: g * y * math.log(2)),
    "expm1": (_RESULT, lambda g, y: g * (y + 1)),
    "log1p": (_INPUT, lambda g, x: g / (x + 1)),
    "log2": (_INPUT, lambda g, x: g / (x * math.log(2))),
    "log10": (_INPUT, lambda g, x: g / (x * math.log(10))),
    "rsqrt": (_RESULT, lambda g, y: -0.5 * g * y**3),
    "reciprocal": (_RESULT, lambda g, y: -g * (y * y)),
    **{
        name: (_INPUT, functools.partial(raw.map, f"{name}_backward"))
        for name in ("silu", "mish", "hardswish", "hardsigmoid", "logsigmoid")
    },
}


def _node(name):
    return "".join(part.title() for part in name.split("_")) + "Backward0"


def _one(name):
    keeps, rule = _RULES[name]

    def operation(input):
        out = raw.map(name, input)
        saved = {_INPUT: (input,), _RESULT: (out,), None: ()}[keeps]
        return made_of(_node(name), out, input, rule, *saved)

    return named(name, operation)


globals().update((_name, _one(_name)) for _name in _RULES)
rsqrt = in_float32(_one("rsqrt"))


def square(input):
    return input**2


# ---- one operand and numbers ----


def _with_numbers(name, input, p, q=0.0, keep_result=False, inplace=False):
    """An activation with numeric parameters, which its backward uses too."""
    kept = input
    if inplace:
        check_writable(name, input)
        # The gradient needs the values that are overwritten, so a copy is kept.
        needs_copy = not keep_result and input.requires_grad
        kept = input.detach().clone() if needs_copy else None
        out = raw.map_into(input, name, input, p=p, q=q)
    else:
        out = raw.map(name, input, p=p, q=q)
    rule = functools.partial(raw.map, f"{name}_backward", p=p, q=q)
    return made_of(_node(name), out, input, rule, out if keep_result else kept)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    return _with_numbers(
        "leaky_relu", input, negative_slope, keep_result=inplace,
        inplace=inplace,
    )


def elu(input, alpha=1.0, inplace=False):
    return _with_numbers("elu", input, alpha, inplace=inplace)


def selu(input, inplace=False):
    return elu(input, 1.6732632423543772) * 1.0507009873554805


def softplus(input, beta=1.0, threshold=20.0):
    return _with_numbers("softplus", input, beta, threshold)


def threshold(input, threshold, value):
    return _with_numbers("threshold", input, threshold, value)


def gelu_tanh(input):
    return _with_numbers("gelu_tanh", input, 0.0)


def silu_(input):
    return _with_numbers("silu", input, 0.0, inplace=True)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    return _with_numbers("clamp", input, min_val, max_val, inplace=inplace)


def _within(x, least, most):
    inside = None
    if least is not None:
        inside = raw.map("ge", x, operand(least))
    if most is not None:
        below = raw.map("le", x, operand(most))
        inside = below if inside is None else raw.map(
            "logical_and", inside, below
        )
    return inside


def clamp(input, min=None, max=None):
    if min is None and max is None:
        raise InvalidError("clamp needs min, max or both")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        out = input if min is None else maximum(input, operand(min))
        return out if max is None else minimum(out, operand(max))
    return made_of(
        "ClampBackward1",
        raw.map("clamp", input, **_bounds(min, max)),
        input,
        lambda grad, x: raw.map("where", _within(x, min, max), grad, number(0)),
        input,
    )


def _bounds(least, most):
    return {
        "p": -math.inf if least is None else least,
        "q": math.inf if most is None else most,
    }


def clamp_(self, min=None, max=None):
    check_writable("clamp_", self)
    return raw.map_into(self, "clamp", self, **_bounds(min, max))


def clamp_min(input, min):
    return clamp(input, min=min)


# ---- two operands ----


def _comparison(name):
    def operation(input, other):
        if not isinstance(other, (Tensor, *NUMBERS)):
            return NotImplemented
        return raw.map(name, operand(input), operand(other))

    return named(name, operation)


def _test(name):
    return named(name, lambda input: raw.map(name, input))


def bitwise_not(input):
    name = "logical_not" if input.dtype is bool_ else "bitwise_not"
    return raw.map(name, input)


def remainder(input, other):
    if not isinstance(other, (Tensor, *NUMBERS)):
        return NotImplemented
    input, other = operand(input), operand(other)
    return made(
        "RemainderBackward0",
        raw.map("remainder", input, other),
        (input, None),
        (),
        lambda grads, kept: (grads[0], None),
    )


def _chooser(name, comparison):
    def operation(input, other):
        def backward(grads, kept):
            return _parted(raw.map(comparison, *kept), grads[0])

        other = operand(other)
        return made(
            _node(name),
            raw.map(name, input, other),
            (input, other),
            (input, other),
            backward,
        )

    return named(name, operation)


def _parted(chosen, grad):
    """The gradient where an element was chosen, and elsewhere."""
    zero = number(0)
    return (
        raw.map("where", chosen, grad, zero),
        raw.map("where", chosen, zero, grad),
    )


maximum = _chooser("maximum", "ge")
minimum = _chooser("minimum", "le")


def pow_tensors(input, exponent):
    """A power of two tensors, or of a number and a tensor."""
    base, exponent = operand(input), operand(exponent)
    out = raw.map("pow", base, exponent)

    def backward(grads, kept):
        x, y, result = kept
        return (
            grads[0] * (y * raw.map("pow", x, y - 1)),
            grads[0] * (result * x.float().log()),
        )

    inputs = (base, exponent)
    return made("PowBackward1", out, inputs, (base, exponent, out), backward)


# ---- three operands ----


def where(condition, input=None, other=None):
    if input is None:
        from larder.lab.picking import nonzero

        return nonzero(condition, as_tuple=True)
    input, other = operand(input), operand(other)
    return made(
        "WhereBackward0",
        raw.map("where", condition, input, other),
        (input, other),
        (condition,),
        lambda grads, kept: _parted(kept[0], grads[0]),
    )


def lerp(input, end, weight):
    return raw.map("lerp", input, operand(end), operand(weight))


def lerp_(self, end, weight):
    check_writable("lerp_", self)
    return raw.map_into(self, "lerp", self, operand(end), operand(weight))


def addcmul(input, tensor1, tensor2, *, value=1):
    return input + value * (tensor1 * tensor2)


def addcdiv(input, tensor1, tensor2, *, value=1):
    return input + value * (tensor1 / tensor2)


def _number_of(value):
    return value.item() if isinstance(value, Tensor) else value


def _filled(out, input, mask):
    return made_of(
        "MaskedFillBackward0",
        out,
        input,
        lambda grad, kept: raw.map("masked_fill", grad, kept, p=0),
        mask,
    )


def masked_fill(input, mask, value):
    out = raw.map("masked_fill", input, mask, p=_number_of(value))
    return _filled(out, input, mask)


def fill_diagonal_(self, fill_value, wrap=False):
    if self.ndim != 2 or wrap:
        raise not_covered("fill_diagonal_ of a tensor that does not have 2 dimensions", ["2"])
    mask = eye(*self.shape, device=self.device).to(bool_)
    return masked_fill_(self, mask, fill_value)


def masked_fill_(self, mask, value):
    value = _number_of(value)
    check_writable("masked_fill_", self)
    raw.map_into(self, "masked_fill", self, mask, p=value)
    return _filled(self, self, mask)


def _plain_in_place(name):
    """An operation in place that is not recorded."""

    def operation(self):
        check_writable(name, self)
        return raw.map_into(self, name[:-1], self)

    return named(name, operation)


for _make, _names in (
    (_comparison, "eq ne lt le gt ge logical_and logical_or logical_xor"),
    (_comparison, "bitwise_and bitwise_or bitwise_xor fmod floor_divide atan2"),
    (_test, "logical_not isnan isinf isfinite"),
    (_plain_in_place, "abs_ floor_ ceil_ round_ sign_ reciprocal_ rsqrt_"),
):
    globals().update((_name, _make(_name)) for _name in _names.split())


def allclose(input, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    near = isclose(input.detach(), other.detach(), rtol, atol)
    same = raw.map("logical_or", near, raw.map("eq", input, other))
    if equal_nan:
        both = raw.map("logical_and", isnan(input), isnan(other))
        same = raw.map("logical_or", same, both)
    return bool(raw.reduce(raw.ALL, same).item())


def isclose(input, other, rtol=1e-5, atol=1e-8):
    return raw.map(
        "le",
        raw.map("abs", input - other),
        raw.map("abs", other) * rtol + atol,
    )


def equal(input, other):
    if input.shape != other.shape:
        return False
    return bool(raw.reduce(raw.ALL, raw.map("eq", input, other)).item())
