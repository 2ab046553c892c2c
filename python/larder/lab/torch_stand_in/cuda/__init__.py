"""torch.cuda: the one, simulated, device."""

from larder.lab import session as _session
from larder.lab.failures import gate, not_covered
from larder.lab.torch_stand_in.cuda import memory
from larder.lab.torch_stand_in.cuda.memory import (
    NAMES,
    OutOfMemoryError,
    empty_cache,
    get_allocator_backend,
    get_per_process_memory_fraction,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
    _check,
)


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
    """Nothing waits: the simulated device is done when a call returns."""
    _check(device)


class _Properties:
    """The device in figures."""

    def __init__(self, props):
        self.name = props.name.decode()
        self.total_memory = props.total_bytes

    def __getattr__(self, name):
        raise not_covered(f"a device's {name}", ["name", "total_memory"])

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


def manual_seed(seed):
    _session().seed(seed)


manual_seed_all = manual_seed


_NAMES = NAMES + """
    current_device device_count get_device_name get_device_properties init
    is_available is_initialized manual_seed manual_seed_all memory set_device
    synchronize
""".split()

__getattr__ = gate("torch.cuda", lambda: _NAMES)
