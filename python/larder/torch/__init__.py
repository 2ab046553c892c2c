"""Larder as PyTorch's allocator of GPU memory.

    import larder.torch
    larder.torch.enable()        # before anything is put on a GPU

or, for a program as it is: python3 -m larder.torch script.py.

torch.cuda.memory_stats() and related functions then report Larder's figures,
running out of memory raises torch.cuda.OutOfMemoryError, and unsupported() lists
what does not work with an allocator that is not PyTorch's own.
"""

import importlib

# The functions that need PyTorch import it, and load the plug-in.
_HOMES = {
    "MemPool": "pools",
    "OutOfMemoryError": "failures",
    "Unsupported": "limits",
    "enable": "enabling",
    "error_count": "failures",
    "is_enabled": "enabling",
    "last_error": "failures",
    "raises_out_of_memory_error": "enabling",
    "unsupported": "limits",
}

__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = importlib.import_module(f"{__name__}.{_HOMES[name]}")
    return getattr(home, name)
