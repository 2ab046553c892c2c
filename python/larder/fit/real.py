"""--real-cpu: what tensors of the GPU hold, computed on the host.

Each storage of the GPU has one of the host beside it, as large, which its operators
are run on too: so values, and sizes that depend on values, are those of a real run
up to rounding.  Memory is counted as without."""

import sys
import weakref

import torch
from torch._subclasses.fake_tensor import FakeTensor

from larder.fit import real_kernels

# Arguments without a meaning for the host.
_LEFT_OUT = ("generator", "pin_memory")


def _map(value, function):
    if isinstance(value, (list, tuple)):
        return type(value)(_map(v, function) for v in value)
    return function(value)


def _pairs(fake, real):
    """Tensors of two results that are alike."""
    if isinstance(fake, FakeTensor):
        yield fake, real
    elif isinstance(fake, (list, tuple)) and isinstance(real, (list, tuple)):
        for one, other in zip(fake, real):
            yield from _pairs(one, other)


def depends_on_values(func):
    """Whether the sizes of its results do."""
    return torch.Tag.dynamic_output_shape in func.tags


class Real:
    def __init__(self):
        self._beside = weakref.WeakKeyDictionary()
        self._said = set()

    # ---- one tensor ------------------------------------------------------

    def of(self, tensor):
        """The host's tensor beside it: a view of what its storage holds."""
        key = tensor.untyped_storage()
        storage = self._beside.get(key)
        if storage is None or storage.nbytes() < key.nbytes():
            storage = self._grown(storage, key.nbytes())
            self._beside[key] = storage
        return torch.empty(0, dtype=tensor.dtype).set_(
            storage, tensor.storage_offset(), tensor.size(), tensor.stride()
        )

    def _grown(self, before, size):
        storage = torch.UntypedStorage(size).fill_(0)
        if before is not None and before.nbytes():
            storage[: before.nbytes()] = before
        return storage

    def put(self, tensor, value):
        """The tensor holds that from now on."""
        self.of(tensor).copy_(value)

    # ---- operators -------------------------------------------------------

    def _host(self, value):
        if isinstance(value, FakeTensor):
            return self.of(value)
        if isinstance(value, torch.device) and value.type == "cuda":
            return torch.device("cpu")
        return value

    def compute(self, func, args, kwargs):
        """The operator's result on the host; None if that has no such kernel."""
        args = [_map(a, self._host) for a in args]
        kwargs = {
            name: _map(value, self._host)
            for name, value in kwargs.items()
            if name not in _LEFT_OUT
        }
        run = real_kernels.OF_GPU.get(func, func)
        try:
            return run(*args, **kwargs)
        except (RuntimeError, NotImplementedError) as error:
            self._say(func, error)
            return None

    def _say(self, func, error):
        if func in self._said:
            return
        self._said.add(func)
        why = str(error).splitlines()[0].partition(". ")[0]
        print(
            f"larder run: {func._opname} is not computed on the host, its "
            f"results are zeros: {why}",
            file=sys.stderr,
        )

    def follow(self, func, args, kwargs, result):
        """What the operator gave on the GPU holds what it gives on the host."""
        real = self.compute(func, args, kwargs)
        for fake, value in _pairs(result, real):
            if isinstance(value, torch.Tensor) and value.shape == fake.shape:
                held = self.of(fake)
                if held.data_ptr() != value.data_ptr():
                    held.copy_(value)
