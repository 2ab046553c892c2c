"""Intercepts the operators of a real PyTorch, and computes small values
(larder.fit.known).

Kernels are registered ahead of the GPU's, at a dispatch key that nothing else
uses: below autograd, whose formulas are then unchanged (they differ under a
dispatch mode), and effective for calls from C++ as well as Python.  Each calls the
real operator, so that it makes its allocations, and then, if all its inputs are
known and its results are small, the same operator on the host.
"""

import ctypes
import functools
import sys

import torch

from larder._after_import import after_import
from larder.fit import assumptions
from larder.fit.known import (
    INDEX_BYTES, PLAIN, WITHOUT_VALUES, Known, Unknown,
    assumed_of, covers, host_of, is_known, keep, traits_of,
)

_KEY = "Fake"
_BACKED_BYTES = 64 << 10  # the simulated memory's limit (engine.py)
aten = torch.ops.aten

_LAUNCHERS = (
    ("triton.runtime.jit", "JITFunction"),
    ("torch._inductor.runtime.triton_heuristics", "CachingAutotuner"),
)

# They only create large floating-point tensors, and are called often.
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


def _positions(tensor):
    """Room for the positions of all elements, one dimension after the other."""
    shape = tensor.dim(), tensor.numel()
    return torch.empty(shape, dtype=torch.long, device=tensor.device).t()


def _repeated_once(repeats, **named):
    return torch.empty_like(repeats, dtype=torch.long)


def _counts(numbers, weights=None, minlength=0):
    dtype = torch.long
    if weights is not None:
        is_narrow = weights.dtype == torch.float32
        dtype = torch.float32 if is_narrow else torch.float64
    count = len(numbers)
    if is_known(numbers):  # only their weights are not
        count = 1 + host_of(numbers).max().item() if count else 0
    return torch.empty(max(count, minlength), dtype=dtype, device=numbers.device)


# Operators whose result's size depends on values, and the most that each may find.
_FOUND = {
    **assumptions.ALL_CHOSEN, "nonzero": _positions, "bincount": _counts,
    "repeat_interleave": _repeated_once,
}


def _blank():
    """f(whether): this thread reads zeros from the GPU's memory, not stale contents
    (adapters/driver/fakecuda.h)."""
    return ctypes.CDLL("libcuda.so.1").fakecuda_blank


