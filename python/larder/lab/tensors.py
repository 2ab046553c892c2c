"""Tensors: handles of the library, reference-counted by Python."""

import ctypes
from ctypes import byref, c_double, c_void_p

from larder._library import library
from larder.lab import kinds
from larder.lab.failures import check, failure, not_covered

_new = object.__new__
# Storages that were pinned, by their ids, which are never used again.
_pinned = set()
_read = library.lab_read


class Tensor:
    """A tensor of the lab.  It owns one reference; the memory is released as
    soon as the last reference is dropped."""

    # One word for the handle and nothing else: there may be millions.
    __slots__ = ("_h", "__weakref__")

    def __new__(cls, *arguments, **named):
        from larder.lab.making import complete

        return complete(arguments, **named)

    # The default holds the function when the module's names are gone already.
    def __del__(self, unref=library.lab_unref):
        try:
            unref(self._h)
        except AttributeError:
            pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(f"'Tensor' object has no attribute {name!r}")
        if name == "_h":
            raise AttributeError("the tensor has not been created")
        raise not_covered(f"Tensor.{name}", dir(Tensor))

    is_sparse = is_quantized = is_meta = False

    # ---- what it is ----

    @property
    def dtype(self):
        return kinds.dtypes[library.lab_dtype_of(self._h)]

    @property
    def device(self):
        return kinds.devices[library.lab_place_of(self._h)]

    @property
    def is_cuda(self):
        return library.lab_place_of(self._h) == kinds.DEVICE

    @property
    def ndim(self):
        return library.lab_ndim(self._h)

    dim = ndimension = lambda self: library.lab_ndim(self._h)

    @property
    def shape(self):
        h = self._h
        return kinds.Size(library.lab_sizes(h)[: library.lab_ndim(h)])

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def stride(self, dim=None):
        h = self._h
        strides = tuple(library.lab_strides(h)[: library.lab_ndim(h)])
        return strides if dim is None else strides[dim]

    def numel(self):
        return library.lab_numel(self._h)

    nelement = numel

    def element_size(self):
        return self.dtype.itemsize

    @property
    def itemsize(self):
        return self.dtype.itemsize

    @property
    def nbytes(self):
        return self.numel() * self.dtype.itemsize

    def is_contiguous(self):
        return library.lab_is_contiguous(self._h)

    def is_floating_point(self):
        return self.dtype.is_floating_point

    def get_device(self):
        return 0 if self.is_cuda else -1

    def pin_memory(self):
        """A copy in host memory.  Whether host memory is pinned makes no
        difference to the device."""
        if self.is_cuda:
            raise RuntimeError("only tensors in host memory can be pinned")
        made = self if self.is_pinned() else self.clone()
        _pinned.add(library.lab_storage_id(made._h))
        return made

    def is_pinned(self):
        return library.lab_storage_id(self._h) in _pinned

    def record_stream(self, stream):
        check(library.lab_record_stream(self._h, stream.cuda_stream))

    def share_memory_(self):
        return self

    def data_ptr(self):
        return library.lab_address(self._h)

    def untyped_storage(self):
        return Storage(self)

    def __len__(self):
        shape = self.shape
        if not shape:
            raise TypeError("len() of a tensor without dimensions")
        return shape[0]

    # ---- its values ----

    def _values(self):
        """All elements in order, as a ctypes array."""
        dtype = self.dtype
        if dtype in (kinds.float16, kinds.bfloat16):
            return self.detach().cpu().float()._values()
        values = (dtype.ctype * self.numel())()
        check(_read(self._h, values, ctypes.sizeof(values)))
        return values

    def tolist(self):
        python = self.dtype.python
        values = [python(value) for value in self._values()]
        for size in reversed(self.shape[1:]):
            if size == 0:
                return _empty_list(self.shape)
            values = [
                values[at : at + size] for at in range(0, len(values), size)
            ]
        return values if self.ndim else values[0]

    def item(self):
        dtype = self.dtype
        if dtype.python is int and self.numel() == 1:
            # As a double it might not be exact.
            return int(self._values()[0])
        value = c_double()
        check(library.lab_item(self._h, byref(value)))
        return dtype.python(value.value)

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __bool__(self):
        return bool(self.item())

    def __index__(self):
        if self.dtype.python is float:
            raise TypeError("only an integer can be an index")
        return self.item()

    def __repr__(self):
        length = library.lab_format(self._h, None, 0)
        room = ctypes.create_string_buffer(length + 1)
        library.lab_format(self._h, room, length + 1)
        return room.value.decode()

    def __format__(self, spec):
        if self.ndim == 0:
            return format(self.item(), spec)
        return format(repr(self), spec)

    # ---- gradients ----

    @property
    def requires_grad(self):
        return library.lab_requires_grad(self._h)

    @requires_grad.setter
    def requires_grad(self, on):
        check(library.lab_set_requires_grad(self._h, on))

    def requires_grad_(self, requires_grad=True):
        check(library.lab_set_requires_grad(self._h, requires_grad))
        return self

    @property
    def is_leaf(self):
        return library.lab_is_leaf(self._h)

    @property
    def grad(self):
        h = library.lab_grad(self._h)
        return None if h is None else wrap(library.lab_ref(h))

    @grad.setter
    def grad(self, gradient):
        check(library.lab_set_grad(self._h, optional(gradient)))

    @property
    def grad_fn(self):
        name = library.lab_grad_fn_name(self._h)
        return None if name is None else GradFn(name.decode())

    def retain_grad(self):
        check(library.lab_retain_grad(self._h))

    def register_hook(self, hook):
        from larder.lab.hooks import register_hook

        return register_hook(self, hook)

    def backward(self, gradient=None, retain_graph=False, create_graph=False):
        if create_graph:
            raise not_covered("backward's create_graph=True", ["False"])
        check(
            library.lab_backward(
                self._h, optional(gradient), bool(retain_graph)
            )
        )

    def detach_(self):
        self._become(self, False)
        return self

    def numpy(self, *, force=False):
        """A NumPy array, if NumPy is installed."""
        import numpy

        if not force and (self.requires_grad or self.is_cuda):
            raise RuntimeError(
                "numpy() of a tensor that requires grad, or is on the device: "
                "use tensor.detach().cpu().numpy()"
            )
        dtype = self.dtype.name
        return numpy.array(self.tolist(), dtype=dtype).reshape(self.shape)

    def __array__(self, dtype=None, copy=None):
        return self.numpy(force=True)

    @property
    def data(self):
        return tensor_from(library.lab_detach, self._h)

    @data.setter
    def data(self, other):
        if other.requires_grad:
            other = other.data
        self._become(other, self.requires_grad)

    def _become(self, other, requires_grad):
        """Use the storage of `other`, a new tensor that nothing else refers
        to."""
        made = tensor_from(library.lab_detach, other._h)
        made.requires_grad = requires_grad
        check(library.lab_move_hooks(self._h, made._h))
        self._h, made._h = made._h, self._h

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise RuntimeError("only a leaf of the graph can be deep-copied")
        source = self.data
        out = c_void_p()
        check(library.lab_clone(source._h, byref(out)))
        copy = wrap(out.value, type(self))
        copy.requires_grad = self.requires_grad
        memo[id(self)] = copy
        return copy

    def __reduce_ex__(self, protocol):
        from larder.lab.saving import reduced

        return reduced(self)


