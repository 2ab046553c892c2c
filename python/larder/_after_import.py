"""Waits for a program to import a module."""

import importlib.util
import sys


class _Finder:
    """Finds nothing, but calls a function when the module has been imported."""

    def __init__(self, name, function):
        self._name = name
        self._function = function
        self._is_busy = False

    def find_spec(self, name, path=None, target=None):
        if name != self._name or self._is_busy:
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


def after_import(name, function):
    """Call function() once the module of this name has been imported."""
    sys.meta_path.insert(0, _Finder(name, function))
