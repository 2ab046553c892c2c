"""Values of small tensors, computed on the host beside a GPU that computes
nothing.

Kernels are put before those of the GPU, at a dispatch key of PyTorch's that
nothing else uses: below autograd, whose formulas stay as they are (they differ
under a mode), and seen from C++ as from Python.  Each calls the real operator,
so that its allocations are made, and then, if all that it reads is known and
what it makes is small, the same operator on the host.

Known is a storage as a whole: one whose Python object has the values.  What is
not seen to be written by operators is not known: results of kernels that are
launched without them, of graphs, of large tensors.
"""

import functools
import sys

import torch

from larder._after_import import after_import
from larder.fit import ledger
from larder.fit.standin import assumptions

_KEY = "Fake"
_FLOAT_BYTES = 64 << 10
_INDEX_BYTES = 4 << 20  # of what has no fraction: masks, indices

_VALUES, _ASSUMED = "_larder_values", "_larder_assumed"

aten = torch.ops.aten

_LAUNCHERS = (
    ("triton.runtime.jit", "JITFunction"),
    ("torch._inductor.runtime.triton_heuristics", "CachingAutotuner"),
)
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_NUMBERS = (int, float, bool, complex)

# Their result is all of what they write.
_OVERWRITE = ("zero_", "fill_", "copy_", "normal_", "uniform_", "random_")
# What they make has no values.
_WITHOUT_VALUES = (
    "empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided",
)
# They only ever make large floats, and are called often.
_HEAVY = (
    "mm", "addmm", "bmm", "baddbmm", "convolution", "convolution_backward",
    "native_layer_norm", "native_layer_norm_backward", "native_batch_norm",
    "gelu", "gelu_backward", "silu_backward", "threshold_backward",
    "_softmax_backward_data", "_log_softmax_backward_data",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_backward",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_efficient_attention_backward",
    "embedding_dense_backward", "_fused_adamw_", "_fused_adam_", "_fused_sgd_",
)
# The size of their result depends on values.
_OF_VALUES = ("nonzero", "_unique2", "unique_consecutive", "unique_dim")


class Unknown(Exception):
    """A value is not known."""


def _is_small(tensor):
    most = _FLOAT_BYTES if tensor.is_floating_point() else _INDEX_BYTES
    return tensor.numel() * tensor.element_size() <= most


