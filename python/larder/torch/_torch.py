"""What is asked of PyTorch, in any version."""

import torch


def is_initialized():
    """Whether CUDA is in use."""
    return bool(torch.cuda.is_initialized())


def index_of(device):
    """A device's number: of None, a number, "cuda:1", or a torch.device."""
    if device is None:
        return int(torch.cuda.current_device())
    if isinstance(device, int):
        return device
    if isinstance(device, str):
        kind, _, number = device.partition(":")
        if kind not in ("cuda", "hip") or (number and not number.isdigit()):
            raise ValueError(f"Expected a cuda device, but got: {device}")
        return int(number) if number else int(torch.cuda.current_device())
    if getattr(device, "type", "cuda") != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    index = getattr(device, "index", None)
    return int(torch.cuda.current_device()) if index is None else int(index)


def out_of_memory_error():
    """The type of the exception, by its newest name."""
    for owner in (torch, torch.cuda):
        found = getattr(owner, "OutOfMemoryError", None)
        if found is not None:
            return found
    return RuntimeError


def device_count():
    return int(torch.cuda.device_count())


def is_hip():
    return getattr(getattr(torch, "version", None), "hip", None) is not None
