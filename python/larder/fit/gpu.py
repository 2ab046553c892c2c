"""The memory of the simulated GPU, allocated through liblarder_torch, so that
torch.cuda's memory queries are answered as under larder.torch."""

import ctypes
import re

from larder._calls import initialized
from larder._loading import declare
from larder.torch import settings
from larder.torch._plugin import (
    HistoryOptions,
    allocator,
    last_error,
    library,
    path,
    plugin_must,
)

_PROTOTYPES = """
    larder_torch_pool_alloc p zip   larder_torch_free v pzip
    larder_torch_record_stream v pp
"""

# These keep the interpreter's lock, under which Python's callers are found.
_locked = ctypes.PyDLL(path)
declare(_locked, path, _PROTOTYPES)

HISTORY_EVENTS = 1 << 22

# The first device of PyTorch, and the only one.
ORDINAL = 0


def _without_memory(spec):
    """Count memory without backing it, because nothing is computed."""
    spec = re.sub(r",backing=\w+", "", spec)
    return spec + ",backing=none"


def open_device(spec, policy, conf):
    """Call before the first allocation.  Raises ValueError for a bad spec."""
    conf = conf or ""
    settings.check(conf, policy, spec)
    plugin_must(
        library.larder_torch_configure(
            _without_memory(spec).encode(), settings.policy_of(policy), conf.encode()
        )
    )
    allocator(ORDINAL)


def record():
    """Record a history with Python stacks, for a snapshot."""
    options = initialized(HistoryOptions, library.larder_history_options_init_sized)
    options.max_events = HISTORY_EVENTS
    options.depth = 24
    plugin_must(
        library.larder_torch_history_start(ORDINAL, ctypes.byref(options), 0)
    )


def allocate(size, stream):
    """Returns an address (0 for no bytes), or None if memory ran out."""
    if size == 0:
        return 0
    return _locked.larder_torch_pool_alloc(size, ORDINAL, stream)


def free(address, size, stream):
    if address:
        _locked.larder_torch_free(address, size, ORDINAL, stream)


def use_on(address, stream):
    """record_stream()"""
    if address:
        _locked.larder_torch_record_stream(address, stream)


def why_it_failed():
    return (
        library.larder_torch_last_error().decode(errors="replace")
        or last_error()
    )
