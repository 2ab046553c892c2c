"""torch.cuda._utils."""

import torch


def _get_device_index(device, optional=False, allow_cpu=False):
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
