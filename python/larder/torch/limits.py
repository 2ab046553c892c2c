"""What PyTorch cannot do with an allocator other than its own, and why."""

import collections
import ctypes
import os

Unsupported = collections.namedtuple(
    "Unsupported", "feature, what_happens, why, instead"
)

_CALLS_CXX = (
    "the feature uses PyTorch's C++ interface, which serves only its own allocator"
)

_ALWAYS = (
    Unsupported(
        "torch.backends.cudnn.benchmark = True",
        "convolutions raise RuntimeError: cacheInfo",
        _CALLS_CXX,
        "leave it False",
    ),
    Unsupported(
        "CUDA tensors through torch.multiprocessing",
        "RuntimeError: shareIPcHandle",
        _CALLS_CXX,
        "send host tensors",
    ),
    Unsupported(
        "torch.compile(mode='reduce-overhead')",
        "RuntimeError: checkPoolLiveAllocations",
        "CUDA graph trees save and restore the state of PyTorch's own "
        "allocator",
        "another mode, or torch.cuda.graph()",
    ),
    Unsupported(
        "torch.cuda.MemPool() and use_mem_pool()",
        "RuntimeError: createOrIncrefPool (2.6: ensureExistsAndIncrefPool)",
        "the pool is created inside PyTorch's own allocator",
        "larder.torch.MemPool, without enable()",
    ),
    Unsupported(
        "torch._C._cuda_attach_out_of_memory_observer(), trackers of NCCL",
        "RuntimeError: attachOutOfMemoryObserver",
        _CALLS_CXX,
        "the setting dump_on_oom:PATH",
    ),
    Unsupported(
        "the engines nccl2 and nccl-lazy of torch.distributed (2.15)",
        "the process ends: CUDAPluggableAllocator does not yet support snapshot",
        "their process groups take a snapshot from PyTorch's own allocator",
        "nccl, which is the former engine after enable() unless "
        "TORCH_DIST_USE_NCCL2 is set",
    ),
    Unsupported(
        "memory in the PyTorch profiler (profile_memory=True)",
        "no events of memory",
        "PyTorch's own allocator reports them",
        "_record_memory_history(), larder view",
    ),
    Unsupported(
        "torch.cuda.memory._annotate_tensor()",
        "ignored, with a warning of PyTorch's",
        _CALLS_CXX,
        "_set_memory_metadata() before the allocation",
    ),
    Unsupported(
        "caching_allocator_enable(False), caching_allocator_disabled()",
        "nothing: memory is cached",
        _CALLS_CXX,
        "enable(policy='direct')",
    ),
    Unsupported(
        "backend:cudaMallocAsync in PYTORCH_CUDA_ALLOC_CONF",
        "enable() refuses the setting",
        "it selects another allocator",
        "leave it out",
    ),
    Unsupported(
        "names imported before enable()",
        "a function such as memory_summary that a module took out of torch.cuda "
        "by `from ... import` raises",
        "it is PyTorch's own function",
        "enable() first, or python -m larder.torch",
    ),
)

_UNGATED = Unsupported(
    "moving live memory",
    "a request fails where free memory lies between live allocations",
    "enable() comes too late to gate the work that uses the memory",
    "python3 -m larder.torch",
)

# Hooks that this version of PyTorch does not have, found by enable().
missing = []


def _is_gated():
    """Whether the library below which live memory may move is loaded, which the
    environment alone does not show."""
    if os.environ.get("LARDER_PRELOAD") != "gate":
        return False
    try:
        return hasattr(ctypes.CDLL(None), "larder_preload_hold")
    except (OSError, TypeError):
        return False


def unsupported():
    """A list of Unsupported: feature, what_happens, why, instead."""
    rows = [*_ALWAYS, *missing]
    if not _is_gated():
        rows.append(_UNGATED)
    return rows
