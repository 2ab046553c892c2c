"""Disables torch.compile and avoids the import of PyTorch's compiler, which is
slow.

torch.compile returns its argument.  PyTorch imports torch._dynamo in places
that use only functions with no effect unless something is compiled.  Those
names are provided here; any other name loads the package.
"""

import importlib.util
import sys
import threading
import types

import torch

_NAME = "torch._dynamo"
_LIGHT = (f"{_NAME}.config",)  # depends on nothing else


class _Idle(types.ModuleType):
    """Stands for the package until it is needed, then becomes it."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        _load(self)
        return getattr(self, name)


class _Loaded:
    """A loader for a module that is loaded already."""

    def __init__(self, module):
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec):
        return self._module

    def exec_module(self, module):
        module.__spec__ = self._spec


class _Finder:
    """Finds the package's submodules, after loading the package itself."""

    def __init__(self, package):
        self._package = package

    def find_spec(self, name, path=None, target=None):
        if not name.startswith(f"{_NAME}.") or name in _LIGHT:
            return None
        _load(self._package)
        if name not in sys.modules:
            return None
        return importlib.util.spec_from_loader(name, _Loaded(sys.modules[name]))


_lock = threading.RLock()


def _load(package):
    with _lock:
        if type(package) is not _Idle:
            return
        package.__class__ = types.ModuleType
        sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, _Finder)]
        del package.disable, package.graph_break
        package.__spec__.loader.exec_module(package)


def _disable(fn=None, *args, **kwargs):
    return (lambda f: f) if fn is None else fn


def _graph_break(*args, **kwargs):
    pass


def _make_idle():
    if _NAME in sys.modules:
        return
    package = importlib.util.module_from_spec(importlib.util.find_spec(_NAME))
    package.__class__ = _Idle
    package.disable = _disable
    package.graph_break = _graph_break
    sys.meta_path.insert(0, _Finder(package))
    sys.modules[_NAME] = torch._dynamo = package


def _leave_out():
    said = []

    def compile(model=None, **kwargs):
        if not said:
            said.append(1)
            print(
                "larder run: torch.compile is skipped: the program runs operator by "
                "operator",
                file=sys.stderr,
            )
        return (lambda m: m) if model is None else model

    torch.compile = compile
    torch.nn.Module.compile = lambda self, *args, **kwargs: None


def install():
    """Call before any part of PyTorch asks for its compiler."""
    _make_idle()
    _leave_out()
