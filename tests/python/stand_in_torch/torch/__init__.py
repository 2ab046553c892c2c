"""As much of a PyTorch with CUDA as `larder run --engine stand-in` touches: a
recorder of allocations, counters, hooks of modules and optimizers.  Memory is
a count; `Tensor(BYTES)` is a tensor on the GPU."""

import os
import sys
import types

from torch import version

__version__ = version.__version__
bfloat16, float16 = "torch.bfloat16", "torch.float16"


class OutOfMemoryError(RuntimeError):
    pass


def _module(name, **names):
    made = types.ModuleType("torch." + name)
    vars(made).update(names)
    sys.modules[made.__name__] = made
    above, _, last = made.__name__.rpartition(".")
    setattr(sys.modules[above], last, made)
    return made


# ---- the allocator and its recorder ------------------------------------------

_CAPACITY = int(os.environ.get("TORCH_DOUBLE_BYTES", 1 << 40))
_events = []
_state = {"init": False, "records": False, "next": 1 << 20, "calls": []}
_count = dict.fromkeys(("allocated", "freed"), 0)
_bytes = dict.fromkeys(("allocated", "freed", "peak"), 0)


def _lazy_init():
    if not _state["init"]:
        _state["init"] = True
        for call in _state["calls"]:
            call()


def _lazy_call(call):
    call() if _state["init"] else _state["calls"].append(call)


def _frames():
    frame, found = sys._getframe(3), []
    while frame is not None:
        code = frame.f_code
        found.append(
            {"filename": code.co_filename, "name": code.co_name, "line": frame.f_lineno}
        )
        frame = frame.f_back
    return found


def _note(action, address, size):
    if _state["records"]:
        _events.append(
            {"action": action, "addr": address, "size": size, "stream": 0,
             "frames": _frames()}
        )


def _live():
    return _bytes["allocated"] - _bytes["freed"]


def _allocate(size):
    _lazy_init()
    if _live() + size > _CAPACITY:
        _note("oom", 0, size)
        raise OutOfMemoryError("CUDA out of memory.")
    _state["next"] += size
    _count["allocated"] += 1
    _bytes["allocated"] += size
    _bytes["peak"] = max(_bytes["peak"], _live())
    _note("alloc", _state["next"], size)
    return _state["next"]


def _free(address, size):
    _count["freed"] += 1
    _bytes["freed"] += size
    _note("free_requested", address, size)
    _note("free_completed", address, size)


class Tensor:
    is_cuda = True

    def __init__(self, size):
        self.grad = None
        self._size, self._address = size, _allocate(size)

    def __del__(self):
        if hasattr(self, "_address"):
            _free(self._address, self._size)

    def item(self):
        return 0

    def untyped_storage(self):
        return types.SimpleNamespace(data_ptr=lambda: self._address)


def _record(enabled="all", **more):
    _events.clear()
    _state["records"] = enabled is not None


def _memory_stats(device):
    return {
        "allocation": {"all": dict(_count)},
        "requested_bytes": {"all": dict(_bytes)},
    }


def _reset_peak(device):
    _bytes["peak"] = _live()


_C = _module(
    "_C", _cuda_memoryStats=_memory_stats, _cuda_getDevice=lambda: 0,
    _current_autograd_node=lambda: None, _cuda_resetPeakMemoryStats=_reset_peak,
)
cuda = _module(
    "cuda",
    is_initialized=lambda: _state["init"],
    _lazy_call=_lazy_call,
    max_memory_allocated=lambda device=0: _bytes["peak"],
    max_memory_reserved=lambda device=0: _bytes["peak"],
    memory_reserved=lambda device=0: _bytes["peak"],
    reset_peak_memory_stats=lambda device=0: _C._cuda_resetPeakMemoryStats(device),
    mem_get_info=lambda: (_CAPACITY - _bytes["peak"], _CAPACITY),
    OutOfMemoryError=OutOfMemoryError,
)
_module(
    "cuda.memory", _record_memory_history=_record,
    _snapshot=lambda: {"device_traces": [list(_events)]},
)

# ---- modules, backward, optimizers ------------------------------------------

_hooks = {"enter": [], "leave": [], "before": [], "after": []}


class Module:
    training = True

    def named_modules(self):
        yield "", self
        for name, one in vars(self).items():
            if isinstance(one, Module):
                yield name, one

    def modules(self):
        return [one for _, one in self.named_modules()]

    def children(self):
        return iter(self.modules()[1:])

    def parameters(self):
        for module in self.modules():
            for one in vars(module).values():
                if isinstance(one, Tensor):
                    yield one

    def buffers(self):
        return ()

    def zero_grad(self):
        for one in self.parameters():
            one.grad = None

    def __call__(self, *args):
        for hook in _hooks["enter"]:
            hook(self, args)
        result = self.forward(*args)
        for hook in _hooks["leave"]:
            hook(self, args, result)
        return result


nn = _module("nn", Module=Module, ModuleList=list, Sequential=tuple)
_module("nn.modules")
_module(
    "nn.modules.module",
    register_module_forward_pre_hook=_hooks["enter"].append,
    register_module_forward_hook=lambda hook, always_call: _hooks["leave"].append(hook),
)
autograd = _module(
    "autograd", _get_sequence_nr=lambda: 0,
)
_module("autograd.graph", _engine_run_backward=lambda work: work())


def backward(work):
    sys.modules["torch.autograd"].graph._engine_run_backward(work)


class Optimizer:
    """Keeps state of the parameters' size."""

    def __init__(self, parameters):
        self.param_groups = [{"params": list(parameters), "lr": 0.1}]
        self.state = {}

    def step(self):
        for hook in _hooks["before"]:
            hook(self, (), {})
        for one in self.param_groups[0]["params"]:
            if one not in self.state:
                self.state[one] = {"momentum": Tensor(one._size)}
        for hook in _hooks["after"]:
            hook(self, (), {})

    zero_grad = None

    @staticmethod
    def profile_hook_step(step):
        return step


class Adam(Optimizer):
    pass


class AdamW(Optimizer):
    pass


optim = _module("optim", Optimizer=Optimizer, Adam=Adam, AdamW=AdamW)
_module(
    "optim.optimizer",
    register_optimizer_step_pre_hook=_hooks["before"].append,
    register_optimizer_step_post_hook=_hooks["after"].append,
)
_module("utils")
_module("utils.checkpoint")
_module("utils.data", DataLoader=type("DataLoader", (), {}))
compiler = _module("compiler", is_compiling=lambda: False)
distributed = _module("distributed", is_available=lambda: False)
