"""torch.cuda.memory's text for what a thread allocates next, kept by Larder.

Each is PyTorch's in name, arguments and result."""

import json
import threading

from larder.torch._plugin import library

_of_thread = threading.local()


def _set_memory_metadata(metadata):
    """Attach a text (a dict as JSON; "" for none) to the following events of
    this thread."""
    if isinstance(metadata, dict):
        metadata = json.dumps(metadata, separators=(",", ":"))
    library.larder_annotate(metadata.encode(errors="replace"))
    _of_thread.metadata = metadata


def _get_memory_metadata():
    return getattr(_of_thread, "metadata", "")


def _memory_metadata_supported():
    return True


__all__ = [
    "_set_memory_metadata",
    "_get_memory_metadata",
    "_memory_metadata_supported",
]
