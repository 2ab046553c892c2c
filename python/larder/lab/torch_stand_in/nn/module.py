"""Modules: named parameters and submodules, and operations on all of them."""

import collections
import functools
import itertools

from larder.lab import kinds
from larder.lab.constructing import constructor
from larder.lab.failures import InvalidError, not_covered
from larder.lab.operations import target_of
from larder.lab.recording import no_grad
from larder.lab.tensors import Parameter, Tensor


class Module:
    """Base class: has parameters and a forward()."""

    # Found on the class until __init__() has run, so that an earlier assignment
    # can be detected.
    _parameters = None

    def __init__(self):
        put = object.__setattr__
        put(self, "training", True)
        put(self, "_parameters", {})
        put(self, "_buffers", {})
        put(self, "_modules", {})
        put(self, "_unsaved", set())
        put(self, "_hooks", {})

    def forward(self, *arguments, **named):
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __call__(self, *arguments, **named):
        if not self._hooks:
            return self.forward(*arguments, **named)
        return self._call_hooked(arguments, named)

    def _call_hooked(self, arguments, named):
        for before, hook in list(self._hooks.values()):
            if before:
                changed = hook(self, arguments)
                if changed is not None:
                    arguments = (
                        changed if isinstance(changed, tuple) else (changed,)
                    )
        output = self.forward(*arguments, **named)
        for before, hook in list(self._hooks.values()):
            if not before:
                changed = hook(self, arguments, output)
                output = output if changed is None else changed
        return output

    def register_forward_hook(self, hook):
        return _Handle(self._hooks, (False, hook))

    def register_forward_pre_hook(self, hook):
        return _Handle(self._hooks, (True, hook))

    # ---- names ----

    def _tables(self):
        return self._parameters, self._buffers, self._modules

    def __setattr__(self, name, value):
        if isinstance(value, Parameter):
            self._register("_parameters", name, value)
        elif isinstance(value, Module):
            self._register("_modules", name, value)
        else:
            for table in self._tables() if self._parameters is not None else ():
                if name in table:
                    if value is not None and not isinstance(value, Tensor):
                        raise TypeError(
                            f"{name} is a parameter or module; a "
                            f"{type(value).__name__} cannot replace it"
                        )
                    table[name] = value
                    return
            object.__setattr__(self, name, value)

    def _register(self, which, name, value):
        if self._parameters is None:
            raise AttributeError(
                f"{type(self).__name__}.__init__() must call "
                "super().__init__() before it sets parameters or modules"
            )
        self.__dict__.pop(name, None)
        for table in self._tables():
            table.pop(name, None) if table is not getattr(self, which) else None
        getattr(self, which)[name] = value

    def __getattr__(self, name):
        for table in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(table, {})
            if name in found:
                return found[name]
        if hasattr(_Known, name):
            raise not_covered(f"Module.{name}")
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}; "
            "methods of torch's that the lab lacks are in docs/PYTHON.md"
        )

    def __delattr__(self, name):
        for table in self._tables():
            if name in table:
                del table[name]
                return
        object.__delattr__(self, name)

    def register_parameter(self, name, param):
        self._register("_parameters", name, param)

    def register_buffer(self, name, tensor, persistent=True):
        self._register("_buffers", name, tensor)
        if not persistent:
            self._unsaved.add(name)

    def add_module(self, name, module):
        self._register("_modules", name, module)

    register_module = add_module

    # ---- going over them ----

    def children(self):
        for _, module in self.named_children():
            yield module

    def named_children(self):
        for name, module in self._modules.items():
            if module is not None:
                yield name, module

    def named_modules(self, memo=None, prefix=""):
        memo = set() if memo is None else memo
        if id(self) in memo:
            return
        memo.add(id(self))
        yield prefix, self
        for name, module in self.named_children():
            inner = f"{prefix}.{name}" if prefix else name
            yield from module.named_modules(memo, inner)

    def modules(self):
        for _, module in self.named_modules():
            yield module

    def _named(self, which, prefix, recurse):
        seen = set()
        modules = self.named_modules() if recurse else [("", self)]
        for inner, module in modules:
            for name, tensor in getattr(module, which).items():
                if tensor is None or id(tensor) in seen:
                    continue
                seen.add(id(tensor))
                yield ".".join(p for p in (prefix, inner, name) if p), tensor

    def named_parameters(self, prefix="", recurse=True):
        return self._named("_parameters", prefix, recurse)

    def parameters(self, recurse=True):
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix="", recurse=True):
        return self._named("_buffers", prefix, recurse)

    def buffers(self, recurse=True):
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # ---- doing something to all of them ----

    def apply(self, fn):
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def train(self, mode=True):
        object.__setattr__(self, "training", mode)
        for child in self.children():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        for parameter in self.parameters():
            clear_grad(parameter, set_to_none)

    def to(
        self,
        *arguments,
        device=None,
        dtype=None,
        non_blocking=False,
        memory_format=None,
    ):
        """memory_format has no effect: the lab has only one."""
        device, dtype = target_of(arguments, device, dtype)
        if dtype is not None and not dtype.is_floating_point:
            raise not_covered(f"a module of {dtype!r}", ["types of floats"])
        if device is not None or dtype is not None:
            self._move(device, dtype)
        return self

    def _move(self, device, dtype):
        """Move each tensor and its gradient in turn: the objects stay the
        same, their storage changes."""
        for child in self.children():
            child._move(device, dtype)
        for parameter in self._parameters.values():
            if parameter is not None:
                move_parameter(parameter, device, dtype)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                typed = dtype if buffer.is_floating_point() else None
                self._buffers[name] = buffer.to(device=device, dtype=typed)

    def cpu(self):
        return self.to("cpu")

    def cuda(self, device=None):
        return self.to("cuda" if device is None else device)

    def double(self):
        return self.to(kinds.float64)

    def float(self):
        return self.to(kinds.float32)

    def half(self):
        return self.to(kinds.float16)

    def bfloat16(self):
        return self.to(kinds.bfloat16)

    def get_submodule(self, target):
        found = self
        for name in target.split(".") if target else ():
            found = getattr(found, name)
        return found

    def get_parameter(self, target):
        return dict(self.named_parameters())[target]

    # ---- states ----

    def _state(self, prefix=""):
        """The state in torch's order: parameters and buffers of each module in
        turn."""
        for inner, module in _all_modules(self, prefix):
            for table in (module._parameters, module._buffers):
                for name, tensor in table.items():
                    if tensor is not None and name not in module._unsaved:
                        yield f"{inner}{name}", tensor

    def state_dict(self, *, prefix="", keep_vars=False):
        return collections.OrderedDict(
            (name, tensor if keep_vars else tensor.data)
            for name, tensor in self._state(prefix)
        )

    def load_state_dict(self, state_dict, strict=True, assign=False):
        own = dict(self._state())
        missing = [name for name in own if name not in state_dict]
        unknown = [name for name in state_dict if name not in own]
        others = [
            f"{name} has sizes {list(state_dict[name].shape)}, not "
            f"{list(tensor.shape)}"
            for name, tensor in own.items()
            if name in state_dict and state_dict[name].shape != tensor.shape
        ]
        if others or strict and (missing or unknown):
            raise InvalidError(
                f"Error(s) in loading state_dict for {type(self).__name__}: "
                f"the state lacks {missing} and has {unknown} besides"
                + "".join("; " + one for one in others)
            )
        with no_grad():
            for name, tensor in own.items():
                if name in state_dict:
                    tensor.copy_(state_dict[name])
        return _Incompatible(missing, unknown)

    # ---- in words ----

    # The attributes that repr() shows: values, then names with their values.
    _repr_of = "", ""

    def extra_repr(self):
        values, named = (names.split() for names in self._repr_of)
        return ", ".join(
            [str(getattr(self, name)) for name in values]
            + [f"{name}={getattr(self, name)}" for name in named]
        )

    def __repr__(self):
        inner = [
            f"({name}): {_indented(repr(module))}"
            for name, module in self._modules.items()
        ]
        extra = self.extra_repr()
        name = type(self).__name__
        if not inner:
            return f"{name}({extra})"
        lines = ([extra] if extra else []) + inner
        return f"{name}(\n  " + "\n  ".join(lines) + "\n)"


