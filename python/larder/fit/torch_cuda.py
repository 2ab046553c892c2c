"""torch.cuda as on a machine with a GPU."""

import contextlib
import types

import torch
from torch._subclasses.fake_tensor import FakeTensor

from larder.fit import gpu, streams
from larder.fit.temporaries import threads_of
from larder.torch import patching

_CPU_GENERATOR = torch.Generator  # before it is replaced


class Generator(_CPU_GENERATOR):
    """A GPU generator is a host generator: nothing is drawn from it."""

    def __new__(cls, device="cpu"):
        return super().__new__(cls, "cpu")


def _properties(options):
    major, minor = options.capability
    return types.SimpleNamespace(
        name=options.name,  # the card's
        major=major,
        minor=minor,
        total_memory=options.total_bytes,
        multi_processor_count=options.multiprocessors,
        is_integrated=False,
        is_multi_gpu_board=False,
        max_threads_per_multi_processor=threads_of(options.capability),
        regs_per_multiprocessor=65536,
        warp_size=32,
        gcnArchName="",
        uuid="00000000-0000-0000-0000-000000000000",
        L2_cache_size=40 << 20,
        shared_memory_per_block=48 << 10,
        shared_memory_per_block_optin=99 << 10,
        shared_memory_per_multiprocessor=100 << 10,
    )


def _nothing(names):
    """Functions without effect, one for each name: PyTorch's compiler identifies
    functions by object."""
    return {name: lambda *args, **kwargs: None for name in names.split()}


def _state(*args, **kwargs):
    return torch.zeros(16, dtype=torch.uint8)


def _memory_free(options):
    def mem_get_info(device=None):
        reserved = torch.cuda.memory_reserved()
        free = options.total_bytes - options.context_bytes - reserved
        return max(0, free), options.total_bytes

    return mem_get_info


def _answers(options, check_device):
    """Replaced names of torch.cuda, with their replacements: its other functions and
    classes call these."""
    properties = _properties(options)
    current = streams.current
    return {
        "is_available": lambda: True,
        **_nothing("init _lazy_init synchronize ipc_collect set_rng_state"),
        **_nothing("manual_seed manual_seed_all seed seed_all"),
        "_is_compiled": lambda: True,
        "is_initialized": lambda: True,
        "_lazy_call": lambda call, **kwargs: call(),
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": check_device,
        "_exchange_device": lambda device: check_device(device) or 0,
        "_maybe_exchange_device": lambda device: 0,
        "get_device_properties": lambda device=None: properties,
        "get_arch_list": lambda: ["sm_%d%d" % options.capability],
        "can_device_access_peer": lambda device, peer: False,
        "is_bf16_supported": (
            lambda including_emulation=True: including_emulation
            or options.capability >= (8, 0)
        ),
        "mem_get_info": _memory_free(options),
        "utilization": lambda device=None: 0,
        "initial_seed": lambda: 0,
        "get_rng_state": _state,
        "default_generators": (torch.default_generator,),
        "Stream": streams.Stream,
        "ExternalStream": streams.Stream,
        "Event": streams.Event,
        "set_stream": current.set,
        "current_stream": lambda device=None: current.stream,
        "default_stream": lambda device=None: current.default,
        "is_current_stream_capturing": lambda: False,
    }


_ACCELERATOR = {
    **_nothing("set_device_index set_device_idx synchronize"),
    "is_available": lambda: True,
    "device_count": lambda: 1,
    "current_accelerator": lambda check_available=False: torch.device("cuda"),
    "current_device_index": lambda: 0,
    "current_device_idx": lambda: 0,
    "current_stream": lambda device=None: streams.current.stream,
    "set_stream": lambda stream: streams.current.set(stream),
}


def _record_stream(storages):
    def record_stream(self, stream):
        number = storages.number_of(self)
        if number is None:
            return
        target = getattr(stream, "cuda_stream", None)
        if target is None:
            target = stream.stream_id
        storages.book.recorded(number, target)
        gpu.use_on(storages.addresses[number], target)

    return record_stream


def _range_functions():
    return {
        "range_push": lambda message: 0,
        "range_pop": lambda: 0,
        "range_start": lambda message: 0,
        **_nothing("range_end mark"),
        "range": lambda message, *a, **k: contextlib.nullcontext(),
    }


def _data_ptr(storages):
    def data_ptr(self):
        """The address the tensor would have: programs identify tensors by it."""
        number = storages.number_of(self)
        if not number and number != 0:
            return 0
        begin = storages.addresses[number]
        return begin + self.storage_offset() * self.element_size()

    return data_ptr


def _resize(storages):
    """Resize storages, as FSDP does to release and refill them."""
    inherited = torch.UntypedStorage.resize_

    def resize_(self, size):
        result = inherited(self, size)
        storages.resized(self)
        return result

    return resize_


def install(storages, options, unsupported):
    torch.cuda.CUDAGraph = torch.cuda.graphs.CUDAGraph = unsupported.refuse_graph
    streams.current = streams.Current(storages)
    answers = _answers(options, unsupported.check_device)
    for owner in (torch.cuda, torch.cuda.memory, torch.cuda.random, torch.cuda.streams):
        patching.put(owner, answers)
    if hasattr(torch, "accelerator"):
        patching.put(torch.accelerator, _ACCELERATOR)
    patching.put(torch.cuda.nvtx, _range_functions())
    patching.install()
    torch.UntypedStorage.resize_ = _resize(storages)
    torch.Tensor.record_stream = _record_stream(storages)
    torch.Tensor.pin_memory = lambda self, device=None: self
    torch.Tensor.is_pinned = lambda self, device=None: False
    torch.Generator = Generator
    FakeTensor.data_ptr = _data_ptr(storages)
    cudnn = torch.backends.cudnn
    cudnn.version = lambda: 91900
    cudnn.is_available = lambda: True
    cudnn.is_acceptable = lambda tensor: tensor.is_cuda
    torch._C._set_only_lift_cpu_tensors(True)
