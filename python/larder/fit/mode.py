"""Intercepts every operator on a GPU tensor: PyTorch's fake tensors give the
shapes, Larder the memory.

Host tensors are real and are not intercepted.  A copy from the host to the GPU
becomes a fake tensor; a copy to the host becomes a real tensor with made-up
values (values.py).
"""

import functools

import torch
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from larder.fit import (
    adding, composites, formulas, known, ledger, real, recurrent, temporaries, unread,
    unsupported, values,
)
from larder.fit.scopes import scopes
from larder.fit.storages import Storages

aten = torch.ops.aten

_FAKE = torch._C._TorchDispatchModeKey.FAKE

# Operators whose kernels allocate their results from the last to the first.
_LAST_FIRST = {aten.native_dropout.default}

# Operators whose last results stay on the host: attention's seed and offset.
_LAST_ON_HOST = {
    aten._scaled_dot_product_cudnn_attention.default: 3,
    aten._scaled_dot_product_efficient_attention.default: 2,
}

# Operators that reduce into what they wrote.
_LOSSES = (aten.mse_loss.default, aten.smooth_l1_loss.default)

# Implemented here instead of running the operator on fake tensors.
_MADE_HERE = {
    aten._pack_padded_sequence.default,
    aten._pack_padded_sequence_backward.default,
    aten._cudnn_rnn.default,
    aten._cudnn_rnn_backward.default,
    aten.add.Tensor,
    *_LOSSES,
}

# Errors whose message says why the program ended.
_TELLING = (
    torch.cuda.OutOfMemoryError, unsupported.UnsupportedError, values.HostValueError,
)

# The GPU's random numbers are not drawn.
_IGNORED = ("generator", "pin_memory")


def _is_gpu(tensor):
    return isinstance(tensor, FakeTensor)


def _is_upload(func, args):
    """Whether the operator copies to the GPU, which reads only values that are
    kept."""
    if func is aten.copy_.default:
        return _is_gpu(args[0])
    return func is aten._to_copy.default


def _names_gpu(device):
    return device is not None and torch.device(device).type == "cuda"


def _first_fake(args, kwargs):
    tensors = known.flat((*args, *kwargs.values()))
    return next((one for one in tensors if isinstance(one, FakeTensor)), None)


