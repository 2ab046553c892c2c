"""Operations, each a function of tensors.  methods.py makes methods of them."""

from ctypes import byref, c_void_p

from larder._library import library
from larder.lab import kinds
from larder.lab.failures import InvalidError, failure, not_covered
from larder.lab.tensors import Tensor, handle, wrap

NUMBERS = (int, float)


def _made(result, out):
    if result:
        raise failure(result)
    return wrap(out.value)


def _unary(call):
    def operation(input):
        out = c_void_p()
        return _made(call(handle(input), byref(out)), out)

    return operation


neg = _unary(library.lab_neg)
exp = _unary(library.lab_exp)
log = _unary(library.lab_log)
sqrt = _unary(library.lab_sqrt)
relu = _unary(library.lab_relu)
tanh = _unary(library.lab_tanh)
sigmoid = _unary(library.lab_sigmoid)
clone = _unary(library.lab_clone)
detach = _unary(library.lab_detach)


def contiguous(input):
    out = c_void_p()
    return _same_or_made(
        library.lab_contiguous(handle(input), byref(out)), out, input
    )


def gelu(input, approximate="none"):
    if approximate != "none":
        raise not_covered(f"gelu's approximate={approximate!r}", ["none"])
    out = c_void_p()
    return _made(library.lab_gelu(handle(input), byref(out)), out)


def _binary(tensors, scalar, reflected):
    """An operator: of two tensors, of a tensor and a number, of a number and
    a tensor."""

    def operation(input, other):
        out = c_void_p()
        if isinstance(other, Tensor):
            if isinstance(input, Tensor):
                return _made(tensors(input._h, other._h, byref(out)), out)
            if isinstance(input, NUMBERS):
                return _made(reflected(input, other._h, byref(out)), out)
        elif isinstance(other, NUMBERS):
            return _made(scalar(handle(input), other, byref(out)), out)
        return NotImplemented

    return operation


def _swapped(scalar):
    return lambda number, h, out: scalar(h, number, out)


add = _binary(
    library.lab_add, library.lab_add_scalar, _swapped(library.lab_add_scalar)
)
sub = _binary(library.lab_sub, library.lab_sub_scalar, library.lab_rsub_scalar)
mul = _binary(
    library.lab_mul, library.lab_mul_scalar, _swapped(library.lab_mul_scalar)
)
div = _binary(library.lab_div, library.lab_div_scalar, library.lab_rdiv_scalar)


def reflect(operation):
    """The operator with its sides changed."""
    return lambda self, other: operation(other, self)


def pow(input, exponent):
    if not isinstance(exponent, NUMBERS):
        return NotImplemented
    out = c_void_p()
    r = library.lab_pow_scalar(handle(input), exponent, byref(out))
    return _made(r, out)


def eq(input, other):
    if not isinstance(other, Tensor):
        if isinstance(other, NUMBERS):
            raise not_covered("comparing a tensor with a number")
        return NotImplemented
    out = c_void_p()
    return _made(library.lab_eq(handle(input), other._h, byref(out)), out)


def uncovered(symbol):
    """An operator that the lab has not: Python's own error would not say
    whose fault it is, and its != would deny a whole tensor."""

    def operation(input, other=0):
        if other is None:
            return NotImplemented
        raise not_covered(f"the operator {symbol} of a tensor")

    return operation


# ---- in place ----


def _in_place(result, tensor):
    if result:
        raise failure(result)
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


def addcmul_(self, tensor1, tensor2, *, value=1):
    return _in_place(
        library.lab_addcmul_inplace(
            self._h, handle(tensor1), handle(tensor2), value
        ),
        self,
    )


def addcdiv_(self, tensor1, tensor2, *, value=1):
    return _in_place(
        library.lab_addcdiv_inplace(
            self._h, handle(tensor1), handle(tensor2), value
        ),
        self,
    )


def fill_(self, value):
    return _in_place(library.lab_fill_inplace(self._h, float(value)), self)


def zero_(self):
    return _in_place(library.lab_fill_inplace(self._h, 0), self)


def copy_(self, src):
    return _in_place(library.lab_copy_inplace(self._h, handle(src)), self)


# ---- reductions ----


def _reduction(whole, along):
    def operation(input, dim=None, keepdim=False):
        out = c_void_p()
        if dim is None:
            return _made(whole(handle(input), byref(out)), out)
        return _made(
            along(handle(input), _one(dim), keepdim, byref(out)), out
        )

    return operation


def _one(dim):
    """A dimension, also as a tuple or list of one."""
    if isinstance(dim, (tuple, list)):
        if len(dim) != 1:
            raise not_covered(
                "reducing several dimensions at once", ["one", "all"]
            )
        (dim,) = dim
    return dim


sum = _reduction(library.lab_sum, library.lab_sum_dim)
mean = _reduction(library.lab_mean, library.lab_mean_dim)


def argmax(input, dim=None):
    out = c_void_p()
    if dim is None:
        input = input.reshape(-1)
        dim = 0
    return _made(library.lab_argmax(handle(input), dim, byref(out)), out)


