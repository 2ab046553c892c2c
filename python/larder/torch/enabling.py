"""Makes Larder PyTorch's allocator."""

import os
import warnings

import torch

from larder.torch import limits, patching, settings
from larder.torch._plugin import (
    PYTHON_OUT_OF_MEMORY,
    address,
    library,
    path,
    plugin_must,
)

# PyTorch's names for the functions that set its hooks, which follow no rule,
# and our functions.  Without the first group PyTorch would silently go on with
# memory still in use elsewhere, so it is not supported.
_NEEDED = {"set_record_stream_fn": "larder_torch_record_stream"}
_GRAPHS = {
    "set_begin_allocate_to_pool": "larder_torch_begin_pool",
    "set_end_allocate_to_pool_fn": "larder_torch_end_pool",
    "set_release_pool": "larder_torch_release_pool",
}
_OTHERS = {
    "set_init_fn": "larder_torch_init",
    "set_reset_fn": "larder_torch_reset",
    "set_memory_fraction_fn": "larder_torch_fraction",
    "set_base_alloc_fn": "larder_torch_base",
}

_enabled = None  # the settings it was done with
_kept = None  # PyTorch keeps only the functions' addresses


def _check_torch():
    if torch.cuda.is_initialized():
        raise RuntimeError(
            "CUDA is already initialized, and PyTorch can change its allocator only "
            "before that: call larder.torch.enable() before anything is put on a "
            "GPU, or run the program with python -m larder.torch"
        )
    if torch.version.cuda is None and torch.version.hip is None:
        raise RuntimeError(
            f"PyTorch {torch.__version__} was built without CUDA: there is no "
            "memory of a GPU to allocate"
        )
    memory = torch.cuda.memory
    for name in ("CUDAPluggableAllocator", "change_current_allocator"):
        if not hasattr(memory, name):
            raise RuntimeError(
                f"PyTorch {torch.__version__} has no torch.cuda.memory.{name}: "
                "2.0 or newer is needed"
            )


def _check_exceptions():
    raises = library.larder_torch_raises()
    if raises == 0:
        raise RuntimeError(
            "this process has no libstdc++, which reports failed allocations: "
            "tensors without memory would result"
        )
    return raises


def _hook(handle, name, function):
    """Install a hook.  False if this PyTorch does not have it."""
    setter = getattr(handle, name, None)
    if setter is None:
        return False
    setter(address(function))
    return True


def _set_hooks(handle):
    for name, function in _NEEDED.items():
        if not _hook(handle, name, function):
            raise RuntimeError(
                f"PyTorch {torch.__version__} has no {name}: memory that "
                "another stream uses would be reused at once"
            )
    for name, function in _OTHERS.items():
        _hook(handle, name, function)
    if all(hasattr(handle, name) for name in _GRAPHS):
        for name, function in _GRAPHS.items():
            _hook(handle, name, function)
        return
    limits.missing.append(
        limits.Unsupported(
            "CUDA graphs",
            "a graph's memory may be reused while it is replayed",
            f"PyTorch {torch.__version__} lacks the hooks for pools",
            "a newer PyTorch",
        )
    )
    warnings.warn(
        "larder.torch: this PyTorch does not say which memory belongs to a CUDA "
        "graph: do not capture graphs",
        RuntimeWarning,
        stacklevel=3,
    )


def _configure(conf, policy, devices):
    first = None
    if devices is None and torch.version.hip is not None:
        first = "hip:0"
    elif isinstance(devices, str):
        first = devices
    plugin_must(
        library.larder_torch_configure(
            first.encode() if first else None, policy, conf.encode()
        )
    )
    if isinstance(devices, dict):
        for number, spec in devices.items():
            plugin_must(
                library.larder_torch_set_device(int(number), spec.encode())
            )


def _take_former_nccl():
    """From 2.15 on "nccl" is an engine whose process groups take a snapshot from
    PyTorch's own allocator; with any other allocator the process ends. The former
    engine still exists."""
    os.environ.setdefault("TORCH_DIST_USE_NCCL2", "0")


def enable(conf=None, policy=None, devices=None):
    """Make Larder PyTorch's allocator of GPU memory, for the life of the
    process.

    Before anything is put on a GPU.  `conf`: settings, "key:value,…"
    (larder-conf(5)); without it those of LARDER_CONF, or else of
    PYTORCH_CUDA_ALLOC_CONF.  `policy`: "pytorch", "larder", "direct".
    `devices`: the spec of the first device, the others follow, or a dict of
    specs by PyTorch's numbers; without it the GPUs themselves.

    Calling it again with the same arguments does nothing. RuntimeError says why
    this is impossible, ValueError or TypeError what is wrong with an argument;
    PyTorch is then unchanged."""
    global _enabled, _kept
    settings.check(conf, policy, devices)
    asked = (settings.conf_of(conf), policy, repr(devices))
    if _enabled is not None:
        if _enabled == asked:
            return
        raise RuntimeError(
            "Larder is PyTorch's allocator already, with other settings"
        )
    _check_torch()
    _check_exceptions()
    _configure(asked[0], settings.policy_of(policy), devices)
    allocator = torch.cuda.memory.CUDAPluggableAllocator(
        path, "larder_torch_alloc", "larder_torch_free"
    )
    _set_hooks(allocator.allocator())
    torch.cuda.memory.change_current_allocator(allocator)
    _take_former_nccl()
    patching.install()
    _kept = allocator
    _enabled = asked


def is_enabled():
    return _enabled is not None


def raises_out_of_memory_error():
    """Whether a failed allocation raises torch.cuda.OutOfMemoryError here;
    otherwise it raises its base class, RuntimeError."""
    return library.larder_torch_raises() == PYTHON_OUT_OF_MEMORY