def _flat(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _flat(one)


def is_known(tensor):
    return getattr(tensor.untyped_storage(), _VALUES, None) is not None


def forget(value):
    """Of tensors that something else writes."""
    for tensor in _flat(value):
        if type(tensor) in _PLAIN and tensor.is_cuda:
            storage = tensor.untyped_storage()
            if getattr(storage, _VALUES, None) is not None:
                setattr(storage, _VALUES, None)


def host_of(tensor):
    """The tensor's values, as a view of all that its storage has."""
    storage = tensor.untyped_storage()
    held = getattr(storage, _VALUES, None)
    if held is None or held.nbytes() != storage.nbytes() or tensor.is_complex():
        raise Unknown
    view = torch.empty(0, dtype=tensor.dtype)
    return view.set_(held, tensor.storage_offset(), tensor.size(), tensor.stride())


def _keep(tensor, host, assumed):
    storage = tensor.untyped_storage()
    held = torch.zeros(storage.nbytes(), dtype=torch.uint8).untyped_storage()
    setattr(storage, _VALUES, held)
    setattr(storage, _ASSUMED, assumed)
    host_of(tensor).copy_(host)


def _takes_tensor(argument):
    return str(argument.type) in ("Tensor", "Optional[Tensor]")


class Values:
    def __init__(self):
        self.assumed = {}  # assumption -> the first place that goes by it
        self._key = torch._C._dispatch_key_parse(_KEY)
        self._below = torch._C._dispatch_keyset_full_after(self._key)
        self._random = torch.Generator().manual_seed(0).get_state()
        self._libraries = []
        self._register()
        self._follow_launches()

    # ---- where it stands ---------------------------------------------------

    def include(self):
        """In this thread, and in what autograd does for it."""
        torch._C._dispatch_tls_set_dispatch_key_included(self._key, True)

    def _register(self):
        library = torch.library.Library("_", "IMPL")
        library.fallback(torch.library.fallthrough_kernel, _KEY)
        own = torch.library.Library("aten", "IMPL")
        self._libraries = [library, own]
        for name in torch._C._dispatch_get_all_op_names():
            if name.startswith("aten::"):
                kernel = self._kernel_of(name)
                if kernel is not None:
                    own.impl(kernel[0], kernel[1], _KEY, with_keyset=True)

    def _follow_launches(self):
        """Triton's kernels are launched without operators."""

        def follow(module, name):
            owner = getattr(sys.modules[module], name)
            launch = owner.run

            def run(kernel, *args, **kwargs):
                forget(args)
                forget(list(kwargs.values()))
                return launch(kernel, *args, **kwargs)

            owner.run = run

        for module, name in _LAUNCHERS:
            after_import(module, functools.partial(follow, module, name))

    def _kernel_of(self, full):
        """The operator and what stands before it, or None."""
        name, _, overload = full.removeprefix("aten::").partition(".")
        if name in _WITHOUT_VALUES or name in _HEAVY:
            return None
        if torch._C._dispatch_has_kernel_for_dispatch_key(
            full, "CompositeImplicitAutograd"
        ):
            return None
        try:
            op = getattr(getattr(aten, name), overload or "default")
        except AttributeError:
            return None
        if name == "lift_fresh":
            return op, self._made_of_data(op)
        schema = op._schema
        if schema.is_mutable:
            return op, self._writing(op, name)
        if any(one.alias_info is not None for one in schema.returns):
            return None  # a view
        return op, self._special(op, name) or self._making(op, name)

    def _special(self, op, name):
        if name == "_local_scalar_dense":
            return self._reading(op)
        if name == "_to_copy":
            return self._copying(op)
        return self._sized(op, name) if name in _OF_VALUES else None

    def _real(self, op):
        """The operator below: f(keys, args, kwargs).  Numbers that stand for
        tensors come as numbers, for which there is another overload."""
        redispatch, below = op.redispatch, self._below
        packet = op.overloadpacket
        arguments = op._schema.arguments
        places = [at for at, one in enumerate(arguments) if _takes_tensor(one)]

        def real(keys, args, kwargs):
            for at in places:
                if at < len(args) and type(args[at]) in _NUMBERS:
                    return self._quietly(packet, *args, **kwargs)
            return redispatch(keys & below, *args, **kwargs)

        return real

    # ---- the host's computation --------------------------------------------

    def _map(self, value, assumed):
        """An argument as the host has it.  Raises Unknown."""
        kind = type(value)
        if isinstance(value, torch.Tensor):
            if kind not in _PLAIN:
                raise Unknown
            if not value.is_cuda:
                return value
            host = host_of(value)
            assumed |= getattr(value.untyped_storage(), _ASSUMED, set())
            return host
        if kind in (list, tuple):
            return kind(self._map(one, assumed) for one in value)
        if kind is torch.device:
            return torch.device("cpu")
        if kind is torch.Generator:
            return None
        return value

    def _can(self):
        return not (
            torch._C._len_torch_dispatch_stack()
            or torch.cuda.is_current_stream_capturing()
        )

    def _compute(self, op, args, kwargs):
        """(the host's result, what was assumed).  Raises Unknown."""
        if not self._can():
            raise Unknown
        assumed = set()
        if any(type(one) in _NUMBERS for one in args[1:2]):
            op = op.overloadpacket
        args = [self._map(one, assumed) for one in args]
        kwargs = {name: self._map(one, assumed) for name, one in kwargs.items()}
        return self._on_host(op, args, kwargs), assumed

    def _on_host(self, op, args, kwargs):
        """The program's random numbers of the host stay as they are."""
        is_random = torch.Tag.nondeterministic_seeded in getattr(op, "tags", ())
        include = torch._C._dispatch_tls_set_dispatch_key_included
        before = torch.get_rng_state() if is_random else None
        if is_random:
            torch.set_rng_state(self._random)
        include(self._key, False)
        try:
            with torch._C._AutoDispatchBelowAutograd():
                return op(*args, **kwargs)
        except (RuntimeError, NotImplementedError, IndexError, ValueError):
            raise Unknown from None  # the host has no such kernel
        finally:
            include(self._key, True)
            if is_random:
                self._random = torch.get_rng_state()
                torch.set_rng_state(before)

    def _quietly(self, function, *args, **kwargs):
        """Something of this module's own, which nothing stands before."""
        include = torch._C._dispatch_tls_set_dispatch_key_included
        include(self._key, False)
        try:
            with torch._C._AutoDispatchBelowAutograd():
                return function(*args, **kwargs)
        finally:
            include(self._key, True)

    def _store(self, made, host, assumed):
        for one, values in zip(_flat(made), _flat(host)):
            if one.is_cuda and one.shape == values.shape and _is_small(one):
                _keep(one, values, assumed)

    def go_by(self, assumed):
        """The program goes by what is assumed."""
        for one in assumed:
            self.assumed.setdefault(one, ledger.caller())

    # ---- operators ---------------------------------------------------------

    def _making(self, op, name):
        """One that makes new tensors."""
        real = self._real(op)
        rule = assumptions.RULES.get(name)

        def kernel(keys, *args, **kwargs):
            made = real(keys, args, kwargs)
            if type(made) is torch.Tensor and not (made.is_cuda and _is_small(made)):
                return made
            self._learn(op, rule, made, args, kwargs)
            return made

        return kernel

    def _learn(self, op, rule, made, args, kwargs):
        if not any(
            type(one) is torch.Tensor and one.is_cuda and _is_small(one)
            for one in _flat(made)
        ):
            return
        try:
            host, assumed = self._compute(op, args, kwargs)
            self._quietly(self._store, made, host, assumed)
        except Unknown:
            forget(made)
            if rule is not None and self._can():
                self._quietly(self._assume, rule, made, args)

    def _assume(self, rule, made, args):
        host, what = rule(args, *_flat(made))
        for one, values in zip(_flat(made), host):
            if values is not None and _is_small(one):
                _keep(one, values, {what} if what else set())

    def _writing(self, op, name):
        """One that writes to its arguments."""
        real = self._real(op)
        places = [
            at
            for at, one in enumerate(op._schema.arguments)
            if one.alias_info is not None and one.alias_info.is_write
        ]
        names = [op._schema.arguments[at].name for at in places]
        # `out=` is overwritten too.
        overwrites = name in _OVERWRITE or not op._schema.name.endswith("_")
        keeps = assumptions.KEPT.get(name, ())

        def kernel(keys, *args, **kwargs):
            made = real(keys, args, kwargs)
            written = [args[at] for at in places if at < len(args)]
            written += [kwargs[one] for one in names if one in kwargs]
            if len(written) == 1 and type(written[0]) in _PLAIN:
                one = written[0]
                if not one.is_cuda:
                    if name == "copy_" and type(args[1]) in _PLAIN and args[1].is_cuda:
                        self._bring(one, args[1])
                    return made
                if one.untyped_storage().nbytes() > _INDEX_BYTES:
                    return made
            self._write(op, written, overwrites, keeps, args, kwargs)
            return made

        return kernel

    def _write(self, op, written, overwrites, keeps, args, kwargs):
        if keeps:
            for at in set(range(len(args))) - set(keeps):
                forget(args[at])
            return
        fresh = []
        try:
            if not self._can():
                raise Unknown
            if overwrites:
                fresh = [one for one in _flat(written) if self._begin(one)]
            self._compute(op, args, kwargs)
        except Unknown:
            forget(written)
            return
        assumed = set()
        for one in _flat([*args, *kwargs.values()]):
            if one.is_cuda:
                assumed |= getattr(one.untyped_storage(), _ASSUMED, set())
        for one in _flat(written):
            if one.is_cuda:
                setattr(one.untyped_storage(), _ASSUMED, assumed)

    def _begin(self, tensor):
        """Make one known that is about to be written as a whole."""
        if not tensor.is_cuda or is_known(tensor) or not _is_small(tensor):
            return False
        size = tensor.numel() * tensor.element_size()
        if size != tensor.untyped_storage().nbytes() or tensor.is_complex():
            return False
        zeros = torch.zeros((), dtype=tensor.dtype)
        self._quietly(_keep, tensor, zeros, set())
        return True

    # ---- back to the host --------------------------------------------------

    def _bring(self, target, source):
        """A copy to the host, after the real one."""
        try:
            host = host_of(source)
        except (Unknown, RuntimeError):
            return
        if type(target) is torch.Tensor and self._can():
            self._quietly(target.copy_, host)
            self.go_by(getattr(source.untyped_storage(), _ASSUMED, set()))

    def _copying(self, op):
        real = self._real(op)
        make = self._making(op, "_to_copy")

        def kernel(keys, source, **kwargs):
            if not isinstance(source, torch.Tensor) or not source.is_cuda:
                return make(keys, source, **kwargs)
            device = kwargs.get("device")
            if device is None or device.type != "cpu":
                return make(keys, source, **kwargs)
            made = real(keys, (source,), kwargs)
            self._bring(made, source)
            return made

        return kernel

    def _made_of_data(self, op):
        """torch.tensor(): the copy to the GPU is made with nothing before it."""
        real = self._real(op)

        def kernel(keys, tensor):
            made = real(keys, (tensor,), {})
            if type(made) is torch.Tensor and made.is_cuda and self._can():
                # More than that the simulated memory does not have.
                if made.numel() * made.element_size() <= _FLOAT_BYTES:
                    host = self._quietly(made.cpu)
                    self._quietly(_keep, made, host, set())
            return made

        return kernel

    def _reading(self, op):
        real = self._real(op)

        def kernel(keys, tensor):
            value = real(keys, (tensor,), {})
            if type(tensor) not in _PLAIN or not tensor.is_cuda:
                return value
            try:
                host = host_of(tensor)
            except Unknown:
                return value
            self.go_by(getattr(tensor.untyped_storage(), _ASSUMED, set()))
            return self._quietly(op, host)

        return kernel

    def _sized(self, op, name):
        """One whose result's size depends on values: the real one finds none,
        and what it should have found is allocated after it."""
        real = self._real(op)

        def kernel(keys, tensor, *args, **kwargs):
            made = real(keys, (tensor, *args), kwargs)
            if type(tensor) not in _PLAIN or not tensor.is_cuda or not self._can():
                return made
            try:
                host, assumed = self._compute(op, (tensor, *args), kwargs)
            except Unknown:
                if name != "nonzero":
                    return made
                self.go_by({assumptions.ALL_COUNT})
                return self._all_of(tensor, made)
            self.go_by(assumed)
            return self._sized_as(made, host, assumed)

        return kernel

    def _all_of(self, tensor, made):
        shape = (tensor.numel(), tensor.dim())
        del made
        return self._quietly(
            lambda: torch.empty(shape[::-1], dtype=torch.long, device=tensor.device).t()
        )

    def _sized_as(self, made, host, assumed):
        def make(one, values):
            if one.shape == values.shape:
                return one
            strides = values.stride()
            return torch.empty_strided(
                values.shape, strides, dtype=one.dtype, device=one.device
            )

        def both():
            if isinstance(made, torch.Tensor):
                result = make(made, host)
            else:
                result = tuple(make(a, b) for a, b in zip(made, host))
            self._store(result, host, assumed)
            return result

        return self._quietly(both)
