"""Queries of PyTorch that work in every supported version."""

import torch


def is_initialized():
    """Whether CUDA is in use."""
    return bool(torch.cuda.is_initialized())


def index_of(device):
    """The number of a device that is given as None, a number, "cuda:1", a
    torch.device, or a torch.cuda.device context."""
    if device is None:
        return int(torch.cuda.current_device())
    if isinstance(device, int):
        return device
    if isinstance(getattr(device, "idx", None), int):
        return device.idx  # torch.cuda.device
    if isinstance(device, str):
        kind, _, number = device.partition(":")
        if kind not in ("cuda", "hip") or (number and not number.isdigit()):
            raise ValueError(f"Expected a cuda device, but got: {device}")
        return int(number) if number else int(torch.cuda.current_device())
    if getattr(device, "type", None) != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    index = getattr(device, "index", None)
    return int(torch.cuda.current_device()) if index is None else int(index)


def out_of_memory_error():
    """The type of the out-of-memory exception, by its newest name."""
    for owner in (torch, torch.cuda):
        found = getattr(owner, "OutOfMemoryError", None)
        if found is not None:
            return found
    return RuntimeError


def device_count():
    return int(torch.cuda.device_count())


def has_gpu_code():
    """Whether this PyTorch was built with CUDA or HIP. CPU builds have the
    Python names of both."""
    version = getattr(torch, "version", None)
    return getattr(version, "cuda", None) is not None or is_hip()


def is_hip():
    return getattr(getattr(torch, "version", None), "hip", None) is not None
