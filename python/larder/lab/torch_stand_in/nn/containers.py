"""Containers of modules."""

import collections.abc

from larder.lab.tensors import Parameter
from larder.lab.torch_stand_in.nn.module import Module


class _Listed(Module):
    """Modules, or parameters, named 0, 1, …"""

    _table = property(lambda self: self._modules)
    _put = Module.add_module

    def _add_all(self, members):
        for member in members:
            self.append(member)

    def append(self, member):
        self._put(str(len(self._table)), member)
        return self

    def __len__(self):
        return len(self._table)

    def __iter__(self):
        return iter(self._table.values())

    def __getitem__(self, index):
        members = list(self._table.values())
        if isinstance(index, slice):
            return type(self)._of(members[index])
        return members[index]

    def __setitem__(self, index, member):
        self._put(list(self._table)[index], member)

    @classmethod
    def _of(cls, members):
        return cls(members)


class Sequential(_Listed):
    """A chain of modules: each module's output is the next one's input."""

    def __init__(self, *modules):
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], dict):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            self._add_all(modules)

    @classmethod
    def _of(cls, modules):
        return cls(*modules)

    # Each intermediate result is released as soon as it is used.
    def forward(self, input):
        for module in self:
            input = module(input)
        return input


class ModuleList(_Listed):
    """A list of modules."""

    def __init__(self, modules=()):
        super().__init__()
        self._add_all(modules)

    def extend(self, modules):
        self._add_all(modules)
        return self


class ModuleDict(Module, collections.abc.MutableMapping):
    """Modules by name."""

    def __init__(self, modules=None):
        super().__init__()
        self.update(modules or {})

    def __getitem__(self, name):
        return self._modules[name]

    def __setitem__(self, name, module):
        self.add_module(name, module)

    def __delitem__(self, name):
        del self._modules[name]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    # Two are equal only if they are the same module.
    __eq__, __hash__ = object.__eq__, object.__hash__


class ParameterList(_Listed):
    """A list of parameters."""

    _table = property(lambda self: self._parameters)
    _put = Module.register_parameter

    def __init__(self, parameters=()):
        super().__init__()
        self._add_all(parameters)

    def append(self, parameter):
        if not isinstance(parameter, Parameter):
            parameter = Parameter(parameter)
        return super().append(parameter)
