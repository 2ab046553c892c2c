"""Waits for a program to import PyTorch."""

import importlib.util
import sys


class AfterTorch:
    """Finds nothing, but calls a function when `torch` has been imported."""

    def __init__(self, function):
        self._function = function
        self._is_busy = False

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or self._is_busy:
            return None
        self._is_busy = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._is_busy = False
        if spec is not None and spec.loader is not None:
            self._follow(spec.loader)
        return spec

    def _follow(self, loader):
        run = loader.exec_module

        def exec_module(module):
            run(module)
            sys.meta_path.remove(self)
            self._function()

        loader.exec_module = exec_module
