"""Operations as functions of tensors. methods.py turns them into methods."""

from ctypes import byref, c_void_p

from larder._library import library
from larder.lab import kinds, pointwise, raw, reducing
from larder.lab.autocasting import in_float32, in_narrow
from larder.lab.failures import InvalidError, check, not_covered
from larder.lab.functions import made, made_of
from larder.lab.making import zeros
from larder.lab.tensors import Tensor, handle, optional, tensor_from, wrap

NUMBERS = (int, float)


def _unary(call):
    def operation(input):
        return tensor_from(call, handle(input))

    return operation


neg = _unary(library.lab_neg)
exp = in_float32(_unary(library.lab_exp))
log = in_float32(_unary(library.lab_log))
sqrt = _unary(library.lab_sqrt)
relu = _unary(library.lab_relu)
tanh = _unary(library.lab_tanh)
sigmoid = _unary(library.lab_sigmoid)
_clone = _unary(library.lab_clone)


def clone(input, *, memory_format=None):
    return _clone(input)


detach = _unary(library.lab_detach)


def contiguous(input, *, memory_format=None):
    return _same_or_made(input, library.lab_contiguous)


def gelu(input, approximate="none"):
    if approximate == "tanh":
        return pointwise.gelu_tanh(input)
    if approximate != "none":
        raise not_covered(
            f"gelu's approximate={approximate!r}", ["none", "tanh"]
        )
    return tensor_from(library.lab_gelu, handle(input))


def _binary(tensors, scalar, reflected):
    """An operator of two tensors, a tensor and a number, or a number and a
    tensor."""

    def operation(input, other):
        if isinstance(other, Tensor):
            if isinstance(input, Tensor):
                return tensor_from(tensors, input._h, other._h)
            if isinstance(input, NUMBERS):
                return tensor_from(reflected, input, other._h)
        elif isinstance(other, NUMBERS):
            return tensor_from(scalar, handle(input), other)
        return NotImplemented

    return operation


def _swapped(scalar):
    return lambda number, h, out: scalar(h, number, out)


def _with_alpha(operation, sign):
    def scaled(input, other, *, alpha=1):
        if alpha == 1:
            return operation(input, other)
        if not isinstance(other, Tensor):
            return operation(input, alpha * other)
        one = pointwise.number(1.0)
        factor = sign * alpha
        return made(
            "AddBackward0",
            raw.map("addcmul", input, other, one, p=factor),
            (input, other),
            (),
            lambda grads, kept: (grads[0], grads[0] * factor),
        )

    return scaled


add = _with_alpha(
    _binary(
        library.lab_add,
        library.lab_add_scalar,
        _swapped(library.lab_add_scalar),
    ),
    1,
)
sub = _with_alpha(
    _binary(library.lab_sub, library.lab_sub_scalar, library.lab_rsub_scalar),
    -1,
)
mul = _binary(
    library.lab_mul, library.lab_mul_scalar, _swapped(library.lab_mul_scalar)
)
_div = _binary(
    library.lab_div, library.lab_div_scalar, library.lab_rdiv_scalar
)


def div(input, other, *, rounding_mode=None):
    if rounding_mode == "floor":
        return pointwise.floor_divide(input, other)
    out = _div(input, other)
    return pointwise.trunc(out) if rounding_mode == "trunc" else out


def reflect(operation):
    """The operator with its operands exchanged."""
    return lambda self, other: operation(other, self)


def pow(input, exponent):
    if not isinstance(exponent, NUMBERS) or not isinstance(input, Tensor):
        return pointwise.pow_tensors(input, exponent)
    return tensor_from(library.lab_pow_scalar, handle(input), exponent)


# ---- in place ----


def _in_place(result, tensor):
    check(result)
    return tensor


def add_(self, other, *, alpha=1):
    if isinstance(other, Tensor):
        r = library.lab_add_inplace(self._h, other._h, alpha)
    else:
        r = library.lab_add_scalar_inplace(self._h, alpha * other)
    return _in_place(r, self)


def sub_(self, other, *, alpha=1):
    return add_(self, other, alpha=-alpha)


def mul_(self, other):
    if isinstance(other, Tensor):
        return _in_place(library.lab_mul_inplace(self._h, other._h), self)
    return _in_place(library.lab_mul_scalar_inplace(self._h, other), self)


def div_(self, other):
    if isinstance(other, Tensor):
        return _in_place(library.lab_div_inplace(self._h, other._h), self)
    if other == 0:
        raise InvalidError("division of a tensor by 0 in place")
    return _in_place(library.lab_mul_scalar_inplace(self._h, 1 / other), self)


def relu_(self):
    return _in_place(library.lab_relu_inplace(self._h), self)


def _with_product(call):
    def operation(self, tensor1, tensor2, *, value=1):
        r = call(self._h, handle(tensor1), handle(tensor2), value)
        return _in_place(r, self)

    return operation


addcmul_ = _with_product(library.lab_addcmul_inplace)
addcdiv_ = _with_product(library.lab_addcdiv_inplace)


def fill_(self, value):
    return _in_place(library.lab_fill_inplace(self._h, float(value)), self)


def zero_(self):
    return _in_place(library.lab_fill_inplace(self._h, 0), self)


def copy_(self, src):
    return _in_place(library.lab_copy_inplace(self._h, handle(src)), self)


# ---- reductions ----


def _several(dim):
    return isinstance(dim, (tuple, list)) and len(dim) != 1


