"""What Python runs before each program of `larder run --engine stand-in` and of
larder.record."""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _run_the_next():
    """The module of this name that this one stands before."""
    path = [p for p in sys.path if os.path.abspath(p or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def _reach_the_package():
    """It is behind everything that the program has."""
    folder = os.path.dirname(os.path.dirname(_HERE))
    if folder not in sys.path:
        sys.path.append(folder)


_run_the_next()
if "LARDER_RUN_SETTINGS" in os.environ:
    from larder.fit.standin import agent

    agent.begin(os.environ["LARDER_RUN_SETTINGS"])
if "LARDER_RECORD" in os.environ:
    _reach_the_package()
    from larder import _recorder

    _recorder.begin(os.environ["LARDER_RECORD"])
