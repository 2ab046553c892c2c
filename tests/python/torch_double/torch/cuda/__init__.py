"""torch.cuda."""

import contextlib
import os

import torch

OutOfMemoryError = torch.OutOfMemoryError

_initialized = False
synchronizations = 0


def is_initialized():
    return _initialized


def _lazy_init():
    global _initialized
    if not _initialized:
        _initialized = True
        torch._allocators.current.is_initialized = True


def current_device():
    _lazy_init()
    return 0


def device_count():
    return int(os.environ.get("TORCH_DOUBLE_DEVICES", "2"))


def synchronize(device=None):
    global synchronizations
    synchronizations += 1


@contextlib.contextmanager
def use_mem_pool(pool, device=None):
    pool.begun = True
    yield
    pool.begun = False


class MemPool:
    """Keeps what it was given."""

    def __init__(self, allocator=None, use_on_oom=False):
        self.allocator = allocator
        self.use_on_oom = use_on_oom
        self.begun = False
        self.id = (0, 1)


from torch.cuda import memory  # noqa: E402
from torch.cuda.memory import (  # noqa: E402,F401
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