class Parameter(Tensor):
    """A leaf tensor that modules register and optimizers update."""

    __slots__ = ()

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = Tensor([])
        out = c_void_p()
        check(library.lab_detach(handle(data), byref(out)))
        made = wrap(out.value, cls)
        made.requires_grad = requires_grad
        return made

    def __repr__(self):
        return "Parameter containing:\n" + Tensor.__repr__(self)


class Storage:
    """The memory of a tensor, of which a view uses a part."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor):
        self._tensor = tensor

    def nbytes(self):
        return library.lab_storage_bytes(self._tensor._h)

    def data_ptr(self):
        return library.lab_address(self._tensor._h)

    size = __len__ = nbytes

    def __getattr__(self, name):
        raise not_covered(f"storage.{name}", ["nbytes"])


class GradFn:
    """The operation that created a tensor, by name."""

    __slots__ = ("_name",)

    def __init__(self, name):
        self._name = name

    def name(self):
        return self._name

    def __repr__(self):
        return f"<{self._name}>"


def wrap(h, cls=Tensor):
    """A Tensor that takes ownership of a handle."""
    tensor = _new(cls)
    tensor._h = h
    return tensor


def handle(tensor):
    """The handle of an argument, which must be a tensor."""
    try:
        return tensor._h
    except AttributeError:
        raise TypeError(
            f"expected a tensor, not {type(tensor).__name__}"
        ) from None


def optional(tensor):
    """The handle of an argument that may be None."""
    return None if tensor is None else handle(tensor)


def tensor_from(call, *arguments):
    """The tensor that a call of the library makes; it is the last argument."""
    out = c_void_p()
    result = call(*arguments, byref(out))
    if result:
        raise failure(result)
    tensor = _new(Tensor)
    tensor._h = out.value
    return tensor


def pair_from(call, *arguments):
    """The two tensors that a call of the library makes."""
    first, second = c_void_p(), c_void_p()
    check(call(*arguments, byref(first), byref(second)))
    return wrap(first.value), wrap(second.value)


def array_of(tensors, of=handle):
    """Handles as an array for the library; `of`: that of each tensor."""
    return (c_void_p * max(len(tensors), 1))(*map(of, tensors))


def _empty_list(shape):
    if len(shape) == 1:
        return []
    return [_empty_list(shape[1:]) for _ in range(shape[0])]
