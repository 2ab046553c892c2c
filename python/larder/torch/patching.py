"""Replaces functions of torch.cuda."""

import sys

import torch

from larder.torch import metadata, snapshots, statistics

# torch.cuda's stand in for torch.accelerator's, which take a device under another
# name.
_ACCELERATOR = (
    "empty_cache",
    "memory_stats",
    "reset_peak_memory_stats",
    "reset_accumulated_memory_stats",
)


def replacements():
    """The replacement functions by name."""
    found = {}
    for module in (statistics, snapshots, metadata):
        for name in module.__all__:
            found[name] = getattr(module, name)
    return found


def put(owner, names):
    """Replace those names that PyTorch has.  Names are never added, because
    programs test for them."""
    for name, value in names.items():
        if hasattr(owner, name):
            setattr(owner, name, value)


def accelerator_replacements():
    """The same of torch.accelerator, once those of torch.cuda are installed."""
    found = {name: getattr(torch.cuda.memory, name) for name in _ACCELERATOR}
    return {
        name: function if name == "empty_cache" else _by_device_index(function)
        for name, function in found.items()
    }


def _by_device_index(function):
    def call(device_index=None, /):
        return function(device_index)

    call.__name__ = function.__name__
    return call


def _modules(name):
    """torch.NAME and torch.NAME.memory, where they exist."""
    owner = getattr(torch, name, None)
    memory = sys.modules.get(f"torch.{name}.memory") or getattr(
        owner, "memory", None
    )
    return [module for module in (owner, memory) if module is not None]


def install():
    functions = replacements()
    for module in _modules("cuda"):
        put(module, functions)
    for module in _modules("accelerator"):
        put(module, accelerator_replacements())
