"""Larder: a caching memory allocator for GPUs, from Python.

``larder.lab`` has tensors whose memory comes from the allocator, on a
simulated GPU; ``python3 -m larder.lab.run listing.py`` runs a listing that
was written for PyTorch and shows what each of its steps did to memory.
``larder.torch`` makes the allocator PyTorch's own; ``larder.cupy``,
``larder.rmm`` and ``larder.onnxruntime`` hand it to those; ``larder.preload``
speaks to the preload library.

Only the standard library is needed, and the libraries: liblarder_lab.so,
liblarder_torch.so, liblarder_adapters.so, each loaded by what needs it.
"""

__all__ = ["__version__"]


def __getattr__(name):
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from larder._library import library

    return library.larder_version().decode()