def _reduction(whole, along, is_mean):
    def operation(input, dim=None, keepdim=False, *, dtype=None):
        if dtype is not None:
            input = to(input, dtype=dtype)
        if dim is None or _several(dim) and not dim:
            return tensor_from(whole, handle(input))
        if _several(dim):
            count = reducing.count_of(input, dim) if is_mean else 1.0
            return reducing.sum_dims(input, dim, keepdim, count)
        if not isinstance(dim, int):
            (dim,) = dim
        return tensor_from(along, handle(input), dim, keepdim)

    return operation


sum = reducing.numpy_names(
    _reduction(library.lab_sum, library.lab_sum_dim, False)
)
mean = reducing.numpy_names(
    _reduction(library.lab_mean, library.lab_mean_dim, True)
)


# ---- layers ----


@in_narrow
def matmul(input, other):
    if not isinstance(other, Tensor):
        return NotImplemented
    return tensor_from(library.lab_matmul, handle(input), other._h)


@in_narrow
def linear(input, weight, bias=None):
    return tensor_from(
        library.lab_linear, handle(input), handle(weight), optional(bias)
    )


def _soft(call):
    def operation(input, dim=None, dtype=None):
        if dim is None:
            dim = 0 if input.ndim in (0, 1, 3) else 1
        if dtype is not None:
            input = to(input, dtype=dtype)
        return tensor_from(call, handle(input), dim)

    return in_float32(operation)


softmax = _soft(library.lab_softmax)
log_softmax = _soft(library.lab_log_softmax)


# Over the last dimension.
layer_norm = raw.calling(library.lab_layer_norm, "toon")


def embedding(input, weight, padding_idx=None):
    if padding_idx is not None:
        return _padded_embedding(input, weight, padding_idx)
    return tensor_from(library.lab_embedding, handle(weight), handle(input))


def _padded_embedding(input, weight, padding_idx):
    """An embedding whose padding row gets no gradient."""
    shape = weight.shape

    def rule(grad, index):
        whole = zeros(shape, device=grad.device, dtype=grad.dtype)
        raw.index_put(whole, 0, (index,), grad, True)
        whole[padding_idx].zero_()
        return whole

    out = raw.index(weight, 0, (input,))
    return made_of("EmbeddingBackward0", out, weight, rule, input)


# softmax(q·kᵀ/√d)·v of query, key, value, is_causal, as the library implements it.
plain_attention = raw.calling(library.lab_attention, "tttn")
# Of input, weight, bias, stride, padding: one number for both sides.
conv2d = raw.calling(library.lab_conv2d, "ttonn")
# Of input, kernel, stride: one number for both sides.
max_pool2d = raw.calling(library.lab_max_pool2d, "tnn")
# The mean over rows, with classes given as indices.
cross_entropy = raw.calling(library.lab_cross_entropy, "tt")
# The mean of the squares.
mse_loss = raw.calling(library.lab_mse_loss, "tt")


def dropout(input, p=0.5, training=True, inplace=False):
    return _same_or_made(input, library.lab_dropout, p, training)


# ---- other places and types ----


def target_of(arguments, device, dtype):
    """The device and the type that the arguments of to() request."""
    for argument in arguments:
        if isinstance(argument, Tensor):
            device, dtype = argument.device, argument.dtype
        elif isinstance(argument, kinds.DType):
            dtype = argument
        elif not isinstance(argument, bool):
            device = argument
    return device, dtype


def to(
    self,
    *arguments,
    device=None,
    dtype=None,
    non_blocking=False,
    copy=False,
    memory_format=None,
):
    """A tensor on another device, of another type, or both; also as another
    tensor."""
    came = handle(self)
    moved = _to(self, *target_of(arguments, device, dtype))
    return clone(moved) if copy and moved._h == came else moved


def _to(self, device, dtype):
    place = None if device is None else kinds.place_of(device)
    # A conversion runs where the tensor is, unless it leaves the device.
    if dtype is not None and place != kinds.HOST:
        self = _converted(self, dtype)
    if place is not None:
        self = _same_or_made(self, library.lab_to, place)
    if dtype is not None and place == kinds.HOST:
        self = _converted(self, dtype)
    return self


def _converted(tensor, dtype):
    return _same_or_made(
        tensor, library.lab_to_dtype, kinds.dtype_code(dtype)
    )


def _same_or_made(tensor, call, *arguments):
    """The result of a call that may return its argument: then the same object."""
    out = c_void_p()
    check(call(handle(tensor), *arguments, byref(out)))
    if out.value == tensor._h:
        library.lab_unref(out)
        return tensor
    return wrap(out.value)


def cpu(self):
    return to(self, device="cpu")


def cuda(self, device=None, non_blocking=False):
    return to(self, device="cuda" if device is None else device)


def _to_dtype(dtype):
    return lambda self: to(self, dtype=dtype)


# The method of each type, and the old name of its tensors.
_TYPES = {
    kinds.float32: ("float_", "FloatTensor"),
    kinds.float64: ("double", "DoubleTensor"),
    kinds.float16: ("half", "HalfTensor"),
    kinds.bfloat16: ("bfloat16", "BFloat16Tensor"),
    kinds.int64: ("long", "LongTensor"),
    kinds.int32: ("int_", "IntTensor"),
    kinds.int16: ("short", "ShortTensor"),
    kinds.int8: ("char", "CharTensor"),
    kinds.uint8: ("byte", "ByteTensor"),
    kinds.bool_: ("boolean", "BoolTensor"),
}
for _dtype, (_name, _) in _TYPES.items():
    globals()[_name] = _to_dtype(_dtype)


def type_as(self, other):
    return to(self, dtype=other.dtype)


def type_(self, dtype=None):
    if dtype is None:
        where = "torch.cuda." if self.is_cuda else "torch."
        return where + _TYPES[self.dtype][1]
    return to(self, dtype=dtype)