# A constructor of a module.
layer = functools.partial(constructor, first=Module.__init__)


class _Incompatible(
    collections.namedtuple("IncompatibleKeys", "missing_keys unexpected_keys")
):
    """Keys without a counterpart in load_state_dict()."""

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()


class _Handle:
    """Removes a hook."""

    _numbers = itertools.count()

    def __init__(self, hooks, hook):
        self._hooks = hooks
        self._number = next(self._numbers)
        hooks[self._number] = hook

    def remove(self):
        self._hooks.pop(self._number, None)


def _all_modules(module, prefix):
    """All modules by dotted name, as in a state dict."""
    yield prefix, module
    for name, child in module.named_children():
        yield from _all_modules(child, f"{prefix}{name}.")


class _Known:
    """Methods of torch.nn.Module that the lab does not implement."""

    type = to_empty = compile = share_memory = None
    register_full_backward_hook = register_backward_hook = None
    register_full_backward_pre_hook = None


def _indented(text):
    return text.replace("\n", "\n  ")


def clear_grad(parameter, set_to_none):
    gradient = parameter.grad
    if gradient is None:
        return
    if set_to_none:
        del gradient
        parameter.grad = None
    else:
        gradient.zero_()


def move_parameter(parameter, device, dtype=None):
    gradient = parameter.grad
    requires_grad = parameter.requires_grad
    moved = parameter.data.to(device=device, dtype=dtype)
    if moved.device == parameter.device and moved.dtype is parameter.dtype:
        return
    parameter._become(moved, requires_grad)
    del moved
    if gradient is not None:
        parameter.grad = gradient.to(device=device, dtype=dtype)
