"""torch.cuda.MemPool over Larder: PyTorch's own allocator, with segments from
Larder."""

import torch

from larder.torch._plugin import path


def _make(allocator, arguments):
    cuda_pool = getattr(torch.cuda, "MemPool", None)
    if cuda_pool is None:
        raise RuntimeError(
            f"PyTorch {torch.__version__} has no torch.cuda.MemPool: 2.5 or "
            "newer is needed"
        )
    return cuda_pool(allocator, **arguments)


class MemPool:
    """A pool for torch.cuda.use_mem_pool(), whose segments Larder allocates.

    PyTorch's policy cuts them, and its statistics, snapshots and out-of-memory
    errors are its own; without larder.torch.enable().  Keyword arguments go to
    torch.cuda.MemPool.

        pool = larder.torch.MemPool()
        with pool.use():
            x = torch.empty(1 << 20, device="cuda")
    """

    # Memory may outlive the pool, and is released through this.
    _allocators = []

    def __init__(self, **arguments):
        allocator = torch.cuda.memory.CUDAPluggableAllocator(
            path, "larder_torch_pool_alloc", "larder_torch_free"
        )
        self._allocators.append(allocator)
        self.pool = _make(allocator.allocator(), arguments)

    def use(self, device=None):
        """torch.cuda.use_mem_pool() for this pool: a context manager, for the
        calling thread."""
        return torch.cuda.use_mem_pool(self.pool, device)

    def __getattr__(self, name):
        return getattr(self.__dict__["pool"], name)
