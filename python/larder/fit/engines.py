"""The engines of `larder run`, and the choice between them."""

import importlib.util
import os
import re

from larder.fit import programs

FAKE, STAND_IN = "fake", "stand-in"

_ADVICE = (
    "pip install torch installs one that works; LARDER_PYTHON names another Python"
)


class EngineError(ValueError):
    """No engine can run the program; the message says what to do."""


def torch_build():
    """(version, its CUDA or None) of this Python's PyTorch, which is not
    imported: that takes seconds.  None: there is none."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.origin:
        return None
    path = os.path.join(os.path.dirname(spec.origin), "version.py")
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return "unknown", None
    if re.search(r"^hip\b[^=]*=\s*'", text, re.MULTILINE):
        raise EngineError(
            f"this PyTorch is built for ROCm, which cannot be simulated; {_ADVICE}"
        )
    found = {
        name: re.search(rf"^{name}\b[^=]*=\s*'([^']*)'", text, re.MULTILINE)
        for name in ("__version__", "cuda")
    }
    return tuple(m and m[1] for m in (found["__version__"], found["cuda"]))


def _is_here(library):
    """Whether the stand-ins were built with this command."""
    from larder.fit import replays

    folder = os.path.dirname(replays.command())
    return any(
        os.path.exists(os.path.join(folder, place, library))
        for place in (
            "cudart", "../lib/larder/cudart", "../lib64/larder/cudart",
            "../lib/x86_64-linux-gnu/larder/cudart",
            "../lib/aarch64-linux-gnu/larder/cudart",
        )
    )


def _has_no_torch():
    return EngineError(f"this Python has no PyTorch; {_ADVICE}")


# Commands that start PyTorch programs in other processes.
_LAUNCHERS = ("torchrun", "accelerate", "deepspeed")
_LAUNCHER_MODULES = (
    "torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch",
)


def _refuse_launcher(name):
    raise EngineError(
        f"{name} starts other processes, which --engine fake cannot follow: larder "
        "run --world-size N SCRIPT runs the first of N; --engine stand-in runs all "
        "(pip install torch, which has CUDA)"
    )


def _check_command(options):
    """Programs started by a launcher have no GPU with a CPU-only PyTorch."""
    name = os.path.basename(options.script)
    build = torch_build() if name in _LAUNCHERS and options.engine is None else None
    if build is not None and build[1] is None:
        _refuse_launcher(name)


def of(options, kind):
    """The engine.  Raises EngineError."""
    asked = options.engine
    if kind in programs.COMMANDS:
        if asked == FAKE:
            raise EngineError(
                "--engine fake runs scripts, modules and notebooks; a command "
                "needs --engine stand-in"
            )
        _check_command(options)
        return STAND_IN
    build = torch_build()
    if build is None and asked != STAND_IN:
        raise _has_no_torch()
    if asked is not None:
        if asked == STAND_IN and build and build[1] is None:
            raise EngineError(
                f"PyTorch {build[0]} is CPU-only, which --engine "
                f"stand-in cannot run; --engine fake does"
            )
        return asked
    if build[1] is None:
        return FAKE
    # Options that only fake tensors support.
    if options.real_cpu or options.on_item is not None:
        return FAKE
    return STAND_IN if _is_here("libcudart.so.13") else FAKE


def check(options, engine):
    """Raises EngineError for options that the engine does not have."""
    if engine != STAND_IN:
        if options.module and options.script in _LAUNCHER_MODULES:
            _refuse_launcher(options.script)
        return
    for name in ("real_cpu", "on_item"):
        if getattr(options, name):
            raise EngineError(
                f"--{name.replace('_', '-')} applies to --engine fake only; this is "
                "--engine stand-in"
            )
