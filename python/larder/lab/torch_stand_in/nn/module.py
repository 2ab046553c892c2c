"""Modules: parameters and other modules under names, and what is done to all
of them."""

import collections

from larder.lab import kinds
from larder.lab.failures import InvalidError, not_covered
from larder.lab.recording import no_grad
from larder.lab.tensors import Parameter, Tensor


class Module:
    """What has parameters and a forward()."""

    # Found on the class until __init__() ran, so that an assignment before it
    # can be told.
    _parameters = None

    def __init__(self):
        put = object.__setattr__
        put(self, "training", True)
        put(self, "_parameters", {})
        put(self, "_buffers", {})
        put(self, "_modules", {})

    def forward(self, *arguments, **named):
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __call__(self, *arguments, **named):
        return self.forward(*arguments, **named)

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

    def to(self, *arguments, device=None, dtype=None, non_blocking=False):
        for argument in arguments:
            if isinstance(argument, kinds.DType):
                dtype = argument
            elif isinstance(argument, Tensor):
                device = argument.device
            else:
                device = argument
        if dtype not in (None, kinds.float32):
            raise not_covered(f"a module of {dtype!r}", ["float32"])
        if device is not None:
            self._move(device)
        return self

    def _move(self, device):
        """Each tensor in turn, and its gradient: the object stays, what it
        stands for changes."""
        for child in self.children():
            child._move(device)
        for parameter in self._parameters.values():
            if parameter is not None:
                move_parameter(parameter, device)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = buffer.to(device)

    def cpu(self):
        return self.to("cpu")

    def cuda(self, device=None):
        return self.to("cuda" if device is None else device)

    def float(self):
        return self

    # ---- states ----

    def _state(self):
        yield from self.named_parameters()
        yield from self.named_buffers()

    def state_dict(self):
        return collections.OrderedDict(
            (name, tensor.data) for name, tensor in self._state()
        )

    def load_state_dict(self, state_dict, strict=True):
        own = dict(self._state())
        missing = [name for name in own if name not in state_dict]
        unknown = [name for name in state_dict if name not in own]
        if strict and (missing or unknown):
            raise InvalidError(
                f"the state lacks {missing} and has {unknown} besides"
            )
        with no_grad():
            for name, tensor in own.items():
                if name in state_dict:
                    tensor.copy_(state_dict[name])

    # ---- in words ----

    def extra_repr(self):
        return ""

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


class _Known:
    """Methods of torch.nn.Module that the lab has not."""

    double = half = bfloat16 = type = to_empty = compile = share_memory = None
    register_forward_hook = register_forward_pre_hook = None
    register_full_backward_hook = register_backward_hook = None
    get_submodule = get_parameter = register_full_backward_pre_hook = None


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


def move_parameter(parameter, device):
    gradient = parameter.grad
    requires_grad = parameter.requires_grad
    moved = parameter.data.to(device)
    if moved.device == parameter.device:
        return
    parameter._become(moved, requires_grad)
    del moved
    if gradient is not None:
        parameter.grad = gradient.to(device)
