"""Puts the package in the place of torch."""

import sys

from larder.lab import torch_stand_in as torch


class _Finder:
    """Raises an error for a module of torch that does not exist here."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.startswith("torch."):
            raise ModuleNotFoundError(
                f"{name} is not part of the lab (docs/PYTHON.md)", name=name
            )
        return None


# Where listings look for modules that are elsewhere here.
_ALIASES = {
    "torch.nn.modules": torch.nn,
    "torch.nn.modules.module": torch.nn.module,
    "torch.nn.modules.loss": torch.nn.criteria,
    "torch.nn.modules.activation": torch.nn.activations,
    "torch.nn.modules.batchnorm": torch.nn.normalization,
    "torch.nn.parameter": torch.nn,
    "torch.optim.optimizer": torch.optim.optimizer,
    "torch.autograd.function": torch.autograd,
}


def install():
    """Make `import torch` find this package, in the listing and in its
    imports."""
    prefix = torch.__name__ + "."
    sys.modules.update(_ALIASES)
    for name, module in list(sys.modules.items()):
        if name == torch.__name__:
            sys.modules["torch"] = module
        elif name.startswith(prefix):
            sys.modules["torch." + name[len(prefix) :]] = module
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
