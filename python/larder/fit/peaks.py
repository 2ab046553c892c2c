"""The peaks of PyTorch's allocator, which the program may reset."""

import functools

import torch


def _index(device):
    if isinstance(device, int):
        return device
    from torch.cuda._utils import _get_device_index

    return _get_device_index(device, optional=True)


class Peaks:
    """Over the whole run.  `owner` has the functions that reset them."""

    def __init__(self, owner, names):
        self._before = {}  # device -> (allocated, reserved)
        for name in names:
            reset = getattr(owner, name, None)
            if reset is not None:
                setattr(owner, name, self._noted(reset))

    def _noted(self, reset):
        @functools.wraps(reset)
        def noted(device=None):
            if torch.cuda.is_initialized():
                index = _index(device)
                self._before[index] = self.of(index)
            return reset(device)

        return noted

    def of(self, device):
        """(allocated, reserved)"""
        now = (
            torch.cuda.max_memory_allocated(device),
            torch.cuda.max_memory_reserved(device),
        )
        return tuple(map(max, now, self._before.get(device, (0, 0))))
