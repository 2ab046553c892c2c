"""Containers of modules."""

from larder.lab.tensors import Parameter
from larder.lab.torch_stand_in.nn.module import Module


class _Listed(Module):
    """Modules named 0, 1, …"""

    def _add_all(self, modules):
        for module in modules:
            self.append(module)

    def append(self, module):
        self.add_module(str(len(self._modules)), module)
        return self

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, index):
        modules = list(self._modules.values())
        if isinstance(index, slice):
            return type(self)._of(modules[index])
        return modules[index]

    def __setitem__(self, index, module):
        self.add_module(list(self._modules)[index], module)


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

    @classmethod
    def _of(cls, modules):
        return cls(modules)

    def extend(self, modules):
        self._add_all(modules)
        return self


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules=None):
        super().__init__()
        self.update(modules or {})

    def update(self, modules):
        pairs = modules.items() if hasattr(modules, "items") else modules
        for name, module in pairs:
            self.add_module(name, module)

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

    def __contains__(self, name):
        return name in self._modules

    def keys(self):
        return self._modules.keys()

    def values(self):
        return self._modules.values()

    def items(self):
        return self._modules.items()


class ParameterList(Module):
    """A list of parameters."""

    def __init__(self, parameters=()):
        super().__init__()
        for parameter in parameters:
            self.append(parameter)

    def append(self, parameter):
        if not isinstance(parameter, Parameter):
            parameter = Parameter(parameter)
        self.register_parameter(str(len(self._parameters)), parameter)
        return self

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters.values())

    def __getitem__(self, index):
        return list(self._parameters.values())[index]