# ---- layers ----


def matmul(input, other):
    if not isinstance(other, Tensor):
        return NotImplemented
    out = c_void_p()
    return _made(library.lab_matmul(handle(input), other._h, byref(out)), out)


def linear(input, weight, bias=None):
    out = c_void_p()
    r = library.lab_linear(
        handle(input), handle(weight), optional(bias), byref(out)
    )
    return _made(r, out)


def optional(tensor):
    return None if tensor is None else handle(tensor)


def softmax(input, dim):
    out = c_void_p()
    return _made(library.lab_softmax(handle(input), dim, byref(out)), out)


def log_softmax(input, dim):
    out = c_void_p()
    return _made(library.lab_log_softmax(handle(input), dim, byref(out)), out)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    if isinstance(normalized_shape, int):
        normalized_shape = (normalized_shape,)
    if tuple(normalized_shape) != tuple(input.shape[-1:]):
        raise InvalidError(
            f"layer_norm over {list(normalized_shape)} of a tensor of "
            f"{list(input.shape)}; the lab's is over the last dimension"
        )
    out = c_void_p()
    r = library.lab_layer_norm(
        handle(input), optional(weight), optional(bias), eps, byref(out)
    )
    return _made(r, out)


def embedding(input, weight):
    out = c_void_p()
    r = library.lab_embedding(handle(weight), handle(input), byref(out))
    return _made(r, out)


def scaled_dot_product_attention(query, key, value, *, is_causal=False):
    out = c_void_p()
    r = library.lab_attention(
        handle(query), handle(key), handle(value), is_causal, byref(out)
    )
    return _made(r, out)


def square(what, value):
    """A size that may be given once or, the same, for each side."""
    if isinstance(value, (tuple, list)):
        if len(set(value)) != 1:
            raise not_covered(f"{what}={tuple(value)}", ["the same both ways"])
        value = value[0]
    if isinstance(value, str):
        raise not_covered(f"{what}={value!r}", ["numbers"])
    return value


def conv2d(input, weight, bias=None, stride=1, padding=0):
    out = c_void_p()
    r = library.lab_conv2d(
        handle(input),
        handle(weight),
        optional(bias),
        square("stride", stride),
        square("padding", padding),
        byref(out),
    )
    return _made(r, out)


def max_pool2d(input, kernel_size, stride=None):
    kernel = square("kernel_size", kernel_size)
    out = c_void_p()
    r = library.lab_max_pool2d(
        handle(input),
        kernel,
        kernel if stride is None else square("stride", stride),
        byref(out),
    )
    return _made(r, out)


def dropout(input, p=0.5, training=True):
    out = c_void_p()
    r = library.lab_dropout(handle(input), p, training, byref(out))
    return _same_or_made(r, out, input)


def mean_only(reduction):
    if reduction != "mean":
        raise not_covered(f"a loss with reduction={reduction!r}", ["mean"])


def cross_entropy(input, target, *, reduction="mean"):
    mean_only(reduction)
    out = c_void_p()
    r = library.lab_cross_entropy(handle(input), handle(target), byref(out))
    return _made(r, out)


def mse_loss(input, target, *, reduction="mean"):
    mean_only(reduction)
    out = c_void_p()
    return _made(
        library.lab_mse_loss(handle(input), handle(target), byref(out)), out
    )


# ---- other places and types ----


def to(self, *arguments, device=None, dtype=None, non_blocking=False):
    """A tensor on another device, of another type, or both; as another
    tensor is."""
    for argument in arguments:
        if isinstance(argument, Tensor):
            device, dtype = argument.device, argument.dtype
        elif isinstance(argument, kinds.DType):
            dtype = argument
        else:
            device = argument
    handle(self)
    place = None if device is None else kinds.place_of(device)
    # A conversion takes place where the tensor is, unless that is the device
    # it leaves.
    if dtype is not None and place != kinds.HOST:
        self = _converted(self, dtype)
    if place is not None:
        out = c_void_p()
        r = library.lab_to(self._h, place, byref(out))
        self = _same_or_made(r, out, self)
    if dtype is not None and place == kinds.HOST:
        self = _converted(self, dtype)
    return self


def _converted(tensor, dtype):
    out = c_void_p()
    r = library.lab_to_dtype(tensor._h, kinds.dtype_code(dtype), byref(out))
    return _same_or_made(r, out, tensor)


def _same_or_made(result, out, tensor):
    """What a call made that gives back its own argument where it can: then it
    is the same object too."""
    if result:
        raise failure(result)
    if out.value == tensor._h:
        library.lab_unref(out)
        return tensor
    return wrap(out.value)


def cpu(self):
    return to(self, device="cpu")


def cuda(self, device=None, non_blocking=False):
    return to(self, device="cuda" if device is None else device)


def float_(self):
    return to(self, dtype=kinds.float32)


def long(self):
    return to(self, dtype=kinds.int64)


def boolean(self):
    return to(self, dtype=kinds.bool_)
