"""Larder: where GPU memory goes, whether it fits, and what to change.

``larder.report("oom.pickle")`` says what happened, who holds the memory and
what to do; ``fit``, ``tune``, ``diff`` and ``replay`` are the command's verbs of
those names, and ``estimate("train.py", gpu="rtx4090")`` is ``larder run``.
Snapshots are paths, URLs (with fsspec), bytes, open files, or the dict of
``torch.cuda.memory._snapshot()``.

``python3 -m larder.record train.py`` runs a program and records it. ``larder.lab``
has tensors on a simulated GPU; ``larder.torch`` makes the allocator PyTorch's own;
``larder.cupy``, ``larder.rmm`` and ``larder.onnxruntime`` do the same for those
libraries; ``larder.preload`` controls the preload library.

Only the standard library is needed, and the command and libraries, which come
with this package.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from larder._asking import diff, estimate, fit, replay, report, tune
    from larder._command import Error
    from larder._results import (
        Diff,
        Estimate,
        Fit,
        Ranks,
        Replay,
        Report,
        Result,
        Tune,
    )

    __version__: str

# The module of each, which is loaded on first use: programs that only train need
# none.
_HOMES = {
    **dict.fromkeys("diff estimate replay report tune".split(), "_asking"),
    "Error": "_command",
    **dict.fromkeys(
        "Diff Estimate Fit Ranks Replay Report Result Tune".split(), "_results"
    ),
}

__all__ = ["__version__", "fit", *_HOMES]


def __getattr__(name):
    if name == "__version__":
        from larder._library import library

        return library.larder_version().decode()
    if name == "fit":  # a package that can be called
        return importlib.import_module("larder.fit")
    if name in _HOMES:
        return getattr(importlib.import_module(f"larder.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
