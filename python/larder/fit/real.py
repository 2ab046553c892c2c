"""--real-cpu: computes the contents of GPU tensors on the host.

Each GPU storage has a host storage of the same size, and operators run on
both.  So values, and sizes that depend on values, match a real run up to
rounding.  Memory is counted as without the option.
"""

import sys
import weakref

import torch
from torch._subclasses.fake_tensor import FakeTensor

from larder.fit import known, real_kernels

# Arguments that have no meaning on the host.
_LEFT_OUT = ("generator", "pin_memory")


def _pairs(fake, real):
    """Pairs of corresponding tensors of two results."""
    if isinstance(fake, FakeTensor):
        yield fake, real
    elif isinstance(fake, (list, tuple)) and isinstance(real, (list, tuple)):
        for one, other in zip(fake, real):
            yield from _pairs(one, other)


class Real:
    def __init__(self):
        self._beside = weakref.WeakKeyDictionary()
        self._said = set()

    # ---- one tensor ------------------------------------------------------

    def of(self, tensor):
        """The corresponding host tensor: a view of the host storage."""
        key = tensor.untyped_storage()
        storage = self._beside.get(key)
        if storage is None or storage.nbytes() < key.nbytes():
            storage = self._grown(storage, key.nbytes())
            self._beside[key] = storage
        return known.view_of(storage, known.place_of(tensor))

    def _grown(self, before, size):
        storage = torch.UntypedStorage(size).fill_(0)
        if before is not None:
            bytes_of = torch.uint8, 0, (before.nbytes(),), (1,)
            known.view_of(storage, bytes_of).copy_(known.view_of(before, bytes_of))
        return storage

    def put(self, tensor, value):
        """Make a host tensor the contents of the GPU tensor."""
        self.of(tensor).copy_(value)

    # ---- operators -------------------------------------------------------

    def _host(self, value):
        if isinstance(value, FakeTensor):
            return self.of(value)
        if isinstance(value, torch.device) and value.type == "cuda":
            return torch.device("cpu")
        return value

    def compute(self, func, args, kwargs):
        """Run the operator on the host.  None if there is no such kernel."""
        args = [known.mapped(a, self._host) for a in args]
        kwargs = {
            name: known.mapped(value, self._host)
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
            f"larder run: {func._opname} is not computed on the host; its results are "
            f"zeros: {why}",
            file=sys.stderr,
        )

    def follow(self, func, args, kwargs, result):
        """Store the host's result as the contents of the GPU's result."""
        real = self.compute(func, args, kwargs)
        for fake, value in _pairs(result, real):
            if isinstance(value, torch.Tensor) and value.shape == fake.shape:
                held = self.of(fake)
                if held.data_ptr() != value.data_ptr():
                    held.copy_(value)
