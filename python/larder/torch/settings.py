"""Checks the arguments of enable(), without PyTorch."""

import os

from larder._calls import policy_number
from larder.torch._plugin import library, must

# Read in this order if no settings are given.
_CONF_VARIABLES = (
    "LARDER_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_HIP_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
)


def conf_of(conf):
    """The settings given, or those of the environment."""
    if conf is not None:
        return conf
    for variable in _CONF_VARIABLES:
        if os.environ.get(variable):
            return os.environ[variable]
    return ""


def policy_of(name):
    """The number of a policy."""
    if name is None:
        return 0
    return policy_number(library, name, lambda result: must(result, ValueError))


def _check_types(conf, policy, devices):
    for name, value in (("conf", conf), ("policy", policy)):
        if not isinstance(value, (str, type(None))):
            raise TypeError(f"{name}: expected text, but got: {value!r}")
    if devices is None:
        return
    specs = [*devices.values()] if isinstance(devices, dict) else [devices]
    if not all(isinstance(spec, str) for spec in specs):
        raise TypeError(
            "devices: expected the spec of the first, such as 'cuda:0', or a "
            f"dict of specs by number, but got: {devices!r}"
        )
    if "" in specs:
        raise ValueError("devices: the spec of a device is empty")


def check(conf, policy, devices):
    """Check the arguments of enable().  Raises TypeError or ValueError."""
    _check_types(conf, policy, devices)
    policy_of(policy)
    must(library.larder_conf_check(conf_of(conf).encode()), ValueError)
