"""What failed."""

from larder.torch import _torch
from larder.torch._plugin import library

OutOfMemoryError = _torch.out_of_memory_error()


def last_error():
    """The last failure of any call, on any thread, in words; frees of unknown
    memory too, which raise nothing.  "" if there was none."""
    return library.larder_torch_last_error().decode(errors="replace")


def error_count():
    """How many there were."""
    return library.larder_torch_error_count()
