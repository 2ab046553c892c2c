"""torch.save() and torch.load() of GPU tensors: files as from a real GPU, with
made-up values."""

import torch


def _no_tag(storage):
    return None


def _stay_on_host(storage, location):
    """Keep data for the GPU on the host until it is a tensor."""
    return storage if str(location).startswith("cuda") else None


def _upload(value):
    if isinstance(value, torch.nn.Parameter):
        return torch.nn.Parameter(value.detach().cuda(), value.requires_grad)
    if isinstance(value, torch.Tensor):
        return value.cuda()
    if isinstance(value, dict):
        for key in value:
            value[key] = _upload(value[key])
        return value
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(_upload(v) for v in value)
    return value


def _names_gpu(location):
    if isinstance(location, torch.device):
        return location.type == "cuda"
    return isinstance(location, str) and location.startswith("cuda")


def _around(load):
    def load_here(f, map_location=None, *args, **kwargs):
        loaded = load(f, map_location, *args, **kwargs)
        return _upload(loaded) if _names_gpu(map_location) else loaded

    return load_here


def install():
    # A lower priority number than PyTorch's own for GPUs, which is 20.
    torch.serialization.register_package(15, _no_tag, _stay_on_host)
    torch.load = _around(torch.load)
