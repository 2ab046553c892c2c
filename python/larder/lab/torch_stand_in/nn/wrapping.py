"""Modules that apply a function to their inputs, with options given once."""

import inspect

from larder.lab.torch_stand_in.nn import functional
from larder.lab.torch_stand_in.nn.module import Module, layer


# Options that are tensors, and move with the module.
_BUFFERS = ("weight", "pos_weight")


class Wrapping(Module):
    """A call of `_function` with `_options`, by name."""

    def _made_from(self, **buffers):
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, *inputs):
        options = {name: getattr(self, name) for name in self._options}
        return self._function(*inputs, **options)

    def extra_repr(self):
        return ", ".join(
            f"{name}={getattr(self, name)!r}"
            for name in self._options
            if name != "inplace" or self.inplace
        )


def classes(base, module, table, inputs=None, **more):
    """Subclasses of `base` for a table of names and the names of functions.  Their
    parameters after so many inputs are the options; None: those with defaults.
    `more`: further defaults, passed to _made_from()."""
    words = table.split()
    for name, function in zip(words[::2], words[1::2]):
        function = getattr(functional, function)
        given = list(inspect.signature(function).parameters.values())[inputs or 0 :]
        options = {
            one.name: one.default
            for one in given
            if one.name != "dtype" and (inputs or one.default is not one.empty)
        }
        body = {
            "_function": staticmethod(function),
            "_options": tuple(options),
            "__init__": layer(passed=" ".join([*_BUFFERS, *more]), **options, **more),
            "__doc__": f"functional.{function.__name__} as a module.",
            "__module__": module,
        }
        yield name, type(name, (base,), body)
