"""Errors of the allocator."""

import torch

from larder.torch._plugin import library

OutOfMemoryError = torch.cuda.OutOfMemoryError


def last_error():
    """The text of the last failure of any call on any thread, including frees
    of unknown memory, which raise nothing.  "" if there was none."""
    return library.larder_torch_last_error().decode(errors="replace")


def error_count():
    """The number of failures."""
    return library.larder_torch_error_count()
