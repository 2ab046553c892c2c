"""The predefined names at the prompt."""

import builtins
import math
import sys
import types

from larder.lab import checkpoint
from larder.lab import torch_stand_in as torch


class _Cuda(str):
    """`cuda` as a device, and as torch.cuda."""

    def __getattr__(self, name):
        return getattr(torch.cuda, name)

    def __dir__(self):
        return dir(torch.cuda)


def public(owner):
    """The public names of a part of torch."""
    gate = vars(owner).get("__getattr__")
    names = gate.names() if hasattr(gate, "names") else dir(owner)
    return sorted(name for name in names if not name.startswith("_"))


def _given():
    """torch's names may be used without `torch.`, except for Python's own and for
    single letters, which are left to the user."""
    names = {
        name: getattr(torch, name)
        for name in public(torch)
        if not hasattr(builtins, name) and len(name) > 1
    }
    names.update(
        torch=torch,
        nn=torch.nn,
        F=torch.nn.functional,
        optim=torch.optim,
        math=math,
        cuda=_Cuda("cuda"),
        cpu="cpu",
        checkpoint=checkpoint,
    )
    return names


class Names:
    """The global names at the prompt, which are those of __main__."""

    def __init__(self):
        self._module = types.ModuleType("__main__")
        sys.modules["__main__"] = self._module
        self.space = self._module.__dict__
        self._given = {}
        self.forget()

    def forget(self):
        """Remove all but the predefined names."""
        # Newest first: their gradients refer to the older ones.
        for name in reversed(self.defined()):
            del self.space[name]
        self._given = _given()
        self.space.update(self._given, __builtins__=builtins)

    def defined(self):
        """The names that were set since then."""
        return [
            name
            for name, value in self.space.items()
            if not name.startswith("__")
            and (name not in self._given or self._given[name] is not value)
        ]
