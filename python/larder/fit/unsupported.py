"""What this engine cannot run, and the engine that can: there is then no verdict,
even if the program continues."""

import re

import torch
from torch._subclasses import fake_tensor

_OTHER = "--engine stand-in runs it (pip install torch, which has CUDA)"

# PyTorch's messages for an operator, or a function like flex_attention, without a
# fake implementation.
_NO_FAKE = re.compile(
    r"no fake impl registered for|"
    r"no rule registered for HOP (?P<name>\w+) and mode"
)


class UnsupportedError(RuntimeError):
    """The message says what is unsupported, and what to do."""


def has_no_fake(error):
    kinds = (
        fake_tensor.UnsupportedOperatorException,
        fake_tensor.DataDependentOutputException,
    )
    return isinstance(error, kinds) or _NO_FAKE.search(str(error)) is not None


class Unsupported:
    def __init__(self):
        self.why = None  # the first

    def _error(self, why):
        self.why = self.why or why
        return UnsupportedError(why)

    def note(self, error):
        """An error that ends the program: PyTorch's own words may say the same."""
        found = _NO_FAKE.search(str(error))
        if found is not None and found["name"]:
            self._error(f"{found['name']} has no fake implementation: {_OTHER}")

    def operator(self, func, cause=None):
        lines = str(cause or "").strip().splitlines()
        why = f", and its kernel failed ({lines[0]})" if lines else ""
        return self._error(f"{func.name()} has no fake implementation{why}: {_OTHER}")

    def refuse_graph(self, *args, **kwargs):
        raise self._error(f"a CUDA graph cannot be captured here: {_OTHER}")

    def check_device(self, device):
        """Raises an error for a GPU that does not exist."""
        if device is None:
            return
        index = device if isinstance(device, int) else torch.device(device).index
        if index is None or index <= 0:
            return
        raise self._error(
            f"cuda:{index} does not exist: --engine fake has one GPU; --engine "
            "stand-in --device sim:...,count=N has more (pip install torch, which "
            "has CUDA)"
        )
