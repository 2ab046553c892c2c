"""RMM's memory from Larder:

    import rmm, larder.rmm
    rmm.mr.set_current_device_resource(larder.rmm.resource())

Memory is reused in the order of its stream; freed on another one, it
waits for that."""

import importlib

from larder.adapters import Adapter, last_error, library


def _handle(stream):
    """The handle of an RMM stream."""
    found = getattr(stream, "__cuda_stream__", None)
    if callable(found):
        found = found()
    if found is None:
        raise TypeError(
            "larder.rmm: this RMM's streams do not expose their handles: expected a "
            "version whose streams have __cuda_stream__"
        )
    return found[1]


def resource(device=0, conf=None, policy=None):
    """An rmm.mr.CallbackMemoryResource for a device, given by number or by
    Larder's name for it ("cuda:1"). adapter_of() returns its Adapter, for
    statistics and snapshots."""
    try:
        rmm = importlib.import_module("rmm")
    except ImportError as error:
        raise ImportError("larder.rmm needs RMM: the module rmm") from error
    spec = f"cuda:{device}" if isinstance(device, int) else device
    adapter = Adapter(spec, conf, policy)

    def allocate(size, stream):
        if size == 0:
            return 0
        found = library.larder_rmm_allocate(
            size, _handle(stream), adapter.handle
        )
        if not found:
            raise MemoryError(last_error())
        return found

    def deallocate(pointer, size, stream):
        library.larder_rmm_deallocate(
            pointer, size, _handle(stream), adapter.handle
        )

    made = rmm.mr.CallbackMemoryResource(allocate, deallocate)
    _adapters.append((made, adapter))
    return made


_adapters = []


def adapter_of(made):
    """The larder.adapters.Adapter of a resource that resource() created."""
    for one, adapter in _adapters:
        if one is made:
            return adapter
    raise ValueError("expected what larder.rmm.resource() returned")
