"""torch.cuda with one simulated device."""

from contextlib import nullcontext as _nullcontext
from types import SimpleNamespace as _SimpleNamespace

from larder.lab import get_rng_state, set_rng_state
from larder.lab import session as _session
from larder.lab.failures import gate, not_covered
from larder.lab.torch_stand_in.cuda import amp, memory
from larder.lab.torch_stand_in.cuda.memory import _check
from larder.lab.torch_stand_in.cuda.streams import (
    Event,
    ExternalStream,
    Stream,
    current_stream,
    default_stream,
    set_stream,
    stream,
)

globals().update((name, getattr(memory, name)) for name in memory.__getattr__.names())


def is_available():
    return True


def is_initialized():
    return True


def init():
    _session()


def device_count():
    return 1


def current_device():
    return 0


def set_device(device):
    _check(device)


def synchronize(device=None):
    """No effect: work is complete when a call returns."""
    _check(device)


# The lab's device has no multiprocessors; these are an A100's.
_CAPABILITY = (8, 0)
_MULTIPROCESSORS = 108


class _Properties:
    """The device's properties."""

    major, minor = _CAPABILITY
    multi_processor_count = _MULTIPROCESSORS
    is_integrated = is_multi_gpu_board = 0

    def __init__(self, props):
        self.name = props.name.decode()
        self.total_memory = props.total_bytes

    def __getattr__(self, name):
        raise not_covered(
            f"a device's {name}",
            ["major", "minor", "multi_processor_count", "name", "total_memory"],
        )

    def __repr__(self):
        return (
            f"_CudaDeviceProperties(name={self.name!r}, "
            f"total_memory={self.total_memory // 2**20}MB)"
        )


def get_device_properties(device=None):
    _check(device)
    return _Properties(_session().device_properties())


def get_device_name(device=None):
    return get_device_properties(device).name


def get_device_capability(device=None):
    _check(device)
    return _CAPABILITY


def is_bf16_supported(including_emulation=True):
    return True


def ipc_collect():
    """No effect: no memory of other processes is held."""


class device(_nullcontext):
    """A context manager that selects the only device."""

    def __init__(self, device):
        _check(device)
        super().__init__()


# Ranges for a profiler; no effect.
nvtx = _SimpleNamespace(
    range_push=lambda text: 0, range_pop=lambda: 0, mark=lambda text: None
)


def manual_seed(seed):
    _session().seed(seed)


manual_seed_all = manual_seed


__getattr__ = gate(
    "torch.cuda",
    globals(),
    "Event OutOfMemoryError amp get_rng_state memory nvtx set_rng_state",
)