class GpuMode(TorchDispatchMode):
    def __init__(self, book, options):
        super().__init__()
        self.fake = FakeTensorMode(allow_non_fake_inputs=True)
        self.storages = Storages(book)
        self.unsupported = unsupported.Unsupported()
        self.real = real.Real() if options.real_cpu else None
        # With --real-cpu everything that comes from the host is read.
        self.unread = None if self.real else unread.Unread()
        self.values = values.Values(options.on_item, self.real, self.unread)
        self.temporaries = temporaries.Temporaries(self.storages, options)
        self._special = {
            aten._local_scalar_dense.default: lambda _, args, __: (
                self.values.number(args[0])
            ),
            aten._to_copy.default: self._to_copy,
            aten.copy_.default: self._copy,
            aten.is_pinned.default: lambda func, args, kwargs: False,
            aten._pin_memory.default: lambda func, args, kwargs: args[0],
            aten.equal.default: lambda _, args, __: self.values.equal(args),
            aten.add.Tensor: self._add,
        }
        for func, run in (
            (aten._pack_padded_sequence.default, recurrent.pack),
            (aten._pack_padded_sequence_backward.default, recurrent.unpack),
            (aten._cudnn_rnn.default, recurrent.forward),
            (aten._cudnn_rnn_backward.default, recurrent.backward),
        ):
            self._special[func] = functools.partial(run, self)
        self._special.update(
            (func, self._data_dependent)
            for func in (*values.DATA_DEPENDENT, *values.WITH_OUT)
        )
        self._special.update(
            (func, self._write_into) for func in formulas.OPERATORS
        )
        self._special.update((func, self._loss) for func in _LOSSES)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        for kind in types:
            if known.wraps_others(kind) and not issubclass(kind, FakeTensor):
                return NotImplemented  # the calls it makes then come here
        kwargs = kwargs or {}
        first = _first_fake(args, kwargs)
        if self._is_of_another_mode(first):
            return func(*args, **kwargs)
        device = kwargs.get("device")
        self.unsupported.check_device(device)
        if first is None and not _names_gpu(device):
            return self._on_host(func, args, kwargs)
        # Only one thread at a time can use fake tensors.
        with self.storages.book.lock:
            return self._on_gpu(func, args, kwargs)

    def _on_gpu(self, func, args, kwargs):
        composed = composites.parts_of(func)
        if composed is not None:
            with self:
                return composed(*args, **kwargs)
        if self.unread is not None and not _is_upload(func, args):
            self.unread.before(func, args, kwargs)
        special = self._special.get(func)
        if special is not None:
            result = special(func, args, kwargs)
            if result is not NotImplemented:
                if func in _MADE_HERE:
                    self.values.follow(func, args, kwargs, result)
                return result
        return self.run(func, args, kwargs)

    def _is_of_another_mode(self, first):
        """Whether shapes are being computed under another mode of fake
        tensors, as DTensor does.  Such modes are below this one on the stack."""
        if first is not None:
            return first.fake_mode is not self.fake
        return torch._C._get_dispatch_mode(_FAKE) is not None

    # ---- on the host --------------------------------------------------------

    def _on_host(self, func, args, kwargs):
        if func is aten.is_pinned.default:
            return False
        if kwargs.get("pin_memory"):
            kwargs = dict(kwargs, pin_memory=False)
        if self.unread is not None:
            result = self.unread.on_host(func, args, kwargs)
            if result is not NotImplemented:
                return result
        if func is aten._pin_memory.default:
            return args[0].clone()
        return func(*args, **kwargs)

    # ---- on the GPU ---------------------------------------------------------

    def run(self, func, args, kwargs):
        """Run an operator: returns its fake result, with memory allocated."""
        kwargs = {k: None if k in _IGNORED else v for k, v in kwargs.items()}
        before = self.temporaries.before(func, args, kwargs)
        try:
            try:
                with self.fake:
                    result = func(*args, **kwargs)
            except fake_tensor.DynamicOutputShapeException:
                return self._data_dependent(func, args, kwargs)
            except Exception as error:
                if not unsupported.has_no_fake(error):
                    raise
                return self._by_its_kernel(func, args, kwargs)
            name = func._opname if hasattr(func, "_opname") else str(func)
            on_gpu = result
            if func in _LAST_ON_HOST:
                on_gpu = result[: -_LAST_ON_HOST[func]]
            made = known.flat(on_gpu)
            if func in _LAST_FIRST:
                made = reversed(list(made))
            for tensor in made:
                if isinstance(tensor, FakeTensor):
                    self.storages.watch(tensor, name)
            self.temporaries.after(func, args, kwargs)
            self.values.follow(func, args, kwargs, result)
        finally:
            before.end()
        return result

    def _by_its_kernel(self, func, args, kwargs):
        """A custom operator without a fake implementation: its GPU kernel may be
        composed of others."""
        for key in ("CUDA", "CompositeExplicitAutograd"):
            if not torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), key):
                continue
            try:
                with self:
                    return func._op_dk(getattr(torch._C.DispatchKey, key), *args, **kwargs)
            except _TELLING:
                raise
            except RuntimeError as error:
                raise self.unsupported.operator(func, error) from error
        raise self.unsupported.operator(func)

    def take(self, name, *tensors):
        """Allocate memory for tensors that were created in another way."""
        for tensor in tensors:
            if tensor is not None:
                self.storages.watch(tensor, name)

    def made(self, name, make, *arguments):
        """The tensor that a function makes outside of any operator, with memory."""
        with self.fake:
            tensor = make(*arguments)
        self.take(name, tensor)
        return tensor

    def resize(self, tensor, shape):
        if tensor.shape != shape:
            self.run(aten.resize_.default, (tensor, list(shape)), {})

    def _data_dependent(self, func, args, kwargs):
        return self.values.sized(self, func, args, kwargs)

    def _to_copy(self, func, args, kwargs):
        source = args[0]
        device = kwargs.get("device")
        if _is_gpu(source) and device is not None and not _names_gpu(device):
            if torch.device(device).type == "meta":
                return NotImplemented
            return self.values.on_host(source, kwargs.get("dtype"))
        if not _is_gpu(source):
            return self._upload(source, kwargs["device"], kwargs.get("dtype"))
        return NotImplemented

    def upload(self, source, assumed):
        """A host tensor's copy on the GPU; anything else unchanged."""
        if not isinstance(source, torch.Tensor):
            return source
        return self._upload(source, "cuda:0", None, assumed)

    def _upload(self, source, device, dtype, assumed=frozenset()):
        dtype = dtype or source.dtype
        layout = source
        if not (
            source.is_contiguous()
            or source.is_contiguous(memory_format=torch.channels_last)
        ):
            layout = torch.empty(source.shape, device="meta")
        result = self.run(
            aten.empty_strided.default,
            (list(source.shape), list(layout.stride())),
            {"dtype": dtype, "device": device},
        )
        self.values.hold(result, source, assumed)
        if scopes.phase == ledger.OTHER and dtype != source.dtype:
            # The copy is made first, and converted on the GPU.
            self.temporaries.passing(source.untyped_storage().nbytes())
        return result

    def _copy(self, func, args, kwargs):
        target, source = args[0], args[1]
        if not _is_gpu(target):
            torch.ops.aten.copy_(
                target, self.values.on_host(source, target.dtype)
            )
            return target
        if not _is_gpu(source):
            if source.dtype != target.dtype:
                # Copied unchanged, and converted on the GPU.
                self.temporaries.passing(source.nbytes)
            self.values.follow(func, args, kwargs, target)
            return target
        return self.run(func, args, kwargs)

    def _write_into(self, func, args, kwargs):
        into = formulas.in_place(func)
        return NotImplemented if into is None else self.run(into, args, kwargs)

    def _loss(self, func, args, kwargs):
        """The reduction of a loss: the loss of each element is written first,
        then its mean or sum."""
        reduction = args[2] if len(args) > 2 else kwargs.get("reduction", 1)
        if reduction == 0:
            return NotImplemented
        data = args[0]
        with self.fake:
            shape = torch.broadcast_shapes(data.shape, args[1].shape)
            dtype = torch.promote_types(data.dtype, args[1].dtype)
            result = data.new_empty(shape, dtype=dtype).resize_(())
        self.take(func._opname, result)
        self.temporaries.passing(result.untyped_storage().nbytes())
        return result

    def _add(self, func, args, kwargs):
        first, second = args[0], args[1]
        if not (_is_gpu(first) and _is_gpu(second)) or kwargs:
            return NotImplemented
        return first if adding.is_in_place(first, second) else NotImplemented