class Values(Known):
    float_bytes = INDEX_BYTES

    def __init__(self):
        super().__init__()
        self._key = torch._C._dispatch_key_parse(_KEY)
        self._below = torch._C._dispatch_keyset_full_after(self._key)
        self._blank = _blank()
        self._libraries = []
        self._register()
        self._pass_through_higher_order()
        self._follow_launches()
        after_import("torchvision.extension", self._register_of_torchvision)

    # ---- interception -------------------------------------------------------

    def include(self):
        """Enable it in this thread, and in autograd's work for it."""
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

    def _register_of_torchvision(self):
        try:
            op = torch.ops.torchvision.nms.default
        except AttributeError:
            return  # a torchvision without its operators
        library = torch.library.Library("torchvision", "IMPL")
        self._libraries.append(library)
        library.impl("nms", self._sized(op, "nms"), _KEY, with_keyset=True)

    def _pass_through_higher_order(self):
        """Operators that take functions (flex_attention) use a separate list of
        operators without a kernel."""
        ops = torch._ops
        ops._HIGHER_ORDER_OP_DEFAULT_FALLTHROUGH_DISPATCH_KEYS.append(self._key)
        for op in ops._higher_order_ops.values():
            op.fallthrough(self._key)

    def _follow_launches(self):
        """Triton's kernels are launched without operators."""

        def follow(module, name):
            owner = getattr(sys.modules[module], name)
            launch = owner.run

            def run(kernel, *args, **kwargs):
                self.forget(args)
                self.forget(list(kwargs.values()))
                return launch(kernel, *args, **kwargs)

            owner.run = run

        for module, name in _LAUNCHERS:
            after_import(module, functools.partial(follow, module, name))

    def _kernel_of(self, full):
        """The operator and the kernel that intercepts it, or None."""
        name, _, overload = full.removeprefix("aten::").partition(".")
        if name in WITHOUT_VALUES or name in _HEAVY:
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
        if full == "aten::nonzero.out":
            return op, self._sized_into(op, name)
        if schema.is_mutable:
            return op, self._writing(op, name)
        if any(one.alias_info is not None for one in schema.returns):
            return None  # a view
        return op, self._special(op, name) or self._making(op)

    def _special(self, op, name):
        if name == "_local_scalar_dense":
            return self._reading(op)
        if name == "_to_copy":
            return self._copying(op)
        return self._sized(op, name) if name in _FOUND else None

    def _real(self, op):
        """The operator below: f(keys, args, kwargs).  Numbers in place of tensors
        arrive as numbers, for which there is another overload."""
        redispatch, below = op.redispatch, self._below
        packet = op.overloadpacket
        has_number = traits_of(op).has_number
        if any(str(one.type) == "number" for one in op._schema.arguments):
            # Some copy it to the GPU and call an operator on tensors, which would
            # not get it as a number.
            return lambda keys, args, kwargs: self.quietly(op, *args, **kwargs)

        def real(keys, args, kwargs):
            if has_number(args):
                return self.quietly(packet, *args, **kwargs)
            return redispatch(keys & below, *args, **kwargs)

        return real

    def can(self):
        return not (
            torch._C._len_torch_dispatch_stack()
            or torch.cuda.is_current_stream_capturing()
        )

    def quietly(self, function, *args, **kwargs):
        """Run an operation of this module, without interception."""
        include = torch._C._dispatch_tls_set_dispatch_key_included
        include(self._key, False)
        try:
            with torch._C._AutoDispatchBelowAutograd():
                return function(*args, **kwargs)
        finally:
            include(self._key, True)

    # ---- operators ---------------------------------------------------------

    def _making(self, op):
        """An operator that creates tensors."""
        real = self._real(op)

        def kernel(keys, *args, **kwargs):
            made = real(keys, args, kwargs)
            if type(made) is torch.Tensor and not (made.is_cuda and self.is_small(made)):
                return made
            self.learn(op, made, args, kwargs)
            return made

        return kernel

    def _writing(self, op, name):
        """An operator that writes to its arguments."""
        real = self._real(op)
        written_of = traits_of(op).written

        def kernel(keys, *args, **kwargs):
            made = real(keys, args, kwargs)
            written = written_of(args, kwargs)
            if len(written) == 1 and type(written[0]) in PLAIN:
                one = written[0]
                if not one.is_cuda:
                    if name == "copy_" and self.follows(args[1]):
                        self._bring(one, args[1])
                    return made
                if one.untyped_storage().nbytes() > INDEX_BYTES:
                    return made
            self.write(op, args, kwargs)
            return made

        return kernel

    # ---- back to the host --------------------------------------------------

    def _bring(self, target, source):
        """A copy to the host, made after the real one."""
        try:
            host = host_of(source)
        except (Unknown, RuntimeError):
            return
        if type(target) in PLAIN and self.can():
            self.quietly(target.copy_, host)
            self.go_by(assumed_of(source))

    def _copying(self, op):
        real = self._real(op)
        make = self._making(op)

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
        """torch.tensor(): its copy to the GPU is not intercepted."""
        real = self._real(op)

        def kernel(keys, tensor):
            made = real(keys, (tensor,), {})
            if type(made) is torch.Tensor and made.is_cuda and self.can():
                # The simulated memory does not hold more than that.
                if made.nbytes <= _BACKED_BYTES:
                    host = self.quietly(made.cpu)
                    self.quietly(keep, made, host, set())
            return made

        return kernel

    def _reading(self, op):
        real = self._real(op)

        def kernel(keys, tensor):
            value = real(keys, (tensor,), {})
            if not self.follows(tensor):
                return value
            try:
                host = host_of(tensor)
            except Unknown:
                return value
            self.go_by(assumed_of(tensor))
            return self.quietly(op, host)

        return kernel

    def _sized(self, op, name):
        """An operator whose result's size depends on values: the real one finds
        nothing, and the result that it should have had is allocated after it."""
        real = self._real(op)
        make = self._making(op)

        def kernel(keys, tensor, *args, **kwargs):
            if kwargs.get("output_size") is not None:  # the program knows it
                return make(keys, tensor, *args, **kwargs)
            self._blank(1)
            try:
                made = real(keys, (tensor, *args), kwargs)
            finally:
                self._blank(0)
            if not self.follows(tensor) or not self.can():
                return made
            try:
                host, assumed = self.compute(op, (tensor, *args), kwargs)
            except Unknown:
                del made
                return self._found(name, tensor, *args, **kwargs)
            self.go_by(assumed)
            return self._sized_as(made, host, assumed)

        return kernel

    def _found(self, name, tensor, *args, **kwargs):
        """The result for unknown values: every element."""
        if not is_known(tensor):
            self.go_by({assumptions.of_size(name)})
        return self.quietly(_FOUND[name], tensor, *args, **kwargs)

    def _sized_into(self, op, name):
        """The same with out=."""
        find = self._sized(op.overloadpacket.default, name)

        def kernel(keys, tensor, *, out):
            found = find(keys, tensor)
            shape, assumed = found.shape, assumed_of(found)
            host = host_of(found) if is_known(found) else None
            del found
            self.quietly(out.resize_, shape)
            self.forget(out)
            if host is not None and self.follows(out) and covers(out):
                self.quietly(keep, out, host, assumed)
            return out

        return kernel

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
            self.store(result, host, assumed)
            return result

        return self.quietly(both)
