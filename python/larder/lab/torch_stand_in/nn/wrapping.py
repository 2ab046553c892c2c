"""Modules that apply a function to their inputs, with options given once."""

import inspect

from larder.lab.failures import not_covered
from larder.lab.torch_stand_in.nn import functional
from larder.lab.torch_stand_in.nn.module import Module


class Wrapping(Module):
    """A call of `_function` with `_options`: their defaults, `empty` for none."""

    def __init__(self, *arguments, **named):
        super().__init__()
        options = dict(self._options)
        if len(arguments) > len(options):
            raise TypeError(f"{type(self).__name__} takes {len(options)} options")
        options.update(zip(options, arguments))
        for name, value in named.items():
            if name not in options:
                raise not_covered(f"{type(self).__name__}'s {name}")
            options[name] = value
        for name, value in options.items():
            if value is inspect.Parameter.empty:
                raise TypeError(f"{type(self).__name__} needs {name}")
            if name in ("weight", "pos_weight"):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, *inputs):
        options = {name: getattr(self, name) for name in self._options}
        return self._function(*inputs, **options)

    def extra_repr(self):
        return ", ".join(
            f"{name}={getattr(self, name)!r}"
            for name in self._options
            if name != "inplace" or self.inplace
        )


def classes(base, module, table, inputs=None):
    """Subclasses of `base` for a table of names and the names of functions.  Their
    parameters after so many inputs are the options; None: those with defaults."""
    words = table.split()
    for name, function in zip(words[::2], words[1::2]):
        function = getattr(functional, function)
        given = list(inspect.signature(function).parameters.values())[inputs or 0 :]
        body = {
            "_function": staticmethod(function),
            "_options": {
                one.name: one.default
                for one in given
                if inputs or one.default is not one.empty
            },
            "__doc__": f"functional.{function.__name__} as a module.",
            "__module__": module,
        }
        yield name, type(name, (base,), body)
