"""Larder: a caching memory allocator for GPUs, from Python.

``larder.lab`` has tensors whose memory comes from the allocator, on a
simulated GPU; ``python3 -m larder.lab.run listing.py`` runs a listing that
was written for PyTorch and shows what each of its steps did to memory.

Only the standard library is needed, and liblarder_lab.so.
"""

from larder._library import library

__all__ = ["__version__"]

__version__ = library.larder_version().decode()
